"""What was released of a tree: whole counts that add up, and an interval for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import require
from leakcap.ledger import Spend
from leakcap.numeric.rounding import float_down, float_up
from leakcap.policy.declared import Key
from leakcap.release.numbers.answers import Row, Rows
from leakcap.release.results.tables import arrow_of, pandas_of, polars_of
from leakcap.tables.answer import LARGEST_WEIGHT, WEIGHT_RULE, Estimate
from leakcap.tables.hierarchies.fit import SLACK, TreeFit, half_widths
from leakcap.tables.hierarchies.question import PlannedHierarchy
from leakcap.tables.hierarchies.whole import whole_counts

__all__ = ["LevelCounts", "ReleasedHierarchy"]

Integers = NDArray[np.int64]
_FAR = 2**62


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """The counts of one level, in the tree's order: `values`, whole and from 0 on, each of which is the sum
    of its children's, and whole `lower` and `upper`.

    An interval is that of the unrounded estimate, cut to what a count can be, and widened to hold the value
    where rounding moved it out: it holds the exact count with probability 95 % or more. `drowned` says where
    the noise is as large as the count, `exact` where the count was published exactly.
    """

    level: str
    labels: tuple[Key, ...]
    values: Integers
    lower: Integers
    upper: Integers
    estimates: NDArray[np.float64]
    standard_deviation: NDArray[np.float64]
    drowned: NDArray[np.bool_]
    exact: NDArray[np.bool_]

    @property
    def rows(self) -> Rows:
        """The nodes as rows, as other answers have them: the label, value and interval."""
        numbers = zip(
            self.labels, self.values.tolist(), self.lower.tolist(), self.upper.tolist(), strict=True
        )
        return Rows.of(
            [
                Row({self.level: label}, value, (float(low), float(high)))
                for label, value, low, high in numbers
            ]
        )

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a row for each node: a column of the level's name, then `value`, `lower`,
        `upper` and `flag`, which is "u" where the noise is as large as the count, and otherwise empty.

        Raises `InvalidParameter` without pandas.
        """
        return pandas_of(self.rows, self.drowned)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table` of the columns of `to_pandas`. Raises `InvalidParameter` without PyArrow."""
        return arrow_of(self.rows, self.drowned)

    def to_polars(self) -> Any:
        """A `polars.DataFrame` of the columns of `to_pandas`. Raises `InvalidParameter` without Polars."""
        return polars_of(self.rows, self.drowned)


@dataclass(frozen=True, eq=False)
class ReleasedHierarchy:
    """Noisy counts of each level, and what the ledger says of them; all else is computed from these.

    `repeated` says that the ledger knew the answer.
    """

    planned: PlannedHierarchy
    noisy: tuple[Integers | None, ...] = field(repr=False)
    spend: Spend
    entry: int
    repeated: bool

    @cached_property
    def fit(self) -> TreeFit:
        """The best linear unbiased estimates."""
        plan = self.planned.plan
        return TreeFit.of(plan.hierarchy, self.noisy, plan.variances, self.planned.invariants.counts)

    @cached_property
    def _whole(self) -> tuple[Integers, ...]:
        return whole_counts(self.fit, self.planned.invariants.limits)

    @cached_property
    def levels(self) -> tuple[LevelCounts, ...]:
        """The counts of every level, top first."""
        return tuple(self._level(level) for level in range(len(self.planned.hierarchy.levels)))

    def level(self, name: str) -> LevelCounts:
        """The counts of one level. Raises `InvalidQuery` for one that the tree does not have."""
        return self.levels[self.planned.hierarchy.number(name)]

    def node(self, level: str, label: Key) -> Estimate:
        """The whole count of one node, with its interval. Raises `InvalidQuery` for one that is not."""
        number, place = self.planned.hierarchy.place(level, label)
        own = self.levels[number]
        return Estimate(float(own.values[place]), float(own.lower[place]), float(own.upper[place]))

    def sum_of(self, nodes: Sequence[tuple[str, Key, float]]) -> Estimate:
        """Σ weight·count over nodes, each a level, a label and a weight: a total, a difference.

        It is that of the unrounded estimates. Errors that nodes have in common are taken into account. Raises
        `InvalidParameter` and `InvalidQuery`.
        """
        placed: list[tuple[tuple[int, int], float]] = []
        found = Fraction(0)
        for level, label, weight in nodes:
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            require(number and abs(weight) <= LARGEST_WEIGHT, "weight", "sum_of", WEIGHT_RULE, weight)
            node = self.planned.hierarchy.place(level, label)
            placed.append((node, float(weight)))
            base, shift = int(self.fit.base[node[0]][node[1]]), float(self.fit.shift[node[0]][node[1]])
            found += Fraction(weight) * (base + Fraction(shift))
        parts = [v * w * self.fit.covariance(a, b) for a, v in placed for b, w in placed]
        variance = max(0.0, math.fsum(parts)) + SLACK * math.fsum(map(abs, parts))
        half = float(half_widths(np.array([variance]), self.fit.least)[0])
        half = half * (1 + SLACK) + self.fit.rounding * math.fsum(abs(weight) for _, weight in placed)
        return Estimate(float(found), float_down(found - Fraction(half)), float_up(found + Fraction(half)))

    def _level(self, level: int) -> LevelCounts:
        fit, invariants = self.fit, self.planned.invariants
        base, shift, values = fit.base[level], fit.shift[level], self._whole[level]
        half = half_widths(fit.variance[level], fit.least) * (1 + SLACK) + fit.rounding
        # A count is whole: what lies within is what its ends are rounded inward to.
        low, high = np.ceil(shift - half), np.floor(shift + half)
        lower = base + np.clip(low, -_FAR, _FAR).astype(np.int64)
        upper = base + np.clip(high, -_FAR, _FAR).astype(np.int64)
        least, most = (np.clip(one, 0, _FAR).astype(np.int64) for one in invariants.limits[level])
        drowned = (lower <= 0) & (values <= half)
        exact = least == most
        return LevelCounts(
            fit.hierarchy.levels[level],
            fit.hierarchy.labels[level],
            values,
            np.minimum(np.clip(lower, least, most), values),
            np.maximum(np.clip(upper, least, most), values),
            base + shift,
            np.sqrt(fit.variance[level]) * (1 + SLACK),
            drowned & ~exact,
            exact,
        )
