"""How far a cap at level α lets one of two even outcomes be tilted: the two-secret capacity, inverted."""

from __future__ import annotations

import math
from collections.abc import Callable

from leakcap.adversary import AllPriorsJoint
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import require

__all__ = ["outcome_skew"]

_CLOSE = 2.0**-36
_SOURCE = "How to secure data with a broken wifi connection, 2022; inverted exactly: leakcap"


def outcome_skew(alpha: float, nats: float) -> Bound:
    """The largest chance to which one of two even outcomes is tilted under a cap of `nats` at level α.

    It is the largest p whose binary symmetric channel has a level-α capacity, over all priors, within the
    cap. No other channel does better: cutting the outputs in two keeps the total variation, and mixing a
    channel with its mirror image makes it symmetric; neither raises the capacity. At the lower end the cap
    is proved to hold, above the upper end it is proved to be broken. The article's condition
    ln 2 − H_α(p) ≤ ε looks at the uniform prior alone: it is enough for small α and not for large ones.

    >>> at_infinity, at_two = outcome_skew(math.inf, 0.5), outcome_skew(2.0, math.log(1.25))
    >>> round(at_infinity.upper, 6), round(at_two.upper, 6)
    (0.622459, 0.75)
    """
    owner = "outcome_skew"
    require(alpha > 0.0 and not math.isnan(alpha), "alpha", owner, "be positive, ∞ allowed", alpha)
    require(nats >= 0.0 and not math.isnan(nats), "nats", owner, "be ≥ 0", nats)
    method = f"level {alpha:g} of two secrets, inverted"
    if nats == 0.0 or math.isinf(nats) or (alpha <= 2.0 and nats > math.log(2.0)):
        return Bound.exact(1.0 if nats else 0.5, method=method, source=_SOURCE, unit="probability")
    known: dict[float, Bound] = {}

    def tilted(p: float) -> Bound:
        if p not in known:
            known[p] = capacity(Channel([[p, 1.0 - p], [1.0 - p, p]]), Renyi(alpha), AllPriorsJoint())
        return known[p]

    within = _edge(lambda p: tilted(p).upper - nats, (0.5, -nats), (1.0, math.inf))[0]
    # What is known by now of the lower ends says where to begin.
    seen = [(0.5, -nats), *((p, known[p].lower - nats) for p in sorted(known)), (1.0, math.inf)]
    place = next(i for i, (_, excess) in enumerate(seen) if excess > 0.0)
    beyond = _edge(lambda p: tilted(p).lower - nats, seen[place - 1], seen[place])[1]
    return Bound(within, beyond, method, _SOURCE, unit="probability")


def _edge(
    excess: Callable[[float], float], inside: tuple[float, float], outside: tuple[float, float]
) -> tuple[float, float]:
    """The last p that was seen not to exceed 0, and the first that was, from two such p and their values.

    By false position with the weight of an end that stays halved, and by halves in between.
    Source: Dowell & Jarratt 1971.
    """
    (low, at_low), (high, at_high) = inside, outside
    turn, moved_low = 0, False
    while high - low > _CLOSE * (low - 0.5):
        even = turn % 4 == 3 or math.isinf(at_high)
        middle = low + (high - low) * (0.5 if even else at_low / (at_low - at_high))
        if not low < middle < high and not low < (middle := 0.5 * (low + high)) < high:
            break
        value, turn = excess(middle), turn + 1
        again, moved_low = (value <= 0.0) == moved_low, value <= 0.0
        if moved_low:
            low, at_low, at_high = middle, value, at_high / 2.0 if again else at_high
        else:
            high, at_high, at_low = middle, value, at_low / 2.0 if again else at_low
    return low, high
