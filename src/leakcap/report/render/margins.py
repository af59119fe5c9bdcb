"""Tables that share one budget as CSV: every digit, and nothing that a spreadsheet would run."""

from __future__ import annotations

from pathlib import Path

from leakcap.plain import csv_text
from leakcap.release.numbers.answers import own_heads
from leakcap.release.results.pivot import FLAG, PARTS
from leakcap.report.records.tables import TablesRecord

__all__ = ["cells_text", "write_cells"]

_NUMBERS = (*PARTS, "standard_deviation", "asked", "covers")


def write_cells(record: TablesRecord, path: Path) -> None:
    """Write the file; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(cells_text(record), encoding="utf-8")


def cells_text(record: TablesRecord) -> str:
    """A line for each cell of each table and margin; a column that a table lacks is empty in its lines.

    `flag` is u where the noise is as large as the count. A name of ours that a column of keys
    bears gets an underscore.
    """
    names = list(dict.fromkeys(name for table in record.tables for name in table.columns))
    lines: list[list[object]] = [[*names, *own_heads(names, _NUMBERS)]]
    for table in record.tables:
        for cell in table.cells:
            keys = dict(zip(table.columns, cell.keys, strict=True))
            said = [keys.get(name, "") for name in names]
            flag = FLAG if cell.drowned else ""
            numbers = [cell.value, cell.lower, cell.upper, flag, table.standard_deviation]
            lines.append([*said, *numbers, table.asked, record.covers])
    return csv_text(lines)
