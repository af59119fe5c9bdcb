"""What is known of a table before a row of it is read: which one it is and in which state, and whether its
columns can be read as the policy says.

A digest of the contents would be a value of the data: whoever reads the ledger and can guess all but one
record could test the guesses, keyed or not, since the key would have to lie where the ledger's users are. So
the name of a state is made of what the file system says (which file, when it was last written), or of the
version that the owner gives. A wrong "changed" costs budget; a wrong "unchanged" repeats an answer that has
left already. Neither costs privacy: budgets belong to the people and carry over from version to version.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from leakcap.errors import DataError
from leakcap.plain import plain
from leakcap.policy.document import Policy
from leakcap.release.columns.joins import check_joins
from leakcap.release.engine.locations import is_server

__all__ = ["Identity", "called_together", "check_schema", "require_column", "together", "wrong_number"]

_LONGEST = 200

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


class Identity:
    """The state of a table, named before the engine opens it.

    >>> by_hand = Identity(object(), version="2026-03")
    >>> by_hand.now() == Identity(object(), version="2026-03").now() != Identity(object()).now()
    True
    """

    def __init__(self, data: object, *, table: str | None = None, version: str | None = None) -> None:
        self._path = Path(data) if isinstance(data, str | Path) and version is None else None
        self._table = table
        self._called = _called(data, table, version)
        self._attached = self._file_state() if version is None else _digest("version", version, table)
        # Data frames, servers: this object is all that is known to stay the same.
        self._name = self._attached or secrets.token_hex(32)

    @property
    def called(self) -> str:
        """What the owner calls it: the name of a file without its folder, that of a stored table, the version
        that was given. Empty for a data frame. No address, and no folder of the machine, is in it.

        >>> Identity("/home/ada/stays.csv").called, Identity("postgresql://ada:pw@db/x", table="stays").called
        ('stays.csv', 'table stays')
        """
        return self._called

    @property
    def of_object(self) -> bool:
        """Whether it names a data frame, or is a name that was given: a file is known by what it is now."""
        return self._path is None

    def now(self) -> str:
        """The name of the state that a query asked now would see.

        A file that was written to since the engine opened it may be seen in either state, or between: it
        gets a name that never comes back.
        """
        if self._path is not None and self._attached is not None and self._file_state() != self._attached:
            return secrets.token_hex(32)
        return self._name

    def _file_state(self) -> str | None:
        if self._path is None:
            return None
        try:
            state = self._path.stat()
        except (OSError, ValueError):
            return None
        return _digest("file", state.st_ino, state.st_mtime_ns, self._table)


def called_together(named: Mapping[str, str]) -> str:
    """What several tables are called, the data first (under no name), in one line of bounded length.

    >>> called_together({"": "stays.csv", "wards": "wards.csv", "codes": "codes"})
    'stays.csv, wards: wards.csv, codes'
    """
    told = (text if name in ("", text) else f"{name}: {text}" for name, text in named.items() if text)
    line = plain(", ".join(told), keep="")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def together(states: Sequence[str]) -> str:
    """The name of the state of several tables, which changes with each of theirs; one keeps its own.

    >>> together(["a"]), together(["a", "b"]) == together(["b", "a"])
    ('a', False)
    """
    return states[0] if len(states) == 1 else _digest("together", *states)


def _called(data: object, table: str | None, version: str | None) -> str:
    named = "" if table is None else f"table {table}"
    file = isinstance(data, Path) or (isinstance(data, str) and not is_server(data))
    told = (Path(str(data)).name if file else "", named, "" if version is None else f"version {version}")
    return ", ".join(text for text in told if text)


def _digest(*parts: str | int | None) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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
