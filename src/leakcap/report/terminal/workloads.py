"""Tables that share one budget, on the terminal (Rich): their cells, and what they cost together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.plain import counted, plain
from leakcap.release.results.pivot import FLAG
from leakcap.release.results.record import figure_held
from leakcap.report.words.margined import asked_words, table_name
from leakcap.report.words.publication import estimated, off_by
from leakcap.report.words.wording import sum_text

if TYPE_CHECKING:
    from leakcap.report.records.planned_tables import PlannedWorkloadRecord
    from leakcap.report.records.tables import TableRecord, WorkloadRecord

__all__ = ["print_planned_workload", "print_workload"]

_ACCENT, _SOFT, _MOST = "cyan", "dim", 60


def print_workload(console: Console, record: WorkloadRecord) -> None:
    """The tables that were asked for, and what holds for all of them."""
    for table in record.every:
        if table.asked:
            _print_table(console, table)
    margins = sum(not table.asked for table in record.tables)
    beside = f"; {counted(margins, 'margin')} more in --json and --csv" if margins else ""
    price = "" if record.rho is None else f"ρ = {sum_text(record.rho)} for all of them. "
    console.print(
        Text(
            f"{price}Intervals: 95 %, of each cell by itself. "
            f"All tables agree{beside}. "
            f"The error of a {asked_words(record)} is {sum_text(record.root_mean_square, 3)} "
            "(root mean square).",
            style=_SOFT,
        )
    )
    drowned = sum(cell.drowned for table in record.tables if table.asked for cell in table.cells)
    if drowned:
        told = f"{FLAG}: unreliable, because the noise is as large as the count: {counted(drowned, 'cell')}."
        console.print(Text(told, style=_SOFT))
    held = f"The intervals hold the figure that {figure_held(record.covers)}. "
    told = f"{'' if record.covers == 'table' else held}{record.about}"
    if told:
        console.print(Text(plain(told), style=_SOFT))


def print_planned_workload(console: Console, planned: PlannedWorkloadRecord) -> None:
    """The error of each table that is asked for, and the price of all of them, before anything is spent."""
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    shown.add_column(Text(plain(planned.name)))
    shown.add_column("cells", justify="right")
    shown.add_column("95 % error", justify="right")
    asked = [table for table in planned.tables if table.asked]
    for table in asked[:_MOST]:
        error = Text(off_by(table.error_95), style="bold " + _ACCENT)
        shown.add_row(Text(plain(table_name(table.columns))), f"{table.cells:,}", error)
    console.print()
    console.print(shown)
    if len(asked) > _MOST:
        console.print(Text(f"… and {len(asked) - _MOST:,} more tables, in --json.", style=_SOFT))
    price = "no bound" if planned.rho is None else sum_text(planned.rho)
    told = f"ρ = {price} for all of them and their margins, which add up. {planned.about}".strip()
    console.print(Text(plain(told), style=_SOFT))


def _print_table(console: Console, table: TableRecord) -> None:
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for column in table.columns or ("total",):
        shown.add_column(Text(plain(f"{column}, up to" if column in table.up_to else column)))
    shown.add_column("count", justify="right")
    shown.add_column("interval", justify="right")
    for cell in table.cells[:_MOST]:
        keys = [Text(plain(str(key))) for key in cell.keys] or [Text("all")]
        value, interval = estimated(cell.value, (cell.lower, cell.upper))
        count = Text(f"{value} {FLAG}", style=_SOFT) if cell.drowned else Text(value, style="bold " + _ACCENT)
        shown.add_row(*keys, count, interval)
    console.print()
    console.print(shown)
    if len(table.cells) > _MOST:
        console.print(
            Text(f"… and {len(table.cells) - _MOST:,} more cells, in --json and --csv.", style=_SOFT)
        )
