"""Tables that share one budget as CSV: every digit, and nothing that a spreadsheet would run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from leakcap.plain import csv_text
from leakcap.release.numbers.answers import own_heads
from leakcap.release.results.pivot import FLAG, PARTS
from leakcap.release.results.workbook import file_names
from leakcap.report.records.tables import TableRecord, WorkloadRecord
from leakcap.report.words.margined import name_of

__all__ = ["cells_text", "table_lines", "write_cells", "write_each_table"]

_NUMBERS = (*PARTS, "standard_deviation", "asked", "covers")


def write_cells(record: WorkloadRecord, path: Path) -> None:
    """Write the file; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(cells_text(record), encoding="utf-8")


def cells_text(record: WorkloadRecord) -> str:
    """A line for each cell of each table and margin; a column that a table lacks is empty in its lines.

    `flag` is u where the noise is as large as the count. A name of ours that a column of keys
    bears gets an underscore.
    """
    names = list(dict.fromkeys(name for table in record.tables for name in table.columns))
    # A key of a column that is added up stands for all from the first one on: which those are is in every
    # line.
    heads = (*_NUMBERS, *(["up_to"] if record.cumulative else []))
    lines: list[list[object]] = [[*names, *own_heads(names, heads)]]
    for table in record.every:
        added = [", ".join(table.up_to)] if record.cumulative else []
        lines.extend([*line, *added] for line in _lines(record, table, names))
    return csv_text(lines)


def write_each_table(record: WorkloadRecord, folder: Path) -> None:
    """Write a file for each table and margin, named after its columns, into this folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for table, name in zip(record.every, file_names([name_of(table) for table in record.every]), strict=True):
        (folder / f"{name}.csv").write_text(csv_text(table_lines(record, table)), encoding="utf-8")


def table_lines(record: WorkloadRecord, table: TableRecord) -> list[list[object]]:
    """The heads and a line for each cell of one table: keys, value, interval, flag, what holds for all."""
    return [
        [*table.columns, *own_heads(table.columns, _NUMBERS)],
        *_lines(record, table, table.columns),
    ]


def _lines(record: WorkloadRecord, table: TableRecord, names: Sequence[str]) -> Iterator[list[object]]:
    for cell in table.cells:
        keys = dict(zip(table.columns, cell.keys, strict=True))
        flag = FLAG if cell.drowned else ""
        numbers = [cell.value, cell.lower, cell.upper, flag, table.standard_deviation]
        yield [*(keys.get(name, "") for name in names), *numbers, table.asked, record.covers]
