"""From a path or a data frame to an engine over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
from sqlglot import exp

from leakcap.errors import DataError
from leakcap.release import csvlines
from leakcap.release.engine.base import READING, Engine, foreign, withheld
from leakcap.release.engine.duck import DuckDB, connect, quoted
from leakcap.release.engine.spark import Spark, is_spark_frame, is_spark_url, spark_table
from leakcap.release.frames import is_frame, readable
from leakcap.release.typed import SOURCE

__all__ = ["attach"]

T = TypeVar("T")

_POSTGRESQL = ("postgresql://", "postgresql+", "postgres://")


def _safely(action: Callable[[], T], message: str = READING) -> T:
    return withheld(action, duckdb.Error, message)


def attach(data: object, *, table: str | None = None) -> Engine:
    """An engine over a file, a data frame, or the `table` of a DuckDB file or of a server.

    A file is Parquet or CSV, a data frame a pandas, Polars, Arrow or Spark table; a server's URL is `postgresql+psycopg://…`,
    `spark://…` or `sc://…`.

    Raises `DataError` when there is no such file, table or kind of table.

    >>> import pyarrow
    >>> attach(pyarrow.table({"age": [1.5, 2.5]})).columns()
    {'age': 'DOUBLE'}
    """
    if isinstance(data, DuckDB | Spark):
        return data
    if isinstance(data, str) and (is_spark_url(data) or data.startswith(_POSTGRESQL)):
        return _attach_server(data, table)
    if isinstance(data, str | Path):
        return _attach_file(Path(data), table)
    if table is not None:
        raise DataError("`table` goes with a DuckDB file or a server only.")
    if is_spark_frame(data):
        return Spark(data)
    if not is_frame(data):
        raise DataError(
            "`data` must be a path, a URL, or a pandas, Polars, Arrow or Spark table. "
            f"Got a {type(data).__name__}."
        )
    connection = connect()
    message = "The table could not be handed to the engine."
    frame = foreign(lambda: readable(data), ("polars",), message)
    _safely(lambda: connection.register(SOURCE, frame), message)
    return DuckDB(connection)


def _attach_server(url: str, table: str | None) -> Engine:
    if is_spark_url(url):
        return spark_table(url, table)
    if table is None:
        raise DataError("`table` is missing: which table of the server is meant?")
    # SQLAlchemy takes a while to import, and files do not need it.
    from leakcap.release.engine.postgresql import PostgreSQL

    return PostgreSQL(url, table=table)


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
    connection = connect()
    source = f"read_parquet({quoted(str(path))}, hive_partitioning = false)"
    _safely(
        lambda: connection.execute(f"CREATE VIEW {SOURCE} AS SELECT * FROM {source}"),
        f"`{path}` is not a Parquet file that can be read.",
    )
    return DuckDB(connection, readable=path)


def _attach_database(path: Path, table: str | None) -> DuckDB:
    if table is None:
        raise DataError(f"`table` is missing: which table of `{path}` is meant?")
    connection = connect()
    _safely(
        lambda: connection.execute(f"ATTACH {quoted(str(path))} AS leakcap_file (READ_ONLY)"),
        f"`{path}` is not a DuckDB file that can be opened for reading.",
    )
    made, computed = _safely(lambda: _inspect(connection, table))
    if made is None:
        raise DataError(f"`{path}` has no table `{table}`; a view does not count.")
    if "collate" in made.lower():
        raise DataError(f"`{table}` of `{path}` has columns with a collation. Store them without.")
    if computed:
        raise DataError(f"`{table}` of `{path}` has computed columns. Store their values instead.")
    name = exp.Identifier(this=table, quoted=True).sql("duckdb")
    _safely(lambda: connection.execute(f"CREATE VIEW {SOURCE} AS SELECT * FROM leakcap_file.main.{name}"))
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
    connection = connect()
    _safely(lambda: _load_lines(connection, path, header, delimiter), f"`{path}` could not be read as text.")
    return DuckDB(connection)


def _load_lines(connection: duckdb.DuckDBPyConnection, path: Path, header: list[str], delimiter: str) -> None:
    connection.execute("CREATE TABLE leakcap_lines (line VARCHAR)")
    for chunk in csvlines.chunks(path, delimiter):
        connection.register("leakcap_chunk", {"line": np.array(chunk, dtype=object)})
        connection.execute("INSERT INTO leakcap_lines SELECT line FROM leakcap_chunk")
        connection.unregister("leakcap_chunk")
    connection.execute(f"CREATE VIEW {SOURCE} AS {csvlines.view(header, delimiter, 'leakcap_lines')}")
