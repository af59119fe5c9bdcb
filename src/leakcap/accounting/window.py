"""Where a loss, and a sum of losses, has all the mass that counts: the ends of the grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from leakcap.accounting.contour import log_mean
from leakcap.accounting.grid import GridLoss
from leakcap.accounting.part import LossComponent
from leakcap.numeric.logspace import Floats, logsumexp

__all__ = ["Means", "of_one", "of_sum", "outside"]

Parts = Sequence[tuple[LossComponent, int]]
Rows = Sequence[tuple[GridLoss, int]]
Value = Callable[[float], float]

_FARTHEST = 1e9
_CELLS = 4096
_ALL_CELLS = 1 << 17
_STRIDE = 1.6
_ROUNDING = 1e-11


def of_one(parts: Parts, log_least: float) -> tuple[float, float]:
    """Ends beyond which P's mass of all single losses together is below e^`log_least`.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> low, high = of_one([(GaussianLoss(1.0), 1)], -30.0)
    >>> -8.0 < low < -6.5 and 7.0 < high < 9.0
    True
    """
    least = math.exp(max(log_least - math.log(sum(count for _, count in parts)), -690.0))
    lows, highs = [], []
    for part, _ in parts:
        bottom, top = part.support()
        if math.isinf(top):
            top = _tail(partial(_mass_above, part), least)
        if math.isinf(bottom):
            bottom = -_tail(partial(_mass_below, part), least)
        lows.append(bottom)
        highs.append(top)
    return min(lows), max(highs)


def _mass_above(part: LossComponent, x: float) -> float:
    return float(part.masses(np.array([x, math.inf]))[0][0])


def _mass_below(part: LossComponent, x: float) -> float:
    return float(part.masses(np.array([-math.inf, -x]))[0][0])


def _tail(mass: Value, least: float) -> float:
    """Where a falling mass passes `least`, from above, to a part in a hundred."""
    size, sign = 1e-12, 1.0
    if mass(0.0) <= least:
        sign = -1.0
    while (mass(sign * size) > least) == (sign > 0.0) and size < _FARTHEST:
        size *= 2.0
    low, high = sorted((sign * size, 0.5 * sign * size))
    for _ in range(8):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if mass(middle) > least else (low, middle)
    return high


class Means:
    """ln E[e^{sL}] of the sum of losses, single losses cut to [low, high]: to choose a grid by, not a claim.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> round(Means([(GaussianLoss(1.0), 4)], -9.0, 9.0)(1.0), 3)
    4.0
    """

    def __init__(self, parts: Parts, low: float, high: float) -> None:
        """Losses without bounds become masses in cells, the others keep their closed forms."""
        ends = [part.support() for part, _ in parts]
        free = [not math.isfinite(top - bottom) for bottom, top in ends]
        size = max(64, min(_CELLS, _ALL_CELLS // max(sum(free), 1)))
        self.bounded = [item for item, each in zip(parts, free, strict=True) if not each]
        self.rows = [
            (*_lumps(part, low, high, size), count)
            for (part, count), each in zip(parts, free, strict=True)
            if each
        ]
        cuts = [(*_cut(part, low, high), count) for part, count in parts]
        self.bottom = sum(count * bottom for bottom, _, count in cuts)
        self.top = sum(count * top for _, top, count in cuts)

    def __call__(self, s: float) -> float:
        """At one real order."""
        lumped = sum(count * float(logsumexp(s * places + logs)) for places, logs, count in self.rows)
        return lumped + (log_mean(self.bounded, s) if self.bounded else 0.0)

    def bottom_at(self, c: float, lost: float) -> float:
        """Left of it nothing counts: all of P's mass would weigh less than e^`lost` of its tilted mean."""
        if c <= 0.0 or self.bounded:
            return -math.inf
        return min((float(logsumexp(c * places + logs)) + lost) / c for places, logs, _ in self.rows)


def of_sum(means: Means, c: float, goal: float) -> tuple[float, float]:
    """Ends between which all but e^goal of the tilted mass of the sum lies, by Chernoff's bound.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> left, right = of_sum(Means([(GaussianLoss(1.0), 4)], -9.0, 9.0), 0.0, -30.0)
    >>> -15.0 < left < -12.0 and 16.0 < right < 19.0
    True
    """
    right = _least(lambda s: (means(c + s) - goal) / s, 0.1 * (1.0 + c))
    left = -_least(lambda s: (means(c - s) - goal) / s, 0.1 * (1.0 + c))
    right = min(right, means.top + 1e-9 * abs(means.top))
    left = max(left, means.bottom - 1e-9 * abs(means.bottom))
    return left, max(right, left + 1e-6 * max(means.top - means.bottom, 1e-9))


def _cut(part: LossComponent, low: float, high: float) -> tuple[float, float]:
    bottom, top = part.support()
    return max(bottom, low), min(top, high)


def _lumps(part: LossComponent, low: float, high: float, size: int) -> tuple[Floats, Floats]:
    """Masses in cells, at each cell's mean ratio; cells are narrow near zero, where rare samples have all."""
    bottom, top = _cut(part, low, high)
    near = np.geomspace(1e-9, 1.0, size // 4) * max(abs(bottom), abs(top))
    edges = np.unique(np.concatenate([np.linspace(bottom, top, size // 2), -near, near]))
    edges = edges[(edges >= bottom) & (edges <= top)]
    p, q = part.masses(edges)
    seen = (p > 0.0) & (q > 0.0)
    places = np.clip(np.log(p[seen] / q[seen]), edges[:-1][seen], edges[1:][seen])
    atoms = part.atoms()
    return np.concatenate([places, atoms.losses]), np.log(np.concatenate([p[seen], atoms.p]))


def _least(value: Value, start: float) -> float:
    """The least value found of a function with one minimum in s > 0, in strides of a factor."""
    here, best = start, value(start)
    for factor in (_STRIDE, 1.0 / _STRIDE):
        s = here
        for _ in range(60):
            s *= factor
            found = value(s)
            if not found < best:
                break
            here, best = s, found
    return best


def outside(rows: Rows, c: float, left: float, right: float) -> tuple[float, float]:
    """ln of the tilted mass of these rows beyond each end, before normalisation, by Chernoff's bound.

    >>> from leakcap.accounting.grid import rounded_up
    >>> from leakcap.accounting.normal import GaussianLoss
    >>> lefts, rights = outside([(rounded_up(GaussianLoss(1.0), 0.01, -9.0, 9.0), 1)], 0.0, -5.0, 20.0)
    >>> -15.3 < lefts < -12.0, rights
    (True, -inf)
    """
    lumped = [(*_spread(row), count) for row, count in rows]

    def mean(s: float) -> float:
        return sum(count * float(logsumexp(s * places + logs)) for places, logs, count in lumped)

    rights = lefts = -math.inf
    if right < sum(count * float(row.losses[-1]) for row, count in rows):
        rights = _least(lambda s: mean(c + s) - s * right, 0.1 * (1.0 + c))
    if left > sum(count * float(row.losses[0]) for row, count in rows):
        lefts = _least(lambda s: mean(c - s) + s * left, 0.1 * (1.0 + c))
    return lefts, rights


def _spread(row: GridLoss) -> tuple[Floats, Floats]:
    """The masses of blocks of points, moved to both ends of each with their mean kept.

    A convex function's mean, that of every exponential, can only grow.
    """
    width = -(-row.masses.size // _CELLS)
    if width == 1:
        seen = row.masses > 0.0
        return row.losses[seen], np.log(row.masses[seen])
    missing = -row.masses.size % width
    blocks = np.append(row.masses, np.zeros(missing)).reshape(-1, width)
    total, later = blocks.sum(axis=1), blocks @ (np.arange(width) / width)
    masses = np.append(total - later, 0.0) + np.append(0.0, later)
    places = row.offset + (row.first + width * np.arange(masses.size)) * row.step
    seen = masses > 0.0
    return places[seen], np.log(masses[seen]) + _ROUNDING
