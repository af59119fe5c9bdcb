"""The one statement that runs, in our own words: bounded units, values of rows, totals of cells."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from leakcap.policy.document import Policy
from leakcap.release.columns.joins import joined_tree
from leakcap.release.columns.people import counted_people
from leakcap.release.columns.typed import (
    Bin,
    Hashed,
    KeyFilter,
    Quantize,
    ReadColumn,
    aliased,
    column,
    free_name,
    source_table,
    typed_column,
)
from leakcap.release.conditions.condition import to_tree
from leakcap.release.measurements.aggregates import People

if TYPE_CHECKING:
    from leakcap.release.planning.plan import Plan

__all__ = ["columns_in", "rows_of", "statement_of", "units_statement"]

_ROWS, _GROUPS, _COPIES = 1, 2, 3


def statement_of(plans: Sequence[Plan], seed: str = "") -> exp.Select:
    """One statement for plans over the same cells and condition, so that the table is read once for all.

    `seed` is the ledger's secret, by which rows of a unit that has too many are chosen.
    """
    first = plans[0]
    axes = first.cells.axes
    values = [value for plan in plans for value in plan.values]
    names = [column(f"v{index}") for index in range(len(values))]
    inner = rows_of(
        first,
        [
            *(aliased(axis.tree.copy(), f"k{index}") for index, axis in enumerate(axes)),
            *(aliased(value.copy(), name.name) for value, name in zip(values, names, strict=True)),
            *([] if axes or values else [aliased(exp.Literal.number(1), "v0")]),
        ],
        seed,
    )
    codes = [column(f"k{index}") for index in range(len(axes))]
    inner = _together(inner, codes, plans)
    totals: list[exp.Expression] = []
    for plan in plans:
        mine, names = names[: len(plan.values)], names[len(plan.values) :]
        totals += [part.aggregate.tree(mine) for part in plan.parts]
    named = [aliased(total, f"t{index}") for index, total in enumerate(totals)]
    outer = exp.Select(expressions=[*(code.copy() for code in codes), *named])
    outer = outer.from_(inner.subquery("cells", copy=False), copy=False)
    # Keys that are not public are dropped after they were added up.
    for axis, code in zip(axes, codes, strict=True):
        outer = outer.having(KeyFilter(this=axis.listed(code.copy())), copy=False)
    return outer.group_by(*codes, copy=False) if codes else outer


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
            chosen += [_beside(taken, one) if one in taken else one.copy() for one in mine]
        else:
            chosen += [one.copy() for one in mine]
    if all(isinstance(one, exp.Column) for one in chosen):
        return rows
    return exp.Select(expressions=chosen).from_(rows.subquery("known", copy=False), copy=False)


def _beside(values: Sequence[exp.Column], value: exp.Column) -> exp.Expression:
    """The value, NULL where another one is."""
    others = [other for other in values if other is not value]
    if not others:
        return value.copy()
    known = [exp.Not(this=exp.Paren(this=exp.Is(this=one.copy(), expression=exp.Null()))) for one in others]
    one = exp.If(this=exp.and_(*known, copy=False), true=value.copy())
    return aliased(exp.Case(ifs=[one], default=exp.Null()), value.name)


def rows_of(plan: Plan, values: Sequence[exp.Expression], seed: str = "") -> exp.Select:
    """`values` of the rows that count: of the condition's rows so many of each unit at most."""
    rows = exp.Select(expressions=list(values))
    condition = None if plan.condition is None else to_tree(plan.condition, plan.policy)
    if plan.policy.id_column is not None and plan.bounded:
        return rows.from_(_bounded(plan, columns_in([rows], plan.policy), condition, seed), copy=False)
    if condition is not None:
        rows = rows.where(condition, copy=False)
    read = columns_in([rows], plan.policy)
    return rows.from_(_source(plan, read), copy=False)


def _source(plan: Plan, read: Sequence[str]) -> exp.Expression:
    """The data, with the tables that it is joined with, of the people who are counted."""
    if plan.query.join:
        return joined_tree(plan.policy, plan.query.join, read, plan.people_from)
    if plan.people_from is not None:
        return counted_people(plan.policy, read, plan.people_from)
    return source_table()


def columns_in(trees: Iterable[exp.Expression], policy: Policy) -> tuple[str, ...]:
    """The policy's columns that are read, in the policy's order."""
    read = {node.this.name for tree in trees for node in tree.find_all(ReadColumn, Quantize, Bin)}
    return tuple(name for name in policy.columns if name in read)


def _bounded(plan: Plan, read: Sequence[str], condition: exp.Expression | None, seed: str) -> exp.Expression:
    """Of the rows that meet the condition at most `max_rows` of each id, and none without an id.

    The condition comes first: rows that a query does not ask about take no place of those that it does. Any
    map from a unit's own rows and the seed to so many of them keeps the price. Rows without an id are left
    out because strangers would share one quota.

    Rows are ordered by a hash of the columns that are read and of which of the unit's equal rows each is, so
    that neither small nor large values are preferred, and equal rows are not kept or dropped together; where
    two hashes meet, by the columns themselves: rows that still tie are alike in all that is read, and
    interchangeable. Where groups are bounded too they are ordered by a hash of their own before the rows in
    them: one order serves both bounds.
    """
    policy = plan.policy
    unit = ReadColumn(this=column(policy.id_column or ""), kind="id")
    groups = _groups(plan)
    seen = [_content(name, policy) for name in read]
    carried = tuple(dict.fromkeys((policy.id_column or "", *read)))
    asked = columns_in([] if condition is None else [condition], policy)
    source = _source(plan, tuple(dict.fromkeys((*read, *asked))))
    # By name: under a star, a column of the table could bear the name of a number and replace it.
    copy, place, rank = (free_name(f"leakcap_{name}_number", carried) for name in ("copy", "row", "group"))
    chosen: list[exp.Expression] = [*map(column, carried)]
    if seen:
        # Equal numbers may have different hashes: −0.0 and 0.0. In the order of these hashes nothing hangs on
        # the order of the rows.
        numbered = _window(exp.RowNumber(), [unit, *seen], _hashed_order(unit, seen, _COPIES, seed)[:1])
        chosen.append(aliased(numbered, copy))
    known = exp.Not(this=exp.Is(this=unit.copy(), expression=exp.Null()))
    rows = exp.Select(expressions=chosen).from_(source, copy=False).where(known, copy=False)
    if condition is not None:
        rows = rows.where(condition, copy=False)
    by_group = _hashed_order(unit, groups, _GROUPS, seed)
    by_row = _hashed_order(unit, [*seen, column(copy)], _ROWS, seed) if seen else []
    chosen = [*map(column, carried), aliased(_window(exp.RowNumber(), [unit], [*by_group, *by_row]), place)]
    kept: exp.Expression = exp.LTE(this=column(place), expression=exp.Literal.number(policy.rows_per_unit))
    if groups:
        chosen.append(aliased(_window(exp.Anonymous(this="DENSE_RANK"), [unit], by_group), rank))
        few = exp.LTE(this=column(rank), expression=exp.Literal.number(policy.groups_per_unit))
        kept = exp.And(this=few, expression=kept)
    ranked = exp.Select(expressions=chosen).from_(rows.subquery("asked", copy=False), copy=False)
    units = exp.Select(expressions=[exp.Star()]).from_(ranked.subquery("ranked", copy=False), copy=False)
    return units.where(kept, copy=False).subquery("units", copy=False)


def _content(name: str, policy: Policy) -> exp.Expression:
    """A column to be ordered by; every engine has a place for NaN in its order."""
    if policy.columns[name].kind == "number":
        return ReadColumn(this=column(name), kind="double")
    return typed_column(name, policy)


def _groups(plan: Plan) -> list[exp.Expression]:
    """What the groups that a unit may be in so many of are told apart by; nothing where any number may be."""
    if plan.policy.groups_per_unit >= plan.policy.rows_per_unit:
        return []
    return [axis.tree for axis in plan.cells.axes[: len(plan.query.by)]]


def _window(
    function: exp.Expression, within: Sequence[exp.Expression], order: Sequence[exp.Expression]
) -> exp.Window:
    ordered = [exp.Ordered(this=one.copy(), nulls_first=False) for one in order]
    # Rows that need no order are all alike, but Spark numbers none without one.
    sorted_ = exp.Order(expressions=ordered or [exp.Ordered(this=within[0].copy(), nulls_first=False)])
    return exp.Window(this=function, partition_by=[one.copy() for one in within], order=sorted_)


def _hashed_order(
    unit: exp.Expression, contents: Sequence[exp.Expression], purpose: int, seed: str
) -> list[exp.Expression]:
    """A hash of the contents under the seed and the unit, then, where two hashes meet, the contents."""
    if not contents:
        return []
    copies = [content.copy() for content in contents]
    hashed = Hashed(this=unit.copy(), expressions=copies, purpose=purpose, seed=_number(seed))
    return [hashed, *contents]


def _number(seed: str) -> int:
    """The seed as a signed integer of 64 bits, which every engine has."""
    digest = hashlib.sha256(seed.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def units_statement(policy: Policy) -> exp.Select:
    """The statement, in our own words, that counts the privacy units of the table."""
    counted: exp.Expression = exp.Star()
    if policy.id_column is not None:
        counted = exp.Distinct(expressions=[ReadColumn(this=column(policy.id_column), kind="id")])
    return exp.Select(expressions=[exp.Count(this=counted)]).from_(source_table())
