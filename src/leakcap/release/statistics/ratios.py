"""Shares and ratios of sums, with intervals that keep what both noises together do.

With `when` the rows are split into those that fulfil it and those that do not: two disjoint noisy numbers H
and M for the whole ε each, and the share H/(H + M) of rows, or of the sum of a column that is not negative.
With `over` a sum over another sum, of the rows that have both, for half of ε each.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from sqlglot import exp

from leakcap.arrays import np
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, Cells
from leakcap.release.columns.grid import grid_for
from leakcap.release.conditions.condition import to_tree
from leakcap.release.conditions.where import parse_where
from leakcap.release.measurements.aggregates import Joint, RowCount, Sum
from leakcap.release.measurements.measurement import measured, noisy_of
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.answers import Answers
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles, exact_integers
from leakcap.release.numbers.fieller import all_where, boxed_shares, fieller_ends
from leakcap.release.numbers.laws import noise_sums
from leakcap.release.numbers.tails import Floats
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, assumed_rows, require
from leakcap.release.statistics.sums import part_quotients

__all__ = ["Ratio"]

_SPLIT = "rows that fulfil `when`"
_MOST = sys.float_info.max


class Ratio(Statistic):
    """A share of rows or of a sum, or a sum over another."""

    name: ClassVar[str] = "ratio"
    fields: ClassVar[frozenset[str]] = frozenset({"column", "over", "when"})
    adds_up: ClassVar[bool] = True

    def check(self, query: QueryFields) -> None:
        """Either a condition, or two columns."""
        one = (query.when is None) != (query.over is None)
        require(one, "when", query.name, "be given, or `over`, and not both")
        both = query.over is None or (query.column is not None and query.column != query.over)
        require(both, "column", query.name, "name another column than `over`")

    def axes(self, query: QueryFields, policy: Policy, groups: int) -> list[Axis]:
        """Whether a row fulfils `when`: whoever cannot be said to, does not."""
        if query.when is None:
            return []
        fulfilled = to_tree(parse_where(query.when, policy, called=f"`when` of query `{query.name}`"), policy)
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        split = exp.Case(ifs=[exp.If(this=fulfilled, true=one)], default=zero)
        return [Axis(_SPLIT, split, {0: False, 1: True}, "integer")]

    def plan(self, asked: QueryContext) -> Plan:
        """One noisy number on each side of `when`, or two sums."""
        return self._quotient(asked) if asked.query.when is None else self._share(asked)

    def _share(self, asked: QueryContext) -> Plan:
        query, rows, cells = asked.query, asked.policy.rows_per_unit, asked.cells.size
        if query.column is None:
            unit = Contribution(1, 1, rows, cells)
            part = measured("count", RowCount(), unit, asked.offer, covers=False, one_hot=True)
            return asked.plan([part])
        known, bounds = asked.bounded_column
        require(bounds[0] >= 0, "column", query.name, "have bounds that are not negative, for a share of it")
        scale = 2 * rows * Fraction(bounds[1]) / asked.offer.fineness
        grid = grid_for(bounds, scale=scale, places=known.places)
        unit = Contribution(grid.low, grid.high, rows, cells)
        part = measured("sum", Sum(grid.high), unit, asked.offer, unit=grid.step, covers=False)
        return asked.plan([part], values=[grid.tree(query.column, bounds, known.fill)], grid=grid)

    def _quotient(self, asked: QueryContext) -> Plan:
        query, policy = asked.query, asked.policy
        parts, values, grids = [], [], []
        for place, name in enumerate((query.column, query.over)):
            known, bounds = asked.bounded(name)
            require(not place or bounds[0] >= 0, "over", query.name, "have bounds that are not negative")
            furthest = 2 * max(map(abs, map(Fraction, bounds)))
            scale = 2 * policy.rows_per_unit * furthest / asked.offer.fineness
            grid = grid_for(bounds, scale=scale, places=known.places)
            largest = max(abs(grid.low), abs(grid.high))
            part = measured(
                ("numerator", "denominator")[place],
                Joint((place,), largest),
                Contribution(grid.low, grid.high, policy.rows_per_unit, asked.cells.size),
                asked.offer / 2,
                unit=grid.step,
                covers=False,
            )
            parts.append(part)
            grids.append(grid)
            values.append(grid.tree(name or "", bounds, known.fill))
        return asked.plan(parts, values=values, grid=grids[0])

    def groups(self, plan: Plan) -> Cells:
        """The keys; the two sides of `when` are not among them."""
        return Cells(plan.cells.axes[: len(plan.query.by)])

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """Ratio and interval of each group."""
        if plan.query.when is not None:
            return self._shares(plan, doubles(noisy[0][1::2]), doubles(noisy[0][::2]))
        step = float(plan.parts[0].unit / plan.parts[1].unit)
        return Answers(*part_quotients(plan, noisy, self._range(plan), step=step))

    def _shares(self, plan: Plan, hits: Floats, misses: Floats) -> Answers:
        """Hits over hits and misses, or a half where there are none."""
        part = noisy_of(plan.parts)[0]
        sums, total = noise_sums([part.noise], part.added), hits + misses
        share = np.clip(np.divide(hits, total, out=np.full(len(hits), 0.5), where=total > 0), 0.0, 1.0)
        if sums is None:
            low, high = boxed_shares((hits, misses), part.error(0.025))
            # Noise may take both numbers where no share of theirs lies.
            return Answers(np.clip(share, low, high), low, high)
        scales, within = (sums.scales[0], sums.scales[0]), (0.0, share, 1.0)
        ends = fieller_ends(
            lambda r: (1.0 - r, -r), (hits, misses), scales, within, sums.beyond, law=sums.law
        )
        low, high = all_where((total <= 0.0) & (ends[0] == ends[1]), ends, (0.0, 1.0))
        return Answers(np.clip(share, low, high), low, high)

    def _range(self, plan: Plan) -> tuple[float, float]:
        """What the bounds allow; as far as doubles go, where the denominator may be 0."""
        above, below = (
            plan.policy.columns[name or ""].bounds for name in (plan.query.column, plan.query.over)
        )
        assert above is not None
        assert below is not None
        if below[0] <= 0:
            return (0.0 if above[0] >= 0 else -_MOST / 2**64), (0.0 if above[1] <= 0 else _MOST / 2**64)
        corners = [a / b for a in above for b in below]
        # Numbers are rounded to the grid before they are added up.
        return min(corners) - abs(min(corners)) * 1e-9, max(corners) + abs(max(corners)) * 1e-9

    def expected(self, plan: Plan) -> Expected:
        """Half an interval's width, where half of the rows fulfil `when`, or both sums are half full."""
        rows = assumed_rows(plan)
        if plan.query.when is not None:
            side = rows * (1 if plan.query.column is None else plan.parts[0].contribution.high // 2) // 2
            typical = [exact_integers([side, side])]
        else:
            typical = [exact_integers([rows * part.contribution.high // 2]) for part in plan.parts[:2]]
        ((_, (low, high)),) = self.answers(plan, typical).pairs()
        remark = f"where {rows:,} rows count and the numbers are in the middle of what they can be"
        return Expected((high - low) / 2, rows, remark=remark)
