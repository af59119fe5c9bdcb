"""The ways in that need a server: PostgreSQL, Spark in this process, a cluster of Spark, Spark Connect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow

import hostile
from hostile_rows.ways import ARROW, Typed, write_parquet
from ledger.server import execute

NEEDS = ("PostgreSQL", "Spark", "a cluster", "Spark Connect")
# What is tried where each statement takes a server long: columns, and the types that they have.
FEW: list[tuple[str, Any]] = [("s", pyarrow.string()), ("id", pyarrow.string())]
# What PostgreSQL's types can hold, from the plainest; of text, whatever the encoding accepts.
SQL: dict[str, list[str] | None] = {
    "smallint": ["1", "2", "0", "1", "32767", "-32768"],
    "bigint": ["1", "2", "0", "7", "9223372036854775807", "-9223372036854775808", "9007199254740993"],
    "numeric": [
        "1",
        "2",
        "0.5",
        "1.0",
        *(str(one) for one in hostile.DECIMALS if one.is_finite()),
        "NaN",
        "Infinity",
    ],
    "real": ["1", "2", "0.5", "1", "NaN", "Infinity", "-Infinity", "1e-45", "3.4e38", "-0"],
    "float8": ["1", "2", "0.5", "1", *(repr(one) for one in hostile.FLOATS if one == one), "NaN"],
    "boolean": ["true", "false", "true", "true"],
    "text": None,
    "varchar": None,
    "date": ["2020-01-01", "2020-01-02", "infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"],
    "uuid": ["00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "timestamp": ["2020-01-01", "infinity"],
    "bytea": ["a", "b"],
}
PLAIN_SQL = {
    **dict.fromkeys(("x", "y", "z"), "float8"),
    **{"d": "text", "k": "bigint", "f": "boolean", "s": "text", "id": "bigint", "copy": "bigint"},
}


class PostgreSQL(Typed):
    """A server whose encoding is this one: its text is any bytes that it accepts. Values are SQL."""

    name, needs, takes = "PostgreSQL", "PostgreSQL", ("postgresql",)
    types = tuple(SQL)

    def __init__(self, server: str, encoding: str) -> None:
        super().__init__(server)
        self.name, self._encoding = f"PostgreSQL {encoding}", encoding
        name = f"hostile_{encoding.lower()}"
        execute(
            server,
            f"DROP DATABASE IF EXISTS {name}",
            f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
        )
        self._url = f"{server.removesuffix('/postgres')}/{name}"
        texts = [one.encode("utf-8", "surrogatepass") for one in hostile.TEXTS if len(one) < 1000]
        self._texts = [one for one in [*texts, *hostile.BYTES] if self._accepts(one)]

    def _accepts(self, text: bytes) -> bool:
        try:
            execute(self._url, f"SELECT length({self._literal(text)})")
        except psycopg.Error:
            return False
        return True

    def _literal(self, text: bytes) -> str:
        return f"convert_from('\\x{text.hex()}'::bytea, '{self._encoding}')"

    def hostile(self, type_: Any) -> list[Any]:
        return [None, *(self._texts if SQL[type_] is None else SQL[type_])]

    def others(self, type_: Any) -> list[Any]:
        return [b"a", b"b", b"1"] if SQL[type_] is None else SQL[type_][:4]

    def data(self, rows: Sequence[dict[str, Any]], slot: str, type_: Any) -> tuple[Any, str | None]:
        types = {**PLAIN_SQL, slot: type_}
        tuples = [", ".join(self._sql(row[name], one) for name, one in types.items()) for row in rows]
        columns = ", ".join(f"{name} {one}" for name, one in types.items())
        execute(self._url, "DROP TABLE IF EXISTS t", f"CREATE TABLE t ({columns})")
        if tuples:
            execute(self._url, f"INSERT INTO t VALUES ({'), ('.join(tuples)})")
        return self._url, "t"

    def _sql(self, value: Any, type_: str) -> str:
        if value is None:
            return "NULL"
        text = value if isinstance(value, bytes) else str(value).encode()
        # A cast from text is a conversion that the server would have to fold into the statement's encoding.
        return f"CAST({self._literal(text)} AS {type_})"


class Spark(Typed):
    """A Parquet file that Spark reads itself: by turns by the URL of the session, and as its DataFrame.

    Its text is any bytes.
    """

    name, needs, takes = "Spark", "Spark", ("Spark",)
    types = ARROW

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(folder)
        self._url = url

    def handed(self, table: pyarrow.Table, number: int) -> tuple[Any, str | None]:
        path = Path(self._place) / f"spark{number}.parquet"
        write_parquet(table, path)
        if number % 2 == 0:
            return self._url, str(path)
        from pyspark.sql import SparkSession

        return SparkSession.active().read.parquet(str(path)), None


class Cluster(Spark):
    """The same on another machine's Spark, in a process of its own: `client.py`."""

    name, needs, takes = "Spark cluster", "a cluster", ("spark",)


class Connect(Spark):
    """The same through Spark Connect, in a process of its own."""

    name, needs, takes = "Spark Connect", "Spark Connect", ("sc",)
