"""The order in which a unit's rows are taken where the policy names a row key.

Rows are taken in the order of a keyed hash of the unit, the row key and which of the rows with this key it
is. It follows from the row alone, whatever a query reads: so of the rows that two queries ask about both keep
the same. Rows whose key is missing or not their own are numbered, in an order of what is read of them;
without the number, rows that share a key would be kept or dropped together.

To number them takes a second order of the rows, as long as the first. So units whose keys are all their own,
whose rows all have the number 1, are left out of it: one order shows which these are, and is theirs. One unit
is numbered in any case, so that the engine has the same to do whether there are others or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp

from leakcap.release.columns.typed import (
    ReadColumn,
    aliased,
    cast,
    column,
    free_name,
    held_as,
    named_table,
)
from leakcap.release.planning.windows import ROWS, keyed, window

__all__ = ["KeyedRows", "placed_by_key"]


class KeyedRows(NamedTuple):
    """Rows of units with `carried` columns, and how they are ordered before their keys are looked at.

    `by_group` orders groups, of which `start` is the column with their hash; both are empty where groups are
    not bounded. `seen` is all that is read of a row beside its group.
    """

    rows: exp.Select
    carried: Sequence[str]
    unit: exp.Expression
    key: str
    by_group: Sequence[exp.Expression]
    start: Sequence[str]
    seen: Sequence[exp.Expression]
    seed: str


def placed_by_key(given: KeyedRows, place: str, rank: str) -> exp.Query:
    """The rows with their `place` in their unit, and the `rank` of their group where groups are bounded."""
    taken = (*given.carried, *given.start, place, rank)
    ticket, own, first, copy = (
        free_name(f"leakcap_{name}", taken) for name in ("ticket", "own", "first", "copy")
    )
    key = ReadColumn(this=column(given.key), kind="id")
    one = cast(exp.Literal.number(1), "BIGINT")
    given.rows.select(aliased(keyed(given.unit, [key, one], ROWS, given.seed), ticket), copy=False)
    order = [*given.by_group, column(ticket), key]
    ranks = (
        [aliased(window(exp.Anonymous(this="DENSE_RANK"), [given.unit], given.by_group), rank)]
        if given.start
        else []
    )
    numbered = exp.Select(
        expressions=[
            *map(column, (*given.carried, *given.start)),
            # One value for all rows of a unit: equal ids may differ in their bits.
            aliased(window(exp.Min(this=column(ticket)), [given.unit], []), own),
            aliased(window(exp.RowNumber(), [given.unit], order), place),
            aliased(window(exp.Anonymous(this="RANK"), [given.unit], order), first),
            *ranks,
        ]
    ).from_(given.rows.subquery("asked", copy=False), copy=False)
    shared = exp.NEQ(this=column(place), expression=column(first))
    repeating = exp.union(
        _from(_NUMBERED, [column(own)]).where(shared, copy=False),
        _from(_NUMBERED, [aliased(exp.Min(this=column(own)), own)]),
        distinct=False,
        copy=False,
    )
    shown = [*given.carried, *([rank] if given.start else [])]
    alone = _from(_NUMBERED, [*map(column, shown), column(place)])
    alone = alone.where(exp.Not(this=_among(own)), copy=False)
    within = [given.unit, key, *given.by_group]
    copies = aliased(window(exp.RowNumber(), within, given.seen or [given.unit]), copy)
    others = _from(_NUMBERED, [*map(column, (*shown, *given.start)), copies]).where(_among(own), copy=False)
    hashed = keyed(given.unit, [key, cast(column(copy), "BIGINT")], ROWS, given.seed)
    again = window(exp.RowNumber(), [given.unit], [*given.by_group, hashed, key, column(copy)])
    others = exp.Select(expressions=[*map(column, shown), aliased(again, place)]).from_(
        others.subquery("copies", copy=False), copy=False
    )
    found = exp.union(alone, others, distinct=False, copy=False)
    return held_as(held_as(found, _NUMBERED, numbered), _REPEATING, repeating)


_NUMBERED, _REPEATING = "leakcap_numbered", "leakcap_repeating"


def _from(name: str, shown: Sequence[exp.Expression]) -> exp.Select:
    return exp.Select(expressions=list(shown)).from_(named_table(name), copy=False)


def _among(own: str) -> exp.Exists:
    """Whether the row's unit is one of those that are numbered."""
    same = exp.EQ(
        this=exp.column(own, table=_REPEATING, quoted=True),
        expression=exp.column(own, table=_NUMBERED, quoted=True),
    )
    return exp.Exists(this=_from(_REPEATING, [exp.Literal.number(1)]).where(same, copy=False))
