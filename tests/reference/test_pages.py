"""The pages on theory: each is listed, and every example on them runs as it is shown."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "theory"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Fenced(doctest.DocTestParser):
    """Examples in fenced blocks, whose last line ends what is expected."""

    def parse(self, string: str, name: str = "<string>") -> list[str | doctest.Example]:
        return super().parse(string.replace("\n```", "\n\n```"), name)


def test_every_page_is_listed() -> None:
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in PAGES.glob("*.md")} - {"README.md"}
    assert len(pages) >= 6
    assert {page for page in pages if f"[{page}]({page})" not in index} == set()


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_examples(page: Path) -> None:
    outcome = doctest.testfile(
        str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8", parser=Fenced()
    )
    assert outcome.failed == 0
    if page.stem == "README":
        assert outcome.attempted > 5
