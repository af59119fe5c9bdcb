"""A report as Markdown: tables, lists and footnotes; pictures as the words that describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from leakcap.plain import plain
from leakcap.report.render.document import (
    Block,
    Cards,
    Document,
    Drawing,
    Items,
    Note,
    NotedNumber,
    Paragraph,
    Plot,
    Text,
    TextTable,
    marks,
    notes,
)

__all__ = ["render_markdown", "write_markdown"]

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|~"})


def write_markdown(document: Document, path: Path) -> None:
    """Write the report; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_markdown(document), encoding="utf-8")


def render_markdown(document: Document) -> str:
    """The report as Markdown with footnotes.

    >>> from leakcap.report.render.document import Section
    >>> part = Section("Price", (Paragraph(("ε is ", NotedNumber("0.1 nats", Note("asked", "policy")))),))
    >>> print(render_markdown(Document("ward", "today", "release", "reviewer", (part,))).splitlines()[6])
    ε is 0.1 nats[^1]
    """
    numbers = notes(document)
    lines = [f"# {_escaped(document.title)}", "", _escaped(document.subtitle), ""]
    if document.lead:
        lines += [_text(document.lead, numbers), ""]
    for section in document.sections:
        lines += [f"## {_escaped(section.title)}", ""]
        for block in section.blocks:
            lines += [*_block(block, numbers), ""]
    lines += [_escaped(document.footer), ""]
    lines += [f"[^{number}]: {_escaped(str(note))}" for note, number in numbers.items()]
    return "\n".join(lines).rstrip() + "\n"


def _block(block: Block, numbers: Mapping[Note, int]) -> Sequence[str]:
    match block:
        case Paragraph(text=text):
            return [_text(text, numbers)]
        case Items(items=items):
            return [f"- {_text(item, numbers)}" for item in items]
        case Cards(cards=cards):
            return [f"- **{_text(card.figure, numbers)}** {_escaped(card.caption)}" for card in cards]
        case TextTable(heads=heads, rows=rows, numbers=right):
            rule = ["---:" if i in right else "---" for i in range(len(heads))]
            cells = [_cells(row, block.words, numbers) for row in rows]
            return [_row(row) for row in ([_escaped(head) for head in heads], rule, *cells)]
        case Plot(label=label) | Drawing(label=label):
            return [f"*{_escaped(label)}*"]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(row: Sequence[Text], words: int | None, numbers: Mapping[Note, int]) -> list[str]:
    """A row's footnotes are marked beside its words, so that a number is copied as it is."""
    if words is None:
        return [_text(cell, numbers) for cell in row]
    cells = [_text(cell, {}) for cell in row]
    cells[words] += "".join(f"[^{number}]" for number in (marks(row, numbers) if numbers else []))
    return cells


def _text(text: Text, numbers: Mapping[Note, int]) -> str:
    pieces = text if isinstance(text, tuple) else (text,)
    return "".join(
        _escaped(str(piece))
        + (f"[^{numbers[piece.note]}]" if isinstance(piece, NotedNumber) and numbers else "")
        for piece in pieces
    )


def _escaped(text: str) -> str:
    return plain(" ".join(text.split(" "))).replace("\n", " ").replace("\t", " ").translate(_SPECIAL)
