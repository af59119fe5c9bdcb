"""Which pages show everything that a theme colours: colours come from an element's classes and its parent's.

To weigh every colour of every page takes a browser three quarters of its time, and most are on all pages.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import TypeAlias

__all__ = ["fewest_pages", "styles_of"]

Style: TypeAlias = tuple[str, str, str, str]
"""Of an element: its name, its classes, its own `style` and its `fill`."""
NEVER_CLOSED = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self._open: list[Style] = []
        self.found: set[tuple[Style, ...]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: text or "" for name, text in attrs}
        classes = " ".join(sorted(own.get("class", "").split()))
        style = tag, classes, own.get("style", ""), own.get("fill", "")
        self.found.add((*self._open[-1:], style))
        if tag not in NEVER_CLOSED:
            self._open.append(style)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in NEVER_CLOSED:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass


def styles_of(text: str) -> set[tuple[Style, ...]]:
    """Each element's style behind that of the element that it lies in."""
    elements = _Elements()
    elements.feed(text)
    return elements.found


def fewest_pages(pages: Collection[Path]) -> list[Path]:
    """Pages, short ones first, that together have every style that any of them has."""
    seen: Mapping[Path, set[tuple[Style, ...]]] = {
        path: styles_of(path.read_text(encoding="utf-8")) for path in sorted(pages)
    }
    length = {path: path.stat().st_size for path in seen}
    left, chosen = set().union(*seen.values()), []
    while left:
        best = max(seen, key=lambda path: len(seen[path] & left) / length[path])
        chosen.append(best)
        left -= seen[best]
    return chosen
