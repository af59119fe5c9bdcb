"""Every page of the manual does what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import leakcap
from command_line import WHOLE
from manual_pages import ROOT, RUN, WRITTEN, blocks, inline_commands, matches, needs, prepare, run_page

PLAYED = "<!-- played: tests/docs/test_curator_pages.py -->"
"""The first line of pages about the curator, whose processes that test starts."""
PAGES = [
    *(
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if not path.read_text(encoding="utf-8").startswith(PLAYED)
    ),
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples/hospital/README.md",
    ROOT / "examples/stays/README.md",
]
DRAWINGS = {
    ("docs/architecture.md", "capacity(channel, divergence, adversary) -> Bound"),
    (
        "docs/architecture.md",
        "query file ─▶ policy, queries     checked by Pydantic; unknown fields are refused",
    ),
    ("docs/sql.md", "statement  = [WITH name AS"),
}
"""The blocks that nobody runs, by their first words: pictures made of letters, and a grammar."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def page(path: Path) -> object:
    text = path.read_text(encoding="utf-8")
    slow = "<!-- slow -->" in text or "spark" in needs(text)
    return pytest.param(path, id=name_of(path), marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("path", [page(path) for path in PAGES])
def test_page(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Callable[[set[str]], dict[str, str]]
) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    needed = needs(text)
    if needed & {"spark", "process"}:
        ran = in_a_process_of_its_own(path, given(needed - {"process"}))
    else:
        ran = run_page(path, given(needed))
    assert ran > 0 or not any(b.language in RUN for b in blocks(text))


def in_a_process_of_its_own(path: Path, given: dict[str, str]) -> int:
    code = "from pathlib import Path; from manual_pages import run_page; "
    code += f"print(run_page(Path({str(path)!r}), {given!r}, apart=True))"
    places = [str(ROOT / "tests"), str(Path(leakcap.__file__).parents[1])]
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=known, capture_output=True, text=True, timeout=3000, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.splitlines()[-1])


def test_what_nobody_runs_is_listed() -> None:
    """Every block is run, or written to a file that another block names, or listed above."""
    shown, unread = set(), set()
    for path in PAGES:
        found = list(blocks(path.read_text(encoding="utf-8")))
        for block in found:
            if block.language in WRITTEN:
                named = any(block.title and block.title in other.text for other in found if other != block)
                unread |= set() if named else {f"{name_of(path)}:{block.line}"}
            elif block.language not in RUN:
                known = [d for d in DRAWINGS if d[0] == name_of(path) and block.text.startswith(d[1])]
                shown |= set(known) or {(name_of(path), block.text)}
    assert unread == set()
    assert shown == DRAWINGS


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_nothing_hides_outside_of_blocks(path: Path) -> None:
    """Markdown takes indented lines for code too: no command among them, no Python, no word to the test."""
    fence, text = False, path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        code = re.match(r" {4,}(\$ |>>> |import |from \w+ import |(leakcap|pip|make) \w)", line)
        assert fence or not code, (number, line)
        assert not re.match(r"\s+<!-- (run|needs|slow)", line), (number, line)
    assert "~~~" not in text


def test_commands_in_sentences_are_there() -> None:
    """Each names a command and options that leakcap has, whatever its placeholders."""
    read, wrong = 0, []
    for path in PAGES:
        for line in inline_commands(path.read_text(encoding="utf-8")):
            read += 1
            wrong += [f"{name_of(path)}: {line}"] if unknown(line) else []
    assert read >= 40
    assert wrong == []
    shown = ("leakcap nonsense", "leakcap budget X --no", "leakcap sql … --epsilon 1")
    assert [unknown(line) for line in shown] == ["nonsense", "--no", ""]


def unknown(line: str) -> str:
    """The first word of a command that leakcap does not know."""
    command = WHOLE
    options: set[str] = {"--help", "--install-completion", "--show-completion"}
    for word in re.split(r"[\s\[\]|]+", line.removeprefix("leakcap ")):
        children = getattr(command, "commands", None)
        options |= {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        if children is not None and word == "…":  # any of them
            options |= {name for child in children.values() for one in child.params for name in one.opts}
            command = next(iter(children.values()))
        elif children is not None and not word.startswith("-"):
            if word not in children:
                return word
            command = children[word]
        elif word.startswith("--") and word.partition("=")[0] not in options:
            return word
    return ""


def test_blocks_are_found() -> None:
    text = 'a\n```toml title="p.toml"\nx = 1\n```\n\n  ```python\n  y = 2\n  ```\n<!-- run\nz = 3\n-->\n'
    found = [(b.language, b.title, b.text) for b in blocks(text)]
    assert found == [("toml", "p.toml", "x = 1\n"), ("python", "", "y = 2\n"), ("run", "", "z = 3\n")]


def test_a_wrong_page_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner sees a wrong result, a wrong output, an exit code and an error."""
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    # Sixty runs each, at an ε of 0.55 or so: too few to say that it is above a half.
    (tmp_path / "a.txt").write_text("0\n" * 38 + "1\n" * 22, encoding="utf-8")
    (tmp_path / "b.txt").write_text("0\n" * 22 + "1\n" * 38, encoding="utf-8")
    for text in (
        "```python\n>>> 1 + 1\n3\n```\n",
        "```console\n$ leakcap convert 'PureDP(1)' MIDP\nMIDP(nats=0.2)\n```\n",
        "```console\n$ leakcap convert 'PureDP(-1)' MIDP\n```\n",
        "```console\n$ leakcap audit - a.txt b.txt --claim 'PureDP(0.5)' --seed 1\n```\n",
        "```sh\nleakcap audit - a.txt b.txt --claim 'PureDP(0.5)' --seed 1\n```\n",
        "```python\nx = undefined\n```\n",
        '```toml title="x.toml"\nx = = 1\n```\n',
        "```toml\nx = 1\n```\n",
        "```\nx = 1\n```\n",
        "```sh\nfalse\n```\n",
        "```sh\nleakcap convert 'PureDP(-1)' MIDP\n```\n",
        "```sh\npip install 'leakcap[nothing]'\n```\n",
        "```sh\nmake nothing\n```\n",
        "```sh\nssh -Z host\n```\n",
    ):
        (tmp_path / "page.md").write_text(text, encoding="utf-8")
        with pytest.raises((AssertionError, NameError, ValueError)):
            run_page(tmp_path / "page.md")
    (tmp_path / "page.md").write_text(
        "```sh\nexport PLACE=theirs    # yours\nexport OTHER=$PLACE\n```\n"
        "```python\n>>> import os\n>>> os.environ['OTHER']\n'ours'\n```\n",
        encoding="utf-8",
    )
    assert run_page(tmp_path / "page.md", {"PLACE": "ours"}) == 2
    assert "OTHER" not in os.environ
    assert matches("ε … 0.5", "ε per person\n 0.5")
    assert not matches("0.5 … ε", "ε per person\n 0.5")
