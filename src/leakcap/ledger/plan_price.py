"""What a plan is charged: all its slots composed, and computed a second time by an auditor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from leakcap.ledger.curve import curve_ticks, rho_beside_delta
from leakcap.ledger.slots import Slot, SlotPlan
from leakcap.ledger.ticks import LARGEST, TICKS_PER_UNIT, Curve, Ticks, spend_ticks, units
from leakcap.numeric import float_up, up

if TYPE_CHECKING:
    from leakcap.accounting import PrivacyLoss

__all__ = ["charge_of", "proven"]

# The last digits of the accountant's ε differ between processors, so it is rounded up to eight decimals.
_ROUNDED = TICKS_PER_UNIT // 10**8


def charge_of(plan: SlotPlan, alpha: float | None) -> Ticks:
    """What the whole plan is charged, in a ledger whose level is `alpha`: all slots composed.

    >>> from leakcap.ledger.ticks import decimal
    >>> year = SlotPlan("year", (Slot("monthly", 12, 0.2),), delta=1e-6)
    >>> decimal(charge_of(year, None).epsilon), decimal(charge_of(year, None).delta)
    ('2.3986893', '0.000001')
    """
    added = _added(plan, alpha)
    loss = _together(plan) if plan.delta else None
    together = math.inf if loss is None else loss.epsilon_both(_inner_delta(plan)).upper
    if together > LARGEST:
        return added  # beyond what a ledger counts
    # The last tick is for discrete noise, which is a function of Gaussian noise up to a negligible δ.
    rounded = -(-(math.ceil(Fraction(together) * TICKS_PER_UNIT) + 1) // _ROUNDED) * _ROUNDED
    if added.epsilon is not None and rounded >= added.epsilon:
        return added
    return _with_delta(plan, added, rounded)


def _with_delta(plan: SlotPlan, added: Ticks, epsilon: int) -> Ticks:
    """The charge at this ε and the plan's δ. Apart from that δ no odds pass e^ε, which bounds the curve."""
    curve: Curve = tuple(None if one is None else min(one, epsilon) for one in added.curve)
    rho = None if added.rho is None else Fraction(added.rho, TICKS_PER_UNIT)
    if rho is not None and any(one.descent is not None for one in plan.slots):
        nats = tuple(math.inf if one is None else float_up(Fraction(one, TICKS_PER_UNIT)) for one in curve)
        rho = rho_beside_delta(nats, rho, up(units(epsilon)))
    ticks = None if rho is None else math.ceil(rho * TICKS_PER_UNIT)
    return added._replace(epsilon=epsilon, delta=spend_ticks(plan.delta), rho=ticks, curve=curve)


def proven(plan: SlotPlan, alpha: float | None, charged: Ticks) -> bool:
    """Whether what a plan was charged covers it, computed a second time.

    >>> year = SlotPlan("year", (Slot("monthly", 12, 0.2),), delta=1e-6)
    >>> whole = charge_of(year, None)
    >>> proven(year, None, whole), proven(year, None, whole._replace(epsilon=2 * 10**12))
    (True, False)
    """
    least = _added(plan, alpha)
    if charged.delta:
        if charged.epsilon is None or charged.delta < (spend_ticks(plan.delta) or 0):
            return False
        # A tick less, for discrete noise; another processor may differ in the last digits.
        stated = units(charged.epsilon - 1) * (1 + 1e-9)
        if not _together(plan).keeps(stated, _inner_delta(plan)):
            return False
        least = _with_delta(plan, least, charged.epsilon)
    pairs = [*zip(charged.numbers, least.numbers, strict=True)]
    return len(charged.curve) == len(least.curve) and all(
        found is None or (needed is not None and found >= needed - 1 - needed // 10**9)
        for found, needed in [*pairs, *zip(charged.curve, least.curve, strict=True)]
    )


def _added(plan: SlotPlan, alpha: float | None) -> Ticks:
    """Everything added up."""

    counts = [one.count for one in plan.slots]

    def times(each: Sequence[int | None]) -> int | None:
        known = [number * t for number, t in zip(counts, each, strict=True) if t is not None]
        return sum(known) if len(known) == len(counts) else None

    def sum_of(nats: Callable[[Slot], float]) -> int | None:
        found = times([spend_ticks(nats(one)) for one in plan.slots])
        # A sum beyond what a ledger counts is no bound.
        return found if found is None or found <= LARGEST * TICKS_PER_UNIT else None

    nearly = int(any(one.law.nearly for one in plan.slots))
    columns = map(times, zip(*(curve_ticks(one.law.curve) for one in plan.slots), strict=True))
    return Ticks(
        sum_of(lambda one: one.law.epsilon),
        0,
        sum_of(lambda one: one.law.person),
        sum_of(lambda one: one.nats_table),
        None if alpha is None else sum_of(lambda one: one.law.level(alpha)),
        sum_of(lambda one: one.law.rho),
        0,
        tuple(None if one is None else one + nearly for one in columns),
    )


def _together(plan: SlotPlan) -> PrivacyLoss:
    """All slots' answers, composed."""
    from leakcap.accounting import PrivacyLoss

    counts: dict[PrivacyLoss, int] = {}
    for one in plan.slots:
        loss = one.law.loss
        counts[loss] = counts.get(loss, 0) + one.count
    return PrivacyLoss.of(counts)


def _inner_delta(plan: SlotPlan) -> float:
    """The plan's δ, less the tick that discrete noise may take of it."""
    nearly = any(one.law.nearly for one in plan.slots)
    return plan.delta - 1 / TICKS_PER_UNIT if nearly else plan.delta
