"""sup over α > 1 of D_α/α, enclosed: what a channel keeps of zero-concentrated privacy."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import pairwise

from leakcap.bound import Bound
from leakcap.numeric.rounding import down, up

__all__ = ["largest_slope"]

_PRECISION = 1e-10
_MOST = 400


def largest_slope(diameter: Callable[[float], tuple[float, float]]) -> Bound:
    """sup_{α>1} D_α/α for α ↦ the two ends of D_α given as a function, by branch and bound.

    K(t) = t·D_{1+t} is convex and zero at zero, so it lies below its chords; the largest value of
    (chord)/(t(1+t)) bounds D_α/α from above on each interval. Beyond the last order D_α ≤ D_∞.

    >>> round(largest_slope(lambda alpha: (min(alpha, 4.0),) * 2).lower, 12)
    1.0
    """
    (at_one, _), (_, at_infinity) = diameter(1.0), diameter(math.inf)
    if at_infinity == 0.0 or math.isinf(diameter(2.0)[0]):
        return Bound.exact(0.0 if at_infinity == 0.0 else math.inf, method="D_α/α over all orders")
    best, witness, tail, pieces = at_one, 1.0, 0.0, []
    knots = [0.0] + [10.0**e for e in range(-6, 7)]
    values = []
    for t in knots:
        low, high = diameter(1.0 + t)
        values.append((t, high))
        if down(low / (1.0 + t), 4) > best:
            best, witness = down(low / (1.0 + t), 4), 1.0 + t
    for left, right in pairwise(values):
        pieces.append((-_ceiling(left, right), left, right))
    tail = at_infinity / (1.0 + knots[-1])
    heapq.heapify(pieces)
    for _ in range(_MOST):
        ceiling = -pieces[0][0]
        if ceiling <= best * (1.0 + _PRECISION):
            break
        _, left, right = heapq.heappop(pieces)
        t = 0.5 * (left[0] + right[0]) if left[0] == 0.0 else math.sqrt(left[0] * right[0])
        if not left[0] < t < right[0]:
            heapq.heappush(pieces, (-ceiling, left, right))
            break
        low, high = diameter(1.0 + t)
        middle = (t, high)
        if down(low / (1.0 + t), 4) > best:
            best, witness = down(low / (1.0 + t), 4), 1.0 + t
        for a, b in ((left, middle), (middle, right)):
            heapq.heappush(pieces, (-_ceiling(a, b), a, b))
    # Nothing exceeds randomised response of the same ε, which closes the interval where D_α/α is flat.
    response = at_infinity * math.tanh(0.5 * at_infinity)
    upper = max(up(min(max(tail, -pieces[0][0]), response), operations=16), best)
    return Bound(best, upper, "D_α/α over all orders, chords of a convex function", witness=witness)


def _ceiling(left: tuple[float, float], right: tuple[float, float]) -> float:
    """The largest (chord of t·D)/(t(1+t)) on the interval; at t = 0 it is D itself."""
    (t1, d1), (t2, d2) = left, right
    if t1 == 0.0:
        return d2
    slope = (t2 * d2 - t1 * d1) / (t2 - t1)
    base = t1 * (d1 - slope)
    # (base + slope·t)/(t(1+t)), base ≤ 0: its derivative vanishes where slope·t² + 2·base·t + base = 0.
    ends = max(d1 / (1.0 + t1), d2 / (1.0 + t2))
    if base >= 0.0 or slope <= 0.0:
        return ends
    t = (-base + math.sqrt(base * base - slope * base)) / slope
    return max(ends, (base + slope * t) / (t * (1.0 + t))) if t1 < t < t2 else ends
