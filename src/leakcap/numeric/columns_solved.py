"""Mixtures of the columns of a non-negative matrix by factorising it, and what shows that there are none.

All that is found here is a proposal in doubles; whoever asks rounds it with `dyadic_rows`, and measures it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.logspace import Floats

__all__ = ["ColumnFactors", "dyadic_rows"]

_GRID = 2.0**52
"""Witnesses are rounded to multiples of its inverse: sums of such numbers up to one are exact in doubles."""

_NOISE = 1e-11
"""What is left of a target outside of a span counts from here on; rounding leaves less."""

_WELL = 1e10
"""Condition up to which a square matrix is inverted."""

_STEPS = 400
"""Reflections tried before a linear program is asked; one costs two products of matrices."""


class ColumnFactors:
    """The columns of A that are not zero, scaled to sum to one, factorised.

    >>> factors = ColumnFactors(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> factors.unique, factors.weights(np.array([[0.6], [0.4]])).round(12).tolist()
    (True, [[0.7], [0.3]])
    """

    def __init__(self, columns: Floats) -> None:
        """Factor once; every target after that costs a product."""
        totals = columns.sum(axis=0)
        self.live: NDArray[np.intp] = np.flatnonzero(totals > 0)
        self.totals: Floats = totals[self.live]
        self.scaled: Floats = columns[:, self.live] / self.totals
        inverse = _inverted(self.scaled)
        if inverse is not None:
            self._basis: Floats = np.eye(len(inverse))
            self.inverse: Floats = inverse
        else:
            left, values, right = np.linalg.svd(self.scaled, full_matrices=False)
            rank = int((values > values[0] * max(columns.shape) * 2.0**-50).sum())
            self._basis = right[:rank]
            self.inverse = np.asarray((right[:rank].T / values[:rank]) @ left[:, :rank].T)
        self.unique: bool = len(self._basis) == len(self.live)

    def weights(self, targets: Floats) -> Floats:
        """The least X with scaled·X nearest to the targets, corrected once for its own rounding."""
        found = self.inverse @ targets
        return np.asarray(found + self.inverse @ (targets - self.scaled @ found))

    def resisting(self, targets: Floats, weights: Floats) -> Floats:
        """A direction for each target that no mixture of the columns follows so far; zero where none is seen.

        What is left of a target outside of the span of the columns; or minus the row of the inverse whose
        weight is negative, which no column follows and the target does.
        """
        rest = targets - self.scaled @ weights
        rest -= self.scaled @ (self.inverse @ rest)
        length = np.abs(rest).max(axis=0)
        apart = np.where(length > _NOISE, rest / np.maximum(length, _NOISE), 0.0)
        if not self.unique:
            return np.asarray(apart)
        sizes = np.abs(self.inverse).max(axis=1)
        below = -weights / sizes[:, None]
        worst = np.argmax(below, axis=0)
        depth = np.maximum(below[worst, np.arange(len(worst))], 0.0)
        inside = np.where(depth > 0, -(self.inverse[worst] / sizes[worst, None]).T, 0.0)
        return np.asarray(np.where((apart * targets).sum(axis=0) > depth, apart, inside))

    def reflected(self, targets: Floats, close: float) -> tuple[Floats, Floats | None]:
        """Non-negative X with scaled·X = targets and sums of rows as of the columns, where X is not unique.

        Reflections between the affine set and the orthant end at a common point, or move on for ever along a
        direction that separates the two, which is given as a direction for each target. Source: Douglas &
        Rachford 1956; Bauschke, Combettes & Luke 2004, theorem 3.13.
        """
        width = targets.shape[1]
        mean = targets.mean(axis=0)
        mean = mean / mean.sum() if mean.sum() > 0 else np.full(width, 1.0 / width)

        def across(rows: Floats) -> Floats:
            return np.asarray(rows - self._basis.T @ (self._basis @ rows))

        def affine(point: Floats) -> Floats:
            moved = point + self.inverse @ (targets - self.scaled @ point)
            lacking = across(self.totals - point.sum(axis=1))
            return np.asarray(moved + lacking[:, None] / width)

        point = affine(np.outer(self.totals, mean))
        direction = None
        for step in range(1, _STEPS + 1):
            near = np.maximum(point, 0.0)
            fitted = affine(near)
            if fitted.min() >= -close * 1e-3 or np.abs(fitted - near).max() <= close * 1e-3:
                return np.maximum(fitted, 0.0), None
            move = affine(2.0 * near - point) - near
            point = point + move
            if step % 20 == 0:
                common = across(move.sum(axis=1))[:, None] / width
                direction = self.inverse.T @ (move - common)
                followed = float((self.scaled.T @ direction).max(axis=1) @ self.totals)
                if float((direction * targets).sum()) - followed > close * float(np.abs(direction).max()):
                    break
        return np.maximum(affine(np.maximum(point, 0.0)), 0.0), direction


def _inverted(square: Floats) -> Floats | None:
    """The inverse of a square matrix that is well conditioned: a tenth of the time of singular values."""
    if square.shape[0] != square.shape[1]:
        return None
    try:
        inverse = np.asarray(np.linalg.inv(square), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    size = float(np.abs(inverse).sum(axis=0).max())
    return inverse if size <= _WELL else None  # the columns sum to one, so that this is the condition


def dyadic_rows(weights: Floats) -> Floats:
    """Rows in proportion to the weights, of multiples of 2⁻⁵², which sum to one without any rounding.

    A row without weight puts everything on its first place.

    >>> from fractions import Fraction
    >>> sum(map(Fraction, dyadic_rows(np.array([[1.0, 1.0, 1.0]]))[0].tolist()))
    Fraction(1, 1)
    """
    kept = np.where(np.isfinite(weights) & (weights > 0), weights, 0.0)
    most = kept.max(axis=1, keepdims=True)
    kept = np.where(most > 0, kept / np.where(most > 0, most, 1.0), 0.0)
    kept[most[:, 0] == 0, 0] = 1.0
    steps = np.floor(kept / kept.sum(axis=1, keepdims=True) * _GRID).astype(np.int64)
    steps[np.arange(len(steps)), steps.argmax(axis=1)] += int(_GRID) - steps.sum(axis=1)
    return np.asarray(steps / _GRID)
