"""The level-α capacity of a few secrets from above: branch and bound over the simplex of beliefs.

With t = α − 1, E(π) = (Σ_y a_y q_y^{−t} − 1)/t, where a_y = Σ_x π_x C_xy^α and q_y = Σ_x π_x C_xy are linear
in π. On the simplex spanned by beliefs v_1, …, v_n, π = Σ λ_i v_i, the power q^{−t} lies below its chord for
t > 0 (above it for −1 < t < 0), so that

    E(π) ≤ λᵀMλ ≤ max_ij ½(M_ij + M_ji),   M_ij = (Σ_y a_y(v_i) q_y(v_j)^{−t} − 1)/t,   M_ii = E(v_i).

The excess over the corners' own values is −½ Σ_y Δa Δ(q^{−t})/t, of second order in the size of the simplex:
halving the worst edge closes the bracket. An output that some corner cannot produce is bounded by
a q^{−t} ≤ (max_x C_xy)^t q^{1−t} instead, for α ≤ 2 (beyond, the capacity is infinite).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leakcap.capacities.solvers.level_prior import LevelObjective
from leakcap.numeric.logspace import Floats
from leakcap.progress import progress

__all__ = ["MOST_SECRETS", "simplex_ceiling"]

MOST_SECRETS = 8
"""Beyond, the cells are too many for the bracket to close."""
_CELLS = 20_000
"""Simplices that are tried before what is left is taken as it stands."""
_AT_ONCE = 2048
_HOPELESS = 6000
"""Simplices after which it should have come below what is known."""
_NEAREST_ONE = 0.01


def simplex_ceiling(
    rows: Floats, alpha: float, reached: float, *, known: float = math.inf, gap: float = 1e-9
) -> float:
    """A number that C_α does not exceed, within `gap` of it where the work suffices, given `reached` ≤ C_α.

    Gives up early where it is not on the way below `known`, a bound at hand.
    +∞ where this bound has nothing to say: orders within 0.01 of one, and those whose powers overflow.

    >>> round(simplex_ceiling(np.eye(3), 0.5, math.log(3)), 6)
    1.098612
    """
    search = _Search(rows, alpha)
    if abs(search.t) < _NEAREST_ONE or search.overflows:
        return math.inf
    return search.run(reached, known, gap)


class _Search:
    def __init__(self, rows: Floats, alpha: float) -> None:
        rows = rows[:, rows.any(axis=0)]
        self.rows, self.t = rows, alpha - 1.0
        with np.errstate(under="ignore"):
            self.powers = rows**alpha
        self.tops = rows.max(axis=0)
        smallest = float(rows[rows > 0].min())
        self.overflows = max(alpha, abs(self.t)) * -math.log(smallest) > 600.0
        # Powers, sums and rows that miss one by a rounding, as for the value under a prior.
        objective = LevelObjective(rows, alpha)
        self.error = 4.0 * (objective.fuzz + abs(self.t) * objective.tilt) / abs(self.t)

    def run(self, reached: float, known: float, gap: float) -> float:
        best = math.expm1(self.t * reached) / self.t
        cells = np.eye(len(self.rows))[None]
        bounds, edges = self._bounds(cells)
        settled, tried = best, 1
        with progress("level capacity, upper end") as tick:
            while len(cells):
                top = float(bounds.max())
                tick(tried / _CELLS, f"at most {self._leakage(max(top, settled)):.6g}")
                hopeless = tried > _HOPELESS and self._leakage(top) > known
                if tried > _CELLS or hopeless or self._leakage(top) - reached <= gap:
                    return self._leakage(max(top, settled))
                order = np.argsort(-bounds)
                now, later = order[:_AT_ONCE], order[_AT_ONCE:]
                halves = _halved(cells[now], edges[now])
                new_bounds, new_edges = self._bounds(halves)
                tried += len(halves)
                cells = np.concatenate([cells[later], halves])
                bounds = np.concatenate([bounds[later], new_bounds])
                edges = np.concatenate([edges[later], new_edges])
                open_ = bounds > best
                cells, bounds, edges = cells[open_], bounds[open_], edges[open_]
        return self._leakage(settled)

    def _leakage(self, value: float) -> float:
        """ln(1 + tE)/t, pushed up by what rounding can have moved E."""
        value += self.error * (1.0 + abs(1.0 + self.t * value))
        inside = self.t * value
        return math.inf if inside <= -1.0 else math.log1p(inside) / self.t * (1.0 + 1e-15) + 1e-15

    def _bounds(self, cells: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """For each simplex what E does not exceed on it, and the two corners to halve between."""
        heights, centres = cells @ self.powers, cells @ self.rows
        fixed = np.zeros(len(cells))
        if self.t > 0:
            lonely = (centres == 0.0).any(axis=1)
            widest = np.where(lonely, centres.max(axis=1), 0.0)
            fixed = (self.tops**self.t * np.where(lonely, widest ** max(1.0 - self.t, 0.0), 0.0)).sum(axis=1)
            heights = np.where(lonely[:, None, :], 0.0, heights)
            centres = np.where(lonely[:, None, :], 1.0, centres)
        cross = heights @ np.swapaxes(centres**-self.t, 1, 2)
        values = (0.5 * (cross + np.swapaxes(cross, 1, 2)) + fixed[:, None, None] - 1.0) / self.t
        bounds = values.max(axis=(1, 2))
        return np.where(np.isnan(bounds), np.inf, bounds), self._edges(cells, values, fixed > 0)

    def _edges(self, cells: Floats, values: Floats, rough: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The pair with the largest bound, or the longest edge where the other bound was needed."""
        count = cells.shape[1]
        left, right = np.triu_indices(count, 1)
        lengths = np.abs(cells[:, left] - cells[:, right]).sum(axis=2)
        score = np.where(rough[:, None], lengths, values[:, left, right])
        # An edge shorter than rounding cannot be halved.
        chosen = np.argmax(np.where(lengths > 1e-12, score, -np.inf), axis=1)
        return np.stack([left[chosen], right[chosen]], axis=1)


def _halved(cells: Floats, edges: NDArray[np.intp]) -> Floats:
    index = np.arange(len(cells))
    left, right = edges[:, 0], edges[:, 1]
    middle = 0.5 * (cells[index, left] + cells[index, right])
    first, second = cells.copy(), cells.copy()
    first[index, left] = middle
    second[index, right] = middle
    return np.concatenate([first, second])
