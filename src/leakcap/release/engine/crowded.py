"""Which rows a choice among a unit's rows puts in order: all of them, or those of units that have too many.

To order rows costs more than all else that is done to them. Where most units have no more rows than count,
it takes half the time to count each unit's rows, and to put in order those of crowded units alone. Rows are
held while this goes on, so that it is the same rows that are counted and chosen: no unit has more of them
than were paid for, whatever a table is that says something else when it is read again. `MATERIALIZED` says
so: DuckDB before 1.4 computes again what a WITH names twice if nothing is said, and might put one unit in
order of those that are not crowded, and leave out another.

One unit that is not crowded is put in order in any case. Its rows are all chosen, and an engine has the same
to do whether there are crowded ones or not.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from leakcap.release.columns.typed import CROWDED, Chosen, aliased, column, held_as, named_table

__all__ = ["ordered_at_once", "ordered_where_crowded"]

_MET, _SIZES, _TOO_MANY = "leakcap_met", "leakcap_sizes", "leakcap_too_many"


def ordered_at_once(node: Chosen) -> exp.Subquery:
    """All rows are put in order, and each unit's are counted by a window."""
    _, size = node.args["names"]
    rows: exp.Select = node.args["rows"]
    counted = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[node.args["unit"]])
    shown = [*(column(one.alias_or_name) for one in rows.expressions), aliased(counted, size)]
    source = exp.Select(expressions=shown).from_(rows.subquery("met", copy=False), copy=False)
    query: exp.Select = node.this
    (table,) = (one for one in query.find_all(exp.Table) if one.name == CROWDED)
    table.replace(source.subquery("crowded", copy=False))
    return query.subquery("units", copy=False)


def ordered_where_crowded(node: Chosen) -> exp.Subquery:
    """Those of units with too many rows, and of one more."""
    own, size = node.args["names"]
    unit, most = node.args["unit"], exp.Literal.number(int(node.args["most"]))
    rows: exp.Select = node.args["rows"]
    carried = [one.alias_or_name for one in rows.expressions]
    sizes = _from(_MET, [aliased(unit.copy(), own), aliased(exp.Count(this=exp.Star()), size)])
    sizes = sizes.group_by(unit.copy(), copy=False)
    units = [column(own), column(size)]
    one = (
        _from(_SIZES, units)
        .where(exp.LTE(this=column(size), expression=most), copy=False)
        .limit(exp.Limit(expression=exp.Literal.number(1)), copy=False)
    )
    crowded = _from(_SIZES, units).where(exp.GT(this=column(size), expression=most.copy()), copy=False)
    too_many = exp.union(crowded, one.subquery(copy=False), distinct=False, copy=False)
    mine = exp.EQ(this=column(own), expression=unit)
    shown = _from(_MET, [*map(column, carried), column(size)])
    shown = shown.join(named_table(_TOO_MANY), on=mine, copy=False)
    query: exp.Query = node.this
    if node.args["others"]:
        among = exp.Exists(this=_from(_TOO_MANY, [exp.Literal.number(1)]).where(mine.copy(), copy=False))
        others = _from(_MET, list(map(column, carried))).where(exp.Not(this=among), copy=False)
        query = exp.union(others, query, distinct=False, copy=False)
    for name, held in ((_MET, rows), (_SIZES, sizes), (_TOO_MANY, too_many), (CROWDED, shown)):
        query = held_as(query, name, held, materialized=True)
    return query.subquery("units", copy=False)


def _from(name: str, shown: Sequence[exp.Expression]) -> exp.Select:
    return exp.Select(expressions=list(shown)).from_(named_table(name), copy=False)
