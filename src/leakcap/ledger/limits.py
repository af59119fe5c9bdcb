"""Whether a spend fits under every cap, and the sentence that says why it does not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from leakcap.cards import Shown, bar, card
from leakcap.errors import BudgetExceeded, Passed
from leakcap.ledger.curve import epsilon_proved
from leakcap.ledger.ticks import Ticks, decimal, total, units_left, units_spent

__all__ = ["UNITS", "Balance", "balances", "excess", "refuse", "unallowed_delta"]

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
_COLUMN = 2**63 - 1


@dataclass(frozen=True)
class Balance:
    """One currency's account. `cap` and `left` are None where nothing is capped."""

    name: str
    unit: str
    cap: float | None
    spent: float
    left: float | None


def excess(
    spent: Ticks,
    asked: Ticks,
    caps: Ticks,
    owner: str,
    *,
    analyst: str | None = None,
    period: str | None = None,
    group: str | None = None,
) -> list[tuple[Passed, str]]:
    """Each cap that would be passed, and a sentence that says so. The account is that of `owner`, an analyst,
    a period or a group of analysts among them.

    >>> tenth = Ticks(100_000_000_000, 0, 0, 0)
    >>> caps = Ticks(150_000_000_000, None, None, None)
    >>> (passed, sentence), = excess(tenth, tenth, caps, "dataset `patients`")
    >>> passed.cap, passed.limit, passed.left, passed.asked, passed.group
    ('epsilon', 0.15, 0.05, 0.1, None)
    >>> sentence
    '`epsilon` cap of dataset `patients` would be exceeded: 0.05 left of 0.15, 0.1 asked.'
    """
    before, after = _read_off(spent, caps), _read_off(total([spent, asked]), caps)
    found = []
    for name, was, ask, cap, sum_ in zip(
        UNITS, before.numbers, asked.numbers, caps.numbers, after.numbers, strict=True
    ):
        if _passes(sum_, cap):
            more = sum_ - was if name == "epsilon" and sum_ is not None and was is not None else ask
            together = " (all answers together)" if name == "epsilon" and caps.curve else ""
            sentence = _sentence(name, was, more, cap, owner, together)
            found.append((replace(_passed(name, was, more, cap, analyst, period), group=group), sentence))
    return found


def unallowed_delta(
    asked: Ticks,
    caps: Ticks,
    owner: str,
    *,
    analyst: str | None = None,
    period: str | None = None,
    group: str | None = None,
) -> list[tuple[Passed, str]]:
    """A δ that is asked under a cap on ε beside which there is none: the cap promises ε alone.

    >>> (_, sentence), = unallowed_delta(Ticks(0, 10**6, 0, 0), Ticks(10**12, None, None, None), "us")
    >>> sentence
    'The caps of us have an `epsilon` and no `delta`, so that no answer may have a δ: one of 0.000001 is ...'
    """
    if caps.epsilon is None or caps.delta is not None or asked.delta == 0:
        return []
    wish = "without a bound" if asked.delta is None else f"of {decimal(asked.delta)}"
    told = (
        f"The caps of {owner} have an `epsilon` and no `delta`, so that no answer may have a δ: one {wish} "
        "is asked."
    )
    return [(replace(_passed("delta", 0, asked.delta, 0, analyst, period), group=group), told)]


def refuse(found: Sequence[tuple[Passed, str]], own: Sequence[tuple[Passed, str]] = ()) -> None:
    """Raise `BudgetExceeded` if any cap would be passed; `own` are those that people set themselves.

    >>> refuse([])
    """
    if found or own:
        text = " ".join(sentence for _, sentence in (*found, *own))
        may = " The data's owner may raise a cap: `leakcap ledger amend`." if found else ""
        set_ = " What people set themselves nobody may raise." if own else ""
        # Where no δ is allowed a smaller one is refused too.
        none = found and not own and all(one.cap == "delta" and one.limit == 0.0 for one, _ in found)
        less = "Ask without a δ." if none else "Ask for less."
        raise BudgetExceeded(
            f"{text} Nothing was spent. {less}{may}{set_}",
            passed=[passed for passed, _ in (*found, *own)],
        )


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


def balances(spent: Ticks, caps: Ticks, alpha: float | None = None) -> list[Balance]:
    """Every currency's account; level, ρ and number of queries only where they are capped.

    >>> balances(Ticks(100_000_000_000, 0, 0, None), Ticks(900_000_000_000, *[None] * 6))[0]
    Balance(name='epsilon', unit='nats of log-odds', cap=0.9, spent=0.1, left=0.8)
    """
    return Balances(
        Balance(
            name=name,
            unit=_unit(name, unit, caps, alpha),
            cap=None if cap is None else _amount(name, cap, units_left),
            spent=math.inf if sum_ is None else _amount(name, sum_, units_spent),
            left=None if cap is None or sum_ is None else _amount(name, max(0, cap - sum_), units_left),
        )
        for (name, unit), sum_, cap in zip(
            UNITS.items(), _read_off(spent, caps).numbers, caps.numbers, strict=True
        )
        if cap is not None or name in _ALWAYS
    )


def _amount(name: str, amount: int, shown: Callable[[int], float]) -> float:
    return float(amount) if name == "queries" else shown(amount)


def _unit(name: str, unit: str, caps: Ticks, alpha: float | None) -> str:
    """The unit as a person reads it; under a cap on all answers together what the two caps are of."""
    if caps.curve and name in ("epsilon", "delta"):
        return f"{unit}, all together" if name == "epsilon" else f"{unit}, of answers"
    return unit.replace("α", f"{alpha:g}") if alpha is not None else unit


def _read_off(spent: Ticks, caps: Ticks) -> Ticks:
    """What is held against the caps: of ε the least that the sums of the curves prove under these caps."""
    return spent._replace(epsilon=epsilon_proved(spent.epsilon, spent.curve, caps.curve))


def _passes(sum_: int | None, cap: int | None) -> bool:
    if sum_ is None:
        return cap is not None
    # Without a cap the column's width is one: a sum that does not fit must not wrap around.
    return sum_ > (_COLUMN if cap is None else cap)


def _passed(
    name: str,
    spent: int | None,
    asked: int | None,
    cap: int | None,
    analyst: str | None,
    period: str | None,
) -> Passed:
    ceiling = _COLUMN if cap is None else cap
    left = 0 if spent is None else max(0, ceiling - spent)
    return Passed(
        name,
        _amount(name, ceiling, units_left),
        _amount(name, left, units_left),
        None if asked is None else _amount(name, asked, units_spent),
        analyst=analyst,
        period=period,
    )


def _sentence(
    name: str, spent: int | None, asked: int | None, cap: int | None, owner: str, together: str
) -> str:
    say = str if name == "queries" else decimal
    ceiling = _COLUMN if cap is None else cap
    left = "nothing" if spent is None else say(max(0, ceiling - spent))
    wish = "and no bound is known for what was asked" if asked is None else f"{say(asked)} asked"
    return f"`{name}` cap of {owner} would be exceeded: {left} left of {say(ceiling)}{together}, {wish}."
