"""Joins on servers: the same integers as in the embedded engine, of the same tables in any order of rows."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

from leakcap.errors import DataError
from leakcap.release import Engine, PrivateTable, attach, load_policy, query_from
from leakcap.release.engine.postgresql import PostgreSQL
from leakcap.release.engine.spark import Spark
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from ledger.server import execute

VISITS = [(person, "ab"[person % 2], float(k)) for person in range(30) for k in range(person % 4)]
VISITS += [(None, "a", 1.0), (77, None, 2.0), (78, "b", float("nan"))]
PEOPLE = [(p, "fm"[p % 2], float(p)) for p in range(25)]
PEOPLE += [(1, "f", 3.0), (1, None, 1.0), (2, "f", None), (None, "f", 4.0), (99, "m", 5.0), (78, "?", 6.0)]
WARDS = [("a", "n"), ("b", "s"), ("b", "n"), (None, "n")]
POLICY = load_policy(
    {
        "dataset": "visits",
        "neighbours": "add-remove-one",
        "unit": {"id": "person", "max_rows": 9},
        "caps": {"epsilon": 1e6},
        "columns": {"stay": {"bounds": [0.0, 2.0]}, "ward": {"keys": ["a", "b"]}},
        "tables": {
            "people": {
                "id": "pid",
                "columns": {"sex": {"keys": ["f", "m"]}, "age": {"bounds": [0.0, 20.0]}},
            },
            "wards": {
                "public": True,
                "key": "code",
                "on": "ward",
                "columns": {"region": {"keys": ["n", "s"]}},
            },
        },
    }
)
QUERIES: list[dict[str, Any]] = [
    {"statistic": "count", "join": "people", "by": "people.sex"},
    {"statistic": "sum", "column": "people.age", "join": ["people", "wards"], "by": "wards.region"},
    {"statistic": "mean", "column": "stay", "join": "people", "where": "people.sex = 'f' AND people.age > 3"},
    {"statistic": "distinct", "join": "wards", "by": "wards.region"},
    {"statistic": "distinct", "join": "people"},
]


def column(rows: list[tuple[Any, ...]], place: int, type_: Any) -> Any:
    return pyarrow.array([row[place] for row in rows], type_)


def embedded() -> Engine:
    visits = pyarrow.table(
        {
            "person": column(VISITS, 0, pyarrow.int64()),
            "ward": column(VISITS, 1, pyarrow.string()),
            "stay": column(VISITS, 2, pyarrow.float64()),
        }
    )
    people = pyarrow.table(
        {
            "pid": column(PEOPLE, 0, pyarrow.int64()),
            "sex": column(PEOPLE, 1, pyarrow.string()),
            "age": column(PEOPLE, 2, pyarrow.float64()),
        }
    )
    wards = pyarrow.table(
        {"code": column(WARDS, 0, pyarrow.string()), "region": column(WARDS, 1, pyarrow.string())}
    )
    return attach(visits, tables={"people": people, "wards": wards})


def listed(rows: list[tuple[Any, ...]]) -> str:
    def one(value: Any) -> str:
        if value is None:
            return "NULL"
        return f"'{value}'"

    return ", ".join(f"({', '.join(map(one, row))})" for row in reversed(rows))


def totals(engine: Engine) -> list[Any]:
    plans = [plan_query(query_from({"name": "q", "epsilon": 1.0, **query}), POLICY) for query in QUERIES]
    found = [(plan, scans_of([plan], engine, "seed")[0].run(engine)[0]) for plan in plans]
    return [
        [one.tolist() for one in (*(read.codes if plan.cells.open else ()), *read.totals)]
        for plan, read in found
    ]


@pytest.fixture(scope="module")
def stored(server: str) -> str:
    execute(server, "DROP TABLE IF EXISTS visits, persons, wards")
    execute(server, "CREATE TABLE visits (person int, ward text, stay float8)")
    execute(server, "CREATE TABLE persons (pid bigint, sex text, age float8)")
    execute(server, "CREATE TABLE wards (code text, region text)")
    for table, rows in (("visits", VISITS), ("persons", PEOPLE), ("wards", WARDS)):
        execute(server, f"INSERT INTO {table} VALUES {listed(rows)}")
    return server


def test_postgresql_joins_like_the_embedded_engine(stored: str) -> None:
    engine = PostgreSQL(stored, table="visits", tables={"people": "persons", "wards": "public.wards"})
    assert totals(engine) == totals(embedded())


def test_a_joined_table_must_be_stored_too(stored: str) -> None:
    execute(stored, "CREATE OR REPLACE VIEW seen AS SELECT pid, sex, 1 / age AS age FROM persons")
    with pytest.raises(DataError, match="is a view"):
        PostgreSQL(stored, table="visits", tables={"people": "seen"})


def test_a_joined_table_that_was_replaced_is_refused(stored: str) -> None:
    execute(stored, "DROP TABLE IF EXISTS later; CREATE TABLE later AS SELECT * FROM persons")
    private = PrivateTable(
        stored, table="visits", tables={"people": "later"}, policy=POLICY, ledger="sqlite://"
    )
    asked = private.join("people").count()
    assert asked.release(epsilon=100.0).value > 0
    execute(stored, "DROP TABLE later; CREATE TABLE later AS SELECT * FROM persons")
    with pytest.raises(DataError, match="replaced or altered"):
        asked.release(epsilon=99.0)
    assert private.budget()[0].spent == 100.0


@pytest.mark.slow
def test_spark_joins_like_the_embedded_engine(spark: Any) -> None:
    visits = spark.createDataFrame(VISITS, "person int, ward string, stay double")
    people = spark.createDataFrame(PEOPLE, "pid bigint, sex string, age double")
    wards = spark.createDataFrame(WARDS, "code string, region string")
    assert totals(Spark(visits, tables={"people": people, "wards": wards})) == totals(embedded())
