"""A report as an Excel workbook: a summary, and a sheet for each released table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from leakcap.errors import InvalidParameter
from leakcap.plain import counted
from leakcap.release.results.record import ReleasedRecord, figure_held
from leakcap.release.results.workbook import MOST_ROWS, Sheet, new_workbook, sheet_names, write_tables
from leakcap.report.records.tables import WorkloadRecord
from leakcap.report.render.document import Block, Cards, Document, Drawing, Items, Paragraph, Text, TextTable
from leakcap.report.render.margins import table_lines
from leakcap.report.words.margined import name_of

__all__ = ["require_one_sheet", "require_room", "write_book_of", "write_workbook"]

Lines: TypeAlias = Sequence[Sequence[object]]
_WIDTHS = (48, 22, 22, 22, 22, 22)
_MOST_SHEETS = 250
# The name, three notes, an empty row and the heads.
_ABOVE = 6


def write_workbook(
    page: Document, releases: Sequence[ReleasedRecord], path: Path, workloads: Sequence[WorkloadRecord] = ()
) -> None:
    """Write the file; its folder is made if it is not there. Raises `InvalidParameter` without openpyxl, and
    for more tables than it has room for.

    The first sheet is the page: title, what is told, caps; without its pictures. Each answer has a sheet, and
    each table and margin of a workload.
    """
    for workload in workloads:
        require_room([len(table.cells) for table in workload.every])
    book = new_workbook()
    _summarise(book, page)
    write_tables(book, releases)
    tables = [(one, table) for one in workloads for table in one.every]
    taken = sheet_names([one.name for one in releases])
    several = len(workloads) > 1
    called = [f"{one.name}, " * several + name_of(table) for one, table in tables]
    named = sheet_names([*taken, *called])[len(taken) :]
    for (workload, table), name in zip(tables, named, strict=True):
        _add_lines(book, name, workload.name, list(_notes(workload)), table_lines(workload, table))
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)


def write_book_of(page: Document, name: str, notes: Sequence[str], lines: Lines, path: Path) -> None:
    """Write a workbook of the page and one sheet of these lines, the first of which are the heads; its folder
    is made if it is not there. Raises `InvalidParameter` without openpyxl."""
    book = new_workbook()
    _summarise(book, page)
    _add_lines(book, sheet_names(["Summary", name])[1], name, notes, lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)


def _add_lines(book: Any, name: str, title: str, notes: Sequence[str], lines: Lines) -> None:
    """A sheet: its title, what holds for all of it, and a table."""
    heads, *rest = lines
    sheet = Sheet(book, name, [max(14, len(str(head)) + 2) for head in heads])
    sheet.freeze(len(notes) + 4)
    sheet.add([title], bold=True)
    for note in notes:
        sheet.add([note])
    sheet.add()
    sheet.add(heads, bold=True)
    for line in rest:
        sheet.add(line)


def require_room(cells: Sequence[int]) -> None:
    """Refuse tables with so many `cells` that a workbook has no room for: before anything is paid."""
    most = MOST_ROWS - _ABOVE
    rule = f"tables with at most {most:,} cells, and at most {_MOST_SHEETS} of them, margins included"
    if len(cells) > _MOST_SHEETS or max(cells, default=0) > most:
        raise InvalidParameter(
            f"A workbook has room for {rule}. Got {counted(len(cells), 'table')}, the largest with "
            f"{counted(max(cells, default=0), 'cell')}. Take --csv. Nothing was spent or written."
        )


def require_one_sheet(lines: int) -> None:
    """Refuse so many lines that one sheet has no room for: before anything is paid."""
    most = MOST_ROWS - _ABOVE
    if lines > most:
        raise InvalidParameter(
            f"A sheet has room for {most:,} lines. This answer has {lines:,}. Take --csv. Nothing was spent "
            "or written."
        )


def _notes(workload: WorkloadRecord) -> Iterator[str]:
    """What stands above the cells of each of its tables."""
    rho = "no bound" if workload.rho is None else f"{workload.rho:g}"
    asked = f"{workload.query}. " if workload.query else ""
    yield f"{asked}Discrete Gaussian noise, ρ = {rho} for all tables of this name."
    yield (
        "The columns lower and upper are the ends of 95 % intervals, of each cell by itself, for the figure "
        f"that {figure_held(workload.covers)}."
    )
    if workload.about:
        yield workload.about


def _summarise(book: Any, page: Document) -> None:
    """The first sheet."""
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
