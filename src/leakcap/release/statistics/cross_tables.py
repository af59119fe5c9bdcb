"""Contingency tables: counts over two or more columns, with every margin and the total.

One noisy count for each cell of the table; margins are sums of those, so that table, margins and total agree
and the margins cost nothing. The noise of a margin is the sum of its cells' noises, whose law is exact
(`mechanism/noise_sums.py`). Where keys of a column lie within those of another the cells are the listed
pairs, and no margin has the inner column alone: such sums would be the cells themselves.

Source: Barak, Chaudhuri, Dwork, Kale, McSherry & Talwar 2007 for why margins should agree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from leakcap.arrays import np
from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, Cells, bins_axis, key_axis, split_axis, total_word
from leakcap.release.columns.summing import SummedCells, lone_axis
from leakcap.release.measurements.measurement import NoisyMeasurement
from leakcap.release.numbers.answers import Answers, Labels, nested, rows_listed
from leakcap.release.numbers.exact_integers import ExactIntegers, exact_integers
from leakcap.release.plan import Plan
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, require
from leakcap.release.statistics.counts import Count, around

__all__ = ["Contingency", "Margin", "margins_of"]

_MOST_COLUMNS = 6


@dataclass(frozen=True)
class Margin:
    """Which of the table's columns are kept, and how many cells each of its counts is a sum of."""

    kept: tuple[bool, ...]
    cells: int


def margins_of(sizes: Sequence[int]) -> list[Margin]:
    """The table itself, then every margin, the total last.

    >>> [(margin.kept, margin.cells) for margin in margins_of([2, 3])]
    [((True, True), 1), ((True, False), 3), ((False, True), 2), ((False, False), 6)]
    """
    return [
        Margin(kept, math.prod(size for size, keep in zip(sizes, kept, strict=True) if not keep))
        for kept in itertools.product((True, False), repeat=len(sizes))
    ]


def _margins(cells: Cells) -> list[tuple[Margin, SummedCells]]:
    """The table itself, then its margins: none has a column without those that it lies within."""
    return [
        (margin, SummedCells.of(cells, margin.kept))
        for margin in margins_of(cells.sizes)
        if lone_axis(cells, margin.kept) is None
    ]


class Contingency(Count):
    """How many rows in each cell of a table of several columns, in each of its margins, and in all."""

    name: ClassVar[str] = "contingency"
    sql: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[frozenset[str]] = frozenset({"columns", "bins", "edges"})
    adds_up: ClassVar[bool] = False  # its margins are among its rows
    nests: ClassVar[bool] = True

    @property
    def label(self) -> str:
        """The name as it stands in a sentence."""
        return "contingency table"

    def check(self, query: QueryFields) -> None:
        """Two columns to six."""
        few = query.columns is not None and 2 <= len(query.columns) <= _MOST_COLUMNS
        require(few, "columns", query.name, f"name from 2 to {_MOST_COLUMNS} columns")
        if query.bins is not None:
            require(1 <= query.bins <= 10_000, "bins", query.name, "be from 1 to 10,000")

    def post_processing(self, query: QueryFields) -> str | None:
        """Margins are sums."""
        return "margins and total are sums of the noisy cells"

    def axes(self, query: QueryFields, policy: Policy, groups: int) -> list[Axis]:
        """The keys of each column, or its bins."""
        columns, axes = query.columns or (), []
        numbers = [
            name
            for name in columns
            if name in policy.columns and policy.columns[name].bounds and name not in dict(query.cut)
        ]
        if query.bins is not None or query.edges is not None:
            require(bool(numbers), "bins", query.name, "be left out: no column has `bounds`")
        if query.edges is not None and len(numbers) > 1:
            raise InvalidQuery(f"`edges` of query `{query.name}` fit one column. Give `cut`, edges for each.")
        for name in columns:
            axis = self._axis(query, policy, groups, name)
            axes.append(axis)
            groups *= len(axis.labels)
        return axes

    def _axis(self, query: QueryFields, policy: Policy, groups: int, name: str) -> Axis:
        known = policy.columns.get(name)
        require(known is not None, "columns", query.name, f"name columns of the policy; `{name}` is none")
        assert known is not None
        if known.private is not None:
            raise InvalidQuery(f"A {self.label} needs public `keys`; `{name}` has none.")
        if name in dict(query.cut):
            return split_axis(name, policy, query)
        if known.bounds is not None:
            return bins_axis(query, policy, groups, name)
        return key_axis(name, policy, query)

    def labels(self, plan: Plan) -> Labels:
        """The keys; in a margin the word for all of a column stands in place of its key."""
        by = len(plan.query.by)
        own, names = plan.cells.axes[by:], [axis.column for axis in plan.cells.axes[by:]]
        rows: list[dict[str, Key]] = []
        for _, summed in _margins(Cells(own)):
            kept, size = summed.cells.labels(), summed.cells.size
            words = [
                kept[axis.column].tolist() if axis.column in kept else [total_word(axis)] * size
                for axis in own
            ]
            rows += [dict(zip(names, cell, strict=True)) for cell in zip(*words, strict=True)]
        groups = Cells(plan.cells.axes[:by])
        return nested(groups.labels(), groups.size, rows_listed(rows), len(rows))

    def totals(self, plan: Plan) -> dict[str, Key]:
        """A word for each column of the table; the groups of `by` are not summed over."""
        return {axis.column: total_word(axis) for axis in plan.cells.axes[len(plan.query.by) :]}

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """Each cell, then the margins as sums, each with the law of its own noise."""
        (part,) = plan.parts
        assert isinstance(part, NoisyMeasurement)
        counts: list[int] = []
        errors: list[int] = []
        for summed, totals in self.tables(plan, noisy[0]):
            counts += totals
            own = {added: part.noise.error_of_sum(added, 0.05) for added in np.unique(summed.added).tolist()}
            errors += [own[added] for added in summed.added.tolist()]
        return around(exact_integers(counts), errors)

    def tables(self, plan: Plan, noisy: ExactIntegers) -> Iterator[tuple[SummedCells, list[int]]]:
        """For each group the table and its margins, in the order of the labels."""
        own = Cells(plan.cells.axes[len(plan.query.by) :])
        margins = [summed for _, summed in _margins(own)]
        for table in noisy.astype(object).reshape(-1, own.size):
            for summed in margins:
                yield summed, summed.sums(table).tolist()

    def prior_error(self, plan: Plan) -> float | None:
        """Not said: the cells are guessed otherwise than their margins."""
        return None

    def expected(self, plan: Plan) -> Expected:
        """Of a cell; and of the total, which is a sum of all."""
        (part,) = plan.parts
        assert isinstance(part, NoisyMeasurement)
        own = Cells(plan.cells.axes[len(plan.query.by) :])
        total = part.noise.error_of_sum(own.size, 0.05)
        return Expected(float(part.error(0.05)), remark=f"for each cell; the total {total:,}")
