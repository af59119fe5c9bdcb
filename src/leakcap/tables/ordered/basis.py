"""The two bases of a column: of its cells, and the strategy of its ranges or prefixes; see `protocol`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.tables.ordered.certified import least_alone, least_parts
from leakcap.tables.ordered.design import Kind, designed
from leakcap.tables.ordered.protocol import Basis, Whole

__all__ = ["basis_of", "root_down"]

_BITS = 96
_ROOT = 64
"""Bits behind the point of L, and of a square root."""


def basis_of(kind: Kind | None, size: int, scale: int) -> Basis:
    """The basis of a column; of fewer than two keys and without a `kind` that of its cells.

    >>> basis_of(None, 3, 1024).rows, basis_of("ranges", 3, 1024).rows
    (3, 2)
    """
    if kind is None or size < 2:
        return _CellBasis(size)
    return _ordered(kind, size, scale)


@dataclass(frozen=True)
class _CellBasis:
    """Ξ = n·I − 11ᵀ, L = Ξ/n², u = 1/n.

    >>> basis = basis_of(None, 3, 1)
    >>> basis.forward(np.array([4, 1, 1]), 0).tolist(), basis.reach, basis.least, basis.spread_error
    ([6, -3, -3], 6, -3, Fraction(1, 3))
    """

    size: int

    @property
    def off(self) -> Fraction:
        return Fraction(0)

    @property
    def rows(self) -> int:
        return self.size

    @property
    def bottom(self) -> int:
        return self.size**2

    @property
    def spread(self) -> Whole:
        return np.array([self.size], dtype=object)

    @property
    def reach(self) -> int:
        return self.size * (self.size - 1)

    @property
    def least(self) -> int:
        return -self.size if self.size > 1 else 0

    @property
    def stretch(self) -> int:
        return 2 * (self.size - 1)

    @property
    def largest(self) -> Fraction:
        return Fraction(1, self.size)

    @property
    def most_in_cells(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.size - 1, self.size**3), Fraction(1, self.size**2)

    @property
    def most_absolute(self) -> tuple[Fraction, Fraction]:
        return Fraction(2 * (self.size - 1), self.size**2), Fraction(1, self.size)

    @property
    def answers(self) -> int:
        return self.size

    @property
    def spread_error(self) -> Fraction:
        return Fraction(1, self.size)

    @property
    def rest_error(self) -> Fraction:
        return Fraction(self.size - 1, self.size**2)

    @property
    def least_total(self) -> Fraction:
        return Fraction(1, self.size)

    @property
    def least_rest(self) -> Fraction:
        return Fraction((self.size - 1) ** 2, self.size)

    @property
    def least_alone(self) -> Fraction:
        return Fraction(self.size)

    def forward(self, counts: NDArray[Any], axis: int) -> NDArray[Any]:
        return np.asarray(self.size * counts - counts.sum(axis=axis, keepdims=True))

    def back(self, numbers: NDArray[Any], axis: int) -> NDArray[Any]:
        return self.forward(numbers, axis)

    def spread_at(self, key: int) -> Fraction:
        return Fraction(1, self.size)

    def shared(self, key: int, other: int) -> Fraction:
        return Fraction(self.size - 1 if key == other else -1, self.size**3)

    def along(self, w: Sequence[int]) -> tuple[Fraction, Whole]:
        whole = np.array(list(w), dtype=object)
        return Fraction(int(whole.sum()), self.size), self.forward(whole, 0)

    def each(self, cumulative: bool) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
        size = self.size
        keys = range(1, size + 1) if cumulative else [1] * size
        return (
            [Fraction(k * (size - k), size**3) for k in keys],
            [Fraction(2 * k * (size - k), size**2) for k in keys],
            [Fraction(k, size) for k in keys],
        )


@lru_cache(maxsize=64)
def _ordered(kind: Kind, size: int, scale: int) -> _OrderedBasis:
    return _OrderedBasis(kind, size, scale)


@dataclass(frozen=True, eq=False)
class _OrderedBasis:
    """The strategy of `designed`.

    >>> basis = basis_of("prefixes", 4, 1024)
    >>> released = basis.forward(np.array([5, 1, 2, 3]), 0)
    >>> told = basis.back(released.astype(object), 0) + basis.spread * 11
    >>> [round(one / basis.bottom, 9) for one in told], released.shape
    ([5.0, 1.0, 2.0, 3.0], (3,))
    """

    kind: Kind
    size: int
    scale: int

    @cached_property
    def matrix(self) -> NDArray[np.int64]:
        """Ξ."""
        return designed(self.kind, self.size, self.scale)[0]

    @property
    def rows(self) -> int:
        return self.size - 1

    @property
    def bottom(self) -> int:
        return 1 << _BITS

    @cached_property
    def reach(self) -> int:
        return int((self.matrix**2).sum(axis=0).max())

    @cached_property
    def least(self) -> int:
        products = self.matrix.T @ self.matrix
        return min(0, int(products[~np.eye(self.size, dtype=bool)].min()))

    @cached_property
    def stretch(self) -> int:
        return int(np.abs(self.matrix).sum(axis=1).max())

    @cached_property
    def _inverse(self) -> tuple[Whole, Whole, Fraction]:
        """L, u and `off`: see the theory page. U, all of Ξ but its last column, is inverted from its last
        row up."""
        rows, one = self.rows, self.bottom
        whole = np.array(self.matrix.tolist(), dtype=object)
        turned = np.zeros((rows, rows), dtype=object)
        for row in reversed(range(rows)):
            left = -whole[row, row + 1 : rows].dot(turned[row + 1 :]) if row + 1 < rows else turned[row]
            left[row] += one
            turned[row] = left // whole[row, row]
        # U·V = 2^b·I − E, 0 ≤ E < the largest of the diagonal: |V − 2^b·U⁻¹| ≤ ‖U⁻¹‖·E in each row.
        norm = Fraction(int(np.abs(turned).sum(axis=1).max()), one) * 2
        turned_off = norm * int(self.matrix.diagonal().max()) / one
        bent = turned.dot(whole[:, rows])
        bent_off = turned_off * int(np.abs(self.matrix[:, rows]).sum())
        sum_, sum_off = one - int(bent.sum()), bent_off * rows
        spread = np.array([*(-bent * one // sum_), 0], dtype=object)
        spread[rows] = one - spread.sum()
        ratio = Fraction(int(np.abs(bent).max()) + one, abs(sum_))
        short = Fraction(abs(sum_), one) - sum_off
        spread_off = ((bent_off + ratio * sum_off) / short + Fraction(1, one)) * self.size
        sums = turned.sum(axis=0)
        back = np.zeros((self.size, rows), dtype=object)
        back[:rows] = turned - np.multiply.outer(spread[:rows], sums) // one
        back[rows] = -back[:rows].sum(axis=0)
        largest = Fraction(int(np.abs(sums).max()), one)
        own = turned_off + (ratio + spread_off) * turned_off * rows + largest * spread_off + Fraction(1, one)
        return back, spread, max(spread_off, own * self.size)

    @property
    def spread(self) -> Whole:
        return self._inverse[1]

    @property
    def off(self) -> Fraction:
        return self._inverse[2]

    @cached_property
    def largest(self) -> Fraction:
        back, spread, off = self._inverse
        return Fraction(max(int(np.abs(back).max()), int(np.abs(spread).max())), self.bottom) + off

    @cached_property
    def most_in_cells(self) -> tuple[Fraction, Fraction]:
        squares, _, totals = self.each(False)
        return self._up(max(squares), self.rows), self._up(max(totals) ** 2, 1)

    @cached_property
    def most_absolute(self) -> tuple[Fraction, Fraction]:
        _, absolutes, totals = self.each(False)
        return max(absolutes), max(totals)

    @property
    def answers(self) -> int:
        return self.size * (self.size + 1) // 2 if self.kind == "ranges" else self.size

    def _wanted(self, numbers: Whole) -> int:
        """Σ of squares over the wanted answers of what each column of numbers adds up to: Σ_{a<b}(S_b −
        S_a)² is (n + 1)·ΣS² − (ΣS)²."""
        sums = np.cumsum(numbers, axis=0)
        squares = int((sums**2).sum())
        if self.kind == "prefixes":
            return squares
        return (self.size + 1) * squares - int((sums.sum(axis=0) ** 2).sum())

    @cached_property
    def spread_error(self) -> Fraction:
        return self._up(Fraction(self._wanted(self.spread[:, None]), self.bottom**2), 1)

    @cached_property
    def rest_error(self) -> Fraction:
        return self._up(Fraction(self._wanted(self._inverse[0]), self.bottom**2), self.rows)

    def _up(self, square: Fraction, columns: int) -> Fraction:
        """No less than the sum of squares with the true numbers: (a + b)² ≤ (1 + t)a² + (1 + 1/t)b²."""
        apart = self.answers * columns * (self.size * self.off) ** 2
        return square * (1 + Fraction(1, 1 << 40)) + apart * (1 + (1 << 40))

    @cached_property
    def _parts(self) -> tuple[Fraction, Fraction]:
        return least_parts(self.kind, designed(self.kind, self.size, self.scale)[1])

    @property
    def least_total(self) -> Fraction:
        return self._parts[0]

    @property
    def least_rest(self) -> Fraction:
        return self._parts[1]

    @cached_property
    def least_alone(self) -> Fraction:
        return least_alone(self.kind, designed(self.kind, self.size, self.scale)[1])

    def forward(self, counts: NDArray[Any], axis: int) -> NDArray[Any]:
        matrix = self.matrix if counts.dtype != object else np.array(self.matrix.tolist(), dtype=object)
        return np.asarray(np.moveaxis(np.tensordot(matrix, counts, axes=(1, axis)), 0, axis))

    def back(self, numbers: NDArray[Any], axis: int) -> NDArray[Any]:
        return np.asarray(np.moveaxis(np.tensordot(self._inverse[0], numbers, axes=(1, axis)), 0, axis))

    def spread_at(self, key: int) -> Fraction:
        return Fraction(int(self.spread[key]), self.bottom)

    def shared(self, key: int, other: int) -> Fraction:
        back = self._inverse[0]
        return Fraction(int(back[key].dot(back[other])), self.bottom**2)

    def along(self, w: Sequence[int]) -> tuple[Fraction, Whole]:
        whole = np.array(list(w), dtype=object)
        return Fraction(int(whole.dot(self.spread)), self.bottom), np.asarray(whole.dot(self._inverse[0]))

    def each(self, cumulative: bool) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
        back, spread = self._inverse[0], self.spread
        if cumulative:
            back, spread = np.cumsum(back, axis=0), np.cumsum(spread)
        one = self.bottom
        return (
            [Fraction(int(top), one**2) for top in (back**2).sum(axis=1)],
            [Fraction(int(top), one) for top in np.abs(back).sum(axis=1)],
            [Fraction(int(top), one) for top in np.abs(spread)],
        )


def root_down(square: Fraction) -> Fraction:
    """The square root in steps of 2⁻⁶⁴, rounded down."""
    return Fraction(math.isqrt(math.floor(square * 4**_ROOT)), 1 << _ROOT)
