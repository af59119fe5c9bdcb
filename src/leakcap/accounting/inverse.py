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
    upper = _crossing(lambda e: curve.delta(e)[1], delta, start, upward=True)
    lower = _crossing(lambda e: curve.delta(e)[0], delta, start, upward=False)
    return Bound(min(lower, upper, start, pure), min(upper, start, pure), curve.method)


def _crossing(value: Callable[[float], float], delta: float, start: float, *, upward: bool) -> float:
    """Where a falling function of ε ≥ 0 passes `delta`, from above; the safe end of the last bracket."""
    high, at_high = start, _log(value(start) / delta)
    if at_high > 0.0:
        return math.inf if upward else start
    width = 1e-11 * max(start, 1e-3)
    low, at_low = _lower_end(value, delta, start, width)
    if at_low <= 0.0:
        return 0.0
    for turn in range(200):
        share = at_low / (at_low - at_high) if turn % 3 < 2 and math.isfinite(at_high - at_low) else 0.5
        margin = 2.0 ** -min(turn + 2, 40)
        middle = low + (high - low) * min(max(share, margin), 1.0 - margin)
        if not low < middle < high or high - low <= 1e-13 * high:
            break
        at_middle = _log(value(middle) / delta)
        if at_middle > 0.0:
            low, at_low = middle, at_middle
        else:
            high, at_high = middle, at_middle
    return high if upward else low


def _lower_end(
    value: Callable[[float], float], delta: float, start: float, width: float
) -> tuple[float, float]:
    """The first of start − width·2^k at which the function is above `delta`, or zero."""
    while True:
        low = max(start - width, 0.0)
        at_low = _log(value(low) / delta)
        if at_low > 0.0 or low == 0.0:
            return low, at_low
        width *= 4.0


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0.0 else -math.inf
