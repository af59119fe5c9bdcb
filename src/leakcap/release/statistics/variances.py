"""Variance and standard deviation: rows, sum and sum of squares, put together in `columns/variance.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from leakcap.arrays import np
from leakcap.release.columns.variance import (
    boxed_variances,
    square_reach,
    variance_grid,
    variance_intervals,
    variance_value,
)
from leakcap.release.measurements.aggregates import Squares
from leakcap.release.measurements.measurement import NoisyMeasurement, measured, noisy_of
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.answers import Answers
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles, exact_integers
from leakcap.release.numbers.laws import noise_sums
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.statistics.base import Expected, Statistic, assumed_rows, column_bounds
from leakcap.release.statistics.sums import count_part, sum_part

__all__ = ["StandardDeviation", "Variance"]


class Variance(Statistic):
    """The variance of a column (divided by the number of rows), its values clamped to the bounds."""

    name: ClassVar[str] = "variance"
    sql: ClassVar[tuple[str, ...]] = ("VAR_POP",)
    adds_up: ClassVar[bool] = True

    def plan(self, asked: QueryContext) -> Plan:
        """Rows, sum and sum of squares; the count is free where the number of units is public."""
        known, bounds = asked.bounded_column
        policy, all_units_counted = asked.policy, asked.all_units_counted
        offer = asked.offer / (2 if all_units_counted else 3)
        grid = variance_grid(bounds, rows=policy.rows_per_unit, epsilon=offer.fineness, places=known.places)
        centre = (grid.low + grid.high) // 2
        less, reach = square_reach((grid.low - centre, grid.high - centre))
        squares = measured(
            "squares",
            # The squares themselves pass through the engine too, so that they are what may not be beyond.
            Squares(less, reach[1] + less),
            Contribution(*reach, policy.rows_per_unit, asked.cells.size, all_units_counted),
            offer,
            unit=grid.step**2,
            covers=False,  # only squares of integers occur
        )
        parts: list[NoisyMeasurement] = [sum_part(asked, grid, centre, offer), squares]
        if not all_units_counted:
            parts.append(count_part(asked, offer))
        value = grid.tree(asked.query.column or "", bounds, known.fill, centre=centre)
        exact = policy.rows if all_units_counted else None
        return asked.plan(parts, values=[value], grid=grid, centre=centre, exact_count=exact)

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """Within what the bounds allow, and what the noise of all numbers together may have done."""
        grid, exact = plan.grid, plan.exact_count
        assert grid is not None
        parts = noisy_of(plan.parts)
        sums = noise_sums([part.noise for part in parts], parts[0].added)
        if sums is None:
            low, high = boxed_variances(self.name, grid, noisy, plan.errors, exact)
        else:
            low, high = variance_intervals(self.name, grid, [*map(doubles, noisy)], sums, exact)
        cells = zip(*(one.tolist() for one in noisy), strict=True)
        values = [
            variance_value(self.name, grid, exact if exact is not None else cell[2], (cell[0], cell[1]))
            for cell in cells
        ]
        return Answers(np.clip(values, low, high), low, high)

    def expected(self, plan: Plan) -> Expected:
        """Half an interval's width, where the column fills its bounds evenly."""
        rows = plan.exact_count or assumed_rows(plan)
        reach = plan.parts[1].contribution
        # A third of the largest square, less what each row's is counted from.
        typical = [0, rows * ((reach.high - reach.low) // 3 + reach.low), rows]
        ((_, (low, high)),) = self.answers(
            plan, [exact_integers([n]) for n in typical[: len(plan.parts)]]
        ).pairs()
        remark = f"where {rows:,} rows count and fill their bounds evenly"
        return Expected((high - low) / 2, None if plan.exact_count else rows, remark=remark)

    def prior_error(self, plan: Plan) -> float | None:
        """Half of the most that it can be, which is a quarter of the squared width (Popoviciu 1935)."""
        low, high = column_bounds(plan)
        return (high - low) * (high - low) / 8


class StandardDeviation(Variance):
    """The root of the variance."""

    name: ClassVar[str] = "standard_deviation"
    sql: ClassVar[tuple[str, ...]] = ("STDDEV_POP",)

    def prior_error(self, plan: Plan) -> float | None:
        """Half of the most that it can be, which is half of the width."""
        low, high = column_bounds(plan)
        return (high - low) / 4
