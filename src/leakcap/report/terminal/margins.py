"""Tables that share one budget, on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.plain import counted, plain
from leakcap.release.results.pivot import FLAG
from leakcap.release.results.record import figure_held
from leakcap.report.records.tables import TableRecord, TablesRecord
from leakcap.report.records.versions import same_as_line
from leakcap.report.terminal.spending import caps_table
from leakcap.report.terminal.tables import print_statement
from leakcap.report.words.promises import protects
from leakcap.report.words.publication import estimated
from leakcap.report.words.wording import sum_text
from leakcap.statement.restated import restated

__all__ = ["print_tables"]

_ACCENT, _SOFT, _MOST = "cyan", "dim", 60


def print_tables(console: Console, record: TablesRecord) -> None:
    """The tables that were asked for, what they cost and tell, and what is left."""
    console.print()
    named = record.publication
    console.print(
        Text(plain(record.name if named is None else f"{named.title}: {record.name}"), style="bold")
    )
    if named is not None:
        told = ". ".join(part for part in (record.dataset, named.line) if part)
        console.print(Text(plain(told), style=_SOFT))
    if record.policy is not None:
        console.print(Text(plain(protects(record.policy)), style=_SOFT))
    for table in record.tables:
        if table.asked:
            _print_table(console, table)
    margins = sum(not table.asked for table in record.tables)
    beside = f"; {counted(margins, 'margin')} more in --json and --csv" if margins else ""
    price = "" if record.rho is None else f"ρ = {sum_text(record.rho)} for all of them. "
    console.print(
        Text(
            f"{price}Intervals: 95 %, of each cell by itself. "
            f"All tables agree{beside}. "
            f"The error of a cell is {sum_text(record.root_mean_square, 3)} (root mean square).",
            style=_SOFT,
        )
    )
    drowned = sum(cell.drowned for table in record.tables if table.asked for cell in table.cells)
    if drowned:
        told = f"{FLAG}: unreliable, because the noise is as large as the count: {counted(drowned, 'cell')}."
        console.print(Text(told, style=_SOFT))
    if record.covers != "table":
        told = f"The intervals hold the figure that {figure_held(record.covers)}. {record.about}"
        console.print(Text(plain(told), style=_SOFT))
    if record.repeated:
        console.print("\nRepeated from the ledger, for free. --fresh pays for new noise.")
    console.print()
    print_statement(console, restated(record.so_far), record.caps, every="--json")
    console.print()
    console.print(caps_table(record.caps))
    if record.same_as is not None:
        console.print(Text(plain(same_as_line(record.same_as, record.source)), style=_SOFT))


def _print_table(console: Console, table: TableRecord) -> None:
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for column in table.columns or ("total",):
        shown.add_column(Text(plain(column)))
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
