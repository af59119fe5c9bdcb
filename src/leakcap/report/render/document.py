"""A report before it is drawn: sections of text, tables and pictures, and numbers with their sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from leakcap.report.render.noted import Note, NotedNumber, Text

__all__ = [
    "Audience",
    "Block",
    "Card",
    "Cards",
    "Document",
    "Drawing",
    "Items",
    "Note",
    "NotedNumber",
    "Paragraph",
    "Plot",
    "Section",
    "Text",
    "TextTable",
    "marks",
    "notes",
]

Audience: TypeAlias = Literal["board", "reviewer"]


@dataclass(frozen=True)
class Paragraph:
    """A sentence or several."""

    text: Text
    soft: bool = False


@dataclass(frozen=True)
class Items:
    """A list; `caution` marks what is not protected."""

    items: tuple[Text, ...]
    caution: bool = False


@dataclass(frozen=True)
class Card:
    """A headline figure and what it says."""

    figure: NotedNumber
    caption: str


@dataclass(frozen=True)
class Cards:
    """Headline figures side by side."""

    cards: tuple[Card, ...]


@dataclass(frozen=True)
class TextTable:
    """A table. `numbers` are the columns set to the right.

    `shades` say of each cell how strongly it is tinted, from 0 (not at all) to 9; empty, none is.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    numbers: tuple[int, ...] = ()
    shades: tuple[tuple[int, ...], ...] = ()

    @property
    def words(self) -> int | None:
        """The first column that is not set as numbers, where a row's footnotes are marked."""
        return next((place for place in range(len(self.heads)) if place not in self.numbers), None)


@dataclass(frozen=True)
class Plot:
    """A Vega-Lite specification, with words for who does not see it."""

    name: str
    spec: Mapping[str, Any]
    label: str


@dataclass(frozen=True)
class Drawing:
    """A picture that needs no script: SVG made by leakcap, with words for who does not see it."""

    svg: str
    label: str
    wide: bool = False
    """Whether it keeps its width, and is scrolled where there is less room."""


Block: TypeAlias = Paragraph | Items | Cards | TextTable | Plot | Drawing


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it. `halves` sets its blocks side by side where there is room."""

    title: str
    blocks: tuple[Block, ...]
    halves: bool = False


@dataclass(frozen=True)
class Document:
    """A whole report, for HTML and Markdown alike."""

    title: str
    subtitle: str
    kind: str
    audience: Audience
    sections: tuple[Section, ...]
    lead: Text = ""

    @property
    def footer(self) -> str:
        """What stands at the foot of every page."""
        told = (
            "Made by leakcap. Every number is exact, the outward end of an interval, or rounded to its noise."
        )
        sources = "Formulas and sources are in the report for the reviewer."
        return f"{told} {sources}" if self.audience == "board" else told

    @property
    def plots(self) -> tuple[Plot, ...]:
        """All that need a script."""
        return tuple(b for section in self.sections for b in section.blocks if isinstance(b, Plot))


def marks(row: Sequence[Text], numbers: Mapping[Note, int]) -> list[int]:
    """The footnotes of a row of a table, each once.

    >>> marks(("a", NotedNumber("1", Note("x", "y"))), {Note("x", "y"): 3})
    [3]
    """
    return list(dict.fromkeys(numbers[figure.note] for cell in row for figure in _of(cell)))


def notes(document: Document) -> dict[Note, int]:
    """Every note of a reviewer's document with its number, in the order in which a reader meets them.

    >>> shown = NotedNumber("1", Note("a", "b"))
    >>> part = Section("s", (Paragraph(shown), Paragraph(("again ", shown))))
    >>> list(notes(Document("t", "", "k", "reviewer", (part,))).values())
    [1]
    """
    numbers: dict[Note, int] = {}
    if document.audience == "board":
        return numbers
    for figure in _figures(document):
        numbers.setdefault(figure.note, len(numbers) + 1)
    return numbers


def _figures(document: Document) -> Iterator[NotedNumber]:
    yield from _of(document.lead)
    for section in document.sections:
        for block in section.blocks:
            for text in _texts(block):
                yield from _of(text)


def _texts(block: Block) -> Sequence[Text]:
    match block:
        case Paragraph(text=text):
            return [text]
        case Items(items=items):
            return items
        case Cards(cards=cards):
            return [card.figure for card in cards]
        case TextTable(rows=rows):
            return [cell for row in rows for cell in row]
        case _:
            return []


def _of(text: Text) -> Iterator[NotedNumber]:
    for piece in text if isinstance(text, tuple) else (text,):
        if isinstance(piece, NotedNumber):
            yield piece
