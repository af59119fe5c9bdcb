"""What runs the aggregates: an interface of two verbs, and DuckDB embedded behind it.

Only aggregates leave an engine. An error of the engine while it reads rows may quote a value, so it is
replaced by a `DataError` without the engine's words.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import duckdb
import numpy as np
from sqlglot import exp

from leakcap.errors import DataError
from leakcap.release import csvlines
from leakcap.release.frames import is_frame, readable
from leakcap.release.typed import SOURCE

__all__ = ["DuckDB", "Engine", "attach"]

_READING = "The data could not be read to the end. What the engine said is withheld: it may quote values."
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    # Nothing is fetched or loaded because of what a file or a query says.
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    # With a sample the types of a pandas column would hang on its rows; without one, objects are text.
    "pandas_analyze_sample": "0",
}


T = TypeVar("T")


class Engine(Protocol):
    """A sqlglot dialect, a schema, and a way to run an aggregate over the table called `SOURCE`."""

    dialect: str

    def columns(self) -> dict[str, str]:
        """Column names and the engine's types, without looking at rows."""
        ...

    def aggregate(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement in the engine's dialect; raises `DataError` without the engine's words."""
        ...


class DuckDB:
    """Embedded DuckDB over one table, locked against other files, extensions and settings."""

    dialect = "duckdb"

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, readable: Path | None = None) -> None:
        self._connection = connection
        if readable is not None:
            connection.execute(f"SET allowed_paths = [{_quoted(str(readable))}]")
        for setting in ("enable_external_access", "python_enable_replacements"):
            connection.execute(f"SET {setting} = false")
        connection.execute("SET lock_configuration = true")

    def columns(self) -> dict[str, str]:
        """Column names and DuckDB types, from the schema alone."""
        rows = _withheld(lambda: self._connection.execute(f"DESCRIBE {SOURCE}").fetchall())
        return {str(row[0]): str(row[1]) for row in rows}

    def aggregate(self, statement: str) -> list[tuple[Any, ...]]:
        """Run an aggregate statement; raises `DataError` without DuckDB's words."""
        return _withheld(lambda: list(self._connection.execute(statement).fetchall()))


def _withheld(action: Callable[[], T], message: str = _READING) -> T:
    """What `action` returns; where the engine raises, a `DataError` that says nothing about rows.

    It is raised outside the handler, so that the engine's words are not even chained to it.
    """
    try:
        return action()
    except (duckdb.Error, RuntimeError, ValueError, TypeError, UnicodeError, OverflowError):
        pass
    raise DataError(message)


def attach(data: object, *, table: str | None = None) -> DuckDB:
    """An engine over a Parquet or CSV path, a DuckDB file and its `table`, or a data frame.

    A data frame is a pandas, Polars or Arrow table.

    Raises `DataError` when there is no such file, table or kind of table.

    >>> import pyarrow
    >>> attach(pyarrow.table({"age": [1.5, 2.5]})).columns()
    {'age': 'DOUBLE'}
    """
    if isinstance(data, str | Path):
        return _attach_file(Path(data), table)
    if table is not None:
        raise DataError("`table` goes with a DuckDB file only.")
    if not is_frame(data):
        raise DataError(
            f"`data` must be a path or a pandas, Polars or Arrow table. Got a {type(data).__name__}."
        )
    connection = _connect()
    _withheld(
        lambda: connection.register(SOURCE, readable(data)), "The table could not be handed to the engine."
    )
    return DuckDB(connection)


def _connect() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config=_SETTINGS)


def _attach_file(path: Path, table: str | None) -> DuckDB:
    if not path.is_file():
        raise DataError(f"`data` names no file: `{path}`.")
    path = path.resolve()
    suffix = path.suffix.lower()
    if suffix in {".duckdb", ".db", ".ddb"}:
        return _attach_database(path, table)
    if table is not None:
        raise DataError("`table` goes with a DuckDB file only.")
    if suffix in {".parquet", ".pq"}:
        return _attach_parquet(path)
    if suffix in {".csv", ".tsv"}:
        return _attach_csv(path, "\t" if suffix == ".tsv" else ",")
    raise DataError(f"`data` must end in .parquet, .pq, .csv, .tsv, .duckdb, .ddb or .db. Got `{path.name}`.")


def _attach_parquet(path: Path) -> DuckDB:
    if any(sign in str(path) for sign in "*?[]{}"):
        raise DataError(f"`data` may not have any of * ? [ ] {{ }} in its path: `{path}`.")
    connection = _connect()
    source = f"read_parquet({_quoted(str(path))}, hive_partitioning = false)"
    _withheld(
        lambda: connection.execute(f"CREATE VIEW {SOURCE} AS SELECT * FROM {source}"),
        f"`{path}` is not a Parquet file that can be read.",
    )
    return DuckDB(connection, readable=path)


def _attach_database(path: Path, table: str | None) -> DuckDB:
    if table is None:
        raise DataError(f"`table` is missing: which table of `{path}` is meant?")
    connection = _connect()
    _withheld(
        lambda: connection.execute(f"ATTACH {_quoted(str(path))} AS leakcap_file (READ_ONLY)"),
        f"`{path}` is not a DuckDB file that can be opened for reading.",
    )
    made, computed = _withheld(lambda: _inspect(connection, table))
    if made is None:
        raise DataError(f"`{path}` has no table `{table}`; a view does not count.")
    if "collate" in made.lower():
        raise DataError(f"`{table}` of `{path}` has columns with a collation. Store them without.")
    if computed:
        raise DataError(f"`{table}` of `{path}` has computed columns. Store their values instead.")
    name = exp.Identifier(this=table, quoted=True).sql("duckdb")
    _withheld(lambda: connection.execute(f"CREATE VIEW {SOURCE} AS SELECT * FROM leakcap_file.main.{name}"))
    return DuckDB(connection)


def _inspect(connection: duckdb.DuckDBPyConnection, table: str) -> tuple[str | None, int]:
    """The statement that made the stored table of this name, if any, and how many computed columns it has.

    A view or a computed column could raise errors that depend on rows, and under a collation two ids could
    be one person's.
    """
    where = "database_name = 'leakcap_file' AND schema_name = 'main' AND table_name = ?"
    tables = connection.execute(f"SELECT sql FROM duckdb_tables() WHERE {where}", [table]).fetchall()
    columns = connection.execute(
        "SELECT count(*) FROM information_schema.columns WHERE table_catalog = 'leakcap_file'"
        " AND table_schema = 'main' AND table_name = ? AND is_generated = 'ALWAYS'",
        [table],
    ).fetchall()
    return (str(tables[0][0]) if tables else None), int(columns[0][0])


def _attach_csv(path: Path, delimiter: str) -> DuckDB:
    header = csvlines.header(path, delimiter)
    connection = _connect()
    _withheld(
        lambda: _load_lines(connection, path, header, delimiter), f"`{path}` could not be read as text."
    )
    return DuckDB(connection)


def _load_lines(connection: duckdb.DuckDBPyConnection, path: Path, header: list[str], delimiter: str) -> None:
    connection.execute("CREATE TABLE leakcap_lines (line VARCHAR)")
    for chunk in csvlines.chunks(path, delimiter):
        connection.register("leakcap_chunk", {"line": np.array(chunk, dtype=object)})
        connection.execute("INSERT INTO leakcap_lines SELECT line FROM leakcap_chunk")
        connection.unregister("leakcap_chunk")
    connection.execute(f"CREATE VIEW {SOURCE} AS {csvlines.view(header, delimiter, 'leakcap_lines')}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
