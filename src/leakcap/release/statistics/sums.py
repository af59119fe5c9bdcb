"""Sums and means of a bounded column, on a grid of integers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from leakcap.arrays import np
from leakcap.release.columns.grid import LARGEST_EXACT, Grid, grid_for
from leakcap.release.measurements.aggregates import Known, Sum
from leakcap.release.measurements.measurement import NoisyMeasurement, Offer, measured, noisy_of
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.answers import Answers
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles, exact_integers, plus
from leakcap.release.numbers.fieller import boxed_quotients, quotients
from leakcap.release.numbers.laws import noise_sums
from leakcap.release.numbers.tails import Floats
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.statistics.base import Expected, Statistic, assumed_rows, column_bounds, most_rows

__all__ = ["ColumnSum", "Mean", "count_part", "grid_answers", "part_quotients", "sum_part"]


class ColumnSum(Statistic):
    """The sum of a column, its values clamped to the policy's bounds."""

    name: ClassVar[str] = "sum"
    from_zero: ClassVar[bool] = True
    adds_up: ClassVar[bool] = True
    sql: ClassVar[tuple[str, ...]] = ("SUM",)

    def plan(self, asked: QueryContext) -> Plan:
        """A row is its integer on the grid."""
        known, bounds = asked.bounded_column
        low, high = map(Fraction, bounds)
        furthest = high - low if asked.all_units_counted else 2 * max(abs(low), abs(high))
        scale = asked.policy.rows_per_unit * furthest / asked.offer.fineness
        grid = grid_for(bounds, scale=scale, places=known.places)
        value = grid.tree(asked.query.column or "", bounds, known.fill)
        return asked.plan([sum_part(asked, grid, 0, asked.offer)], values=[value], grid=grid)

    def places(self, plan: Plan) -> int | None:
        """Those of the column, where the grid is that of its decimals."""
        return None if plan.grid is None else plan.grid.places

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The noisy sums and their intervals."""
        return grid_answers(plan, noisy)

    def expected(self, plan: Plan) -> Expected:
        """How far the noise goes."""
        assert plan.grid is not None
        return Expected(plan.grid.value(plan.errors[0]))

    def prior_error(self, plan: Plan) -> float | None:
        """Half of what all rows can make of it, up and down."""
        rows, (low, high) = most_rows(plan), column_bounds(plan)
        return None if rows is None else rows * (max(high, 0.0) - min(low, 0.0)) / 2


class Mean(Statistic):
    """The mean of a column: over a public number of units, or a noisy sum over a noisy count.

    The latter has Fieller's interval, which keeps what both noises do together (`numbers/fieller.py`); in a
    margin with Laplace noises, which are sums there, a box of two intervals.
    """

    name: ClassVar[str] = "mean"
    sql: ClassVar[tuple[str, ...]] = ("AVG", "MEAN")
    adds_up: ClassVar[bool] = True

    def plan(self, asked: QueryContext) -> Plan:
        """A mean over a public number of units needs no noisy count; any other mean pays for both."""
        known, bounds = asked.bounded_column
        policy, all_units_counted = asked.policy, asked.all_units_counted
        offer = asked.offer / (1 if all_units_counted else 2)
        furthest = Fraction(bounds[1]) - Fraction(bounds[0])
        scale = policy.rows_per_unit * furthest / offer.fineness
        grid = grid_for(bounds, scale=scale, places=known.places)
        centre = 0 if all_units_counted else (grid.low + grid.high) // 2
        parts: list[NoisyMeasurement] = [sum_part(asked, grid, centre, offer)]
        if not all_units_counted:
            parts.append(count_part(asked, offer))
        value = grid.tree(asked.query.column or "", bounds, known.fill, centre=centre)
        exact = policy.rows if all_units_counted else None
        return asked.plan(parts, values=[value], grid=grid, centre=centre, exact_count=exact)

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The noisy sum over the rows, within the bounds, and its interval."""
        grid, centre = plan.grid, plan.centre
        assert grid is not None
        if plan.exact_count is not None:
            error = exact_integers([plan.errors[0]])
            totals = (noisy[0], plus(noisy[0], -error), plus(noisy[0], error))
            value, low, high = (doubles(total) / plan.exact_count for total in totals)
        else:
            value, low, high = part_quotients(plan, noisy, _range(grid, centre))
        # To add the centre rounds.
        steps = (value + centre, np.nextafter(low + centre, -np.inf), np.nextafter(high + centre, np.inf))
        value, low, high = (grid.scaled(np.clip(one, grid.low, grid.high)) for one in steps)
        if grid.places is not None:
            # So does to divide by a power of ten.
            low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
            low, high = (np.clip(one, grid.value(grid.low), grid.value(grid.high)) for one in (low, high))
        return Answers(value, low, high)

    def expected(self, plan: Plan) -> Expected:
        """Exact where the number of rows is public, else for an assumed number."""
        assert plan.grid is not None
        if plan.exact_count is not None:
            return Expected(plan.grid.value(Fraction(plan.errors[0], plan.exact_count)))
        rows = assumed_rows(plan)
        return Expected(_mean_error(plan.grid, plan.errors, rows), rows)

    def prior_error(self, plan: Plan) -> float | None:
        """Half of the bounds' width."""
        low, high = column_bounds(plan)
        return (high - low) / 2


def grid_answers(plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
    """The doubles nearest to the noisy sums, and what the noise may have added or taken off.

    Beyond 2⁵³ steps, where the nearest double may be another number, the ends are rounded outward.
    """
    assert plan.grid is not None
    error = exact_integers([plan.errors[0]])
    ends = []
    for off, outward in ((-error, -np.inf), (error, np.inf)):
        steps = plus(noisy[0], off)
        nearest, far = plan.grid.values(steps), np.abs(doubles(steps)) >= LARGEST_EXACT
        ends.append(np.where(far, np.nextafter(nearest, outward), nearest))
    return Answers(plan.grid.values(noisy[0]), *ends, exact=plan.grid.places is not None)


def part_quotients(
    plan: Plan, noisy: Sequence[ExactIntegers], within: tuple[float, float], *, step: float = 1.0
) -> tuple[Floats, Floats, Floats]:
    """The first part's numbers over the second's, and the ends of their intervals: Fieller's, or a box where
    the law of the noises together is not known."""
    both, parts = (noisy[0], noisy[1]), noisy_of(plan.parts)[:2]
    sums = noise_sums([part.noise for part in parts], parts[0].added)
    if sums is None:
        return boxed_quotients(both, plan.errors, within, step=step)
    return quotients(both, sums.scales, within, sums.beyond, step=step, law=sums.law)


def _range(grid: Grid, centre: int) -> tuple[float, float]:
    """What a mean can be, in steps from the centre."""
    return float(grid.low - centre), float(grid.high - centre)


def sum_part(asked: QueryContext, grid: Grid, centre: int, offer: Offer) -> NoisyMeasurement:
    """The noisy sum of the first value, which is an integer of the grid less `centre`."""
    every = asked.all_units_counted
    low, high = grid.low - centre, grid.high - centre
    contribution = Contribution(low, high, asked.policy.rows_per_unit, asked.cells.size, every)
    largest = max(abs(end - shift) for end in (grid.low, grid.high) for shift in (0, centre))
    return measured(
        "sum",
        Sum(largest, positive=low >= 0),
        contribution,
        offer,
        unit=grid.step,
        covers=every or low <= 0 <= high,
    )


def count_part(asked: QueryContext, offer: Offer) -> NoisyMeasurement:
    """The noisy number of rows that have a first value."""
    contribution = Contribution(1, 1, asked.policy.rows_per_unit, asked.cells.size)
    return measured("count", Known(), contribution, offer, one_hot=True)


def _mean_error(grid: Grid, errors: Sequence[int], rows: int) -> float:
    """|S′/N′ − S/N| ≤ (error of S + |S/N|·error of N)/(N − error of N) with |S/N| ≤ half the width."""
    width = grid.high - grid.low
    if rows <= errors[1]:
        return grid.value(width)
    worst = Fraction(errors[0] + Fraction(width, 2) * errors[1]) / (rows - errors[1])
    return grid.value(min(worst, Fraction(width)))
