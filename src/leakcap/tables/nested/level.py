"""What is released of a column whose keys lie within those of another one.

Of the counts x of a column's keys the numbers Ξx are released: for each parent p with its n children
k_p·(n·x − Σx), a matrix k_p(nI − 11ᵀ) for each. What a child has above the mean of its siblings follows from
it, and the mean from the parent's own count. The whole number k_p makes a row move Ξx as far under one parent
as under another: k_p²·n(n − 1) is nearly the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Level", "Places64", "scales_of"]

Places64 = NDArray[np.int64]

_LARGEST = 64
"""So many times Ξ is what it would be of the parent with most children, at most."""
_EVEN = Fraction(129, 128)
"""Where a row moves Ξx under each parent nearly as far as under any other, no larger numbers are tried."""


def scales_of(sizes: Iterable[int]) -> dict[int, int]:
    """For each number of children a factor, so that k²·n(n − 1) is nearly the same, and largest where all
    factors are exact.

    >>> scales_of([5, 5]), scales_of([2, 9])
    ({5: 1}, {2: 6, 9: 1})
    """
    many = sorted({size for size in sizes if size > 1})
    found, off = dict.fromkeys(many, 1), Fraction(0)
    if len(many) < 2:
        return found
    top = many[-1] * (many[-1] - 1)
    for scale in range(1, _LARGEST + 1):
        own = {n: math.isqrt(scale**2 * top // (n * (n - 1))) for n in many}
        apart = max(Fraction(scale**2 * top, own[n] ** 2 * n * (n - 1)) for n in many)
        if not off or apart < off:
            found, off = own, apart
        if off <= _EVEN:
            break
    return found


@dataclass(frozen=True, eq=False)
class Level:
    """Keys and the place of each one's parent; children of a parent stand together, in the parents' order.

    It is the `Basis` of such a column, but for how cells follow from it: see `ways`.

    >>> level = Level.of([0, 0, 1, 1])
    >>> level.forward(np.array([3, 1, 4, 1]), 0).tolist(), level.reach, level.least
    ([2, -2, 3, -3], 2, -2)
    """

    parents: Places64

    @classmethod
    def of(cls, parents: Sequence[int]) -> Level:
        """From the place of each key's parent."""
        return cls(np.array(list(parents), dtype=np.int64))

    @property
    def size(self) -> int:
        """The keys."""
        return len(self.parents)

    @property
    def rows(self) -> int:
        """How many numbers Ξx has."""
        return self.size

    @property
    def answers(self) -> int:
        """How many numbers are wanted of the column."""
        return self.size

    @property
    def off(self) -> Fraction:
        """Nothing of how cells follow is rounded."""
        return Fraction(0)

    @property
    def largest(self) -> Fraction:
        """No weight of a number in a cell is larger."""
        return Fraction(1)

    @cached_property
    def children(self) -> Places64:
        """How many each parent has."""
        return np.bincount(self.parents).astype(np.int64)

    @cached_property
    def starts(self) -> Places64:
        """Where each parent's children begin."""
        return np.concatenate([[0], np.cumsum(self.children)[:-1]]).astype(np.int64)

    @cached_property
    def scales(self) -> Places64:
        """k_p of each parent; 1 of an only child, of which nothing is left to tell."""
        known = scales_of(self.children.tolist())
        return np.array([known.get(n, 1) for n in self.children.tolist()], dtype=np.int64)

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        """The number of children and the factor of each kind of parent that has two or more."""
        found = {(n, k) for n, k in zip(self.children.tolist(), self.scales.tolist(), strict=True) if n > 1}
        return sorted(found)

    @cached_property
    def reach(self) -> int:
        """The largest squared length of a column of Ξ."""
        return max((k * k * n * (n - 1) for n, k in self._pairs), default=0)

    @cached_property
    def least(self) -> int:
        """The least product of the columns of two siblings; of other keys it is 0."""
        return min((-k * k * n for n, k in self._pairs), default=0)

    @cached_property
    def most_apart(self) -> int:
        """The largest product of the columns of two siblings."""
        return max((-k * k * n for n, k in self._pairs), default=0)

    @cached_property
    def stretch(self) -> int:
        """The largest sum of the sizes in a row of Ξ."""
        return max((2 * k * (n - 1) for n, k in self._pairs), default=0)

    def added(self, counts: NDArray[Any], axis: int) -> NDArray[Any]:
        """The sums over each parent's children, along an axis."""
        return np.asarray(np.add.reduceat(counts, self.starts, axis=axis))

    def forward(self, counts: NDArray[Any], axis: int) -> NDArray[Any]:
        """Ξ along an axis."""
        sums = self.added(counts, axis).take(self.parents, axis)
        many, factor = (self._along(one, counts, axis) for one in (self.children, self.scales))
        return np.asarray(factor * (many * counts - sums))

    def differences(self, apart: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """k·n times what each key's number has above that of its first sibling: what stands for Ξx."""
        first = apart.take(self.starts[self.parents], axis)
        return np.asarray(self._along(self.children * self.scales, apart, axis) * (apart - first))

    def _along(self, numbers: Places64, like: NDArray[Any], axis: int) -> NDArray[Any]:
        """A parent's number for each of its children, with the axes of an array."""
        own = numbers[self.parents]
        own = own.astype(object) if like.dtype == object else own
        return own.reshape([-1 if one == axis else 1 for one in range(like.ndim)])
