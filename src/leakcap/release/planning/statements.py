"""The one statement that runs, in our own words: bounded units, values of rows, totals of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from leakcap.policy.document import Policy
from leakcap.release.columns.computed import plainly_named, with_computed
from leakcap.release.columns.decimals import with_decimals
from leakcap.release.columns.joins import joined_tree
from leakcap.release.columns.people import counted_people
from leakcap.release.columns.typed import (
    PERSONS_ROWS,
    KeyFilter,
    Quantize,
    ReadColumn,
    Together,
    aliased,
    column,
    source_table,
    tell_sums,
)
from leakcap.release.conditions.condition import to_tree
from leakcap.release.measurements.aggregates import People
from leakcap.release.planning.bounding import chosen_rows, start_of
from leakcap.release.planning.by_day import by_day, sums_by_day
from leakcap.release.planning.plan import columns_in
from leakcap.release.planning.windows import window

if TYPE_CHECKING:
    from leakcap.release.columns.cells import Cells
    from leakcap.release.plan import Plan

__all__ = ["rows_of", "select_of", "units_statement"]


def select_of(plans: Sequence[Plan], seed: str = "") -> exp.Select:
    """One statement for plans over the same cells and condition, so that the table is read once for all.

    `seed` is the ledger's secret, by which rows of a unit that has too many are chosen.
    """
    first = replace(plans[0], policy=_policy_of(plans))
    axes = first.cells.axes
    codes = [column(f"k{index}") for index in range(len(axes))]
    day_first = any(axis.days for axis in axes) and by_day(plans)
    grouped = [axis.by_day if day_first else axis.tree for axis in axes]
    values = [value for plan in plans for value in plan.values]
    names = [column(f"v{index}") for index in range(len(values))]
    chosen = [
        *(aliased(tree.copy(), code.name) for tree, code in zip(grouped, codes, strict=True)),
        *(aliased(value.copy(), name.name) for value, name in zip(values, names, strict=True)),
        *([] if axes or values else [aliased(exp.Literal.number(1), "v0")]),
    ]
    inner = _people_of(first, chosen, seed) if first.each_person else rows_of(first, chosen, seed)
    inner = _together(inner, codes, plans)
    totals: list[exp.Expression] = []
    for plan in plans:
        mine, names = names[: len(plan.values)], names[len(plan.values) :]
        totals += [part.aggregate.tree(mine) for part in plan.parts]
    if day_first:
        inner, totals = sums_by_day(inner, axes, totals)
        return _added_up(inner, first.cells, codes, totals)
    tell_sums(totals, None if first.cells.open else first.cells.size)
    return _added_up(inner, first.cells, codes, totals)


def _added_up(
    inner: exp.Select, cells: Cells, codes: Sequence[exp.Column], totals: Sequence[exp.Expression]
) -> exp.Select:
    """The totals of each cell."""
    named = [aliased(total, f"t{index}") for index, total in enumerate(totals)]
    outer = exp.Select(expressions=[*(code.copy() for code in codes), *named])
    outer = outer.from_(inner.subquery("cells", copy=False), copy=False)
    # Keys that are not public are dropped after they were added up.
    for axis, code in zip(cells.axes, codes, strict=True):
        outer = outer.having(KeyFilter(this=axis.listed(code.copy())), copy=False)
    return outer.group_by(*codes, copy=False) if codes else outer


def _policy_of(plans: Sequence[Plan]) -> Policy:
    """The policy with what each of the plans writes of columns."""
    policy, *others = (plan.policy for plan in plans)
    added = {name: one for other in others for name, one in other.columns.items()}
    if added.keys() <= policy.columns.keys():
        return policy
    return policy.model_copy(update={"columns": policy.columns | added})


def _together(rows: exp.Select, codes: Sequence[exp.Column], plans: Sequence[Plan]) -> exp.Select:
    """The rows, in which all values of a plan that takes them together are NULL where one of them is.

    In a reading of its own, so that each value is made once, and asked once whether it is there.
    """
    chosen: list[exp.Expression] = [code.copy() for code in codes]
    before = 0
    for plan in plans:
        mine = [column(f"v{before + place}") for place in range(len(plan.values))]
        before += len(mine)
        if any(part.aggregate.together for part in plan.parts):
            # An id is counted whether its row has the values or not.
            ids = {part.aggregate.place for part in plan.parts if isinstance(part.aggregate, People)}
            taken = [one for place, one in enumerate(mine) if place not in ids]
            made = dict(zip(mine, plan.values, strict=True))
            numbers = all(isinstance(made[one], Quantize) for one in taken)
            chosen += [_beside(taken, one, numbers) if one in taken else one.copy() for one in mine]
        else:
            chosen += [one.copy() for one in mine]
    if all(isinstance(one, exp.Column) for one in chosen):
        return rows
    return exp.Select(expressions=chosen).from_(rows.subquery("known", copy=False), copy=False)


def _beside(values: Sequence[exp.Column], value: exp.Column, numbers: bool) -> exp.Expression:
    """The value, NULL where another one is."""
    others = [other for other in values if other is not value]
    if not others:
        return value.copy()
    given = [one.copy() for one in others]
    return aliased(Together(this=value.copy(), expressions=given, numbers=numbers), value.name)


def rows_of(plan: Plan, values: Sequence[exp.Expression], seed: str = "") -> exp.Select:
    """`values` of the rows that count: those that meet the condition, a limited number of each unit.

    Whoever reads them calls the values by names of its own: in here computed columns have short ones.
    """
    rows = exp.Select(expressions=list(values))
    condition = None if plan.condition is None else to_tree(plan.condition, plan.policy)
    if plan.policy.id_column is not None and plan.bounded:
        met = partial(_met, plan, condition=condition)
        source = chosen_rows(plan, columns_in([rows], plan.policy), met, seed)
    else:
        if condition is not None:
            rows = rows.where(condition, copy=False)
        source = _source(plan, columns_in([rows], plan.policy))
    return _plain(rows.from_(source, copy=False), plan.policy)


def _plain(rows: exp.Select, policy: Policy) -> exp.Select:
    """The rows, in which what is computed has a short name."""
    made = any(one.calculated for one in policy.columns.values())
    return plainly_named(rows, policy) if made else rows


def _people_of(plan: Plan, values: Sequence[exp.Expression], seed: str) -> exp.Select:
    """`values` of people, who are counted once in each of their groups: with the number of their rows.

    The rows that meet the condition are counted for each id; those without an id are nobody's. All of a
    person's rows count, since a person is one number here, however many rows there are. In many groups a
    person would be many: then the groups are taken in the order of a hash, the one of `chosen_rows`.
    """
    unit = ReadColumn(this=column(plan.policy.id_column or ""), kind="id")
    groups = [axis.tree for axis in plan.cells.axes[:-1]]
    keys = [f"k{index}" for index in range(len(groups))]
    limited = plan.groups_limited
    known = exp.Not(this=exp.Is(this=unit.copy(), expression=exp.Null()))
    condition = [] if plan.condition is None else [to_tree(plan.condition, plan.policy)]
    rows = exp.Select(
        expressions=[
            aliased(unit, "person"),
            *(aliased(group.copy(), key) for group, key in zip(groups, keys, strict=True)),
            *([aliased(start_of(unit, groups, seed), "start")] if limited else []),
        ]
    ).where(known, *condition, copy=False)
    rows = rows.from_(_source(plan, columns_in([rows], plan.policy)), copy=False)
    each = [column("person"), *map(column, keys)]
    counted = exp.Select(expressions=[*each, aliased(exp.Count(this=exp.Star()), PERSONS_ROWS)])
    if limited:
        counted = counted.select(aliased(exp.Min(this=column("start")), "start"), copy=False)
    counted = counted.from_(rows.subquery("rows", copy=False), copy=False)
    counted = counted.group_by(*(one.copy() for one in each), copy=False)
    if limited:
        place = window(exp.RowNumber(), [column("person")], [column("start"), *map(column, keys)])
        shown = [*map(column, keys), column(PERSONS_ROWS), aliased(place, "place")]
        ranked = exp.Select(expressions=shown).from_(counted.subquery("counted", copy=False), copy=False)
        most = exp.LTE(this=column("place"), expression=exp.Literal.number(plan.policy.groups_per_unit))
        every = [*map(column, keys), column(PERSONS_ROWS)]
        counted = exp.Select(expressions=every).from_(ranked.subquery("ranked", copy=False), copy=False)
        counted = counted.where(most, copy=False)
    # The groups have their values by now.
    shown = [aliased(column(one), one) for one in keys] + list(values[len(keys) :])
    people = exp.Select(expressions=shown).from_(counted.subquery("people", copy=False), copy=False)
    return _plain(people, plan.policy)


def _met(plan: Plan, carried: Sequence[str], condition: exp.Expression | None) -> exp.Select:
    """These columns, the id first, of the rows that meet the condition and have an id."""
    unit = ReadColumn(this=column(carried[0]), kind="id")
    known = exp.Not(this=exp.Is(this=unit, expression=exp.Null()))
    asked = columns_in([] if condition is None else [condition], plan.policy)
    source = _source(plan, tuple(dict.fromkeys((*carried[1:], *asked))))
    rows = exp.Select(expressions=list(map(column, carried))).from_(source, copy=False)
    return rows.where(known, *([] if condition is None else [condition]), copy=False)


def _source(plan: Plan, read: Sequence[str]) -> exp.Expression:
    """The rows with what is computed from them."""
    policy = plan.policy
    computed = [name for name in read if name in policy.columns and policy.columns[name].calculated]
    stored = [name for name in read if name not in computed]
    read = tuple(dict.fromkeys((*stored, *policy.stored_of(computed))))
    own = [] if policy.id_column is None else [policy.id_column]
    rows = _stored_rows(plan, read)
    if any(name in policy.columns and policy.columns[name].places is not None for name in read):
        rows = with_decimals(rows, [*own, *read], policy)
    return with_computed(rows, computed, policy, [*own, *stored]) if computed else rows


def _stored_rows(plan: Plan, read: Sequence[str]) -> exp.Expression:
    """The data, with the tables that it is joined with, of the people who are counted."""
    if plan.query.join:
        return joined_tree(plan.policy, plan.query.join, read, plan.people_from)
    if plan.people_from is not None:
        return counted_people(plan.policy, read, plan.people_from)
    return source_table()


def units_statement(policy: Policy) -> exp.Select:
    """The statement, in our own words, that counts the privacy units of the table."""
    counted: exp.Expression = exp.Star()
    if policy.id_column is not None:
        counted = exp.Distinct(expressions=[ReadColumn(this=column(policy.id_column), kind="id")])
    return exp.Select(expressions=[exp.Count(this=counted)]).from_(source_table())
