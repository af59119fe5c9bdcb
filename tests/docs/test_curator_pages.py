"""The pages about the curator, played with its real processes and people of their own."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from curator_played import playing
from manual_pages import ROOT

MARK = "<!-- played: tests/docs/test_curator_pages.py -->"
PLAYED = sorted(path for path in (ROOT / "docs").rglob("*.md") if MARK in path.read_text(encoding="utf-8"))


def test_pages_are_played() -> None:
    """The mark is a page's first line, as the manual's other test reads it; the tutorial is among them."""
    assert ROOT / "docs/tutorials/curator.md" in PLAYED
    assert all(path.read_text(encoding="utf-8").startswith(MARK) for path in PLAYED)


def test_first_answer_takes_five_commands() -> None:
    text = (ROOT / "docs/tutorials/curator.md").read_text(encoding="utf-8")
    before = text.partition("That is the first answer")[0]
    commands = re.findall(r"^(?:\$ (?=leakcap)|(?=pip))(.*)$", before, re.MULTILINE)
    assert [" ".join(one.split()[:3]) for one in commands] == [
        "pip install 'leakcap[curator]'",
        "leakcap curator init",
        "leakcap curator run",
        "leakcap login http://127.0.0.1:8422",
        "leakcap --server http://127.0.0.1:8422",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", PLAYED, ids=lambda path: path.stem)
def test_page_with_its_processes(path: Path, tmp_path: Path) -> None:
    started = time.monotonic()
    with playing(tmp_path) as played:
        played.play(path)
        assert played.told
    assert time.monotonic() - started < 300.0
