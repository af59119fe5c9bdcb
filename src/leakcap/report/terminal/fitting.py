"""A fitted model for people: coefficients, intervals, the guarantee by order, what everything tells."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.ledger import Balance
from leakcap.models.summary import Summary
from leakcap.plain import plain
from leakcap.report.terminal.spending import balances_table
from leakcap.report.terminal.tables import print_statement
from leakcap.report.words.publication import number
from leakcap.statement import Statement

__all__ = ["fit_json", "print_fit", "print_lecture"]

_ACCENT, _SOFT = "cyan", "dim"


def print_fit(console: Console, fit: Summary, total: Statement, balances: list[Balance]) -> None:
    """Coefficients, guarantee, statement, budget."""
    console.print()
    console.print(Text(fit.title, style="bold"))
    table = _table("", "value", "interval")
    for one in fit.coefficients:
        table.add_row(
            Text(plain(one.name)), Text(number(one.value), style="bold " + _ACCENT), _ends(one.interval)
        )
    console.print(table)
    console.print(Text(f"Intervals: {fit.intervals}. Noise: {fit.noise}.", style=_SOFT))
    console.print()
    console.print(_orders(fit))
    if fit.asked is not None:
        epsilon, delta = fit.asked
        said = "no bound is known" if math.isinf(epsilon) else f"ε = {epsilon:.6g}"
        console.print(f"At δ = {delta:g}: {said}.")
    if fit.repeated:
        console.print("\nRepeated from the ledger, for free. --fresh pays for new noise.")
    console.print()
    print_statement(console, total, balances, every="--json")
    console.print()
    console.print(balances_table(tuple(balances)))


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


def fit_json(fit: Summary) -> dict[str, object]:
    """The summary as JSON; ∞ is null."""
    return {
        "model": fit.title,
        "coefficients": [
            {
                "name": one.name,
                "value": one.value,
                "interval": None if one.interval is None else [_finite(end) for end in one.interval],
            }
            for one in fit.coefficients
        ],
        "intervals": fit.intervals,
        "noise": fit.noise,
        "guarantee": [
            {"alpha": o.alpha, "renyi": _finite(o.renyi), "level": _finite(o.level)} for o in fit.orders
        ],
        "asked": None if fit.asked is None else {"epsilon": _finite(fit.asked[0]), "delta": fit.asked[1]},
        "price": {
            "epsilon": fit.spend.epsilon,
            "delta": fit.spend.delta,
            "nats_person": _finite(fit.spend.nats_person),
            "nats_table": _finite(fit.spend.nats_table),
            "rho": _finite(fit.spend.rho),
        },
        "entry": fit.entry,
        "repeated": fit.repeated,
    }


def _orders(fit: Summary) -> Table:
    table = _table("order α", "Rényi divergence, nats", "Sibson capacity, nats")
    for order in fit.orders:
        table.add_row(f"{order.alpha:g}", _nats(order.renyi), _nats(order.level))
    return table


def _nats(value: float) -> str:
    return "no bound" if math.isinf(value) else f"{value:.6g}"


def _ends(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return "unknown"
    if math.isinf(interval[1] - interval[0]):
        return "anything: the noise hides it"
    return f"{number(interval[0])} to {number(interval[1])}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for place, title in enumerate(titles):
        table.add_column(title, justify="right" if place else "left")
    return table
