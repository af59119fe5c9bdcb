"""Rows counted by day first, where what they are counted by follows from the day.

Which month, weekday or season a day has is asked once for each day that occurs then, not once for each row,
and so is whether the day lies within the bounds. DuckDB counts by month in a third of the time then, by
weekday in two thirds; the counts are the same. It is done where the days within the bounds and the other
public keys are few groups. Days outside the bounds are dropped after they were counted, as keys that are not
public are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from leakcap.release.columns.axis import Axis
from leakcap.release.columns.typed import aliased, cast, column
from leakcap.release.measurements.aggregates import RowCount

if TYPE_CHECKING:
    from leakcap.release.plan import Plan

__all__ = ["by_day", "coded", "rows_added_up"]

# The column that says how many rows a day has.
_ROWS = "n0"

# With more groups than this DuckDB takes longer to find a row's group than to make its code.
_MOST_GROUPS = 10_000


def by_day(plans: Sequence[Plan]) -> bool:
    """Whether rows of axes that follow from days are counted by day first: they alone are, in few groups."""
    first = plans[0]
    axes = first.cells.axes
    only_rows = all(isinstance(part.aggregate, RowCount) for plan in plans for part in plan.parts)
    if not only_rows or first.each_person or first.beyond is not None or first.cells.open:
        return False
    return math.prod(axis.days or len(axis.labels) for axis in axes) <= _MOST_GROUPS


def coded(rows: exp.Select, axes: Sequence[Axis]) -> exp.Select:
    """The codes of rows in which days stand in place of them, and how many rows these are."""
    names = [column(f"k{index}") for index in range(len(axes))]
    counted = exp.Select(
        expressions=[*(name.copy() for name in names), aliased(exp.Count(this=exp.Star()), _ROWS)]
    )
    counted = counted.from_(rows.subquery("rows", copy=False), copy=False)
    counted = counted.group_by(*(name.copy() for name in names), copy=False)
    codes = [axis.of_day(name) for axis, name in zip(axes, names, strict=True)]
    chosen = [aliased(code, name.name) for code, name in zip(codes, names, strict=True)]
    coded = exp.Select(expressions=[*chosen, column(_ROWS)])
    return coded.from_(counted.subquery("days", copy=False), copy=False)


def rows_added_up() -> exp.Expression:
    """How many rows a group has, from those of its days."""
    return cast(exp.Sum(this=column(_ROWS)), "BIGINT")
