"""ε from δ: where an enclosure of a falling function passes a level."""

from __future__ import annotations

import math
from collections.abc import Callable

from leakcap.accounting.curve import Curve
from leakcap.bound import Bound

__all__ = ["inverse"]


def inverse(curve: Curve, delta: float, start: float, pure: float) -> Bound:
    """Both ends of ε(δ) ≥ 0: `start` is known to be large enough, and so is the largest loss `pure`.

    >>> from leakcap.accounting.curve import cheap_curve
    >>> from leakcap.accounting.laplacian import LaplaceLoss
    >>> round(inverse(cheap_curve(((LaplaceLoss(1.0), 1),), 0.0), 0.1, 1.0, 1.0).upper, 9)
    0.789278969
    """
    bracket = _crossing(lambda e: curve.delta(e)[1], delta, start, start)
    upper = math.inf if bracket is None else bracket[1]
    # Where δ's upper end is not above the level, its lower end is not either.
    bracket = _crossing(lambda e: curve.delta(e)[0], delta, min(upper, start), start)
    lower = start if bracket is None else bracket[0]
    return Bound(min(lower, upper, start, pure), min(upper, start, pure), curve.method)


def _crossing(
    value: Callable[[float], float], delta: float, high: float, scale: float
) -> tuple[float, float] | None:
    """Where a falling function of ε ≥ 0 passes `delta`, from above: below the first end it is larger, and
    from the second on it is not. None where it is larger at `high`.

    False position in logarithms, the weight of the end that stays lowered as Anderson and Björck (1973) do,
    and the middle where that gains little.
    """
    at_high = _log(value(high) / delta)
    if at_high > 0.0:
        return None
    low, at_low = _lower_end(value, delta, (high, at_high), 1e-11 * max(scale, 1e-3))
    if at_low <= 0.0:
        return 0.0, 0.0
    stayed, width = 0, 2.0 * (high - low)
    for turn in range(200):
        span = high - low
        if span <= 1e-13 * high:
            break
        slow = turn % 3 == 2 and span > 0.125 * width
        share = at_low / (at_low - at_high) if not slow and math.isfinite(at_high - at_low) else 0.5
        width = span if turn % 3 == 2 else width
        margin = 2.0 ** -min(turn + 2, 40)
        middle = low + span * min(max(share, margin), 1.0 - margin)
        if not low < middle < high:
            break
        at_middle = _log(value(middle) / delta)
        if at_middle > 0.0:
            at_high *= _weight(at_middle, at_low) if stayed > 0 else 1.0
            low, at_low, stayed = middle, at_middle, 1
        else:
            at_low *= _weight(at_middle, at_high) if stayed < 0 else 1.0
            high, at_high, stayed = middle, at_middle, -1
    return low, high


def _weight(new: float, old: float) -> float:
    """Of the end that stayed, when the other one moved for a second time."""
    left = 1.0 - new / old if old != 0.0 and math.isfinite(old) else 0.5
    return left if left > 0.0 else 0.5


def _lower_end(
    value: Callable[[float], float], delta: float, high: tuple[float, float], width: float
) -> tuple[float, float]:
    """A place below `high` at which the function is above `delta`, or zero: a little further than where a
    line through the last two places says.
    """
    place, at_place = high
    while True:
        low = max(high[0] - width, 0.0)
        at_low = _log(value(low) / delta)
        if at_low > 0.0 or low == 0.0:
            return low, at_low
        rise = at_low - at_place
        wanted = 1.1 * (place - low) * -at_low / rise if rise > 0.0 and math.isfinite(rise) else math.inf
        place, at_place = low, at_low
        width = min(max(width + wanted, 4.0 * width), 4096.0 * width)


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0.0 else -math.inf
