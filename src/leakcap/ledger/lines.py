"""Which charges `leakcap_verify` computes from their events, and the lines along which it sums their δ.

An ε that holds but for a δ is computed there from the divergence at one of the ledger's orders, or by the
trapezoid rule along a line in either direction; `witness` says how that is summed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from leakcap.certificate import exactly
from leakcap.errors import LeakcapError
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.foreign_events import loss_in
from leakcap.ledger.measured import guarantee, laplace_distance, priced_by_checker
from leakcap.ledger.steps import GaussianSteps, steps_in
from leakcap.ledger.ticks import AMOUNTS, TICKS_PER_UNIT

if TYPE_CHECKING:
    from leakcap.accounting.part import LossComponent

__all__ = ["lines_of"]

_MOST_LINES, _MOST_LOSSES, _MOST_COINS = 64, 64, 1 << 16
_SPARE = 1e-9
"""By how much, relatively, a δ at an order has to be smaller: here it is computed in doubles."""

Parts = list[tuple["LossComponent", int]]
Lines = dict[str, list[dict[str, Any]]]


def lines_of(rows: Iterable[Mapping[str, Any]]) -> Lines | None:
    """The lines of rows of a chain, by their numbers; None where a checker cannot compute every charge.

    >>> free = dict.fromkeys(AMOUNTS, 0) | {"kind": "release", "curve": "", "slot": "", "event": "", "seq": 1}
    >>> lines_of([free]), lines_of([free | {"kind": "plan", "epsilon": 5}])
    ({}, None)
    """
    rooms: list[list[Any]] = []
    found: Lines = {}
    for row in rows:
        charges = row["kind"] == "reserve" or any(row[name] != 0 for name in AMOUNTS)
        if row["kind"] == "open" or not charges:
            continue
        if row["kind"] not in ("reserve", "plan") or not row["event"]:
            return None  # under another relation a charge may be doubled: no event shows that
        event = json.loads(row["event"])
        lines = _lines(event, row)
        if lines is None:
            return None
        if lines:
            found[str(row["seq"])] = lines
            if len(found) > _MOST_LINES:
                return None
        if row["kind"] == "plan":
            rooms += [[one["event"], one["count"]] for one in event.get("events", [event])]
        if row["slot"]:
            fits = (one for one in rooms if one[1] and _admitted(one[0], event, row["event"]))
            room = next(fits, None)
            if room is None:
                return None
            room[1] -= 1
    return found


def _admitted(law: Mapping[str, Any], event: Mapping[str, Any], text: str) -> bool:
    """Whether a checker sees that an answer is a function of what a slot has."""
    slot, steps = steps_in(law), steps_in(event)
    if slot is not None:
        return steps is not None and _fewer(steps, slot)
    if law["name"] == "LaplaceDpEvent":
        far = laplace_distance(text)
        return far is not None and far <= 1 / Fraction(law["noise_multiplier"])
    own = guarantee(text)
    pure = law["name"] == "EpsilonDeltaDpEvent" and Fraction(law["delta"]) == own.delta == 0
    return pure and own.epsilon is not None and own.epsilon <= Fraction(law["epsilon"])


def _fewer(steps: GaussianSteps, slot: GaussianSteps) -> bool:
    quiet = steps.noise >= slot.noise and steps.rate <= slot.rate and steps.count <= slot.count
    return quiet and not steps.replaced


def _lines(event: Mapping[str, Any], row: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The lines of one charge, none where it needs none; None where it is not computed."""
    if not priced_by_checker(event):
        return None
    own = guarantee(row["event"])
    if row["epsilon"] is None:
        return []
    epsilon = Fraction(row["epsilon"], TICKS_PER_UNIT)
    if own.epsilon is not None and own.epsilon <= epsilon:
        return []
    left = (
        math.inf if row["delta"] is None else float(Fraction(row["delta"], TICKS_PER_UNIT) - own.delta)
    ) * (1 - _SPARE)
    if left <= 0:
        return None
    at = float(epsilon)
    if any(
        _log_delta(order, nats, at) <= math.log(left) for order, nats in zip(ORDERS, own.curve, strict=True)
    ):
        return []
    return [] if _coins(event) else _both(row["event"], at)


def _coins(event: Mapping[str, Any]) -> bool:
    """Whether it is some like ε-DP answers, not too many, which a checker composes by a finite sum."""
    alike, count = set(), 0
    for one in event.get("events", [event]):
        inner, times = (one["event"], one["count"]) if one["name"] == "SelfComposedDpEvent" else (one, 1)
        alike.add(inner.get("epsilon") if inner["name"] == "EpsilonDeltaDpEvent" else None)
        count += times
    return len(alike) == 1 and None not in alike and count <= _MOST_COINS


def _log_delta(order: float, nats: float, epsilon: float) -> float:
    """ln of the δ that a divergence proves: Canonne, Kamath & Steinke 2020, proposition 12."""
    if order == 1 or math.isinf(nats):
        return math.inf
    return (order - 1) * (nats - epsilon + math.log1p(-1 / order)) - math.log(order)


@lru_cache(maxsize=256)
def _both(text: str, epsilon: float) -> list[dict[str, Any]] | None:
    from leakcap.accounting.witness import line_at

    found = []
    for back in (False, True):
        parts = _parts(json.loads(text), back)
        try:
            line = None if parts is None or len(parts) > _MOST_LOSSES else line_at(parts, epsilon)
        except (ArithmeticError, ValueError, LeakcapError):
            return None  # as charged: no certificate may keep an answer that was paid for
        if line is None:
            return None
        found.append(exactly(line))
    return found


def _parts(event: Mapping[str, Any], back: bool) -> Parts | None:
    """The losses of an event in the order in which a checker finds them; None where one is not known."""
    from leakcap.accounting import dominating_loss
    from leakcap.definition import PureDP

    name, found = event["name"], Parts()
    if name in ("SelfComposedDpEvent", "BoundedDpEvent", "ComposedDpEvent"):
        for one in event.get("events", [event.get("event")]):
            parts = _parts(one, back)
            if parts is None:
                return None
            found += [(part, count * int(event.get("count", 1))) for part, count in parts]
        return found
    if name == "EpsilonDeltaDpEvent":
        loss = dominating_loss(PureDP(float(Fraction(event["epsilon"]))))
    elif (known := loss_in(event)) is not None:
        loss = known
    else:
        return None
    return list((loss.reverse if back else loss).parts)
