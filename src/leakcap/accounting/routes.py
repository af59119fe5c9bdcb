"""Which route answers a question about a composed loss: the cheapest whose interval is narrow enough.

A closed form or the list of all outcomes; else the contour while it is cheap; else the grid, finer and finer;
else the contour at any price. Every route gives an interval that holds the truth, so that they are met, and
the first narrow enough ends the search. What a contour costs is known before it is made
(`LossComponent.work`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from leakcap.accounting.contour import MOST_WORK, saddle_for_delta
from leakcap.accounting.convolve import bracket_around
from leakcap.accounting.curve import (
    GRID,
    Curve,
    Parts,
    cheap_curve,
    infinite,
    largest,
    on_contour,
    on_grid,
    pure,
)
from leakcap.accounting.inverse import inverse
from leakcap.bound import Bound
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["TOLERANCE", "checked_tolerance", "deltas_at", "epsilon_at", "epsilon_on_grid"]

TOLERANCE = 1e-4
_CHEAP = 1 << 20
"""Values of integrands: about a tenth of a second."""
_POINTS = (1 << 14, 1 << 17, 1 << 20)
_SHARE = 1e-2
"""Of the tolerance: for what a grid leaves out."""
_WIDE = 1e-8
"""Where it is cheap, an interval is made as narrow as this."""
_LEAST_DELTA = 1e-290


def checked_tolerance(tolerance: float) -> float:
    """The relative width asked for, where that is a number that can be had.

    >>> checked_tolerance(1e-3)
    0.001
    """
    require(0 < tolerance < 1, "tolerance", "PrivacyLoss", "lie strictly between 0 and 1", tolerance)
    return tolerance


def epsilon_at(parts: Parts, delta: float, tolerance: float) -> Bound:
    """The least ε ≥ 0 with δ(ε) ≤ `delta`, at most `tolerance`·ε wide if any route gets there.

    >>> from leakcap.accounting.laplacian import LaplaceLoss
    >>> epsilon_at(((LaplaceLoss(0.1), 1000),), 1e-6, 1e-4).method
    'saddle-point contour'
    """
    edge = _edge(parts, delta)
    if edge is not None:
        return edge
    top = pure(parts)[1]
    if cheap_curve(parts, 0.0) is not None:
        return _closed(parts, delta, top)
    finite = delta - infinite(parts)
    start, end = max(saddle_for_delta(parts, finite)[1], 0.0), largest(parts)
    near = min(start, end - 1e-6 * abs(end)) if math.isfinite(end) else start
    found = Bound(0.0, min(start, top), "Chernoff's bound")
    for work in (_CHEAP, MOST_WORK):
        for _ in range(3):
            better = _meet(found, inverse(on_contour(parts, near, work), delta, start, top))
            gained, found = better.width < 0.5 * found.width, better
            near = found.midpoint
            if not gained or found.width <= _WIDE * min(1.0, found.upper):
                break
        points = _POINTS[0] if work == _CHEAP else 2 * _POINTS[-1]
        while found.width > tolerance * found.upper and points < 2 * _POINTS[-1]:
            grid = on_grid(parts, points, tolerance * _SHARE, delta=finite)
            found = _meet(found, inverse(grid, delta, start, top))
            if found.width > tolerance * found.upper and points == _POINTS[-1]:
                # The tilt of δ alone can lie far off where rare losses begin to count: that of ε does not.
                grid = on_grid(parts, points, tolerance * _SHARE, epsilon=found.upper, delta=finite)
                found = _meet(found, inverse(grid, delta, start, top))
            points = _finer(points, found.width / (tolerance * found.upper + 5e-324))
        if found.width <= tolerance * found.upper:
            break
    return found


def _finer(points: int, excess: float) -> int:
    """How many points an interval needs that is so many times too wide: widths fall as their square."""
    wanted = points * 2 ** math.ceil(math.log2(min(max(1.2 * math.sqrt(excess), 2.0), 8.0)))
    return 2 * _POINTS[-1] if points >= _POINTS[-1] else min(wanted, _POINTS[-1])


def _closed(parts: Parts, delta: float, top: float) -> Bound:
    """Of a curve that is exact everywhere, which needs no saddle: its support, or a doubled ε, is enough."""
    curve, start = cheap_curve(parts, 0.0), 1.0
    assert curve is not None
    while start < top and curve.delta(start)[1] > delta:
        start *= 2.0
    return inverse(curve, delta, min(start, top), top)


def epsilon_on_grid(parts: Parts, delta: float, width: float, points: int) -> Bound:
    """ε(δ) by the FFT alone.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> round(epsilon_on_grid(((GaussianLoss(1.0), 1),), 0.126936737507, 1e-6, 1 << 15).upper, 4)
    1.0
    """
    edge = _edge(parts, delta)
    if edge is not None:
        return edge
    bracket = bracket_around(parts, delta=delta - infinite(parts), width=width, points=points)
    start = max(saddle_for_delta(parts, delta - infinite(parts))[1], 0.0)
    return inverse(Curve(bracket, GRID), delta, start, pure(parts)[1])


def _edge(parts: Parts, delta: float) -> Bound | None:
    """Answers that need no integral: pure ε at δ = 0, ∞ below the infinite mass, 0 for a large δ."""
    require(0 <= delta <= 1, "delta", "PrivacyLoss", "be a probability in [0, 1]", delta)
    never = infinite(parts)
    if never >= delta and (never > 0.0 or delta == 0.0):
        ends = pure(parts) if never == delta else (math.inf, math.inf)
        return Bound.enclosed(ends, method="support of the loss")
    if delta >= 1.0:
        return Bound.exact(0.0, method="support of the loss")
    return None


def deltas_at(
    parts: Parts, epsilons: Floats, tolerance: float, enough: float = _LEAST_DELTA
) -> tuple[Floats, Floats, list[str]]:
    """Enclosures of δ at many ε, at most `tolerance`·δ or `enough` wide if a route gets there, and its name.

    A curve is made in the middle of what is still too wide, and serves all the rest as well.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> low, high, _ = deltas_at(((GaussianLoss(0.5), 4),), np.linspace(0.0, 3.0, 30), 1e-6)
    >>> bool((high - low <= 1e-6 * high).all())
    True
    """
    low, high = np.zeros(epsilons.shape), np.ones(epsilons.shape)
    methods = ["support of the loss"] * epsilons.size
    tried, last = np.zeros(epsilons.shape, dtype=np.intp), len(_POINTS) + 2
    while True:
        wide = np.flatnonzero((high - low > np.maximum(tolerance * high, enough)) & (tried < last))
        if wide.size == 0:
            return low, high, methods
        first = wide[tried[wide] == tried[wide].min()]
        chosen = int(first[np.argsort(epsilons[first])[first.size // 2]])
        curve = cheap_curve(parts, float(epsilons[chosen]))
        if curve is not None:
            tried[chosen] = last
        else:
            known = (float(low[chosen]), float(high[chosen]))
            curve = _next(parts, float(epsilons[chosen]), int(tried[chosen]), known, tolerance)
            tried[chosen] += 1
        new_low, new_high = curve.deltas(epsilons)
        better = new_high - new_low < high - low
        low, high = np.maximum(low, new_low), np.minimum(high, new_high)
        low = np.minimum(low, high)
        for place in np.flatnonzero(better).tolist():
            methods[place] = curve.method


def _next(parts: Parts, epsilon: float, tried: int, known: tuple[float, float], tolerance: float) -> Curve:
    """The curve of the route after so many; a grid knows by then how large δ is."""
    if tried == 0 or tried > len(_POINTS):
        return on_contour(parts, epsilon, MOST_WORK if tried else _CHEAP)
    size = max((known[0] or known[1]) - infinite(parts), _LEAST_DELTA)
    return on_grid(parts, _POINTS[tried - 1], tolerance * _SHARE, epsilon=epsilon, delta=size)


def _meet(a: Bound, b: Bound) -> Bound:
    best = a if a.width <= b.width else b
    low = max(a.lower, b.lower)
    return replace(best, lower=low, upper=max(min(a.upper, b.upper), low))
