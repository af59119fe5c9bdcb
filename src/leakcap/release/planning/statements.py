"""The one statement that runs, in our own words: bounded units, values of rows, totals of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from leakcap.policy.document import Policy
from leakcap.release.columns.computed import plainly_named, with_computed
from leakcap.release.columns.decimals import with_decimals
from leakcap.release.columns.joins import joined_tree
from leakcap.release.columns.people import counted_people
from leakcap.release.columns.typed import (
    PERSONS_ROWS,
    Bin,
    ExactSum,
    KeyFilter,
    OfUnit,
    Quantize,
    ReadColumn,
    Together,
    aliased,
    cast,
    column,
    data_type,
    free_name,
    source_table,
    stored_column,
    tree_nodes,
)
from leakcap.release.conditions.condition import to_tree
from leakcap.release.measurements.aggregates import People
from leakcap.release.planning.by_day import by_day, coded, rows_added_up
from leakcap.release.planning.row_keys import KeyedRows, placed_by_key
from leakcap.release.planning.windows import GROUPS, ROWS, keyed, window

if TYPE_CHECKING:
    from leakcap.release.columns.cells import Cells
    from leakcap.release.plan import Plan

__all__ = ["columns_in", "rows_of", "select_of", "units_statement"]


def select_of(plans: Sequence[Plan], seed: str = "") -> exp.Select:
    """One statement for plans over the same cells and condition, so that the table is read once for all.

    `seed` is the ledger's secret, by which rows of a unit that has too many are chosen.
    """
    first = replace(plans[0], policy=_policy_of(plans))
    axes = first.cells.axes
    codes = [column(f"k{index}") for index in range(len(axes))]
    if any(axis.days for axis in axes) and by_day(plans):
        days = [aliased(axis.by_day.copy(), code.name) for axis, code in zip(axes, codes, strict=True)]
        inner = coded(rows_of(first, days, seed), axes)
        return _added_up(inner, first.cells, codes, [rows_added_up() for plan in plans for _ in plan.parts])
    values = [value for plan in plans for value in plan.values]
    names = [column(f"v{index}") for index in range(len(values))]
    chosen = [
        *(aliased(axis.tree.copy(), f"k{index}") for index, axis in enumerate(axes)),
        *(aliased(value.copy(), name.name) for value, name in zip(values, names, strict=True)),
        *([] if axes or values else [aliased(exp.Literal.number(1), "v0")]),
    ]
    inner = _people_of(first, chosen, seed) if first.each_person else rows_of(first, chosen, seed)
    inner = _together(inner, codes, plans)
    totals: list[exp.Expression] = []
    for plan in plans:
        mine, names = names[: len(plan.values)], names[len(plan.values) :]
        totals += [part.aggregate.tree(mine) for part in plan.parts]
    for node in (one for total in totals for one in tree_nodes(total, ExactSum)):
        node.set("cells", None if first.cells.open else first.cells.size)
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
        source = _bounded(plan, columns_in([rows], plan.policy), condition, seed)
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
    person would be many: then the groups are taken in the order of a hash, the one of `_bounded`.
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
            *([aliased(_start(unit, groups, seed), "start")] if limited else []),
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


def columns_in(trees: Iterable[exp.Expression], policy: Policy) -> tuple[str, ...]:
    """The policy's columns that are read, in the policy's order."""
    read = {node.this.name for tree in trees for node in tree_nodes(tree, ReadColumn, Quantize, Bin)}
    return tuple(name for name in policy.columns if name in read)


def _bounded(plan: Plan, read: Sequence[str], condition: exp.Expression | None, seed: str) -> exp.Expression:
    """Of the rows that meet the condition at most `max_rows` of each id, and none without an id.

    The condition comes first: rows that a query does not ask about take no place of those that it does. Any
    choice of `max_rows` of a unit's rows that depends on these rows and the seed alone has the same price.
    Rows without an id are left out because strangers would share one quota.

    Where groups are bounded too, a unit's groups are taken whole in the order of a hash, until `max_groups`
    or `max_rows` is reached; of the last group only as many rows are chosen as are still allowed. With a row
    key the rows are taken in the order of its hash: see `row_keys.py`.
    """
    policy = plan.policy
    unit = ReadColumn(this=column(policy.id_column or ""), kind="id")
    groups = _groups(plan)
    # Cells come first: how many rows of each are kept is the same then whatever else a statement reads.
    cells = [axis.tree for axis in plan.cells.axes if axis.tree not in groups]
    contents = (_content(name, policy) for name in read)
    seen = [*cells, *(one for one in contents if one not in groups and one not in cells)]
    key = policy.row_key
    carried = tuple(dict.fromkeys((policy.id_column or "", *([] if key is None else [key]), *read)))
    asked = columns_in([] if condition is None else [condition], policy)
    source = _source(plan, tuple(dict.fromkeys((*carried[1:], *asked))))
    # By name: under a star, a column of the table could bear the name of a number and replace it.
    start, place, size, first, rank = (
        free_name(f"leakcap_{name}", carried) for name in ("start", "place", "size", "first", "rank")
    )
    known = exp.Not(this=exp.Is(this=unit.copy(), expression=exp.Null()))
    started = [] if key is not None and not groups else [aliased(_start(unit, groups, seed), start)]
    rows = exp.Select(expressions=[*map(column, carried), *started]).from_(source, copy=False)
    rows = rows.where(known, *([] if condition is None else [condition]), copy=False)
    by_group = _hashed_order(column(start), groups)
    most = exp.Literal.number(policy.rows_per_unit)
    few = exp.LTE(this=column(rank), expression=exp.Literal.number(policy.groups_per_unit))
    kept: list[exp.Expression] = [few] if groups else []
    ranked: exp.Query
    if key is not None:
        given = KeyedRows(rows, carried, unit, key, by_group, [start] if groups else [], seen, seed)
        ranked = placed_by_key(given, place, rank)
        kept.append(exp.LTE(this=column(place), expression=most))
    else:
        # Rows that tie are alike in all that is read: it does not matter which of them has which number.
        chosen = [
            *map(column, carried),
            aliased(window(exp.RowNumber(), [unit], [*by_group, *seen] or [unit]), place),
            aliased(window(exp.Count(this=exp.Star()), [unit], by_group, alike=True), size),
        ]
        if groups:
            chosen += [
                column(start),
                aliased(window(exp.Anonymous(this="RANK"), [unit], by_group), first),
                aliased(window(exp.Anonymous(this="DENSE_RANK"), [unit], by_group), rank),
            ]
            before = exp.Paren(this=exp.Sub(this=column(first), expression=exp.Literal.number(1)))
            own = exp.Paren(this=exp.Sub(this=column(place), expression=before))
            quota = exp.Paren(this=exp.Sub(this=most.copy(), expression=before.copy()))
            kept.append(exp.LTE(this=column(first), expression=most))
            kept.append(_spread(own, column(size), quota, column(start)))
        else:
            chosen.append(aliased(window(exp.Min(this=column(start)), [unit], []), start))
            one = OfUnit(this=column(start), hashed=_start(unit, [], seed), unit=policy.id_column)
            kept.append(_spread(column(place), column(size), most, one))
        ranked = exp.Select(expressions=chosen).from_(rows.subquery("asked", copy=False), copy=False)
    if plan.beyond is not None:
        return _beyond(plan.beyond, ranked, kept, [*map(column, carried)], [unit, *groups, *seen], place)
    units = exp.Select(expressions=[exp.Star()]).from_(ranked.subquery("ranked", copy=False), copy=False)
    return units.where(*kept, copy=False).subquery("units", copy=False)


def _beyond(
    most: int,
    ranked: exp.Query,
    kept: Sequence[exp.Expression],
    carried: Sequence[exp.Expression],
    order: Sequence[exp.Expression],
    place: str,
) -> exp.Expression:
    """At most `most` of the rows left out of each unit, in an order that depends on its own rows alone.

    Rows that tie are alike in all that is read.
    """
    numbered = aliased(window(exp.RowNumber(), order[:1], order), place)
    source = ranked.subquery("ranked", copy=False)
    left = exp.Select(expressions=[*carried, numbered]).from_(source, copy=False)
    left = left.where(exp.Not(this=exp.Paren(this=exp.and_(*kept, copy=False))), copy=False)
    few = exp.LTE(this=column(place), expression=exp.Literal.number(most))
    units = exp.Select(expressions=[exp.Star()]).from_(left.subquery("left_out", copy=False), copy=False)
    return units.where(few, copy=False).subquery("units", copy=False)


def _spread(
    place: exp.Expression, size: exp.Expression, quota: exp.Expression, start: exp.Expression
) -> exp.Expression:
    """Whether a row is among `quota` of `size` rows, spread evenly over their numbers `place` from 1 on.

    Row p is taken where (start + p·r) mod n < r. For r < n that is where ⌊(start + p·r)/n⌋ has grown by one
    since p − 1, and over n rows it grows by r: so min(r, n) rows are taken, whatever the start. Over n starts
    each row is taken r times. Of k rows in a row, as equal ones are, k·r/n are taken, rounded up or down.

    With `max_rows` of 10⁶ at most and fewer than 2⁴² rows nothing is beyond 64 bits. Spark numbers rows in 32
    bits: the product of two such numbers would be beyond them.
    """
    reached = exp.Add(this=start, expression=exp.Mul(this=cast(place, "BIGINT"), expression=quota))
    return exp.LT(this=exp.Mod(this=exp.Paren(this=reached), expression=size), expression=quota.copy())


def _start(unit: exp.Expression, groups: Sequence[exp.Expression], seed: str) -> exp.Expression:
    """A keyed hash of the unit, and of the group where groups are bounded. It has 62 bits, so that numbers of
    rows can be added to it.
    """
    hashed = keyed(unit, groups, GROUPS if groups else ROWS, seed)
    low = exp.BitwiseAnd(this=hashed, expression=exp.Literal.number(2**62 - 1))
    return exp.Cast(this=exp.Paren(this=low), to=data_type("BIGINT"))


def _content(name: str, policy: Policy) -> exp.Expression:
    """A column to be ordered by; every engine has a place for NaN in its order."""
    if policy.columns[name].bounds is not None or policy.columns[name].kind == "number":
        return ReadColumn(this=column(name), kind="double")
    return stored_column(name, policy.columns[name])


def _groups(plan: Plan) -> list[exp.Expression]:
    """The expressions that define the groups whose number per unit is limited; none where it is not."""
    if plan.policy.groups_per_unit >= plan.policy.rows_per_unit:
        return []
    return [axis.tree for axis in plan.cells.axes[: len(plan.query.by)]]


def _hashed_order(start: exp.Expression, groups: Sequence[exp.Expression]) -> list[exp.Expression]:
    """Groups by their hash, then, where two hashes meet, by what they are called."""
    return [start, *groups] if groups else []


def units_statement(policy: Policy) -> exp.Select:
    """The statement, in our own words, that counts the privacy units of the table."""
    counted: exp.Expression = exp.Star()
    if policy.id_column is not None:
        counted = exp.Distinct(expressions=[ReadColumn(this=column(policy.id_column), kind="id")])
    return exp.Select(expressions=[exp.Count(this=counted)]).from_(source_table())
