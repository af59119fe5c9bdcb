"""At most so many rows of each unit, in at most so many groups: which of them count.

The rows of a unit are put in order by windows. Where groups are not bounded, a unit with no more rows than
count needs no order: all of them do. `Chosen` says so to an engine, which then puts in order the rows of the
other units alone, and those of one unit more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from leakcap.policy.document import Policy
from leakcap.release.columns.typed import (
    CROWDED,
    Chosen,
    OfUnit,
    ReadColumn,
    aliased,
    cast,
    column,
    data_type,
    free_name,
    named_table,
    stored_column,
)
from leakcap.release.planning.row_keys import KeyedRows, placed_by_key
from leakcap.release.planning.windows import GROUPS, ROWS, keyed, window

if TYPE_CHECKING:
    from leakcap.release.plan import Plan

__all__ = ["chosen_rows", "start_of"]


def chosen_rows(
    plan: Plan, read: Sequence[str], met_of: Callable[[Sequence[str]], exp.Select], seed: str
) -> exp.Expression:
    """Of the rows that meet the condition at most `max_rows` of each id, and none without an id.

    `read` is what is read of each of them, `met_of` makes the query for them with these columns.

    The condition comes first: rows that a query does not ask about take no place of those that it does. Any
    choice of `max_rows` of a unit's rows that depends on these rows and the seed alone has the same price.
    Rows without an id are left out because strangers would share one quota.

    Where groups are bounded too, a unit's groups are taken whole in the order of a hash, until `max_groups`
    or `max_rows` is reached; of the last group only as many rows are chosen as are still allowed. With a row
    key the rows are taken in the order of its hash: see `row_keys.py`.
    """
    policy = plan.policy
    unit = ReadColumn(this=column(policy.id_column or ""), kind="id")
    if policy.rows_per_unit == 1 and plan.beyond is None and not (read or plan.cells.axes):
        # Nothing of the rows is looked at, so that any of a unit's does.
        asked = met_of([policy.id_column or ""]).subquery("met", copy=False)
        people = exp.Select(expressions=[unit]).from_(asked, copy=False).group_by(unit.copy(), copy=False)
        return people.subquery("units", copy=False)
    groups = _groups(plan)
    # Cells come first: how many rows of each are kept is the same then whatever else a statement reads.
    cells = [axis.tree for axis in plan.cells.axes if axis.tree not in groups]
    contents = (_content(name, policy) for name in read)
    seen = [*cells, *(one for one in contents if one not in groups and one not in cells)]
    key = policy.row_key
    carried = tuple(dict.fromkeys((policy.id_column or "", *([] if key is None else [key]), *read)))
    # By name: under a star, a column of the table could bear the name of a number and replace it.
    start, place, size, first, rank, own = (
        free_name(f"leakcap_{name}", carried) for name in ("start", "place", "size", "first", "rank", "own")
    )
    met = met_of(carried)
    by_group = _hashed_order(column(start), groups)
    most = exp.Literal.number(policy.rows_per_unit)
    ranked: exp.Query
    if groups:
        few = exp.LTE(this=column(rank), expression=exp.Literal.number(policy.groups_per_unit))
        started = aliased(start_of(unit, groups, seed), start)
        rows = exp.Select(expressions=[*map(column, carried), started])
        rows = rows.from_(met.subquery("met", copy=False), copy=False)
        kept: list[exp.Expression] = [few]
    else:
        rows = exp.Select(expressions=list(map(column, carried)))
        rows = rows.from_(named_table(CROWDED), copy=False)
        kept = []
    if key is not None:
        given = KeyedRows(rows, carried, unit, key, by_group, [start] if groups else [], seen, seed)
        ranked = placed_by_key(given, place, rank)
        kept.append(exp.LTE(this=column(place), expression=most))
    else:
        # Rows that tie are alike in all that is read: it does not matter which of them has which number.
        chosen: list[exp.Expression] = [
            *map(column, carried),
            aliased(window(exp.RowNumber(), [unit], [*by_group, *seen] or [unit]), place),
        ]
        if groups:
            chosen += [
                column(start),
                aliased(window(exp.Count(this=exp.Star()), [unit], by_group, alike=True), size),
                aliased(window(exp.Anonymous(this="RANK"), [unit], by_group), first),
                aliased(window(exp.Anonymous(this="DENSE_RANK"), [unit], by_group), rank),
            ]
            before = exp.Paren(this=exp.Sub(this=column(first), expression=exp.Literal.number(1)))
            of_group = exp.Paren(this=exp.Sub(this=column(place), expression=before))
            quota = exp.Paren(this=exp.Sub(this=most.copy(), expression=before.copy()))
            kept.append(exp.LTE(this=column(first), expression=most))
            kept.append(_spread(of_group, column(size), quota, column(start)))
        else:
            rows = rows.select(column(size), aliased(start_of(unit, [], seed), start), copy=False)
            chosen += [column(size), aliased(window(exp.Min(this=column(start)), [unit], []), start)]
            one = OfUnit(this=column(start), hashed=start_of(unit, [], seed), unit=policy.id_column)
            kept.append(_spread(column(place), column(size), most, one))
        ranked = exp.Select(expressions=chosen).from_(rows.subquery("asked", copy=False), copy=False)
    if plan.beyond is None:
        units = exp.Select(expressions=list(map(column, carried)))
        units = units.from_(ranked.subquery("ranked", copy=False), copy=False).where(*kept, copy=False)
    else:
        units = _beyond(plan.beyond, ranked, kept, carried, [unit, *groups, *seen], place)
    if groups:
        return units.subquery("units", copy=False)
    return Chosen(
        this=units,
        rows=met,
        unit=unit.copy(),
        most=policy.rows_per_unit,
        names=(own, size),
        others=plan.beyond is None,
    )


def _beyond(
    most: int,
    ranked: exp.Query,
    kept: Sequence[exp.Expression],
    carried: Sequence[str],
    order: Sequence[exp.Expression],
    place: str,
) -> exp.Select:
    """At most `most` of the rows left out of each unit, in an order that depends on its own rows alone.

    Rows that tie are alike in all that is read.
    """
    numbered = aliased(window(exp.RowNumber(), order[:1], order), place)
    source = ranked.subquery("ranked", copy=False)
    left = exp.Select(expressions=[*map(column, carried), numbered]).from_(source, copy=False)
    left = left.where(exp.Not(this=exp.Paren(this=exp.and_(*kept, copy=False))), copy=False)
    few = exp.LTE(this=column(place), expression=exp.Literal.number(most))
    units = exp.Select(expressions=list(map(column, carried)))
    return units.from_(left.subquery("left_out", copy=False), copy=False).where(few, copy=False)


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


def start_of(unit: exp.Expression, groups: Sequence[exp.Expression], seed: str) -> exp.Expression:
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
