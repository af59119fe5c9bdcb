"""Whether the table's columns can be read as the policy says, from the schema alone and before any spend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from leakcap.errors import DataError
from leakcap.policy.document import Policy
from leakcap.release.columns.joins import check_joins

__all__ = ["check_schema", "require_column", "wrong_number"]

_INTEGERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}
_NUMBERS = _INTEGERS | {"FLOAT", "DOUBLE", "DECIMAL"}
# TEXT is what servers call text that is read as text only: there, to read it as a number could fail.
_TEXTS = {"VARCHAR", "ENUM", "TEXT"}
# A pandas column's dtype hangs on its rows: it is read cell by cell, and never refused.
_ANY = {"OBJECT"}
_MOMENTS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_WITH_OFFSET = (
    " Give `bounds` with an offset, like 2024-01-01T00:00:00+01:00, or a `zone`: it says where a day begins."
)
_REMEDIES = {
    ("TIMESTAMP WITH TIME ZONE", "date"): _WITH_OFFSET,
    ("TIMESTAMP WITH TIME ZONE", "timestamp"): _WITH_OFFSET,
    **dict.fromkeys(
        ((one, "instant") for one in (*_MOMENTS, "DATE")), " Give `bounds` without an offset, and no `zone`."
    ),
    ("DATE", "timestamp"): " Give dates as `bounds`.",
}
_READABLE = {
    "number": _ANY | _NUMBERS | {"BOOLEAN", "VARCHAR"},
    "integer": _ANY | _INTEGERS | {"BOOLEAN", "VARCHAR", "DECIMAL"},
    "text": _ANY | _INTEGERS | _TEXTS | {"BOOLEAN", "DATE", "UUID"},
    "boolean": _ANY | _INTEGERS | {"BOOLEAN", "VARCHAR"},
    "an id": _ANY | _INTEGERS | _TEXTS | {"DATE", "UUID", "DECIMAL"},
    "date": _ANY | _MOMENTS | {"DATE", "VARCHAR"},
    "timestamp": _ANY | _MOMENTS | {"VARCHAR"},
    "instant": _ANY | {"TIMESTAMP WITH TIME ZONE", "VARCHAR"},
}


def check_schema(
    columns: Mapping[str, str], used: Iterable[str], policy: Policy, *, tables: Sequence[str] = ()
) -> None:
    """Raise `DataError` where a used column is missing or of a type that cannot be read as the policy says.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> check_schema({"age": "DATE"}, ["age"], policy)
    Traceback (most recent call last):
    leakcap.errors.DataError: Column `age` has type DATE, which cannot be read as number.
    """
    for name, kind in check_joins(columns, tables, policy) if tables else ():
        require_column(columns, name, kind)
    for name in policy.stored_of(used):
        require_column(columns, name, policy.columns[name].kind)
    if policy.id_column is not None:
        require_column(columns, policy.id_column, "an id")
    if policy.row_key is not None:
        require_column(columns, policy.row_key, "an id")
    if policy.caps_column is not None:
        require_column(columns, policy.caps_column, "number")


def require_column(columns: Mapping[str, str], name: str, kind: str) -> None:
    """Raise `DataError` where this column is missing or cannot be read as `kind`, or as `an id`."""
    if name not in columns:
        raise DataError(
            f"The data has no column `{name}`, which the policy names. Names are matched letter for letter. "
            "`leakcap check` tells the owner what is wrong with a file."
        )
    # An ENUM's type lists values that may have been read off the rows: only its first word is ever shown.
    type_ = columns[name].partition("(")[0].strip()
    if type_ not in _READABLE[kind] or columns[name].endswith("]"):
        remedy = _REMEDIES.get((type_, kind), "")
        raise DataError(f"Column `{name}` has type {type_}, which cannot be read as {kind}.{remedy}")


def wrong_number(policy: Policy) -> str:
    """What is said where the table has another number of units than the public one: never which.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "replace-one", "rows": 500,
    ...     "caps": {"epsilon": 1.0}, "unit": {"id": "patient", "max_rows": 1},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> wrong_number(policy)
    'The policy says 500 people (`rows`); the column `patient` does not have so many different values. ...
    """
    if policy.id_column is None:
        found = f"The policy says {policy.rows:,} rows (`rows`); the table does not have so many."
    else:
        found = (
            f"The policy says {policy.rows:,} people (`rows`); the column `{policy.id_column}` does not have "
            "so many different values. `rows` counts people, not lines of the file."
        )
    return (
        f"{found} Correct the policy, or choose add-remove-one neighbours if the number is not public. "
        "Nothing was spent."
    )
