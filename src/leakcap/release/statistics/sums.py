"""Sums and means of a bounded column, on a grid of integers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from leakcap.release.aggregates import Known, Sum
from leakcap.release.answers import Answers, Interval
from leakcap.release.grid import Grid, grid_for
from leakcap.release.part import Part, noisy_part
from leakcap.release.sensitivity import Contribution
from leakcap.release.statistics.base import CellStatistic, Expected, Statistic, assumed_rows
from leakcap.release.whole import Whole, plus, whole

if TYPE_CHECKING:
    from leakcap.release.plan import Asked, Plan

__all__ = ["Mean", "Total", "as_mean", "count_part", "sum_part"]


class Total(Statistic):
    """The sum of a column, its values clamped to the policy's bounds."""

    name: ClassVar[str] = "sum"
    sql: ClassVar[tuple[str, ...]] = ("SUM",)

    def plan(self, asked: Asked) -> Plan:
        """A row is its integer on the grid."""
        known, bounds = asked.bounded_column
        low, high = map(Fraction, bounds)
        furthest = high - low if asked.everyone else 2 * max(abs(low), abs(high))
        grid = grid_for(bounds, scale=asked.policy.rows_per_unit * furthest / asked.epsilon)
        value = grid.tree(asked.query.column or "", bounds, known.fill)
        return asked.plan([sum_part(asked, grid, 0, asked.epsilon)], values=[value], grid=grid)

    def answers(self, plan: Plan, noisy: Sequence[Whole]) -> Answers:
        """The doubles nearest to the exact grid values, and what the noise may have added or taken off."""
        assert plan.grid is not None
        error = whole([plan.errors[0]])
        ends = (plan.grid.values(plus(noisy[0], off)) for off in (-error, error))
        return Answers(plan.grid.values(noisy[0]), *ends)

    def expected(self, plan: Plan) -> Expected:
        """How far the noise goes."""
        assert plan.grid is not None
        return Expected(plan.grid.value(plan.errors[0]))


class Mean(CellStatistic):
    """The mean of a column: over a public number of units, or a noisy sum over a noisy count.

    For the latter each of the two is given half of the 5 %, so that the interval covers more often than it
    says.
    """

    name: ClassVar[str] = "mean"
    sql: ClassVar[tuple[str, ...]] = ("AVG", "MEAN")

    def plan(self, asked: Asked) -> Plan:
        """A mean over a public number of units needs no noisy count; any other mean pays for both."""
        known, bounds = asked.bounded_column
        policy, everyone = asked.policy, asked.everyone
        epsilon = asked.epsilon / (1 if everyone else 2)
        furthest = Fraction(bounds[1]) - Fraction(bounds[0])
        grid = grid_for(bounds, scale=policy.rows_per_unit * furthest / epsilon)
        centre = 0 if everyone else (grid.low + grid.high) // 2
        parts: list[Part] = [sum_part(asked, grid, centre, epsilon)]
        if not everyone:
            parts.append(count_part(asked, epsilon))
        value = grid.tree(asked.query.column or "", bounds, known.fill, centre=centre)
        exact = policy.rows if everyone else None
        return asked.plan(parts, values=[value], grid=grid, centre=centre, exact_count=exact)

    def cell(self, plan: Plan, noisy: Sequence[int]) -> tuple[float, Interval]:
        """The noisy sum over the rows, within the bounds; the extremes over the box of sums and counts."""
        rows = plan.exact_count if plan.exact_count is not None else max(noisy[1], 1)
        ends = [(total - error, total + error) for total, error in zip(noisy, plan.errors, strict=True)]
        counts = ends[1] if len(ends) > 1 else (rows, rows)
        corners = [Fraction(total, max(rows, 1)) for total in ends[0] for rows in counts]
        value = as_mean(plan, Fraction(noisy[0], rows))
        return value, (as_mean(plan, min(corners)), as_mean(plan, max(corners)))

    def expected(self, plan: Plan) -> Expected:
        """Exact where the number of rows is public, else for an assumed number."""
        assert plan.grid is not None
        if plan.exact_count is not None:
            return Expected(plan.grid.value(Fraction(plan.errors[0], plan.exact_count)))
        rows = assumed_rows(plan)
        return Expected(_mean_error(plan.grid, plan.errors, rows), rows)


def sum_part(asked: Asked, grid: Grid, centre: int, epsilon: Fraction) -> Part:
    """The noisy sum of the first value, which is an integer of the grid less `centre`."""
    every = asked.everyone
    low, high = grid.low - centre, grid.high - centre
    contribution = Contribution(low, high, asked.policy.rows_per_unit, asked.cells.size, every)
    largest = max(abs(end - shift) for end in (grid.low, grid.high) for shift in (0, centre))
    return noisy_part(
        "sum",
        Sum(largest),
        contribution,
        epsilon,
        asked.policy,
        unit=grid.step,
        covers=every or low <= 0 <= high,
    )


def count_part(asked: Asked, epsilon: Fraction) -> Part:
    """The noisy number of rows that have a first value."""
    contribution = Contribution(1, 1, asked.policy.rows_per_unit, asked.cells.size)
    return noisy_part("count", Known(), contribution, epsilon, asked.policy, one_hot=True)


def as_mean(plan: Plan, steps: Fraction) -> float:
    """The mean that is `steps` away from the centre of the grid, within the bounds."""
    assert plan.grid is not None
    inside = max(Fraction(plan.grid.low), min(Fraction(plan.grid.high), plan.centre + steps))
    return plan.grid.value(inside)


def _mean_error(grid: Grid, errors: Sequence[int], rows: int) -> float:
    """|S′/N′ − S/N| ≤ (error of S + |S/N|·error of N)/(N − error of N) with |S/N| ≤ half the width."""
    width = grid.high - grid.low
    if rows <= errors[1]:
        return grid.value(width)
    worst = Fraction(errors[0] + Fraction(width, 2) * errors[1]) / (rows - errors[1])
    return grid.value(min(worst, Fraction(width)))
