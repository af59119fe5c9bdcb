"""Quantiles, median and interquartile range: bins are chosen (`release/measurements/quantiles.py`)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, Cells, bins_axis, edges_axis, edges_of, require_few
from leakcap.release.columns.whole import whole_bins
from leakcap.release.measurements.aggregates import RowCount
from leakcap.release.measurements.measurement import total_range
from leakcap.release.measurements.quantiles import (
    BINS,
    MOST_BINS,
    QuantileMeasurement,
    quantile_answers,
    rank_error,
    ranks_of,
    shift_for,
)
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.answers import Answers, Labels, Number, nested, rows_listed
from leakcap.release.numbers.exact_integers import ExactIntegers
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Asked, Expected, Statistic, column_bounds, most_rows, require
from leakcap.sampling import rational_scale
from leakcap.sampling.rational import printed

__all__ = ["InterquartileRange", "Median", "QuantileStatistic", "Quantiles", "rank_part"]

MOST_COUNTS = 10**6


class QuantileStatistic(Statistic):
    """What is read off the ranks of a column."""

    fields: ClassVar[frozenset[str]] = frozenset({"column", "bins", "edges"})
    has_noise: ClassVar[bool] = False
    together: ClassVar[bool] = False
    """Whether the intervals of all of its quantiles must hold at once."""

    def check(self, query: QueryFields) -> None:
        """Two bins at least."""
        super().check(query)
        if query.bins is not None:
            require(2 <= query.bins <= MOST_BINS, "bins", query.name, f"be from 2 to {MOST_BINS} here")
        if query.edges is not None:
            few = 3 <= len(query.edges) <= MOST_BINS + 1
            require(few, "edges", query.name, f"be 3 to {MOST_BINS + 1} here")

    def with_defaults(self, query: Asked) -> Asked:
        """256 bins unless they are given."""
        return replace(query, bins=BINS) if query.bins is None and query.edges is None else query

    def axes(self, query: QueryFields, policy: Policy, groups: int) -> list[Axis]:
        """The bins, behind the keys."""
        known = policy.columns.get(query.column or "")
        if known is not None and known.bounds is None:
            raise InvalidQuery(
                f"`{query.column}` has no `bounds` in the policy, which the {self.name} of query "
                f"`{query.name}` needs."
            )
        if known is None or known.scale is None:
            return [bins_axis(query, policy, groups)]
        bins = whole_bins(query, known)
        require_few(groups * len(bins), query)
        edges = (*(first for first, _ in bins), bins[-1][1] + 1)
        return [
            edges_axis(query.column or "", tuple(_number(edge, known.scale) for edge in edges), known.fill)
        ]

    def plan(self, asked: QueryContext) -> Plan:
        """For each quantile the bin itself, for half of its ε, and the two ends of its interval."""
        return asked.plan(self.parts(asked, ranks_of(self.name, asked.query.quantiles)))

    def parts(
        self, asked: QueryContext, wanted: Sequence[float], rows: int | None = None
    ) -> list[QuantileMeasurement]:
        """The choices for these quantiles; `rows` are what a unit adds, if not the policy's."""
        query, cells = asked.query, asked.cells
        bins = len(cells.axes[-1].labels)
        needed = cells.size * len(wanted)
        if needed > MOST_COUNTS:
            raise InvalidQuery(
                f"Query `{query.name}` needs {needed:,} counts; at most {MOST_COUNTS:,} are allowed. "
                "Take fewer bins, groups or quantiles."
            )
        beyond = 0.05 / (2 * (len(wanted) if self.together else 1))
        parts: list[QuantileMeasurement] = []
        for rank in map(printed, wanted):
            share = asked.epsilon / len(wanted)
            end = rank_part(rank, share / 4, asked.policy, cells.size // bins, bins, rows)
            shift = shift_for(end.scale, bins, beyond)
            parts.append(rank_part(rank, share / 2, asked.policy, cells.size // bins, bins, rows))
            parts += [replace(end, shift=-shift), replace(end, shift=shift)]
        return parts

    def groups(self, plan: Plan) -> Cells:
        """The keys; bins are not among them."""
        return Cells(plan.cells.axes[:-1])

    def labels(self, plan: Plan) -> Labels:
        """The keys, and which quantile it is where there are several."""
        several = plan.query.quantiles or ()
        if len(several) < 2:
            return super().labels(plan)
        words = rows_listed([{"quantile": str(q)} for q in several])
        return nested(super().labels(plan), self.groups(plan).size, words, len(several))

    def places(self, plan: Plan) -> int | None:
        """Those of the column."""
        # Rows of a person are counted, and are no column.
        known = plan.policy.columns.get(plan.query.column or "")
        return None if known is None else known.places

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """Value and interval of each quantile of each group, from the chosen bins."""
        bins, groups = self.bins(plan), zip(*(one.tolist() for one in noisy), strict=True)
        found = (one for picks in groups for one in quantile_answers(self.name, bins, picks))
        places = self.places(plan)
        if places is None:
            return Answers.of(found)
        steps = 10**places
        decimals = ((value / steps, (low / steps, high / steps)) for value, (low, high) in found)
        return Answers.of(decimals, exact=True)

    def bins(self, plan: Plan) -> Sequence[tuple[Number, Number]]:
        """The ends of each bin: of whole numbers the first and the last one in it, of decimals too, counted
        in steps of their places.

        The first bin begins at the lower bound and the last one ends at the upper one, wherever the edges
        are: rows beyond the edges are counted in them.
        """
        known = plan.policy.columns[plan.query.column or ""]
        found: list[tuple[Number, Number]]
        low: Number
        high: Number
        low, high = column_bounds(plan)
        if known.scale is not None:
            scale = known.scale
            found = [*whole_bins(plan.query, known)]
            low, high = (round(Fraction(end) * 10**scale) for end in (low, high))
        else:
            found = [*itertools.pairwise(edges_of(plan.query, (low, high)))]
        found[0] = (low, found[0][1])
        found[-1] = (found[-1][0], high)
        return found

    def reads_as(self, query: QueryFields, policy: Policy) -> list[str]:
        """Of whole numbers that they are: their bins are others."""
        return ["as whole numbers"] if policy.columns[query.column or ""].scale == 0 else []

    def expected(self, plan: Plan) -> Expected:
        """Rows between the wanted rank and the chosen bin."""
        ranks = [part for part in plan.parts if isinstance(part, QuantileMeasurement)]
        remark = f"rows in rank, and a bin{', for each group' if self.groups(plan).size > 1 else ''}"
        return Expected(rank_error(ranks, len(plan.cells.axes[-1].labels)), remark=remark)

    def prior_error(self, plan: Plan) -> float | None:
        """A rank is off by max(q, 1 − q) of the rows at most, wherever it is guessed."""
        rows = most_rows(plan)
        if rows is None or self.together:
            return None
        return rows * max(max(q, 1.0 - q) for q in ranks_of(self.name, plan.query.quantiles))


def _number(steps: int, scale: int) -> Number:
    """So many steps of 10^−scale: a whole number, or the double nearest to the decimal."""
    return steps if scale == 0 else steps / 10**scale


class Quantiles(QuantileStatistic):
    """Quantiles of a column, which share ε equally."""

    name: ClassVar[str] = "quantiles"
    fields: ClassVar[frozenset[str]] = frozenset({"column", "bins", "edges", "quantiles"})

    def check(self, query: QueryFields) -> None:
        """Some numbers between 0 and 1."""
        super().check(query)
        wanted = query.quantiles
        numbers = isinstance(wanted, tuple) and all(type(q) in (int, float) for q in wanted)
        inside = numbers and all(0.0 < q < 1.0 for q in wanted or ())
        few = inside and 1 <= len(wanted or ()) == len(set(wanted or ())) <= 99
        require(few, "quantiles", query.name, "be from 1 to 99 different numbers between 0 and 1")
        clash = len(wanted or ()) > 1 and "quantile" in query.by
        require(not clash, "by", query.name, "not name `quantile`, which the answer's rows are called")


class Median(QuantileStatistic):
    """The median of a column."""

    name: ClassVar[str] = "median"
    sql: ClassVar[tuple[str, ...]] = ("MEDIAN",)


class InterquartileRange(QuantileStatistic):
    """The third quartile of a column less the first."""

    name: ClassVar[str] = "interquartile_range"
    together: ClassVar[bool] = True


def rank_part(
    rank: Fraction, epsilon: Fraction, policy: Policy, groups: int, bins: int, rows: int | None = None
) -> QuantileMeasurement:
    """One choice of a bin for the quantile `rank`, at this ε; a unit adds `rows`, if not the policy's."""
    above, per_row = rank.numerator, rank.denominator
    rows = policy.rows_per_unit if rows is None else rows
    contribution = Contribution(-above, per_row - above, rows, groups)
    sensitivity = contribution.sensitivity(replace=policy.neighbours == "replace-one")
    rational_scale(1, epsilon)  # ε within the range of all the other statistics
    return QuantileMeasurement(
        role="rank",
        aggregate=RowCount(),
        epsilon=epsilon,
        contribution=contribution,
        sensitivity=sensitivity,
        scale=Fraction(sensitivity) / epsilon,
        # What is counted are rows, whatever the choice weighs them with.
        total=total_range(Contribution(1, 1, rows, 1), policy),
        covers=False,  # a choice is no noisy number
        numerator=above,
        denominator=per_row,
        bins=bins,
    )
