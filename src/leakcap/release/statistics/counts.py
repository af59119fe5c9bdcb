"""Counts of rows: all together, in groups, in the bins of a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, bins_axis, key_axis
from leakcap.release.measurements.aggregates import RowCount
from leakcap.release.measurements.measurement import measured
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.answers import Answers
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles, exact_integers, plus
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, most_rows, require

__all__ = ["Count", "Histogram", "IntegerStatistic", "around"]


def around(noisy: ExactIntegers, error: int | Sequence[int]) -> Answers:
    """Integers that are off by `error` at most, one for all or one for each.

    >>> around(exact_integers([7]), 2).pairs()
    [(7, (5.0, 9.0))]
    """
    off = exact_integers([error]) if isinstance(error, int) else exact_integers(error)
    return Answers(noisy, doubles(plus(noisy, -off)), doubles(plus(noisy, off)))


class IntegerStatistic(Statistic):
    """One noisy integer for each cell, which is the answer, negative or not."""

    from_zero: ClassVar[bool] = True

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The noisy integers themselves, and what the noise may have added or taken off."""
        return around(noisy[0], plan.errors[0])

    def expected(self, plan: Plan) -> Expected:
        """How far the noise goes."""
        return Expected(float(plan.errors[0]))


class Count(IntegerStatistic):
    """How many rows, those with missing values included."""

    name: ClassVar[str] = "count"
    sql: ClassVar[tuple[str, ...]] = ("COUNT",)
    fields: ClassVar[frozenset[str]] = frozenset()
    adds_up: ClassVar[bool] = True

    def plan(self, asked: QueryContext) -> Plan:
        """A row is 1 in its cell."""
        contribution = Contribution(1, 1, asked.policy.rows_per_unit, asked.cells.size)
        rows = measured("count", RowCount(), contribution, asked.offer, one_hot=True)
        return asked.plan([rows])

    def prior_error(self, plan: Plan) -> float | None:
        """Half of all rows."""
        rows = most_rows(plan)
        return None if rows is None else rows / 2


class Histogram(Count):
    """How many rows in each bin of a number, or with each key of a key column."""

    name: ClassVar[str] = "histogram"
    sql: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[frozenset[str]] = frozenset({"column", "bins", "edges"})

    def check(self, query: QueryFields) -> None:
        """At most ten thousand bins."""
        super().check(query)
        if query.bins is not None:
            require(
                1 <= query.bins <= 10_000, "bins", query.name, "be from 1 to 10,000", f"Got {query.bins}."
            )

    def axes(self, query: QueryFields, policy: Policy, groups: int) -> list[Axis]:
        """The keys of the column, or its bins."""
        name = query.column or ""
        known = policy.columns.get(name)
        if known is None or known.bounds is not None:
            return [bins_axis(query, policy, groups)]
        if query.bins is not None or query.edges is not None:
            raise InvalidQuery(f"`bins` of query `{query.name}`: `{name}` has keys, which are its bins.")
        return [key_axis(name, policy, query)]
