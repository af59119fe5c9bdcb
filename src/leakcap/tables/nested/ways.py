"""How the noise of what is released of one column reaches the cells of another: itself, or one below it.

A cell's estimate is a sum over the tables of the closure, of each a product over the columns of one number:
that of its own released numbers (L), or of how a total is spread over the keys (u). Where keys lie within
others, there is one more: how the mean of a key is spread over the keys below it, 1/n at each step. A
`NoiseWay` is one of these, with its squares and sizes; all are fractions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leakcap.tables.nested.level import Level
from leakcap.tables.ordered.protocol import Basis

__all__ = ["NoiseWay", "chain_way", "column_way"]

_FIXED = 256
"""Bits behind the point of a sum of squares, rounded up."""


class NoiseWay(Protocol):
    """See the file; `w` are whole weights of the keys of the column that is reached."""

    @property
    def heard(self) -> bool:
        """Whether numbers of this column, or of one above, are heard; else a total is spread."""

    @property
    def bottom(self) -> int:
        """The denominator of what `back` gives: the same for all ways to a column."""

    @property
    def most_square(self) -> Fraction:
        """The largest sum of squares of a cell's weights, at most."""

    @property
    def most_absolute(self) -> Fraction:
        """The largest sum of their sizes, but for what is rounded."""

    @property
    def error(self) -> Fraction:
        """The sums of squares of all wanted answers together, at most."""

    def along(self, w: Sequence[int]) -> tuple[Fraction, Fraction]:
        """The sum of squares, and that of sizes, of the weights of wᵀx."""

    def each(self, cumulative: bool) -> tuple[list[Fraction], list[Fraction]]:
        """The same of every cell, or of every prefix."""

    def shared(self, key: int, other: NoiseWay, beside: int) -> Fraction:
        """The product of the weights of a cell with those of one that another way from the same reaches."""

    def back(self, numbers: NDArray[Any], axis: int) -> NDArray[Any]:
        """The numerators of the cells, along an axis, which has one place where a total is spread."""


def column_way(basis: Basis, heard: bool) -> NoiseWay:
    """Of a column by itself: of its own numbers, or of a total."""
    return _ColumnWay(basis, heard)


def chain_way(levels: Sequence[Level], source: int | None) -> NoiseWay:
    """From the column at place `source` of a chain, or from the total (None), to the last one of `levels`.

    >>> land = (Level.of([0, 0]), Level.of([0, 0, 1, 1]))
    >>> region, district, total = (chain_way(land, source) for source in (0, 1, None))
    >>> [str(one) for one in (region.most_square, district.most_square, total.most_square)]
    ['1/32', '1/8', '1/16']
    """
    return _ChainWay(tuple(levels), source)


@dataclass(frozen=True, eq=False)
class _ColumnWay:
    """Of a column by itself."""

    basis: Basis
    heard: bool

    @property
    def bottom(self) -> int:
        return self.basis.bottom

    @property
    def most_square(self) -> Fraction:
        return self.basis.most_in_cells[not self.heard]

    @property
    def most_absolute(self) -> Fraction:
        return self.basis.most_absolute[not self.heard]

    @property
    def error(self) -> Fraction:
        return self.basis.rest_error if self.heard else self.basis.spread_error

    def along(self, w: Sequence[int]) -> tuple[Fraction, Fraction]:
        spread, rest = self.basis.along(w)
        if not self.heard:
            return spread**2, abs(spread)
        bottom = self.basis.bottom
        return Fraction(int((rest**2).sum()), bottom**2), Fraction(int(np.abs(rest).sum()), bottom)

    def each(self, cumulative: bool) -> tuple[list[Fraction], list[Fraction]]:
        squares, absolutes, totals = self.basis.each(cumulative)
        return (squares, absolutes) if self.heard else ([one * one for one in totals], totals)

    def shared(self, key: int, other: NoiseWay, beside: int) -> Fraction:
        if self.heard:
            return self.basis.shared(key, beside)
        return self.basis.spread_at(key)

    def back(self, numbers: NDArray[Any], axis: int) -> NDArray[Any]:
        if self.heard:
            return self.basis.back(numbers, axis)
        wide = [-1 if one == axis else 1 for one in range(numbers.ndim)]
        return np.asarray(numbers * self.basis.spread.reshape(wide))


@dataclass(frozen=True, eq=False)
class _ChainWay:
    """From a column of a chain, or from the total."""

    levels: tuple[Level, ...]
    source: int | None

    @property
    def heard(self) -> bool:
        return self.source is not None

    @cached_property
    def _steps(self) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
        """For each cell its place in the level that is heard, and over how many the mean is spread."""
        last = -1 if self.source is None else self.source
        here = np.arange(self.levels[-1].size)
        spread = np.ones(len(here), dtype=object)
        for level in reversed(self.levels[last + 1 :]):
            above = level.parents[here]
            spread = spread * level.children[above].astype(object)
            here = above
        return here, spread

    @cached_property
    def _own(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each cell how many siblings its place in the level heard has, itself among them, and k."""
        assert self.source is not None
        level = self.levels[self.source]
        above = level.parents[self._steps[0]]
        return level.children[above], level.scales[above]

    @cached_property
    def _bottoms(self) -> NDArray[np.object_]:
        """For each cell a denominator of its weights."""
        spread = self._steps[1]
        if self.source is None:
            return spread
        children, scales = (one.astype(object) for one in self._own)
        return np.asarray(spread * scales * children**2)

    @cached_property
    def bottom(self) -> int:
        ways = (_ChainWay(self.levels, one) for one in (None, *range(len(self.levels))))
        return math.lcm(*{bottom for way in ways for bottom in way._bottoms.tolist()})

    @cached_property
    def _kind_of_each(self) -> list[tuple[int, int, int]]:
        """Of each cell: over how many a mean is spread, how many siblings there are, k."""
        spread = self._steps[1].tolist()
        one = [1] * len(spread)
        own = [column.tolist() for column in self._own] if self.heard else [one, one]
        return list(zip(spread, *own, strict=True))

    @cached_property
    def _kinds(self) -> Counter[tuple[int, int, int]]:
        """How many cells there are of each kind."""
        return Counter(self._kind_of_each)

    def _square(self, spread: int, n: int, k: int) -> Fraction:
        if not self.heard:
            return Fraction(1, spread**2)
        return Fraction(n - 1, spread**2 * k**2 * n**3)

    def _absolute(self, spread: int, n: int, k: int) -> Fraction:
        return Fraction(2 * (n - 1), spread * k * n**2) if self.heard else Fraction(1, spread)

    @cached_property
    def most_square(self) -> Fraction:
        return max(self._square(*kind) for kind in self._kinds)

    @cached_property
    def most_absolute(self) -> Fraction:
        return max(self._absolute(*kind) for kind in self._kinds)

    @cached_property
    def error(self) -> Fraction:
        # Denominators of many kinds would have very many digits.
        steps = sum(
            many * math.ceil(self._square(*kind) * (1 << _FIXED)) for kind, many in self._kinds.items()
        )
        return Fraction(steps, 1 << _FIXED)

    def along(self, w: Sequence[int]) -> tuple[Fraction, Fraction]:
        here, _ = self._steps
        shares = self.bottom // self._bottoms
        if self.source is None:
            spread = Fraction(
                sum(own * one for own, one in zip(w, shares.tolist(), strict=True)), self.bottom
            )
            return spread**2, abs(spread)
        level = self.levels[self.source]
        # Σ w/(spread·k·n²) of the cells below each key, as numerators over `bottom`.
        below = np.zeros(level.size, dtype=object)
        np.add.at(
            below,
            here,
            np.array([own * one for own, one in zip(w, shares.tolist(), strict=True)], dtype=object),
        )
        heard = level.children[level.parents].astype(object) * below - level.added(below, 0)[level.parents]
        square = Fraction(int((heard**2).sum()), self.bottom**2)
        return square, Fraction(int(np.abs(heard).sum()), self.bottom)

    def each(self, cumulative: bool) -> tuple[list[Fraction], list[Fraction]]:
        assert not cumulative, "keys within others are not added up along their order"
        kinds = {kind: (self._square(*kind), self._absolute(*kind)) for kind in self._kinds}
        found = [kinds[kind] for kind in self._kind_of_each]
        return [square for square, _ in found], [absolute for _, absolute in found]

    def shared(self, key: int, other: NoiseWay, beside: int) -> Fraction:
        if not self.heard:
            return Fraction(1, int(self._steps[1][key]))
        assert isinstance(other, _ChainWay)
        assert self.source is not None
        level = self.levels[self.source]
        here, there = int(self._steps[0][key]), int(other._steps[0][beside])
        if level.parents[here] != level.parents[there]:
            return Fraction(0)
        n, k = int(self._own[0][key]), int(self._own[1][key])
        spread = int(self._steps[1][key]) * int(other._steps[1][beside])
        return Fraction(n * (here == there) - 1, k**2 * n**3 * spread)

    def back(self, numbers: NDArray[Any], axis: int) -> NDArray[Any]:
        wide = [-1 if one == axis else 1 for one in range(numbers.ndim)]
        shares = np.asarray(self.bottom // self._bottoms, dtype=object).reshape(wide)
        if self.source is None:
            return np.asarray(numbers * shares)
        level, here = self.levels[self.source], self._steps[0]
        own = numbers.take(here, axis)
        sums = level.added(numbers, axis).take(level.parents[here], axis)
        children = self._own[0].astype(object).reshape(wide)
        return np.asarray((children * own - sums) * shares)
