"""Rows as integers on public grids, and sums of products of them without rounding.

Whatever floating point does on the way, it does to one row at a time: an integer row depends on its own row
only and is checked against its range. So sensitivities are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import require
from leakcap.models.values import Floats
from leakcap.numeric.rounding import floor_log2

__all__ = ["GridAxis", "ball_integers", "exact_products"]

_EXACT = 2**53
_MOST_COLUMNS = 2**12


@dataclass(frozen=True)
class GridAxis:
    """A bounded number as an integer: round(clamp(x)·2^exponent) − centre, within ±largest.

    >>> GridAxis.of((0.0, 50.0), bits=10)
    GridAxis(bounds=(0.0, 50.0), exponent=5, least=0, most=1600, centre=800)
    """

    bounds: tuple[float, float]
    exponent: int
    least: int
    most: int
    centre: int

    @classmethod
    def of(cls, bounds: tuple[float, float], *, bits: int) -> GridAxis:
        """The finest grid with powers of two on which the half range has at most 2^bits steps.

        Steps are not finer than what doubles near the bounds can tell apart.
        """
        low, high = float(bounds[0]), float(bounds[1])
        require(
            -1e90 <= low < high <= 1e90,
            "bounds",
            "GridAxis",
            "be finite, low < high, within ±1e90",
            bounds,
        )
        half = Fraction(high) / 2 - Fraction(low) / 2
        furthest = max(abs(Fraction(low)), abs(Fraction(high)))
        exponent = min(floor_log2(Fraction(1 << bits) / half), 51 - floor_log2(furthest))
        scale = Fraction(2) ** exponent
        least, most = round(low * scale), round(high * scale)
        require(most > least, "bounds", "GridAxis", "be further apart than doubles of their size", bounds)
        return cls((low, high), exponent, least, most, (least + most) // 2)

    @property
    def largest(self) -> int:
        """The furthest from zero that an integer can be."""
        return max(self.most - self.centre, self.centre - self.least)

    @property
    def half(self) -> float:
        """`largest` in the column's unit."""
        return float(self.largest * Fraction(2) ** -self.exponent)

    @property
    def middle(self) -> float:
        """What integer 0 stands for."""
        return float(self.centre * Fraction(2) ** -self.exponent)

    def integers(self, values: Floats) -> Floats:
        """The integers of a column, as doubles that hold them. NaN has no integer: leave it out before."""
        clamped = np.clip(values, *self.bounds)
        return np.asarray(np.rint(clamped * 2.0**self.exponent) - self.centre, dtype=np.float64)


def ball_integers(rows: Floats, *, norm: float, steps: int) -> Floats:
    """Rows shortened to Euclidean length `norm`, as integers of which `norm` has `steps`.

    Rounded towards zero, so that no row grows; that Σ z² ≤ steps² is checked in integers, and a row for
    which it failed would count as zero. Rows must be finite.

    >>> ball_integers(np.array([[3.0, 4.0], [0.3, 0.4]]), norm=1.0, steps=100).tolist()
    [[59.0, 79.0], [29.0, 39.0]]
    """
    owner = "ball_integers"
    require(0.0 < norm < np.inf, "norm", owner, "be positive and finite", norm)
    require(1 <= steps <= 2**20, "steps", owner, "lie between 1 and 2**20", steps)
    require(rows.shape[1] <= _MOST_COLUMNS, "rows", owner, "have at most 4096 columns", rows.shape)
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    direction = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0.0)
    length = np.sqrt((direction**2).sum(axis=1, keepdims=True))
    unit = np.divide(direction, length, out=np.zeros_like(rows), where=length > 0.0)
    with np.errstate(over="ignore"):
        reach = np.minimum(largest * length / norm, 1.0) * (steps * (1.0 - 2.0**-40))
    whole = np.trunc(unit * reach)
    within = (whole**2).sum(axis=1, keepdims=True) <= float(steps) ** 2
    return np.where(within, whole, 0.0)


def exact_products(left: Floats, right: Floats, *, largest: int) -> NDArray[Any]:
    """leftᵀ·right for doubles that hold integers, as Python integers: no sum is ever rounded.

    `largest` bounds |left·right| entry by entry. Blocks are short enough for every partial sum to stay
    below 2⁵³, where doubles are exact in any order.

    >>> exact_products(np.array([[3.0], [4.0]]), np.array([[1.0], [2.0]]), largest=8).tolist()
    [[11]]
    """
    require(1 <= largest <= 2**52, "largest", "exact_products", "lie between 1 and 2**52", largest)
    block = _EXACT // largest
    total = np.zeros((left.shape[1], right.shape[1]), dtype=object)
    for start in range(0, left.shape[0], block):
        part = left[start : start + block].T @ right[start : start + block]
        total += part.astype(np.int64).astype(object)
    return total
