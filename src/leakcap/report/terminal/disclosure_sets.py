"""A whole set of tables on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.records.disclosure_sets import TableSetRecord
from leakcap.report.terminal.plain_tables import plain_table
from leakcap.report.words.disclosure_sets import SET_HEADS, set_assumptions, set_conclusions, set_rows

__all__ = ["print_table_set"]

_SOFT = "dim"
_SHOWN = (0, 2, 3, 4)


def print_table_set(console: Console, record: TableSetRecord, *, real: bool = False) -> None:
    """What is told of each place, the worst first, and what follows; of real counts that they are secret."""
    console.print()
    console.print(Text(plain(record.title or record.method), style="bold"))
    console.print(
        Text(f"What all tables together tell about one person: {plain(record.method)}", style=_SOFT)
    )
    console.print()
    table = plain_table(*(SET_HEADS[place] for place in _SHOWN))
    for place, row in enumerate(set_rows(record)):
        table.add_row(*(Text(plain(row[one]), style="" if place else "bold cyan") for one in _SHOWN))
    console.print(table)
    console.print()
    for line in set_conclusions(record):
        console.print(Text(plain(line)))
    console.print()
    for line in set_assumptions(record):
        console.print(Text(plain(line), style=_SOFT))
    if real:
        console.print()
        console.print(
            Text("These are real counts: what stands here is as secret as they are. Nothing was recorded.")
        )
