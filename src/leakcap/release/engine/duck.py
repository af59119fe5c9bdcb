"""DuckDB embedded, over one table, locked against everything else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from leakcap.errors import DataError
from leakcap.release.columns.typed import SOURCE, Bin, ReadColumn, column, joined_source, tree_nodes
from leakcap.release.engine.base import READING, Cell, Columns, SqlStatement, handed, redact_errors
from leakcap.release.engine.doubles import written
from leakcap.release.engine.duckdb_sql import Doubles, Integers, Longs
from leakcap.release.numbers.exact_integers import objects

__all__ = ["DuckDB", "Origin", "fresh_database", "quoted", "session"]

T = TypeVar("T")

_DESCRIBE = """
SELECT column_name, CASE WHEN starts_with(column_type, 'ENUM(') THEN 'ENUM' ELSE column_type END
FROM (DESCRIBE {})
"""
# What stops a statement whose integers leave their range.
_BEYOND = (duckdb.OutOfRangeException, duckdb.ConversionException)
# Of 128 bits, and of decimals, DuckDB would make doubles.
_VECTORS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR"}

_SMALL = 10_000
"""Rows that one thread reads before another would have begun."""
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    # Nothing is fetched or loaded because of what a file or a query says.
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    # No name in a statement means a variable of the program.
    "python_enable_replacements": "false",
    # With a sample the types of a pandas column would hang on its rows; without one, objects are text.
    "pandas_analyze_sample": "0",
    # Parquet's own minima and maxima leave NaN out, and the optimiser believes them: ISNAN(x) became FALSE
    # where other rows' values looked harmless, so that one row decided how all others were read. No statement
    # may be simplified by what some rows hold.
    "disabled_optimizers": "statistics_propagation,filter_pushdown",
}


@dataclass(frozen=True)
class Origin:
    """Where a table's rows come from, as far as it matters how they are read.

    `path` is a Parquet file, which has to stay readable; `objects` says that it is a pandas table, whose
    dtypes hang on its rows.
    """

    path: Path | None = None
    objects: bool = False


class DuckDB:
    """Embedded DuckDB over one table, locked against other files, extensions and settings."""

    dialect = "duckdb"

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        *,
        origins: Mapping[str, Origin] | None = None,
        locked: bool = False,
    ) -> None:
        self._connection = connection
        # One connection has one pending result: two threads would fetch each other's exact totals.
        self._turn = Lock()
        # A view's columns are settled when it is made, a stored table is opened for reading only.
        self._types: dict[str, str] | None = None
        self._counted: int | None = None
        self._origins = {"": Origin(), **(origins or {})}
        self._relations = {name: joined_source(name) if name else SOURCE for name in self._origins}
        self._checked = set[str]()
        _require_arithmetic(connection)
        self._long = _adds_long(connection)
        files = [origin.path for origin in self._origins.values() if origin.path is not None]
        if files:
            paths = ", ".join(quoted(str(path)) for path in files)
            connection.execute(f"SET allowed_paths = [{paths}]")
        if not locked:
            if self._is_small():
                connection.execute("SET threads = 1")
            _lock(connection)

    def columns(self) -> dict[str, str]:
        """Column names and DuckDB types, from the schema alone; those of a pandas table are OBJECT.

        Of an ENUM's values, which may be read off the rows, none is listed.
        """
        return {
            name: "OBJECT" if self._origin(name).objects else type_ for name, type_ in self._held().items()
        }

    def _held(self) -> dict[str, str]:
        """The types that DuckDB has for the columns."""
        if self._types is None:
            types = {}
            for prefix, relation in self._relations.items():
                for name, type_ in self._fetch(_DESCRIBE.format(relation)):
                    types[f"{prefix}.{name}" if prefix else str(name)] = str(type_)
            self._types = types
        return self._types

    def write(self, tree: exp.Expression) -> SqlStatement:
        """The statement, and a quicker one beside it where there is something to add up.

        Raises `DataError` where the file's text could not be read.
        """
        types = {
            name: f"OBJECT({type_})" if self._origin(name).objects else type_
            for name, type_ in self._held().items()
        }
        self._require_unicode({node.this.name for node in tree_nodes(tree, ReadColumn, Bin)})
        if not self._long:
            return written(tree, Integers(types), lambda: (Doubles(types),))
        return written(
            tree, Integers(types), lambda: (Doubles(types, long=True), Doubles(types), Longs(types))
        )

    def check_text(self, names: Iterable[str]) -> None:
        """Look through these columns now, and not when somebody asks: how long it takes hangs on rows."""
        for name in names:
            with suppress(DataError):
                self._require_unicode({name})

    def _require_unicode(self, names: Set[str]) -> None:
        """Refuse columns of a Parquet file whose text is no Unicode; each is looked at once, and not paid.

        DuckDB stops at such a value, and the stop would tell. So does the refusal, but it is the same for
        every statement about the column, and meets the owner who tries the file before handing it on.
        """
        stored = {name for name in names if self._origin(name).path is not None}
        texts = {name for name in stored if self.columns().get(name) == "VARCHAR"} - self._checked
        for name in sorted(texts):
            message = (
                f"Column `{name}` of the file cannot be read to the end: some text in it is no Unicode, or "
                "the file is damaged. Write the file anew. Nothing was spent."
            )
            relation, own = self._relation(name)
            lengths = exp.Max(this=exp.Length(this=column(own))).sql("duckdb")
            self._fetch(f"SELECT {lengths} FROM {relation}", message)
        self._checked |= texts

    def _origin(self, name: str) -> Origin:
        prefix, dot, _ = name.partition(".")
        return self._origins[prefix if dot and prefix in self._origins else ""]

    def _relation(self, name: str) -> tuple[str, str]:
        """Where a column is, and what it is called there."""
        prefix, dot, own = name.partition(".")
        return (self._relations[prefix], own) if dot and prefix in self._relations else (SOURCE, name)

    def run(self, statement: SqlStatement) -> Columns:
        """The result: from the first quick statement that may have so many rows, if it is sure of it all."""
        for write, most in statement.ways:
            if most is None or self._rows() <= most:
                found = self._known(write(), statement.seed)
                return self._columns(statement.text, statement.seed) if found is None else found
        return self._columns(statement.text, statement.seed)

    def _known(self, text: str, seed: int | None) -> Columns | None:
        """What a quick statement is sure of; None where it is not. Where the table has grown since its rows
        were counted, a sum in 64 bits may also stop. Whatever else goes wrong, Ctrl-C too, ends the reading.
        """
        given = None if seed is None else {"seed": seed}

        def within() -> Columns | None:
            try:
                return _columns_of(self._connection.execute(text, given))
            except _BEYOND:
                return None

        with self._turn:
            found = redact_errors(within, duckdb.Error)
        return found if found is not None and found.known else None

    def hand(self, statement: SqlStatement, take: Callable[[Columns], None]) -> None:
        """Some rows at a time, by the statement that is sure of them all: none can be taken back."""
        given = None if statement.seed is None else {"seed": statement.seed}
        with self._turn:
            found = redact_errors(lambda: self._connection.execute(statement.text, given), duckdb.Error)
            handed(
                lambda most: redact_errors(lambda: found.fetchmany(most), duckdb.Error), statement.width, take
            )

    def _rows(self) -> int:
        """How many rows there are, which files and tables of DuckDB say without being read; asked once.

        It chooses between two ways to the same integers, so that one of before does no harm.
        """
        if self._counted is None:
            self._counted = int(self._fetch(f"SELECT COUNT(*) FROM {SOURCE}")[0][0])
        return self._counted

    def _is_small(self) -> bool:
        """Whether to wake other threads takes longer than what they could do."""
        counts = [f"(SELECT COUNT(*) FROM {relation})" for relation in self._relations.values()]
        with suppress(DataError):
            return int(self._fetch(f"SELECT {' + '.join(counts)}")[0][0]) <= _SMALL
        return False

    def aggregate(self, statement: str, seed: int | None = None) -> list[Cell]:
        """Run an aggregate statement; raises `DataError` without DuckDB's words."""
        return self._ask(statement, lambda found: list(found.fetchall()), seed)

    def _columns(self, statement: str, seed: int | None) -> Columns:
        return self._ask(statement, _columns_of, seed)

    def _fetch(self, statement: str, message: str = READING) -> list[Cell]:
        return self._ask(statement, lambda found: list(found.fetchall()), message=message)

    def _ask(
        self,
        statement: str,
        fetch: Callable[[duckdb.DuckDBPyConnection], T],
        seed: int | None = None,
        *,
        message: str = READING,
    ) -> T:
        given = None if seed is None else {"seed": seed}
        with self._turn:
            return redact_errors(
                lambda: fetch(self._connection.execute(statement, given)), duckdb.Error, message
            )


def _columns_of(found: duckdb.DuckDBPyConnection) -> Columns:
    """Vectors as DuckDB makes them, of types that fit one; Python's own objects of the others."""
    types = [str(column[1]) for column in found.description or ()]
    if not set(types) <= _VECTORS:
        return Columns.of(list(found.fetchall()), len(types))
    arrays = found.fetchnumpy().values()
    if len(arrays) != len(types):
        raise DataError("Two columns of a statement have one name.")
    return Columns(tuple(map(_unmasked, arrays)))


def _unmasked(array: NDArray[Any]) -> NDArray[Any]:
    """With None in place of what is masked."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    return objects(array.tolist())


def fresh_database() -> duckdb.DuckDBPyConnection:
    """A fresh database in memory."""
    return duckdb.connect(":memory:", config=_SETTINGS)


def session() -> duckdb.DuckDBPyConnection:
    """A session of one database in memory that is locked and holds nothing, for tables that need no file.

    What one session registers, or makes for the time it lasts, no other one sees. To start a database takes
    10 ms, a session none.
    """
    return _locked().cursor()


@cache
def _locked() -> duckdb.DuckDBPyConnection:
    connection = fresh_database()
    _lock(connection)
    return connection


# The threads of a database do not follow a fork: a child that has one waits for them for ever when it ends.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_locked.cache_clear)


def quoted(text: str) -> str:
    """Text as an SQL literal.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def _lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on no other file, no extension and no other setting, in any session."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


_COVERED = set[str]()


def _require_arithmetic(connection: duckdb.DuckDBPyConnection) -> None:
    """The sensitivity is proved for a cast that rounds halves to even, for a NaN beyond all numbers, and bins
    for a double whose bits are those of IEEE 754: a DuckDB that has other ones is refused.
    """
    if duckdb.__version__ in _COVERED:
        return
    casts = "CAST(x AS BIGINT), CAST((x + 6755399441055744e0) - 6755399441055744e0 AS BIGINT)"
    given = "SELECT unnest([0.5e0, 1.5e0, 2.5e0, -0.5e0, -1.5e0, 2251799813685247.5e0]) AS x"
    beyond = "ABS(x - CAST('NaN' AS DOUBLE)) > 2e0"
    found = connection.execute(f"SELECT {casts}, {beyond} FROM ({given})").fetchall()
    bits = "SELECT CAST(CAST(x AS BIT) AS BIGINT) FROM (SELECT unnest([5e-324, 1e0, 0.75e0, -2e0]) AS x)"
    told = [row[0] for row in connection.execute(bits).fetchall()]
    sound = told == [1, 1023 << 52, 1022 << 52 | 1 << 51, -(2**63) + (1024 << 52)]
    if not sound or found != [(whole, whole, True) for whole in (0, 2, 2, 0, -2, 2**51)]:
        raise DataError("This version of DuckDB computes in a way that leakcap's proofs do not cover.")
    _COVERED.add(duckdb.__version__)


_LONG: dict[str, bool] = {}


def _adds_long(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether this version adds up 64 bits without looking for an overflow, and as exactly as it must."""
    version = duckdb.__version__
    if version not in _LONG:
        given = f"SELECT unnest([{2**62}, {2**62 - 1}, -5, NULL]) AS v"
        text = f"SELECT SUM_NO_OVERFLOW(v), SUM_NO_OVERFLOW(v) FILTER (v IS NULL) FROM ({given})"
        try:
            _LONG[version] = connection.execute(text).fetchall() == [(2**63 - 6, None)]
        except duckdb.Error:
            _LONG[version] = False
    return _LONG[version]
