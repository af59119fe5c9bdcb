"""A question about a group on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.records.disclosure_groups import DisclosureGroupRecord
from leakcap.report.terminal.plain_tables import plain_table
from leakcap.report.words.disclosure_groups import (
    GROUP_HEADS,
    group_assumptions,
    group_conclusions,
    group_figures,
    group_rows,
)

__all__ = ["print_group"]

_SOFT = "dim"


def print_group(console: Console, record: DisclosureGroupRecord, *, real: bool = False) -> None:
    """What is told of the secrets, and what follows; of real counts that they are secret."""
    console.print()
    console.print(Text(plain(record.title or record.method), style="bold"))
    console.print(
        Text(f"What cells and margins together tell about a group: {plain(record.method)}", style=_SOFT)
    )
    console.print()
    figures = plain_table("", "")
    for name, value in group_figures(record):
        figures.add_row(Text(name), Text(value))
    console.print(figures)
    console.print()
    table = plain_table(*(GROUP_HEADS[place] for place in (0, 2, 3, 4)))
    for row in group_rows(record):
        table.add_row(*(Text(plain(row[place])) for place in (0, 2, 3, 4)))
    console.print(table)
    console.print()
    for line in group_conclusions(record):
        console.print(Text(plain(line)))
    console.print()
    for line in group_assumptions(record):
        console.print(Text(plain(line), style=_SOFT))
    if real:
        console.print()
        console.print(
            Text("These are real counts: what stands here is as secret as they are. Nothing was recorded.")
        )
