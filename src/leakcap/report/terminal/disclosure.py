"""An office's method on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.records.disclosure import DisclosureRecord
from leakcap.report.terminal.plain_tables import plain_table
from leakcap.report.words.disclosure import HEADS, KNOWN, conclusions, disclosure_rows

__all__ = ["print_disclosure"]

_SOFT, _MOST = "dim", 24


def print_disclosure(console: Console, record: DisclosureRecord) -> None:
    """What each kind of cell tells, the worst first, noise of the same error, and what follows."""
    console.print()
    console.print(Text(plain(record.title or record.method), style="bold"))
    console.print(
        Text(f"What one published cell tells about one person: {plain(record.method)}", style=_SOFT)
    )
    console.print()
    table = plain_table(*HEADS)
    rows = disclosure_rows(record)
    cells = len(record.cells)
    for place, row in enumerate(rows):
        if place < _MOST or place >= cells:
            style = "bold cyan" if place == 0 else _SOFT if place >= cells else ""
            table.add_row(*(Text(plain(one), style=style) for one in row))
    console.print(table)
    less = record.further + max(0, cells - _MOST)
    if less:
        console.print(Text(f"{less:,} further kinds of cells tell less than the last of these.", style=_SOFT))
    console.print()
    for line in conclusions(record):
        console.print(Text(plain(line)))
    console.print()
    for line in KNOWN:
        console.print(Text(plain(line), style=_SOFT))
