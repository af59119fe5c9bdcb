"""The sum over rows of a function of the analyst's own, with a declared range: the Laplace mechanism as such.

Source: Dwork, McSherry, Nissim & Smith 2006, proposition 1; Tu 2013, theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from leakcap.release.conditions.formula import computed, formula_text
from leakcap.release.measurements.aggregates import Sum
from leakcap.release.measurements.measurement import measured
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.answers import Answers
from leakcap.release.numbers.exact_integers import ExactIntegers
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, most_rows, require
from leakcap.release.statistics.sums import grid_answers

__all__ = ["FormulaSum"]


class FormulaSum(Statistic):
    """The sum of a formula over the rows, its value in each row clamped to the declared range."""

    name: ClassVar[str] = "formula_sum"
    from_zero: ClassVar[bool] = True
    adds_up: ClassVar[bool] = True
    fields: ClassVar[frozenset[str]] = frozenset({"formula", "range"})

    @property
    def label(self) -> str:
        """The name as it stands in a sentence."""
        return "sum of a formula"

    def check(self, query: QueryFields) -> None:
        """A formula that parses, and two finite ends."""
        require(query.formula is not None, "formula", query.name, "say what is computed of each row")
        ends = query.range
        finite = ends is not None and len(ends) == 2 and all(math.isfinite(end) for end in ends)
        rule = "be two finite numbers, the lower one first"
        require(finite and ends is not None and ends[0] < ends[1], "range", query.name, rule)
        formula_text(query.formula or "")

    def canonical_text(self, query: QueryFields) -> list[str]:
        """The formula in one way of writing it, and its range."""
        assert query.range is not None
        low, high = query.range
        return [f"of {formula_text(query.formula or '')} within [{low!r}, {high!r}]"]

    def plan(self, asked: QueryContext) -> Plan:
        """One noisy sum; a row weighs at most the larger end of the range."""
        low, high = asked.query.range or (0.0, 0.0)
        rows = asked.policy.rows_per_unit
        found = computed(
            asked.query.formula or "", (low, high), asked.policy, per_step=2 * rows / asked.offer.fineness
        )
        grid = found.grid
        contribution = Contribution(grid.low, grid.high, rows, asked.cells.size)
        part = measured(
            "sum",
            Sum(contribution.largest),
            contribution,
            asked.offer,
            unit=grid.step,
            covers=False,
        )
        return asked.plan([part], values=[found.tree], grid=grid)

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The doubles nearest to the noisy sums, and what the noise may have added or taken off."""
        return grid_answers(plan, noisy)

    def expected(self, plan: Plan) -> Expected:
        """How far the noise goes."""
        assert plan.grid is not None
        return Expected(plan.grid.value(plan.errors[0]))

    def prior_error(self, plan: Plan) -> float | None:
        """Half of what all rows can make of it, up and down."""
        rows, (low, high) = most_rows(plan), plan.query.range or (0.0, 0.0)
        return None if rows is None else rows * (max(high, 0.0) - min(low, 0.0)) / 2
