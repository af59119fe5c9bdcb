"""What is spent and left of each cap, as a person reads it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from leakcap.cards import Shown, bar, card
from leakcap.ledger.claims import Certified, Provable, merely_stated
from leakcap.ledger.rules import held_against, in_units
from leakcap.ledger.ticks import Ticks, units_left, units_spent

__all__ = ["UNITS", "Balance", "balance_rows", "balances"]

UNITS = {
    "epsilon": "nats of log-odds",
    "delta": "probability",
    "nats_person": "nats about a person",
    "nats_table": "nats about the table",
    "nats_level": "nats at level α",
    "rho": "ρ of zero-concentrated privacy",
    "queries": "queries",
}
"""Each currency's unit, in the order of `Ticks`."""

_ALWAYS = ("epsilon", "delta", "nats_person", "nats_table")


@dataclass(frozen=True)
class Balance(Provable):
    """One currency's account. `cap` and `left` are None where nothing is capped."""

    name: str
    unit: str
    cap: float | None
    spent: float
    left: float | None
    proved: Certified | None = field(default=None, compare=False, repr=False)
    """What makes its certificate, where a ledger was read."""

    def certificate(self) -> dict[str, Any]:
        """That no more was spent, as it is held against the cap: JSON for `leakcap-verify`.

        The chain up to where it was read is verified when it is asked for. Raises `LedgerError` for one that
        does not hold, is gone, or is too long. It is `stated` where no ledger was read, as of a plan, or
        where rows of a chain do not show whose account a charge was on. Nats are added up as charged.

        >>> Balance("rho", "", 0.5, 0.25, 0.25).certificate()["kind"]
        'stated'
        """
        return merely_stated(self.spent, self.name) if self.proved is None else self.proved()


class Balances(Shown[Balance]):
    """The balances of an account. A notebook shows them in one table."""

    def _repr_html_(self) -> str:
        return card("Budget", balance_rows(self), heads=("", "spent", "left", "", "unit"))


def balance_rows(found: Iterable[Balance]) -> list[tuple[str, ...]]:
    """What a notebook shows of each balance: name, spent, left, a bar, unit."""
    rows: list[tuple[str, ...]] = []
    for b in found:
        if b.cap is None or b.left is None:
            spent = "no bound" if math.isinf(b.spent) else f"{b.spent:.6g}"
            rows.append((b.name, spent, "not capped", "", b.unit))
        else:
            share = b.spent / b.cap if b.cap else float(b.spent > 0)
            rows.append((b.name, f"{b.spent:.12g}", f"{b.left:.12g}", bar(share), b.unit))
    return rows


def balances(
    spent: Ticks,
    caps: Ticks,
    alpha: float | None = None,
    proved: Callable[[str, float], dict[str, Any]] | None = None,
) -> list[Balance]:
    """Every currency's account; level, ρ and number of queries only where they are capped. `proved` makes the
    certificate of so much spent in a currency.

    >>> balances(Ticks(100_000_000_000, 0, 0, None), Ticks(900_000_000_000, *[None] * 6))[0]
    Balance(name='epsilon', unit='nats of log-odds', cap=0.9, spent=0.1, left=0.8)
    """
    amounts = zip(UNITS.items(), held_against(spent, caps).numbers, caps.numbers, strict=True)
    return Balances(
        _balance(name, _unit(name, unit, caps, alpha), sum_, cap, proved)
        for (name, unit), sum_, cap in amounts
        if cap is not None or name in _ALWAYS
    )


def _balance(
    name: str,
    unit: str,
    sum_: int | None,
    cap: int | None,
    proved: Callable[[str, float], dict[str, Any]] | None,
) -> Balance:
    spent = math.inf if sum_ is None else in_units(name, sum_, units_spent)
    return Balance(
        name=name,
        unit=unit,
        cap=None if cap is None else in_units(name, cap, units_left),
        spent=spent,
        left=None if cap is None or sum_ is None else in_units(name, max(0, cap - sum_), units_left),
        proved=None if proved is None else partial(proved, name, spent),
    )


def _unit(name: str, unit: str, caps: Ticks, alpha: float | None) -> str:
    """The unit as a person reads it; under a cap on all answers together what the two caps are of."""
    if caps.curve and name in ("epsilon", "delta"):
        return f"{unit}, all together" if name == "epsilon" else f"{unit}, of answers"
    return unit.replace("α", f"{alpha:g}") if alpha is not None else unit
