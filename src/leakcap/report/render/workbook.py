"""A report as an Excel workbook: a summary, and a sheet for each released table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from leakcap.release.results.record import ReleasedRecord
from leakcap.release.results.workbook import Sheet, new_workbook, write_tables
from leakcap.report.render.document import Block, Cards, Document, Drawing, Items, Paragraph, Text, TextTable

__all__ = ["write_workbook"]

_WIDTHS = (48, 22, 22, 22, 22, 22)


def write_workbook(page: Document, releases: Sequence[ReleasedRecord], path: Path) -> None:
    """Write the file; its folder is made if it is not there. Raises `InvalidParameter` without openpyxl.

    The first sheet is the page: title, what is told, caps; without its pictures.
    """
    book = new_workbook()
    sheet = Sheet(book, "Summary", _WIDTHS)
    sheet.add([page.title], bold=True)
    sheet.add([page.subtitle])
    for section in page.sections:
        sheet.add()
        sheet.add([section.title], bold=True)
        for block in section.blocks:
            for row, bold in _rows(block):
                sheet.add(row, bold=bold)
    sheet.add()
    sheet.add([page.footer])
    write_tables(book, releases)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)


def _rows(block: Block) -> Iterator[tuple[list[str], bool]]:
    """Rows of texts, and whether they are heads."""
    match block:
        case Paragraph(text=text):
            yield [_said(text)], False
        case Items(items=items):
            yield from (([f"• {_said(item)}"], False) for item in items)
        case Cards(cards=cards):
            yield from (([card.caption, str(card.figure)], False) for card in cards)
        case TextTable(heads=heads, rows=rows):
            yield list(heads), True
            yield from (([_said(cell) for cell in row], False) for row in rows)
        case Drawing(label=label):
            yield [label], False
        case _:
            pass


def _said(text: Text) -> str:
    return "".join(map(str, text)) if isinstance(text, tuple) else str(text)
