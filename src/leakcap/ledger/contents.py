"""What an entry says of two contents of one unit, computed again from its event between them.

Under add/remove-one two contents may be further apart than neighbours are, and statements speak of them. An
entry may have, among its details, the event between any two contents: `event_contents`. Absence is one of
them, so that it tells no less than the event between neighbours; and ε between contents, and what a level
was charged, which is of two contents too, follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from leakcap.ledger.curve import ORDERS
from leakcap.ledger.details import EPSILON_CONTENTS, EVENT_CONTENTS
from leakcap.ledger.dp_events import Guarantee
from leakcap.ledger.measured import guarantee
from leakcap.ledger.ticks import TICKS_PER_UNIT, Ticks

__all__ = ["contents_fault"]

_NEARLY = Fraction(1, 10**9)
"""Relative: the most by which a computed number may differ between two processors."""


def contents_fault(event: str, details: Mapping[str, Any], charged: Ticks, alpha: float | None) -> str:
    """What is wrong with what an entry says of two contents, as a phrase; empty where nothing is, or where it
    says nothing. Raises `InvalidParameter` for an event that cannot be computed again, by its name.

    >>> one = '{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/10","sensitivity":1}'
    >>> two = one.replace("1}", "2}")
    >>> ticks = Ticks(10**11, 0, None, None)
    >>> contents_fault(one, {"event_contents": two, "epsilon_contents": 0.2}, ticks, None)
    ''
    >>> contents_fault(one, {"event_contents": two, "epsilon_contents": 0.1}, ticks, None)
    'says of two contents an ε below that of their event'
    """
    if EVENT_CONTENTS not in details:
        return ""
    found = guarantee(str(details[EVENT_CONTENTS]))
    if event and not _as_telling(found, guarantee(event)):
        return "says of two contents that they are told apart less well than presence and absence"
    said = details.get(EPSILON_CONTENTS)
    if said is not None and not (type(said) in (int, float) and 0 <= said < math.inf):
        return "says of two contents an ε that is no number from 0"
    if said is not None and found.epsilon is not None and _above(found.epsilon, Fraction(said)):
        return "says of two contents an ε below that of their event"
    if alpha in ORDERS and charged.nats_level is not None and found.delta == 0:
        level = Fraction(found.curve[ORDERS.index(alpha)])
        if _above(level, Fraction(charged.nats_level, TICKS_PER_UNIT)):
            return "was charged less at its level than the event of two contents"
    return ""


def _as_telling(found: Guarantee, least: Guarantee) -> bool:
    """Whether one event tells no less than another: in δ, ρ, the curve, and ε where both have one."""
    if least.epsilon is not None and found.epsilon is not None and _above(least.epsilon, found.epsilon):
        return False
    pairs = [(least.delta, found.delta), (least.rho, found.rho)]
    pairs += [(Fraction(a), Fraction(b)) for a, b in zip(least.curve, found.curve, strict=True)]
    return not any(_above(a, b) for a, b in pairs)


def _above(value: Fraction, most: Fraction) -> bool:
    return value * (1 - _NEARLY) > most + Fraction(1, TICKS_PER_UNIT)
