"""Over a thousand public keys go to an engine as one text: every engine counts what Python counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pyarrow
import pytest

from leakcap.release import PrivateTable

STRANGE = [
    "",
    " ",
    "'",
    "''",
    '"',
    "\\",
    "\\n",
    "\n",
    "\t",
    "a,b",
    "[x]",
    "|",
    "\x1f",
    "é",
    "e\u0301",
    "日本",
    "$1",
    ":n",
]
TEXTS = [*STRANGE, *(f"key-{i}" for i in range(1_200))]
# With gaps: what is a run of integers needs no list.
NUMBERS = [0, -(2**62), 2**63 - 1, *(3 * i for i in range(1, 1_200))]
# Keys, what is no key but nearly one, and nothing.
WRITTEN = [
    *STRANGE,
    *STRANGE,
    "key-7",
    "key-7",
    "key-1200",
    "KEY-7",
    "key-",
    "a",
    "b",
    " ''",
    "\x1e",
    None,
    None,
]
COUNTED = [0, 0, -(2**62), 2**63 - 1, 3, 3, 3, 4, -3, 2**63 - 2, None]


def policy_of(kind: str) -> dict[str, Any]:
    keys = TEXTS if kind == "text" else NUMBERS
    return {
        "dataset": "many",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 100.0},
        "columns": {"k": {"keys": list(keys)}},
    }


def expected(kind: str) -> dict[Any, int]:
    rows, keys = (WRITTEN, TEXTS) if kind == "text" else (COUNTED, NUMBERS)
    return {key: Counter(rows)[key] for key in keys}


def counted(table: PrivateTable) -> dict[Any, int]:
    # At ε = 60 noise is not 0 with probability below 2·e⁻⁶⁰ in each of the cells: below 10⁻²² in all.
    release = table.count(by=["k"], epsilon=60.0)
    return {row.keys["k"]: row.value for row in release.rows}


@pytest.mark.parametrize("kind", ["text", "integer"])
def test_duckdb(kind: str) -> None:
    rows: list[Any] = WRITTEN if kind == "text" else COUNTED
    type_ = pyarrow.string() if kind == "text" else pyarrow.int64()
    table = PrivateTable(
        pyarrow.table({"k": pyarrow.array(rows, type_)}), policy=policy_of(kind), ledger="sqlite://"
    )
    assert counted(table) == expected(kind)


@pytest.mark.parametrize("kind", ["text", "integer"])
def test_postgresql(server: str, kind: str) -> None:
    rows: list[Any] = WRITTEN if kind == "text" else COUNTED
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS many")
        connection.execute("CREATE TABLE many (k text)" if kind == "text" else "CREATE TABLE many (k int8)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO many VALUES (%s)", [(row,) for row in rows])
    table = PrivateTable(server, table="many", policy=policy_of(kind), ledger="sqlite://")
    assert counted(table) == expected(kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "integer"])
def test_spark(spark: Any, kind: str) -> None:
    rows: list[Any] = WRITTEN if kind == "text" else COUNTED
    frame = spark.createDataFrame([(row,) for row in rows], "k string" if kind == "text" else "k bigint")
    table = PrivateTable(frame, policy=policy_of(kind), ledger="sqlite://")
    assert counted(table) == expected(kind)
