"""Rows of a test, held by each of the engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
import pyarrow

from leakcap.release import Engine, attach
from leakcap.release.engine.postgresql import PostgreSQL
from ledger.server import execute

__all__ = ["held"]

OF_ARROW = {
    **{"bigint": pyarrow.int64(), "double": pyarrow.float64()},
    **{"string": pyarrow.string(), "date": pyarrow.date32()},
}
OF_POSTGRESQL = {"bigint": "bigint", "double": "float8", "string": "text", "date": "date"}


def held(
    kind: str, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]], request: Any, table: str
) -> Engine:
    """An engine over these rows in this order: DuckDB, Spark, or PostgreSQL, where they are a `table`.

    `columns` are their types by name: `bigint`, `double`, `string` or `date`. Of the servers of the fixtures
    `spark` and `server` only what is asked for starts.
    """
    if kind == "spark":
        schema = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
        return attach(request.getfixturevalue("spark").createDataFrame(rows, schema))
    if kind == "duckdb":
        arrays = [
            pyarrow.array([row[place] for row in rows], OF_ARROW[type_])
            for place, type_ in enumerate(columns.values())
        ]
        return attach(pyarrow.table(arrays, names=list(columns)))
    server = request.getfixturevalue("server")
    made = ", ".join(f"{name} {OF_POSTGRESQL[type_]}" for name, type_ in columns.items())
    execute(server, f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} ({made})")
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        places = ", ".join(["%s"] * len(columns))
        connection.cursor().executemany(f"INSERT INTO {table} VALUES ({places})", rows)
    return PostgreSQL(server, table=table)
