"""Whether a spend fits under every cap, and the sentence that says why it does not."""

from __future__ import annotations

import math

from leakcap.errors import BudgetExceeded
from leakcap.ledger.ticks import Ticks, decimal, total, units
from leakcap.ledger.values import Balance

__all__ = ["UNITS", "balances", "refuse_excess"]

UNITS = {
    "epsilon": "nats of log-odds",
    "delta": "probability",
    "nats_person": "nats about a person",
    "nats_table": "nats about the table",
}
"""Each currency's unit, in the order of `Ticks`."""

_COLUMN = 2**63 - 1


def refuse_excess(spent: Ticks, asked: Ticks, caps: Ticks, dataset: str) -> Ticks:
    """The new totals, or `BudgetExceeded` naming every cap that they would pass.

    >>> tenth = Ticks(100_000_000_000, 0, 0, 0)
    >>> refuse_excess(tenth, tenth, Ticks(150_000_000_000, None, None, None), "patients")
    Traceback (most recent call last):
    leakcap.errors.BudgetExceeded: `epsilon` cap of dataset `patients` would be exceeded: 0.05 left of
    0.15, 0.1 asked. Nothing was spent. Ask for less, or ask the data's owner.
    """
    after = total([spent, asked])
    passed = [
        _sentence(name, before, ask, cap, dataset)
        for name, before, ask, cap, sum_ in zip(UNITS, spent, asked, caps, after, strict=True)
        if _passes(sum_, cap)
    ]
    if passed:
        raise BudgetExceeded(f"{' '.join(passed)} Nothing was spent. Ask for less, or ask the data's owner.")
    return after


def balances(spent: Ticks, caps: Ticks) -> list[Balance]:
    """Every currency's account.

    >>> balances(Ticks(100_000_000_000, 0, 0, None), Ticks(900_000_000_000, None, None, None))[0]
    Balance(name='epsilon', unit='nats of log-odds', cap=0.9, spent=0.1, left=0.8)
    """
    return [
        Balance(
            name=name,
            unit=unit,
            cap=None if cap is None else units(cap),
            spent=math.inf if sum_ is None else units(sum_),
            left=None if cap is None or sum_ is None else units(cap - sum_),
        )
        for (name, unit), sum_, cap in zip(UNITS.items(), spent, caps, strict=True)
    ]


def _passes(sum_: int | None, cap: int | None) -> bool:
    if sum_ is None:
        return cap is not None
    # Without a cap the column's width is one: a sum that does not fit must not wrap around.
    return sum_ > (_COLUMN if cap is None else cap)


def _sentence(name: str, spent: int | None, asked: int | None, cap: int | None, dataset: str) -> str:
    ceiling = _COLUMN if cap is None else cap
    left = "nothing" if spent is None else decimal(ceiling - spent)
    wish = "and no bound is known for what was asked" if asked is None else f"{decimal(asked)} asked"
    return (
        f"`{name}` cap of dataset `{dataset}` would be exceeded: {left} left of {decimal(ceiling)}, {wish}."
    )
