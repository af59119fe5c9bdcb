"""A release from end to end on every engine: plan, ledger, aggregates, noise, SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pyarrow
import pytest

from leakcap.errors import DataError
from leakcap.release import PrivateTable, Query
from release.world import COLUMNS, policy_of
from seeded import SeededSource

ROWS = [(1.0 + i % 3, "abc"[i % 3], i % 2 == 0) for i in range(90)]
QUERIES = [
    Query(name="n", statistic="count", by=("d",), epsilon=0.5),
    Query(name="s", statistic="sum", column="x", by=("d",), epsilon=0.5),
    Query(name="m", statistic="mean", column="x", where="f", epsilon=0.5),
    Query(name="v", statistic="variance", column="x", by=("d",), epsilon=0.5),
    Query(name="q", statistic="median", column="x", where="f", bins=16, epsilon=0.5),
]
Make = Callable[..., PrivateTable]


@pytest.fixture
def postgresql(server: str) -> Make:
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute("CREATE TABLE people (x float8, d text, f bool)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s)", ROWS)
    return lambda **options: PrivateTable(server, table="people", **options)


def duck(**options: Any) -> PrivateTable:
    x, d, f = zip(*ROWS, strict=True)
    return PrivateTable(pyarrow.table({"x": x, "d": d, "f": f}), **options)


def answers(make: Make, **changes: Any) -> list[Any]:
    table = make(policy=policy_of(**changes), ledger="sqlite://", source=SeededSource(3))
    return [release.value for release in table.release(QUERIES)]


@pytest.mark.parametrize("changes", [{}, {"neighbours": "replace-one", "rows": 90}])
def test_postgresql_answers_as_duckdb_does(postgresql: Make, changes: dict[str, Any]) -> None:
    assert answers(postgresql, **changes) == answers(duck, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"neighbours": "replace-one", "rows": 90}])
def test_spark_answers_as_duckdb_does(spark: Any, changes: dict[str, Any]) -> None:
    frame = spark.createDataFrame(ROWS, "x double, d string, f boolean")
    assert answers(lambda **options: PrivateTable(frame, **options), **changes) == answers(duck, **changes)


def people(make: Make, by: tuple[str, ...]) -> Any:
    columns = {name: COLUMNS[name] for name in ("x", "f")}
    policy = policy_of(unit={"id": "d", "max_rows": 90}, columns=columns)
    return make(policy=policy, ledger="sqlite://", source=SeededSource(4)).distinct(by=by, epsilon=1.0).value


@pytest.mark.parametrize("by", [(), ("f",)])
def test_postgresql_counts_people_as_duckdb_does(postgresql: Make, by: tuple[str, ...]) -> None:
    assert people(postgresql, by) == people(duck, by)


@pytest.mark.slow
@pytest.mark.parametrize("by", [(), ("f",)])
def test_spark_counts_people_as_duckdb_does(spark: Any, by: tuple[str, ...]) -> None:
    frame = spark.createDataFrame(ROWS, "x double, d string, f boolean")
    assert people(lambda **options: PrivateTable(frame, **options), by) == people(duck, by)


def test_the_public_number_of_units_is_checked_on_the_server(postgresql: Make) -> None:
    table = postgresql(policy=policy_of(neighbours="replace-one", rows=89), ledger="sqlite://")
    with pytest.raises(DataError, match="so many"):
        table.release(QUERIES)
    assert table.budget()[0].spent == 0.0


@pytest.mark.parametrize("name", ["tests", "people"])
def test_sql_on_a_server(postgresql: Make, name: str) -> None:
    table = postgresql(policy=policy_of(), ledger="sqlite://")
    text = f"SELECT d, COUNT(*) AS n, AVG(x) FROM {name} WHERE x < 3 GROUP BY d"
    count, mean = table.sql(text, epsilon=1.0, weights=[3, 1])
    assert (count.name, mean.name) == ("n", "mean of x")
    assert (count.price.epsilon, mean.price.epsilon) == (0.75, 0.25)
    assert table.budget()[0].spent == 1.0


def test_a_table_is_tried_on_dummy_data() -> None:
    table = duck(policy=policy_of(), ledger="sqlite://")
    release = table.dry_run(QUERIES[0])[0]
    assert {row.keys["d"] for row in release.rows} == {"a", "b", "c"}
    assert table.budget()[0].spent == 0.0
