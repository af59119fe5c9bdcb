"""The one statement that runs, in our own words: bounded units, values of rows, totals of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from leakcap.release.condition import to_tree
from leakcap.release.policy import Policy
from leakcap.release.typed import SOURCE, Read, aliased, column, typed_column

if TYPE_CHECKING:
    from leakcap.release.plan import Plan

__all__ = ["statement_of", "units_statement"]


def statement_of(plans: Sequence[Plan]) -> exp.Select:
    """One statement for plans over the same cells and condition, so that the table is read once for all."""
    first = plans[0]
    axes = first.cells.axes
    values = [value for plan in plans for value in plan.values]
    names = [column(f"v{index}") for index in range(len(values))]
    inner = exp.Select(
        expressions=[
            *(aliased(axis.tree.copy(), f"k{index}") for index, axis in enumerate(axes)),
            *(aliased(value.copy(), name.name) for value, name in zip(values, names, strict=True)),
            *([] if axes or values else [aliased(exp.Literal.number(1), "v0")]),
        ]
    ).from_(_base(first.policy, bounded=first.bounded), copy=False)
    if first.condition is not None:
        inner = inner.where(to_tree(first.condition, first.policy), copy=False)
    codes = [column(f"k{index}") for index in range(len(axes))]
    totals: list[exp.Expression] = []
    for plan in plans:
        mine, names = names[: len(plan.values)], names[len(plan.values) :]
        totals += [part.aggregate.tree(mine) for part in plan.parts]
    outer = exp.Select(expressions=[*(code.copy() for code in codes), *totals])
    outer = outer.from_(inner.subquery("cells", copy=False), copy=False)
    # Keys that are not public are dropped after they were added up: a test per group, not per row. Engines
    # that move such a test in front of the addition by themselves may.
    for axis, code in zip(axes, codes, strict=True):
        outer = outer.having(axis.listed(code.copy()), copy=False)
    return outer.group_by(*codes, copy=False) if codes else outer


def _base(policy: Policy, *, bounded: bool = True) -> exp.Expression:
    """The table; where an id is the unit, at most `max_rows` rows of each id and none without an id.

    Rows without an id are left out because strangers would share one quota. Which rows are kept follows from
    the unit's own rows alone: they are ordered by all that a query can see, so that ties do not matter.
    """
    source = exp.Table(this=exp.Identifier(this=SOURCE, quoted=True))
    if policy.id_column is None or not bounded:
        return source
    order = exp.Order(
        expressions=[
            exp.Ordered(this=typed_column(name, policy), nulls_first=False) for name in policy.columns
        ]
    )
    unit = Read(this=column(policy.id_column), kind="id")
    number = exp.Window(this=exp.RowNumber(), partition_by=[unit], order=order)
    known = exp.Not(this=exp.Is(this=column(policy.id_column), expression=exp.Null()))
    # By name: under a star, a column of the table could bear the name of the row number and replace it.
    seen = [column(name) for name in dict.fromkeys((policy.id_column, *policy.columns))]
    place = _free_name("leakcap_row_number", (policy.id_column, *policy.columns))
    ranked = exp.Select(expressions=[*seen, aliased(number, place)]).from_(source).where(known)
    kept = exp.LTE(this=column(place), expression=exp.Literal.number(policy.rows_per_unit))
    return exp.Select(expressions=[exp.Star()]).from_(ranked.subquery("ranked")).where(kept).subquery("units")


def _free_name(name: str, taken: Sequence[str]) -> str:
    """A name that no column bears, whatever its case: another one would be read in its place."""
    lowered = {other.lower() for other in taken}
    while name in lowered:
        name += "_"
    return name


def units_statement(policy: Policy) -> exp.Select:
    """The statement, in our own words, that counts the privacy units of the table."""
    source = exp.Table(this=exp.Identifier(this=SOURCE, quoted=True))
    counted: exp.Expression = exp.Star()
    if policy.id_column is not None:
        counted = exp.Distinct(expressions=[Read(this=column(policy.id_column), kind="id")])
    return exp.Select(expressions=[exp.Count(this=counted)]).from_(source)
