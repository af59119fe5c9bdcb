"""The owner's check before the first spend: what in a table is not as its policy says, in exact numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from leakcap.errors import DataError
from leakcap.owner.asking import OwnerTable
from leakcap.owner.columns import check_column
from leakcap.owner.csvfile import form_of
from leakcap.owner.finding import DataFault
from leakcap.owner.nested import check_paths
from leakcap.owner.people import check_keys_of, check_people, check_row_key
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.policy.validation import meant
from leakcap.release.conditions.declared import with_cases
from leakcap.release.engine import attach, is_database, is_server

__all__ = ["check"]

_NOT_GIVEN = (
    "the policy declares this table, and it was not looked at: nobody said where it is. Name it in `tables`, "
    "or by --joined {}=…"
)


def check(
    data: object, policy: Policy, *, table: str | None = None, tables: Mapping[str, object] | None = None
) -> tuple[DataFault, ...]:
    """What the owner should mend, or know, before anything is asked. The arguments are those of
    `PrivateTable`.

    **Not private**: findings are exact, and quote values. They are for the owner of the data alone. No ledger
    is opened, nothing is spent, logged or written. Where the lines of a file cannot be told apart its columns
    are not looked at. Raises `DataError` where there is no such table, or the policy does
    not declare it, and `InvalidPolicy` for a `case` that may not be read.

    >>> import pyarrow
    >>> from leakcap.policy import load_policy
    >>> policy = load_policy({"dataset": "ward", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}, "sex": {"keys": ["F", "M"]}}})
    >>> ward = pyarrow.table({"age": ["31", "72,5"], "sex": ["f", "M"]})
    >>> for finding in check(ward, policy):
    ...     print(f"{finding.grade}: `{finding.place}`: {finding.text}")
    problem: `age`: 1 of 2 rows cannot be read as a number and counts as missing: "72,5" (1 row). ...
    problem: `sex`: 1 of 2 rows has a key that the policy does not list, and no group counts it: "f" ...
    """
    policy = with_cases(policy)
    others = dict(tables or {})
    for name in others:
        if name not in policy.tables:
            known = meant(name, policy.tables) if policy.tables else "It declares none."
            raise DataError(f"`tables` names `{name}`, which the policy does not declare. {known}")
    found = [*_of(data, policy, table)]
    for name, declared in policy.tables.items():
        if name not in others:
            found.append(DataFault(name, "note", _NOT_GIVEN.format(name)))
        else:
            place, stored = _place(data, others[name])
            key, kind = declared.key_column, "id"
            if declared.on is not None:
                kind = policy.columns[declared.on].kind
            own = with_cases(policy.model_copy(update={"columns": declared.columns}))
            found += _of_table(place, stored, f"{name}.", own, (key, kind))
    return tuple(found)


def _of(data: object, policy: Policy, table: str | None) -> Iterator[DataFault]:
    form = _form(data)
    if form:
        yield from form
        return
    known = OwnerTable(attach(data, table=table))
    yield from check_people(known, policy)
    yield from check_row_key(known, policy)
    for name, declared in policy.columns.items():
        if declared.stored:
            yield from check_column(known, name, declared, name)
    yield from check_paths(known, policy)
    caps = policy.caps_column
    if caps is not None and caps not in policy.columns:
        yield from check_column(known, caps, Column(unknown=True), caps)


def _of_table(
    data: object, table: str | None, prefix: str, policy: Policy, key: tuple[str, str]
) -> Iterator[DataFault]:
    """Another table of the policy, whose columns are called as in a query: `people.sex`."""
    form = _form(data)
    if form:
        yield from form
        return
    known = OwnerTable(attach(data, table=table))
    yield from check_keys_of(known, *key, prefix + key[0])
    for name, declared in policy.columns.items():
        if declared.stored:
            yield from check_column(known, name, declared, prefix + name)
    yield from check_paths(known, policy, prefix)


def _place(data: object, other: object) -> tuple[object, str | None]:
    """Where another table is: a name beside a stored one, else a file or a data frame of its own."""
    stored = isinstance(other, str) and isinstance(data, str | Path)
    if stored and (is_server(str(data)) or is_database(str(data))):
        return data, str(other)
    return other, None


def _form(data: object) -> list[DataFault]:
    """Faults in the lines of a CSV file; empty if there are none, or if it is no CSV file."""
    if not isinstance(data, str | Path) or is_server(str(data)):
        return []
    path = Path(data)
    return form_of(path) if path.suffix.lower() in (".csv", ".tsv") and path.is_file() else []
