"""DuckDB embedded, over one table, locked against everything else."""

from __future__ import annotations

from collections.abc import Set
from functools import cache
from pathlib import Path
from threading import Lock

import duckdb
from sqlglot import exp

from leakcap.errors import DataError
from leakcap.release.engine.base import READING, Cell, Statement, withheld
from leakcap.release.engine.doubles import quick_or_sure, written
from leakcap.release.engine.duckdb_sql import Doubles, Integers
from leakcap.release.typed import SOURCE, Read, column

__all__ = ["DuckDB", "connect", "quoted"]

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    # Nothing is fetched or loaded because of what a file or a query says.
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    # With a sample the types of a pandas column would hang on its rows; without one, objects are text.
    "pandas_analyze_sample": "0",
    # Parquet's own minima and maxima leave NaN out, and the optimiser believes them: ISNAN(x) became FALSE
    # where other rows' values looked harmless, so that one row decided how all others were read. No statement
    # may be simplified by what some rows hold.
    "disabled_optimizers": "statistics_propagation,filter_pushdown",
}


class DuckDB:
    """Embedded DuckDB over one table, locked against other files, extensions and settings."""

    dialect = "duckdb"

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, readable: Path | None = None) -> None:
        self._connection = connection
        # One connection has one pending result: two threads would fetch each other's exact totals.
        self._turn = Lock()
        # A view's columns are settled when it is made, a stored table is opened for reading only.
        self._types: dict[str, str] | None = None
        self._checked = set[str]() if readable is not None else None
        _check_arithmetic()
        if readable is not None:
            connection.execute(f"SET allowed_paths = [{quoted(str(readable))}]")
        for setting in ("enable_external_access", "python_enable_replacements"):
            connection.execute(f"SET {setting} = false")
        connection.execute("SET lock_configuration = true")

    def columns(self) -> dict[str, str]:
        """Column names and DuckDB types, from the schema alone."""
        if self._types is None:
            rows = self._fetch(f"DESCRIBE {SOURCE}")
            self._types = {str(row[0]): str(row[1]) for row in rows}
        return self._types

    def write(self, tree: exp.Expression) -> Statement:
        """The statement, and a quicker one beside it where there is something to add up.

        Raises `DataError` where the file's text could not be read.
        """
        types = self.columns()
        self._require_unicode({node.this.name for node in tree.find_all(Read)})
        return written(tree, Integers(types), Doubles(types))

    def _require_unicode(self, names: Set[str]) -> None:
        """Refuse columns of a Parquet file whose text is no Unicode; each is looked at once, and not paid.

        DuckDB stops at such a value, and the stop would tell. So does the refusal, but it is the same for
        every statement about the column, and meets the owner who tries the file before handing it on.
        """
        if self._checked is None:
            return
        texts = {name for name in names if self.columns().get(name) == "VARCHAR"} - self._checked
        for name in sorted(texts):
            message = (
                f"Column `{name}` of the file cannot be read to the end: some text in it is no Unicode, or "
                "the file is damaged. Write the file anew. Nothing was spent."
            )
            lengths = exp.Max(this=exp.Length(this=column(name))).sql("duckdb")
            self._fetch(f"SELECT {lengths} FROM {SOURCE}", message)
        self._checked |= texts

    def run(self, statement: Statement) -> list[Cell]:
        """The rows: from the quick statement where it is sure of every number in them."""
        if statement.most is not None and self._rows() > statement.most:
            return self.aggregate(statement.text, statement.seed)
        return quick_or_sure(statement, self.aggregate)

    def _rows(self) -> int:
        """How many rows there are, which files and tables of DuckDB say without being read."""
        return int(self._fetch(f"SELECT COUNT(*) FROM {SOURCE}")[0][0])

    def aggregate(self, statement: str, seed: int | None = None) -> list[Cell]:
        """Run an aggregate statement; raises `DataError` without DuckDB's words."""
        return self._fetch(statement, given=None if seed is None else {"seed": seed})

    def _fetch(
        self, statement: str, message: str = READING, *, given: dict[str, int] | None = None
    ) -> list[Cell]:
        with self._turn:
            return withheld(
                lambda: list(self._connection.execute(statement, given).fetchall()), duckdb.Error, message
            )


def connect() -> duckdb.DuckDBPyConnection:
    """A fresh database in memory."""
    return duckdb.connect(":memory:", config=_SETTINGS)


def quoted(text: str) -> str:
    """Text as an SQL literal.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


@cache
def _check_arithmetic() -> None:
    """The sensitivity is proved for a cast that rounds halves to even: a DuckDB that does not is refused."""
    with duckdb.connect(":memory:") as connection:
        casts = "CAST(x AS BIGINT), CAST((x + 6755399441055744e0) - 6755399441055744e0 AS BIGINT)"
        given = "SELECT unnest([0.5e0, 1.5e0, 2.5e0, -0.5e0, -1.5e0, 2251799813685247.5e0]) AS x"
        found = connection.execute(f"SELECT {casts} FROM ({given})").fetchall()
    if found != [(whole, whole) for whole in (0, 2, 2, 0, -2, 2**51)]:
        raise DataError("This version of DuckDB rounds in a way that leakcap's proofs do not cover.")
