"""Totals and means of a survey by its design weights, whose intervals hold noise and sampling apart.

A total is Σ w·x over the sample (Horvitz & Thompson 1952), a mean Σ w·x over Σ w (Hájek 1971). Where the
policy states how the sample was drawn, its variance is estimated by further noisy sums in the same charge: Σ
w(w − 1)·x² for a total. That is unbiased for Poisson sampling; for simple random samples within strata it
errs upward on average, but for one part in the size of a stratum (Särndal, Swensson & Wretman 1992, sections
2.8, 3.5 and 3.7). A mean r has the r as its interval at which Σ w(x − r), a total that is 0 at the
population's mean, is no further from 0 than 95 % of its noise and its sampling go: Fieller's interval, by the
sums of w(w − 1) times x², x and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakcap.policy.document import Policy
from leakcap.release.measurements.measurement import noisy_of
from leakcap.release.numbers.answers import Answers, Labels, Rows, nested, rows_listed
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles, exact_integers
from leakcap.release.numbers.tails import Floats
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, assumed_rows, column_bounds, require
from leakcap.release.statistics.weighted_intervals import (
    ROUNDED,
    VARIANCE_BEYOND,
    WeightedQuotient,
    column_centre,
    noise_around,
    sampled_reach,
)
from leakcap.release.statistics.weighted_sums import WeightedSum, WeightedSums

__all__ = ["FIGURE", "WeightedMean", "WeightedTotal"]

FIGURE = "figure"
_SAMPLE, _ERROR, _POPULATION = "sample", "standard error", "population"
_NOISE_ALONE = "Sample: the figure of these rows with their weights, 95 % over the noise alone."
_DESIGN = {"poisson": "Poisson sampling", "stratified": "simple random sampling within strata"}


class _Weighted(Statistic):
    """What both have in common."""

    fields: ClassVar[frozenset[str]] = frozenset({"column", "design_weight"})
    a_row_a_group: ClassVar[bool] = False

    def check(self, query: QueryFields) -> None:
        """The weights must be named, and `figure` must not be the name of a key column."""
        require(
            query.design_weight is not None,
            "design_weight",
            query.name,
            "name the column of the design weights",
        )
        rule = f"not name `{FIGURE}`, which the answer's rows have"
        require(FIGURE not in query.by, "by", query.name, rule)

    def reads_as(self, query: QueryFields, policy: Policy) -> list[str]:
        """The design, where the policy states one."""
        design = _design(query, policy)
        return [f"under {_DESIGN[design]}"] if design else []

    def labels(self, plan: Plan) -> Labels:
        """The keys, then what the figure is of."""
        figures = [_SAMPLE, _ERROR, _POPULATION] if len(plan.parts) > self.least else [_SAMPLE]
        inner = rows_listed([{FIGURE: one} for one in figures])
        return nested(super().labels(plan), plan.cells.size, inner, len(figures))

    def drowned(self, rows: Rows) -> NDArray[np.bool_]:
        """The row of the population has the sample's noise, and its flag: it is wide by the sampling, too."""
        found, mine = super().drowned(rows), self.of_population(rows).nonzero()[0]
        found[mine] = found[mine - 2]
        return found

    def of_population(self, rows: Rows) -> NDArray[np.bool_]:
        """Where the figure is called so."""
        return np.array([one == _POPULATION for one in rows.labels[FIGURE].tolist()], dtype=bool)

    least: ClassVar[int] = 1
    """How many parts there are without those of the variance."""


class WeightedTotal(_Weighted):
    """The sum of a column over the population, or its size, estimated by the weights of the sample."""

    name: ClassVar[str] = "weighted_total"
    from_zero: ClassVar[bool] = True

    def plan(self, asked: QueryContext) -> Plan:
        """The weighted sum, without a column that of the weights; with a design a quarter of the offer is for
        its variance."""
        query, design = asked.query, _design(asked.query, asked.policy)
        sums = WeightedSums(asked, query.design_weight or "")
        number = 1.0 if query.column is None else sums.column(query.column)
        total = asked.offer if design is None else asked.offer / Fraction(4, 3)
        found = [sums.sum("sum", 0, sums.times(sums.weight, number), total)]
        if design is not None:
            squares = sums.times(sums.spread, *sums.squared(number))
            found.append(sums.sum("variance", 1, squares, asked.offer / 4))
        return _planned(sums, found, design)

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The noisy sum thrice: with its noise, with its standard error, with both."""
        part, step = noisy_of(plan.parts)[0], float(plan.parts[0].unit)
        values = doubles(noisy[0])
        off = np.full(values.shape, float(part.error(0.05)))
        rows = [(values * step, *noise_around(values, off, step))]
        if len(plan.parts) > 1:
            unit, spread = float(plan.parts[1].unit), plan.parts[1].error(0.05)
            squares = doubles(noisy[1])
            rows.append(
                (
                    np.sqrt(np.maximum(squares, 0.0) * unit),
                    np.maximum(_down(np.sqrt(np.maximum(squares - spread, 0.0) * unit)), 0.0),
                    _up(np.sqrt(np.maximum(squares + spread, 0.0) * unit)),
                )
            )
            most = np.maximum(squares + plan.parts[1].error(2 * VARIANCE_BEYOND), 0.0) * unit
            deviation = np.sqrt(most) * (1.0 + ROUNDED) / step
            rows.append((values * step, *noise_around(values, sampled_reach(part, deviation), step)))
        return _interleaved(rows)

    def expected(self, plan: Plan) -> Expected:
        """How far the noise goes."""
        remark = "of the sample's figure, over the noise alone"
        return Expected(float(plan.parts[0].error(0.05) * plan.parts[0].unit), remark=remark)

    def prior_error(self, plan: Plan) -> float | None:
        """Half of what all rows can make of it, up and down."""
        units, part = plan.policy.units, plan.parts[0]
        low, high = part.contribution.reach
        return None if units is None else float(units * (high - low) * part.unit / 2)


class WeightedMean(_Weighted):
    """The mean of a column over the population, estimated by the weights of the sample."""

    name: ClassVar[str] = "weighted_mean"
    least: ClassVar[int] = 2

    def check(self, query: QueryFields) -> None:
        """A column, too."""
        require(query.column is not None, "column", query.name, "name what the mean is of")
        super().check(query)

    def plan(self, asked: QueryContext) -> Plan:
        """Half of the offer for each of two sums; with a design three eighths, and a twelfth for each of the
        variance's three."""
        query, design = asked.query, _design(asked.query, asked.policy)
        _, bounds = asked.bounded_column
        sums = WeightedSums(asked, query.design_weight or "")
        number = sums.less(sums.column(query.column or ""), column_centre(bounds))
        share = asked.offer / (2 if design is None else Fraction(8, 3))
        found = [
            sums.sum("sum", 0, sums.times(sums.weight, number), share),
            sums.sum("weights", 1, sums.weight, share),
        ]
        if design is not None:
            given = {
                "variance of sum": sums.times(sums.spread, *sums.squared(number)),
                "covariance": sums.times(sums.spread, number),
                "variance of weights": sums.spread,
            }
            for place, (role, one) in enumerate(given.items(), 2):
                found.append(sums.sum(role, place, one, asked.offer / 12))
        return _planned(sums, found, design)

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The noisy mean thrice: with its noise, with its standard error, with both."""
        bounds = column_bounds(plan)
        centre, first = column_centre(bounds), WeightedQuotient(plan, noisy)
        rows = [first.sample(0.05)]
        if len(plan.parts) > self.least:
            rows.append(first.error())
            rows.append(first.population())
        for place in {0, len(rows) - 1}:
            value, low, high = rows[place]
            moved = value + centre, _down(low + centre), _up(high + centre)
            rows[place] = tuple(np.clip(one, *bounds) for one in moved)  # type: ignore[assignment]
        return _interleaved(rows)

    def expected(self, plan: Plan) -> Expected:
        """Half of the interval's width, where all weights are in the middle."""
        rows = assumed_rows(plan)
        weights = rows * (plan.parts[1].contribution.low + plan.parts[1].contribution.high) // 2
        _, low, high = WeightedQuotient(plan, [exact_integers([0]), exact_integers([weights])]).sample(0.05)
        remark = f"where {rows:,} rows count, with weights in the middle; over the noise alone"
        return Expected(float(high[0] - low[0]) / 2, rows, remark=remark)

    def prior_error(self, plan: Plan) -> float | None:
        """Half of the bounds' width."""
        low, high = column_bounds(plan)
        return (high - low) / 2


def _design(query: QueryFields, policy: Policy) -> str | None:
    """How the sample was drawn, where the policy states it of these weights."""
    survey = policy.survey
    return survey.design if survey is not None and survey.weight == query.design_weight else None


def _planned(sums: WeightedSums, found: Sequence[WeightedSum], design: str | None) -> Plan:
    said = _NOISE_ALONE
    if design is not None:
        said = (
            f"{_NOISE_ALONE} Standard error: that of {_DESIGN[design]}, as these rows estimate it, 95 % over "
            "the noise alone; it is 0 where the noise hides it, and the upper end says what it may be. "
            "Population: the figure of the population, not of the table, 95 % over noise and sampling, where "
            "the estimate is about normal and weights are one over probabilities, all within their bounds."
        )
    parts, values = [one.part for one in found], [one.value for one in found]
    return sums.asked.plan(parts, values=values, grid=found[0].grid, about=said)


def _down(numbers: Floats) -> Floats:
    return np.nextafter(numbers, -np.inf)


def _up(numbers: Floats) -> Floats:
    return np.nextafter(numbers, np.inf)


def _interleaved(rows: Sequence[tuple[Floats, Floats, Floats]]) -> Answers:
    """The rows of each group one below another."""
    value, low, high = (np.stack(one, axis=1).ravel() for one in zip(*rows, strict=True))
    return Answers(value, low, high)
