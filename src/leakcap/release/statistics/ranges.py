"""Bounds for a column whose range is not known: a power of two below, and one above.

The edges are all powers of two between 2⁻⁶⁴ and 2²⁹⁸, zero, and the same below zero: public, the same for
every table. Infinite values lie in the outermost bins, NaN in none. Each end is a bin that permute-and-flip
chooses for half of ε (`quantiles.py`): the one whose rank is t from the end, with t such that the choice
is off by t or more with 2.5 % probability at most. So, with that confidence for each end, fewer than 2t rows
lie beyond it, and it does not lie beyond all rows by more than its bin, which is a factor of two.

Source: McKenna & Sheldon 2020; Smith 2011 for the grid of powers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, Cells, edges_axis
from leakcap.release.measurements.quantiles import QuantileMeasurement, shift_for
from leakcap.release.numbers.answers import Answers, Interval, Labels, nested, rows_listed
from leakcap.release.numbers.exact_integers import ExactIntegers
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, require
from leakcap.release.statistics.quantiles import rank_part

__all__ = ["EDGES", "Bounds"]

_POWERS = tuple(2.0**power for power in range(-64, 299))
EDGES = (*(-power for power in reversed(_POWERS)), 0.0, *_POWERS)
"""From −2²⁹⁸ to 2²⁹⁸, which is as far as bounds of a policy may go."""


class Bounds(Statistic):
    """Between which powers of two the values of a number column lie, but for a few."""

    name: ClassVar[str] = "bounds"
    has_noise: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """The name as it stands in a sentence."""
        return "search for bounds"

    def check(self, query: QueryFields) -> None:
        """Of what."""
        super().check(query)
        require("end" not in query.by, "by", query.name, "not name `end`, which the answer's rows are called")

    def post_processing(self, query: QueryFields) -> str | None:
        """Where the two choices cross."""
        return "the lower of the two ends first"

    def axes(self, query: QueryFields, policy: Policy, groups: int) -> list[Axis]:
        """The bins between powers of two."""
        known = policy.columns.get(query.column or "")
        if known is None or known.kind != "number":
            raise InvalidQuery(f"`column` of query `{query.name}` must be a number column of the policy.")
        return [edges_axis(query.column or "", EDGES, known.fill)]

    def plan(self, asked: QueryContext) -> Plan:
        """A rank t rows from the lower end, and one t rows from the upper."""
        bins = len(EDGES) - 1
        groups = asked.cells.size // bins
        low, high = (
            rank_part(Fraction(rank), asked.epsilon / 2, asked.policy, groups, bins) for rank in (0, 1)
        )
        shift = shift_for(low.scale, bins, 0.025)
        return asked.plan([replace(low, shift=shift), replace(high, shift=-shift)])

    def groups(self, plan: Plan) -> Cells:
        """The keys; bins are not among them."""
        return Cells(plan.cells.axes[:-1])

    def labels(self, plan: Plan) -> Labels:
        """The keys, and which end."""
        ends = rows_listed([{"end": end} for end in ("low", "high")])
        return nested(super().labels(plan), self.groups(plan).size, ends, 2)

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """Each end; its interval holds the smallest value of the column, or the largest, within the grid."""
        found: list[tuple[float, Interval]] = []
        for first, second in zip(*(one.tolist() for one in noisy), strict=True):
            low, high = min(first, second), max(first, second)
            found.append((EDGES[low], (EDGES[0], EDGES[max(low, first) + 1])))
            found.append((EDGES[high + 1], (EDGES[min(high, second)], EDGES[-1])))
        return Answers.of(found)

    def expected(self, plan: Plan) -> Expected:
        """How many rows may lie beyond each end."""
        (first, *_) = plan.parts
        assert isinstance(first, QuantileMeasurement)
        shift = shift_for(first.scale, len(EDGES) - 1, 0.025)
        return Expected(float(2 * shift), remark="rows beyond each end, at most")
