"""Cumulative counts of a bounded column: how many rows lie below each edge."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, Cells, bins_axis, edges_of
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.measurements.trees import (
    TreeMeasurement,
    branching_for,
    digits,
    levels_of,
    monotone,
    prefixes,
    tree_of,
)
from leakcap.release.numbers.answers import Answers, Interval, Labels, nested
from leakcap.release.numbers.exact_integers import ExactIntegers, objects
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, column_bounds, most_rows, require

__all__ = ["Cumulative"]

_MOST_BINS = 4096


class Cumulative(Statistic):
    """How many rows have a value below each edge of the bins, and up to the last."""

    name: ClassVar[str] = "cumulative"
    from_zero: ClassVar[bool] = True
    fields: ClassVar[frozenset[str]] = frozenset({"column", "bins", "edges"})

    @property
    def label(self) -> str:
        """The name as it stands in a sentence."""
        return "cumulative count"

    def check(self, query: QueryFields) -> None:
        """At least two bins."""
        super().check(query)
        bins = query.bins if query.edges is None else len(query.edges) - 1
        few = bins is not None and 2 <= bins <= _MOST_BINS
        require(few, "bins" if query.edges is None else "edges", query.name, f"make 2 to {_MOST_BINS} bins")

    def post_processing(self, query: QueryFields) -> str | None:
        """The fit."""
        return "made rising and not negative"

    def axes(self, query: QueryFields, policy: Policy, groups: int) -> list[Axis]:
        """The bins, behind the keys."""
        return [bins_axis(query, policy, groups)]

    def plan(self, asked: QueryContext) -> Plan:
        """A tree of counts whose branching suits the number of bins."""
        policy, cells = asked.policy, asked.cells
        bins = len(cells.axes[-1].labels)
        branching = branching_for(bins)
        contribution = Contribution(1, 1, policy.rows_per_unit, cells.size)
        return asked.plan([tree_of(contribution, bins, branching, asked.offer)])

    def groups(self, plan: Plan) -> Cells:
        """The keys; bins are not among them."""
        return Cells(plan.cells.axes[:-1])

    def labels(self, plan: Plan) -> Labels:
        """The keys, and up to where."""
        column = plan.query.column or ""
        ends = edges_of(plan.query, column_bounds(plan))[1:]
        words = [*(f"< {end:g}" if float(f"{end:g}") == end else f"< {end!r}" for end in ends[:-1]), "all"]
        groups = self.groups(plan)
        return nested(groups.labels(), groups.size, {column: objects(words)}, len(words))

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """Sums of nodes with the exact law of their noise, then the monotone fit of each group."""
        (part,) = plan.parts
        assert isinstance(part, TreeMeasurement)
        terms = _terms(part)
        errors = [part.noise.error_of_sum(count, 0.05) for count in terms]
        weights = [Fraction(1, count) for count in terms]
        found: list[tuple[int, Interval]] = []
        nodes = noisy[0].tolist()
        per_group = sum(-(-part.bins // width) for width in levels_of(part.bins, part.branching))
        for start in range(0, len(nodes), per_group):
            raw = prefixes(nodes[start : start + per_group], part.bins, part.branching)
            for fitted, value, error in zip(monotone(raw, weights), raw, errors, strict=True):
                low, high = float(value - error), float(value + error)
                found.append((fitted, (min(low, float(fitted)), max(high, float(fitted)))))
        return Answers.of(found)

    def prior_error(self, plan: Plan) -> float | None:
        """Half of all rows."""
        rows = most_rows(plan)
        return None if rows is None else rows / 2

    def expected(self, plan: Plan) -> Expected:
        """Of the worst of the counts."""
        (part,) = plan.parts
        assert isinstance(part, TreeMeasurement)
        worst = part.noise.error_of_sum(max(_terms(part)), 0.05)
        return Expected(float(worst), remark=f"at the worst edge; each node is a sum over {part.branching}")


def _terms(part: TreeMeasurement) -> list[int]:
    """How many noises each cumulative count is a sum of."""
    return [sum(digits(place, part.bins, part.branching)) for place in range(1, part.bins + 1)]
