"""Rows added up by day first, where what they are grouped by follows from the day.

Which month, weekday or season a day has is asked once for each day that occurs then, not once for each row,
and so is whether the day lies within the bounds. DuckDB counts by month in a third of the time then, by
weekday in two thirds. All that is added up are integers, so that the totals are the same; people, who are
counted once however many days they have, are not added up by day. It is done where the days within the bounds
and the other public keys are few groups. Days outside the bounds are dropped after they were added up, as
keys that are not public are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from leakcap.release.columns.axis import Axis
from leakcap.release.columns.typed import ExactSum, SumOfSums, aliased, cast, column, tell_sums
from leakcap.release.measurements.aggregates import People

if TYPE_CHECKING:
    from leakcap.release.plan import Plan

__all__ = ["by_day", "sums_by_day"]

# With more groups than this DuckDB takes longer to find a row's group than to make its code.
_MOST_GROUPS = 10_000


def by_day(plans: Sequence[Plan]) -> bool:
    """Whether rows of axes that follow from days are added up by day first: without people, in few groups."""
    first = plans[0]
    if any(isinstance(part.aggregate, People) for plan in plans for part in plan.parts):
        return False
    if first.each_person or first.beyond is not None or first.cells.open:
        return False
    return _groups(first.cells.axes) <= _MOST_GROUPS


def _groups(axes: Sequence[Axis]) -> int:
    return math.prod(axis.days or len(axis.labels) for axis in axes)


def sums_by_day(
    rows: exp.Select, axes: Sequence[Axis], totals: Sequence[exp.Expression]
) -> tuple[exp.Select, list[exp.Expression]]:
    """The codes of rows in which days stand in place of them, with the `totals` of these rows; and what is to
    be made of those for each code.
    """
    names = [column(f"k{index}") for index in range(len(axes))]
    sums = [column(f"n{index}") for index in range(len(totals))]
    tell_sums(totals, _groups(axes))
    own = [aliased(total, name.name) for total, name in zip(totals, sums, strict=True)]
    added = exp.Select(expressions=[*(name.copy() for name in names), *own])
    added = added.from_(rows.subquery("rows", copy=False), copy=False)
    added = added.group_by(*(name.copy() for name in names), copy=False)
    codes = [axis.of_day(name) for axis, name in zip(axes, names, strict=True)]
    chosen = [aliased(code, name.name) for code, name in zip(codes, names, strict=True)]
    coded = exp.Select(expressions=[*chosen, *(one.copy() for one in sums)])
    whole: list[exp.Expression] = [
        SumOfSums(this=name) if isinstance(total, ExactSum) else cast(exp.Sum(this=name), "BIGINT")
        for total, name in zip(totals, sums, strict=True)
    ]
    return coded.from_(added.subquery("days", copy=False), copy=False), whole
