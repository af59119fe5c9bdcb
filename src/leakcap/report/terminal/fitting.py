"""A fitted model for people: coefficients, intervals, the guarantee by order, what everything tells."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.records import CapRecord, FittedRecord
from leakcap.report.terminal.spending import caps_table
from leakcap.report.terminal.tables import print_statement
from leakcap.report.words.publication import estimated
from leakcap.statement.record import StatementRecord
from leakcap.statement.restated import restated

__all__ = ["print_fit", "print_lecture"]

_ACCENT, _SOFT = "cyan", "dim"


def print_fit(console: Console, fit: FittedRecord, total: StatementRecord, caps: Sequence[CapRecord]) -> None:
    """Coefficients, guarantee, statement, budget."""
    console.print()
    console.print(Text(fit.model, style="bold"))
    table = _table("", "value", "interval")
    for one in fit.coefficients:
        value, interval = estimated(one.value, one.interval)
        table.add_row(Text(plain(one.name)), Text(value, style="bold " + _ACCENT), interval)
    console.print(table)
    console.print(Text(f"Intervals: {fit.intervals}. Noise: {fit.noise}.", style=_SOFT))
    console.print()
    console.print(_orders(fit))
    if fit.asked is not None:
        epsilon = fit.asked.epsilon
        said = "no bound is known" if epsilon is None else f"ε = {epsilon:.6g}"
        console.print(f"At δ = {fit.asked.delta:g}: {said}.")
    if fit.repeated:
        console.print("\nRepeated from the ledger, for free. --fresh pays for new noise.")
    console.print()
    print_statement(console, restated(total), caps, every="--json")
    console.print()
    console.print(caps_table(caps))


def print_lecture(console: Console, facts: dict[str, float]) -> None:
    """The demonstration that the lecture's bound is wrong."""
    console.print("[bold]A demonstration, not a release.[/bold] Nothing was read and nothing was spent.")
    console.print(
        f"On two tables of {facts['rows']:g} rows that differ in one, the least-squares minimiser moves by "
        f"{facts['moved']:g}. The lecture's bound says {facts['bound']:.6g}: noise of that scale tells the "
        "tables apart with certainty at ε = 1. With a ridge of 0.1 the right bound is "
        f"{facts['ridge_bound']:.6g}, and the minimiser moves by {facts['ridge_moved']:.6g}.",
        soft_wrap=True,
    )
    console.print("Take kind `linear` (noisy second moments) or `ridge` (output perturbation).")


def _orders(fit: FittedRecord) -> Table:
    table = _table("order α", "Rényi divergence, nats", "Sibson capacity, nats")
    for order in fit.guarantee:
        table.add_row(f"{order.alpha:g}", _nats(order.renyi), _nats(order.level))
    return table


def _nats(value: float | None) -> str:
    return "no bound" if value is None else f"{value:.6g}"


def _table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for place, title in enumerate(titles):
        table.add_column(title, justify="right" if place else "left")
    return table
