"""Every page of the manual does what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from manual_pages import ROOT, blocks, matches, prepare, run_page

PAGES = sorted((ROOT / "docs").rglob("*.md"))
SHOWN = {"text", "sh", "", "bash"}
SERVED = re.compile(r"leakcap (serve|--install-completion|--show-completion)")


def page(path: Path) -> object:
    slow = "<!-- slow -->" in path.read_text(encoding="utf-8")
    return pytest.param(
        path, id=str(path.relative_to(ROOT / "docs")), marks=[pytest.mark.slow] if slow else []
    )


@pytest.mark.parametrize("path", [page(path) for path in PAGES])
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = run_page(path)
    assert ran > 0 or not any(b.language in {"python", "console"} for b in blocks(path.read_text("utf-8")))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_nothing_hides_in_a_block_that_is_only_shown(path: Path) -> None:
    """A block of another language is not run: it may then hold no command of leakcap, and no Python."""
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language not in SHOWN:
            continue
        for line in block.text.splitlines():
            hidden = re.match(r"\s*(\$ )?leakcap \w", line) and not SERVED.search(line)
            python = line.startswith((">>> ", "import ", "from leakcap"))
            assert not hidden, (block.line, line)
            assert not python, (block.line, line)


def test_blocks_are_found() -> None:
    text = 'a\n```toml title="p.toml"\nx = 1\n```\n\n  ```python\n  y = 2\n  ```\n<!-- run\nz = 3\n-->\n'
    found = [(b.language, b.title, b.text) for b in blocks(text)]
    assert found == [("toml", "p.toml", "x = 1\n"), ("python", "", "y = 2\n"), ("run", "", "z = 3\n")]


def test_a_wrong_page_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner sees a wrong result, a wrong output, an exit code and an error."""
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    for text in (
        "```python\n>>> 1 + 1\n3\n```\n",
        "```console\n$ leakcap convert 'PureDP(1)' MIDP\nMIDP(nats=0.2)\n```\n",
        "```console\n$ leakcap convert 'PureDP(-1)' MIDP\n```\n",
        "```python\nx = undefined\n```\n",
        "```toml\nx = = 1\n```\n",
    ):
        (tmp_path / "page.md").write_text(text, encoding="utf-8")
        with pytest.raises((AssertionError, NameError, ValueError)):
            run_page(tmp_path / "page.md")
    assert matches("ε … 0.5", "ε per person\n 0.5")
    assert not matches("0.5 … ε", "ε per person\n 0.5")
