"""From a path or a data frame to an engine over it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
from sqlglot import exp

from leakcap.errors import DataError
from leakcap.release.columns.typed import SOURCE, joined_source
from leakcap.release.engine import csvlines
from leakcap.release.engine.base import READING, Engine, redact_errors, redact_library_errors
from leakcap.release.engine.duck import DuckDB, Origin, fresh_database, quoted, session
from leakcap.release.engine.frames import Readable, is_frame, readable
from leakcap.release.engine.locations import is_database, is_server, is_spark_url
from leakcap.release.engine.spark import Spark, is_spark_frame, spark_table

__all__ = ["attach"]

T = TypeVar("T")

_LINES = {".csv": ",", ".tsv": "\t"}
"""Files that are read line by line, and what stands between their values."""


def _safely(action: Callable[[], T], message: str = READING) -> T:
    return redact_errors(action, duckdb.Error, message)


def attach(
    data: object,
    *,
    table: str | None = None,
    tables: Mapping[str, object] | None = None,
    wanted: Mapping[str, Collection[str]] | None = None,
) -> Engine:
    """An engine over a file, a data frame, or the `table` of a DuckDB file or of a server.

    A file is Parquet or CSV, a data frame a pandas, Polars, Arrow or Spark table; a server's URL is
    `postgresql+psycopg://…`, `spark://…` or `sc://…`. `tables` are those that the policy joins, under its
    names: stored ones beside `table` by their names there, else files or data frames like `data`. `wanted`
    are the columns that will be read, of `data` under "" and of `tables` under their names: others of a
    pandas table are not made ready.

    Raises `DataError` when there is no such file, table or kind of table.

    >>> import pyarrow
    >>> attach(pyarrow.table({"age": [1.5, 2.5]})).columns()
    {'age': 'DOUBLE'}
    """
    others = dict(tables or {})
    if isinstance(data, DuckDB | Spark):
        return data
    if isinstance(data, str) and is_server(data):
        return _attach_server(data, table, others)
    if is_spark_frame(data):
        if table is not None:
            raise DataError("`table` goes with a DuckDB file or a server only.")
        if not all(map(is_spark_frame, others.values())):
            raise DataError("`tables` beside a Spark DataFrame must be Spark DataFrames.")
        return Spark(data, tables=others)
    return _attach_duckdb(data, table, others, wanted)


def _attach_duckdb(
    data: object,
    table: str | None,
    others: Mapping[str, object],
    wanted: Mapping[str, Collection[str]] | None,
) -> DuckDB:
    held = not any(_stays_in_a_file(one) for one in (data, *others.values()))
    connection = session() if held else fresh_database()
    origins: dict[str, Origin] = {}
    database = Path(data).resolve() if isinstance(data, str | Path) and is_database(data) else None
    sources: list[tuple[str, object, object]] = [("", data, table)]
    for name, other in others.items():
        stored = database is not None and isinstance(other, str)
        sources.append((name, *((database, other) if stored else (other, None))))
    for name, source, stored_table in sources:
        relation = joined_source(name) if name else SOURCE
        columns = None if wanted is None else wanted.get(name, ())
        origins[name] = _add(connection, relation, source, stored_table, columns)
    return DuckDB(connection, origins=origins, locked=held)


def _stays_in_a_file(data: object) -> bool:
    """Whether DuckDB itself opens it. The lines of a CSV file are handed over, as a data frame is."""
    return isinstance(data, str | Path) and Path(data).suffix.lower() not in _LINES


def _add(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    data: object,
    table: object,
    columns: Collection[str] | None,
) -> Origin:
    """Make `relation` stand for the data."""
    if isinstance(data, str | Path):
        return _add_file(connection, relation, Path(data), table)
    if table is not None:
        raise DataError("`table` goes with a DuckDB file or a server only.")
    if not is_frame(data):
        raise DataError(
            "`data` must be a path, a URL, or a pandas, Polars, Arrow or Spark table. "
            f"Got a {type(data).__name__}."
        )
    message = "The table could not be handed to the engine."
    found = redact_library_errors(lambda: readable(data, columns), ("polars", "pandas", "pyarrow"), message)
    _safely(lambda: _show(connection, relation, found), message)
    return Origin(objects=found.columns is not None)


def _show(connection: duckdb.DuckDBPyConnection, relation: str, found: Readable) -> None:
    """Registered, or as a view, which this session alone sees too."""
    if found.columns is None:
        connection.register(relation, found.table)
        return
    connection.register(f"{relation}_frame", found.table)
    names = [
        f"{tree} AS {exp.Identifier(this=name, quoted=True).sql('duckdb')}" for name, tree in found.columns
    ]
    listed = ", ".join(names or ["rows"])
    connection.execute(f"CREATE TEMP VIEW {relation} AS SELECT {listed} FROM {relation}_frame")


def _attach_server(url: str, table: str | None, others: Mapping[str, object]) -> Engine:
    named = {name: other for name, other in others.items() if isinstance(other, str)}
    if len(named) < len(others):
        raise DataError("`tables` beside a server's table must be names of stored tables there.")
    if is_spark_url(url):
        return spark_table(url, table, named)
    if table is None:
        raise DataError("`table` is missing: which table of the server is meant?")
    # SQLAlchemy takes a while to import, and files do not need it.
    from leakcap.release.engine.postgresql import PostgreSQL

    return PostgreSQL(url, table=table, tables=named)


def _add_file(connection: duckdb.DuckDBPyConnection, relation: str, path: Path, table: object) -> Origin:
    if not path.is_file():
        raise DataError(f"`data` names no file: `{path}`.")
    path = path.resolve()
    suffix = path.suffix.lower()
    if is_database(path):
        _add_stored(connection, relation, path, table)
        return Origin()
    if table is not None:
        raise DataError("`table` goes with a DuckDB file only.")
    if suffix in {".parquet", ".pq"}:
        _add_parquet(connection, relation, path)
        return Origin(path=path)
    if suffix in _LINES:
        _add_csv(connection, relation, path, _LINES[suffix])
        return Origin()
    raise DataError(f"`data` must end in .parquet, .pq, .csv, .tsv, .duckdb, .ddb or .db. Got `{path.name}`.")


def _add_parquet(connection: duckdb.DuckDBPyConnection, relation: str, path: Path) -> None:
    if any(sign in str(path) for sign in "*?[]{}"):
        raise DataError(f"`data` may not have any of * ? [ ] {{ }} in its path: `{path}`.")
    source = f"read_parquet({quoted(str(path))}, hive_partitioning = false)"
    _safely(
        lambda: connection.execute(f"CREATE VIEW {relation} AS SELECT * FROM {source}"),
        f"`{path}` is not a Parquet file that can be read.",
    )


def _add_stored(connection: duckdb.DuckDBPyConnection, relation: str, path: Path, table: object) -> None:
    if not isinstance(table, str):
        raise DataError(f"`table` is missing: which table of `{path}` is meant?")
    _safely(
        lambda: connection.execute(f"ATTACH IF NOT EXISTS {quoted(str(path))} AS leakcap_file (READ_ONLY)"),
        f"`{path}` is not a DuckDB file that can be opened for reading.",
    )
    made, computed = _safely(
        lambda: _inspect(connection, table),
        f"DuckDB cannot describe `{path}`: it is damaged, or an ENUM in it has a value that is no Unicode.",
    )
    if made is None:
        raise DataError(f"`{path}` has no table `{table}`; a view does not count.")
    if "collate" in made.lower():
        raise DataError(f"`{table}` of `{path}` has columns with a collation. Store them without.")
    if computed:
        raise DataError(f"`{table}` of `{path}` has computed columns. Store their values instead.")
    name = exp.Identifier(this=table, quoted=True).sql("duckdb")
    _safely(lambda: connection.execute(f"CREATE VIEW {relation} AS SELECT * FROM leakcap_file.main.{name}"))


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


def _add_csv(connection: duckdb.DuckDBPyConnection, relation: str, path: Path, delimiter: str) -> None:
    header = csvlines.header(path, delimiter)
    _safely(
        lambda: _load_lines(connection, relation, path, header, delimiter),
        f"`{path}` could not be read as text.",
    )


def _load_lines(
    connection: duckdb.DuckDBPyConnection, relation: str, path: Path, header: list[str], delimiter: str
) -> None:
    lines = f"{relation}_lines"
    connection.execute(f"CREATE TEMP TABLE {lines} (line VARCHAR)")
    for chunk in csvlines.chunks(path, delimiter):
        connection.register("leakcap_chunk", {"line": np.array(chunk, dtype=object)})
        connection.execute(f"INSERT INTO {lines} SELECT line FROM leakcap_chunk")
        connection.unregister("leakcap_chunk")
    connection.execute(f"CREATE TEMP VIEW {relation} AS {csvlines.view(header, delimiter, lines)}")
