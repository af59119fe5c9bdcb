"""Surveys: what all estimates by design weights have in common, and totals.

A total is Σ w·x over the sample (Horvitz & Thompson 1952). Where the policy states how the sample was drawn,
its variance is estimated by one more noisy sum in the same charge, Σ w(w − 1)·x². That is unbiased for
Poisson sampling; for simple random samples within strata it errs upward on average, but for one part in the
size of a stratum (Särndal, Swensson & Wretman 1992, sections 2.8, 3.5 and 3.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from leakcap.arrays import NDArray, np
from leakcap.policy.document import Policy
from leakcap.release.measurements.measurement import noisy_of
from leakcap.release.numbers.answers import Answers, Labels, Rows, nested, rows_listed
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles
from leakcap.release.numbers.tails import Floats
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, require
from leakcap.release.statistics.weighted_intervals import (
    ROUNDED,
    VARIANCE_BEYOND,
    noise_around,
    sampled_reach,
)
from leakcap.release.statistics.weighted_sums import WeightedSum, WeightedSums

__all__ = ["FIGURE", "SurveyEstimate", "WeightedTotal", "design_of", "rounded_apart", "thrice"]

FIGURE = "figure"
_SAMPLE, _ERROR, _POPULATION = "sample", "standard error", "population"
_NOISE_ALONE = "Sample: the figure of these rows with their weights, 95 % over the noise alone."
_DESIGN = {"poisson": "Poisson sampling", "stratified": "simple random sampling within strata"}


class SurveyEstimate(Statistic):
    """A figure, and where the design is known its standard error and that of the population."""

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
        design = design_of(query, policy)
        return [f"under {_DESIGN[design]}"] if design else []

    def planned(self, sums: WeightedSums, found: Sequence[WeightedSum], design: str | None) -> Plan:
        """The sums, and what is said of the rows that the answer has."""
        said = _NOISE_ALONE
        if design is not None:
            said = (
                f"{_NOISE_ALONE} Standard error: that of {_DESIGN[design]}, as these rows estimate it, 95 % "
                "over the noise alone; it is 0 where the noise hides it, and the upper end says what it may "
                "be. Population: the figure of the population, not of the table, 95 % over noise and "
                "sampling, where the estimate is about normal and weights are one over probabilities, all "
                "within their bounds."
            )
        parts, values = [one.part for one in found], [one.value for one in found]
        return sums.asked.plan(parts, values=values, grid=found[0].grid, about=said)

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


class WeightedTotal(SurveyEstimate):
    """The sum of a column over the population, or its size, estimated by the weights of the sample."""

    name: ClassVar[str] = "weighted_total"
    from_zero: ClassVar[bool] = True

    def plan(self, asked: QueryContext) -> Plan:
        """The weighted sum, without a column that of the weights; with a design a quarter of the offer is for
        its variance."""
        query, design = asked.query, design_of(asked.query, asked.policy)
        sums = WeightedSums(asked, query.design_weight or "")
        number = 1.0 if query.column is None else sums.column(query.column)
        total = asked.offer if design is None else asked.offer / Fraction(4, 3)
        found = [sums.sum("sum", 0, sums.times(sums.weight, number), total)]
        if design is not None:
            squares = sums.times(sums.spread, *sums.squared(number))
            found.append(sums.sum("variance", 1, squares, asked.offer / 4))
        return self.planned(sums, found, design)

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The noisy sum thrice: with its noise, with its standard error, with both."""
        part, step = noisy_of(plan.parts)[0], float(plan.parts[0].unit)
        values = doubles(noisy[0])
        off = np.full(values.shape, float(part.error(0.05)))
        rows = [(values * step, *noise_around(values, off, step))]
        if len(plan.parts) > 1:
            unit, spread = float(plan.parts[1].unit), plan.parts[1].error(0.05)
            squares = doubles(noisy[1])
            ends = rounded_apart(
                *(np.sqrt(np.maximum(squares + one, 0.0) * unit) for one in (-spread, spread))
            )
            rows.append(
                (
                    np.sqrt(np.maximum(squares, 0.0) * unit),
                    np.maximum(ends[0], 0.0),
                    ends[1],
                )
            )
            most = np.maximum(squares + plan.parts[1].error(2 * VARIANCE_BEYOND), 0.0) * unit
            deviation = np.sqrt(most) * (1.0 + ROUNDED) / step
            rows.append((values * step, *noise_around(values, sampled_reach(part, deviation), step)))
        return thrice(rows)

    def expected(self, plan: Plan) -> Expected:
        """How far the noise goes."""
        remark = "of the sample's figure, over the noise alone"
        return Expected(float(plan.parts[0].error(0.05) * plan.parts[0].unit), remark=remark)

    def prior_error(self, plan: Plan) -> float | None:
        """Half of what all rows can make of it, up and down."""
        units, part = plan.policy.units, plan.parts[0]
        low, high = part.contribution.reach
        return None if units is None else float(units * (high - low) * part.unit / 2)


def design_of(query: QueryFields, policy: Policy) -> str | None:
    """How the sample was drawn, where the policy states it of these weights."""
    survey = policy.survey
    return survey.design if survey is not None and survey.weight == query.design_weight else None


def rounded_apart(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Both ends one double further out."""
    return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)


def thrice(rows: Sequence[tuple[Floats, Floats, Floats]]) -> Answers:
    """The rows of each group one below another: the sample's, the standard error, the population's."""
    value, low, high = (np.stack(one, axis=1).ravel() for one in zip(*rows, strict=True))
    return Answers(value, low, high)
