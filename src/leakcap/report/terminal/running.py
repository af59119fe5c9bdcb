"""A running count on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.plain import counted, plain
from leakcap.release.results.record import figure_held
from leakcap.report.records.running import RunningRecord, SeriesRecord
from leakcap.report.terminal.certified import print_certificate
from leakcap.report.terminal.spending import caps_table
from leakcap.report.terminal.tables import print_statement
from leakcap.report.terminal.titles import print_title
from leakcap.report.words.promises import protects
from leakcap.report.words.publication import estimated
from leakcap.report.words.wording import sum_text
from leakcap.statement.restated import restated

__all__ = ["print_running"]

_ACCENT, _SOFT, _MOST = "cyan", "dim", 31


def print_running(console: Console, record: RunningRecord) -> None:
    """Counts and totals of the periods so far, what the stream costs and tells, and what is left."""
    console.print()
    print_title(console, record.dataset, record.publication, record.name)
    console.print(Text(plain(protects(record.policy)), style=_SOFT))
    for series in record.series:
        _print_series(console, record, series)
    answered = len(record.series[0].steps)
    price = "" if record.rho is None else f"ρ = {sum_text(record.rho)} for all {record.horizon}, paid once. "
    told = (
        f"{counted(answered, 'period')} of {record.horizon}: {record.new} answered now, "
        f"{answered - record.new} repeated for free. {price}Intervals: 95 %, of each number by itself. "
        f"The last total will err by {sum_text(record.worst_deviation, 3)} (standard deviation)."
    )
    console.print()
    for words in (told, record.of_time):
        console.print(Text(plain(words), style=_SOFT))
    if record.covers != "table":
        told = f"The intervals hold the figure that {figure_held(record.covers)}. {record.about}"
        console.print(Text(plain(told), style=_SOFT))
    console.print()
    print_statement(console, restated(record.so_far), record.caps, every="--json")
    console.print()
    console.print(caps_table(record.caps))
    print_certificate(console, record.certificate)


def _print_series(console: Console, record: RunningRecord, series: SeriesRecord) -> None:
    console.print()
    if series.keys:
        keys = ", ".join(f"{name} {key}" for name, key in zip(record.by, series.keys, strict=True))
        console.print(Text(plain(keys), style="bold"))
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    shown.add_column(Text(plain(record.period)))
    for title in ("count", "interval", f"since {record.first}", "interval"):
        shown.add_column(Text(plain(title)), justify="right")
    for step in series.steps[-_MOST:]:
        count, of_count = estimated(step.count, (step.lower, step.upper))
        total, of_total = estimated(step.total, (step.total_lower, step.total_upper))
        bold = "bold " + _ACCENT
        shown.add_row(
            plain(step.period), Text(count, style=bold), of_count, Text(total, style=bold), of_total
        )
    console.print(shown)
    if len(series.steps) > _MOST:
        console.print(Text(f"… and {len(series.steps) - _MOST:,} periods before, in --json.", style=_SOFT))
