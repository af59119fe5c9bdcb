"""Joins with the tables that a policy declares: a person's own table by the id, a public one by its key.

    visits.person_id = people.person_id        visits.ward = wards.code

Only inner joins from the data to a table of which **at most one row is used for each key**: so a row of the
data stays one row or none, what it becomes follows from its own person's rows alone (or from a public
table), and a person's rows are bounded after the join as they are without it. One person's data are all their
rows in the data and in their own tables; to add, remove or replace a person does so everywhere. No
sensitivity moves. Who has no row in the data is in no answer, whatever their own tables say of them.

Where a table has several rows for one key, the one that sorts first by the policy's columns is used, missing
values last: a choice that follows from these rows alone, and no error that would tell of them. A key that is
missing meets nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from leakcap.errors import DataError, InvalidQuery
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.policy.tables import JoinedTable
from leakcap.release.columns.people import counted_people
from leakcap.release.columns.typed import (
    ReadColumn,
    aliased,
    column,
    decimal_column,
    identifier,
    joined_source,
    stored_column,
)

__all__ = ["check_joins", "joined_policy", "joined_tree"]

# Integers of these types compare as integers whatever their widths; other ids must be of one type.
_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}


def joined_policy(policy: Policy, tables: Sequence[str], *, owner: str = "query") -> Policy:
    """The policy with the columns of these tables beside its own, as `people.sex`. Raises `InvalidQuery`.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "visits", "neighbours": "add-remove-one", "unit": {"id": "person"},
    ...     "columns": {"ward": {"keys": ["a"]}}, "caps": {"epsilon": 1.0},
    ...     "tables": {"people": {"id": "person", "columns": {"sex": {"keys": ["f", "m"]}}}}})
    >>> sorted(joined_policy(policy, ["people"]).columns)
    ['people.sex', 'ward']
    """
    if not tables:
        return policy
    added: dict[str, Column] = {}
    for name in tables:
        if name not in policy.tables:
            known = f"It has {', '.join(policy.tables)}." if policy.tables else "It declares none."
            raise InvalidQuery(f"`join` of {owner} names `{name}`, which is no table of the policy. {known}")
        theirs = policy.tables[name].columns.items()
        added |= {f"{name}.{key}": value.qualified(name) for key, value in theirs}
    return policy.model_copy(update={"columns": {**policy.columns, **added}})


def joined_tree(
    policy: Policy, tables: Sequence[str], read: Sequence[str], people_from: float | None = None
) -> exp.Expression:
    """The data with these tables beside it: its columns of `read`, the id, and all of the tables' columns.

    Every column has a name of its own, so that none can be taken for another. With `people_from` the data are
    those of the people whose own cap is that or more, from before they meet any table.
    """
    if not tables:
        return counted_people(policy, read, people_from)
    theirs = {f"{name}.{key}" for name in tables for key in policy.tables[name].stored}
    met = [on for name in tables if (on := policy.tables[name].on) is not None]
    own = [name for name in (policy.id_column, *read, *met) if name is not None and name not in theirs]
    # With nothing to read of the data there is still the id or the key by which it is met.
    own = list(dict.fromkeys(own))
    mine = exp.Select(expressions=[*map(column, own)]).from_(
        counted_people(policy, own, people_from), copy=False
    )
    rows = exp.Select(expressions=[exp.Star()]).from_(mine.subquery("own", copy=False), copy=False)
    for index, name in enumerate(tables):
        table = policy.tables[name]
        meets = exp.EQ(this=_mine(policy, table), expression=_theirs(policy, table, name))
        rows = rows.join(
            _one_each(policy, table, name).subquery(f"joined{index}", copy=False),
            on=meets,
            join_type="inner",
            copy=False,
        )
    return rows.subquery("joined", copy=False)


def _one_each(policy: Policy, table: JoinedTable, name: str) -> exp.Select:
    """The table's rows under the names that they have beside the data, one for each key."""
    raw = list(dict.fromkeys((table.key_column, *table.stored)))
    names = [f"{name}.{one}" for one in raw]
    source = exp.Table(this=identifier(joined_source(name)))
    renamed = exp.Select(expressions=[aliased(column(a), b) for a, b in zip(raw, names, strict=True)])
    key = _theirs(policy, table, name)
    # Decimals as such, as they are stored: as text "10" comes before "9".
    order = [
        stored_column(f"{name}.{one}", known)
        if known.places is None
        else decimal_column(f"{name}.{one}", known.places)
        for one, known in table.stored.items()
    ]
    ordered = [exp.Ordered(this=one, nulls_first=False) for one in order]
    number = exp.Window(this=exp.RowNumber(), partition_by=[key.copy()], order=exp.Order(expressions=ordered))
    place = f"{name}.leakcap_row_number"
    while place.lower() in {one.lower() for one in names}:
        place += "_"
    known_key = exp.Not(this=exp.Is(this=key.copy(), expression=exp.Null()))
    ranked = exp.Select(expressions=[*map(column, names), aliased(number, place)])
    inner = renamed.from_(source, copy=False).subquery("renamed", copy=False)
    ranked = ranked.from_(inner, copy=False).where(known_key, copy=False)
    first = exp.EQ(this=column(place), expression=exp.Literal.number(1))
    chosen = exp.Select(expressions=[*map(column, names)])
    chosen = chosen.from_(ranked.subquery("ranked", copy=False), copy=False)
    return chosen.where(first, copy=False)


def _mine(policy: Policy, table: JoinedTable) -> exp.Expression:
    if table.on is not None:
        return ReadColumn(this=column(table.on), kind=policy.columns[table.on].kind)
    return ReadColumn(this=column(policy.id_column or ""), kind="id")


def _theirs(policy: Policy, table: JoinedTable, name: str) -> exp.Expression:
    """The table's key, read as the column that meets it is: the two never have to be cast to one another."""
    kind = "id" if table.on is None else policy.columns[table.on].kind
    return ReadColumn(this=column(f"{name}.{table.key_column}"), kind=kind)


def check_joins(columns: Mapping[str, str], tables: Sequence[str], policy: Policy) -> list[tuple[str, str]]:
    """Further columns that must be readable, each with its kind, from the schema alone.

    Raises `DataError` where a table was not given, or where ids are of types that would have to be cast: a
    cast can fail, or make two people one.
    """
    needed: list[tuple[str, str]] = []
    for name in tables:
        table = policy.tables[name]
        key = f"{name}.{table.key_column}"
        if not any(known.startswith(f"{name}.") for known in columns):
            raise DataError(f"The policy's table `{name}` was not given. Open the data with `tables`.")
        if table.on is not None:
            needed += [(key, policy.columns[table.on].kind), (table.on, policy.columns[table.on].kind)]
            continue
        needed.append((key, "an id"))
        mine, theirs = (columns.get(id_, "") for id_ in (policy.id_column or "", key))
        # Beside a pandas table ids are compared as text.
        alike = mine == theirs or {mine, theirs} <= _INTEGERS or "OBJECT" in {mine[:6], theirs[:6]}
        if theirs and not alike:
            shown = [type_.partition("(")[0].strip() for type_ in (mine, theirs)]
            raise DataError(
                f"Column `{policy.id_column}` has type {shown[0]} and `{key}` {shown[1]}, not the same. "
                "Store both alike: a cast could fail, or make two people one."
            )
    return needed
