"""Means and ratios of a survey by its design weights, whose intervals hold noise and sampling apart.

A ratio is Σ w·x over Σ w·z, a mean the one whose z is 1 (Hájek 1971). Its interval is all r at which
Σ w(x − r·z), a total that is 0 at the population's ratio, is no further from 0 than 95 % of its noise and its
sampling go: Fieller's, by the sums of w(w − 1) times x², x·z and z². Of the designs see `weighted`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from leakcap.arrays import np
from leakcap.release.conditions.number_columns import Operand
from leakcap.release.numbers.answers import Answers
from leakcap.release.numbers.exact_integers import ExactIntegers, exact_integers
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, assumed_rows, column_bounds, require
from leakcap.release.statistics.weighted import SurveyEstimate, design_of, rounded_apart, thrice
from leakcap.release.statistics.weighted_intervals import WeightedQuotient, column_centre
from leakcap.release.statistics.weighted_sums import WeightedSums

__all__ = ["WeightedMean", "WeightedRatio"]

_MOST_ROWS = 2.0**64
_ROUNDED = 1e-9


class _WeightedQuotient(SurveyEstimate):
    """A weighted sum over another, the rows of which have all of what is multiplied."""

    least: ClassVar[int] = 2
    assumed: ClassVar[str]
    """What is taken to be in its middle before the rows are counted."""

    @abstractmethod
    def terms(self, asked: QueryContext, sums: WeightedSums) -> tuple[Operand, Operand]:
        """What is weighted and added up above the line, and below it."""

    @abstractmethod
    def within(self, plan: Plan) -> tuple[float, float]:
        """What the quotient can be."""

    def centre(self, plan: Plan) -> float:
        """The public number that is taken off what is above the line, times what is below."""
        return 0.0

    def plan(self, asked: QueryContext) -> Plan:
        """Half of the offer for each of two sums; with a design three eighths, and a twelfth for each of the
        variance's three."""
        design = design_of(asked.query, asked.policy)
        sums = WeightedSums(asked, asked.query.design_weight or "")
        above, below = self.terms(asked, sums)
        share = asked.offer / (2 if design is None else Fraction(8, 3))
        found = [
            sums.sum("sum", 0, sums.times(sums.weight, above), share),
            sums.sum("weights", 1, sums.times(sums.weight, below), share),
        ]
        if design is not None:
            given = {
                "variance of sum": sums.times(sums.spread, *sums.squared(above)),
                "covariance": sums.times(sums.spread, above, below),
                "variance of weights": sums.times(sums.spread, *sums.squared(below)),
            }
            for place, (role, one) in enumerate(given.items(), 2):
                found.append(sums.sum(role, place, one, asked.offer / 12))
        return self.planned(sums, found, design)

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The noisy quotient thrice: with its noise, with its standard error, with both."""
        centre, found = self.centre(plan), self._quotient(plan, noisy)
        rows = [found.sample(0.05)]
        if len(plan.parts) > self.least:
            rows.append(found.error())
            rows.append(found.population())
        for place in {0, len(rows) - 1}:
            value, low, high = rows[place]
            moved = value + centre, *rounded_apart(low + centre, high + centre)
            rows[place] = tuple(np.clip(one, *self.within(plan)) for one in moved)  # type: ignore[assignment]
        return thrice(rows)

    def expected(self, plan: Plan) -> Expected:
        """Half of the interval's width, where all that is below the line is in its middle."""
        rows = assumed_rows(plan)
        middle = [0, rows * (plan.parts[1].contribution.low + plan.parts[1].contribution.high) // 2]
        if not self.centre(plan):
            middle[0] = rows * (plan.parts[0].contribution.low + plan.parts[0].contribution.high) // 2
        _, low, high = self._quotient(plan, [exact_integers([one]) for one in middle]).sample(0.05)
        remark = f"where {rows:,} rows count, with {self.assumed} in the middle; over the noise alone"
        return Expected(float(high[0] - low[0]) / 2, rows, remark=remark)

    def _quotient(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> WeightedQuotient:
        low, high = self.within(plan)
        return WeightedQuotient(plan, noisy, (low - self.centre(plan), high - self.centre(plan)))


class WeightedMean(_WeightedQuotient):
    """The mean of a column over the population, estimated by the weights of the sample."""

    name: ClassVar[str] = "weighted_mean"
    assumed: ClassVar[str] = "weights"

    def check(self, query: QueryFields) -> None:
        """A column, too."""
        require(query.column is not None, "column", query.name, "name what the mean is of")
        super().check(query)

    def terms(self, asked: QueryContext, sums: WeightedSums) -> tuple[Operand, Operand]:
        """The column less its middle, over 1."""
        _, bounds = asked.bounded_column
        return sums.less(sums.column(asked.query.column or ""), column_centre(bounds)), 1.0

    def within(self, plan: Plan) -> tuple[float, float]:
        """The column's bounds."""
        return column_bounds(plan)

    def centre(self, plan: Plan) -> float:
        """About the middle of the bounds."""
        return column_centre(column_bounds(plan))

    def prior_error(self, plan: Plan) -> float | None:
        """Half of the bounds' width."""
        low, high = column_bounds(plan)
        return (high - low) / 2


class WeightedRatio(_WeightedQuotient):
    """A sum over another, both over the population, estimated by the weights of the sample."""

    name: ClassVar[str] = "weighted_ratio"
    fields: ClassVar[frozenset[str]] = frozenset({"column", "over", "design_weight"})
    assumed: ClassVar[str] = "weights and numbers"

    def check(self, query: QueryFields) -> None:
        """Two columns, too."""
        require(query.column is not None, "column", query.name, "name what is above the line")
        require(query.over is not None, "over", query.name, "name what is below the line")
        require(query.column != query.over, "column", query.name, "name another column than `over`")
        super().check(query)

    def terms(self, asked: QueryContext, sums: WeightedSums) -> tuple[Operand, Operand]:
        """One column over the other, whose bounds must not be negative."""
        query = asked.query
        _, below = asked.bounded(query.over)
        require(below[0] >= 0, "over", query.name, "have bounds that are not negative")
        return sums.column(query.column or ""), sums.column(query.over or "")

    def within(self, plan: Plan) -> tuple[float, float]:
        """What the bounds allow; where what is below the line may be 0, what integers of 64 bits allow."""
        above, below = (plan.policy.columns[one or ""].bounds for one in (plan.query.column, plan.query.over))
        assert above is not None
        assert below is not None
        if below[0] > 0:
            corners = [a / b for a in above for b in below]
            # Products are rounded to a grid before they are added up.
            return min(corners) - abs(min(corners)) * _ROUNDED, max(corners) + abs(max(corners)) * _ROUNDED
        part = plan.parts[0]
        most = _MOST_ROWS * max(1, part.contribution.largest) * float(part.unit / plan.parts[1].unit)
        return (0.0 if above[0] >= 0 else -most), (0.0 if above[1] <= 0 else most)
