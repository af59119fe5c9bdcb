"""Spark: the same integers as DuckDB, sums that cannot overflow, and nothing but aggregates on the driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from sqlglot import exp

from engines.adversarial import POLICIES, QUERIES, arrow_table, doubles, random_rows
from leakcap.errors import DataError
from leakcap.release import attach
from leakcap.release.columns.typed import ExactSum, column, data_type
from leakcap.release.engine.spark import Spark, spark_table
from leakcap.release.engine.spark_sql import SparkSQL
from leakcap.release.planning.plan import used_columns
from leakcap.release.planning.statements import select_of
from release.world import exact, planned, policy_of

SCHEMA = "id bigint, x double, y double, s float, d string, k bigint, f boolean"
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("size", [0, 60])
def test_it_agrees_with_duckdb_on_odd_tables(spark: Any, size: int) -> None:
    rows = random_rows(size, size)
    duck = attach(arrow_table(rows))
    engine = attach(spark.createDataFrame([tuple(row.values()) for row in rows], SCHEMA))
    assert isinstance(engine, Spark)
    for policy in POLICIES:
        for query in QUERIES if size and policy in POLICIES[1:3] else QUERIES[2:3]:
            plan = planned(policy, **query)
            assert exact(plan, engine) == exact(plan, duck), query


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_sums_do_not_overflow(spark: Any, ansi: str) -> None:
    """2⁵³ added up 3,000 times is beyond 64 bits; a plain SUM over BIGINT stops there, or wraps."""
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    for largest in (2**53, -(2**53)):
        spark.range(3000).selectExpr(f"{largest}L AS v").createOrReplaceTempView("large")
        total = ExactSum(this=column("v"), largest=2**53)
        text = SparkSQL({}).lower(total).sql("spark")
        assert spark.sql(f"SELECT {text} FROM large").collect()[0][0] == 3000 * largest
    spark.conf.set("spark.sql.ansi.enabled", "true")


def test_decimals_and_ids(spark: Any) -> None:
    engine = attach(
        spark.sql(
            "SELECT * FROM VALUES (1BD, 1.5BD, 1e37BD), (1BD, 2.5BD, 1BD), (2BD, 99BD, 2BD), (NULL, 1BD, 1BD)"
            " AS given (id, x, k)"
        )
    )
    people = policy_of(unit={"id": "id", "max_rows": 1}, columns={"x": {"bounds": [-3.0, 10.0]}})
    plan = planned(people, statistic="sum", column="x")
    assert plan.grid is not None
    # 99 is clamped to 10; of the first person either row is kept.
    assert plan.grid.step * exact(plan, engine)[0][0] in (11.5, 12.5)
    by_key = planned(policy_of(columns={"k": {"keys": [1, 2]}}), statistic="count", by=("k",))
    assert exact(by_key, engine) == [[2, 1]]


def check(engine: Any, plan: Any) -> None:
    from leakcap.release.engine.beforehand import check_schema

    check_schema(engine.columns(), used_columns(plan), plan.policy)


def test_a_path_by_the_url_of_a_cluster(spark: Any, tmp_path: Path) -> None:
    assert spark is not None  # the cluster of the URL is the session that runs already
    rows = random_rows(3, 20)
    pyarrow.parquet.write_table(arrow_table(rows), tmp_path / "t.parquet")
    engine = attach("local[2]", table=str(tmp_path / "t.parquet"))
    plan = planned(POLICIES[0], statistic="mean", column="x", by=("f",))
    assert exact(plan, engine) == exact(plan, attach(tmp_path / "t.parquet"))


def test_what_is_refused(spark: Any, tmp_path: Path) -> None:
    spark.sql("SELECT 1 / id AS x FROM range(3)").createOrReplaceTempView("trap")
    (tmp_path / "bad.parquet").write_bytes(b"secret 12345")
    for table, match in (
        (None, "`table` is missing"),
        ("nothing", "no table"),
        ("trap", "a view"),
        (str(tmp_path / "bad.parquet"), "no Parquet"),
    ):
        with pytest.raises(DataError, match=match) as caught:
            spark_table("local[2]", table)
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None
    with pytest.raises(DataError, match="upper and lower case"):
        Spark(spark.sql("SELECT 1 AS x, 2 AS X")).columns()
    loose = Spark(spark.sql("SELECT '1' AS x, timestamp'2020-01-01' AS d, 'a' COLLATE UNICODE_CI AS k"))
    for query in (
        {"statistic": "sum", "column": "x"},
        {"statistic": "count", "by": ("d",)},
        {"statistic": "count", "by": ("k",)},
    ):
        with pytest.raises(DataError, match="cannot be read as"):
            check(loose, planned(policy_of(), **query))


def test_no_cast_may_stop(spark: Any) -> None:
    """What stands behind the rule that there is no TRY_CAST: sqlglot would write a CAST, and that stops."""
    assert exp.TryCast(this=column("x"), to=data_type("BIGINT")).sql("spark") == "CAST(`x` AS BIGINT)"
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        spark.sql("SELECT CAST(1e30BD AS BIGINT)").collect()


def test_doubles_are_written_to_the_last_bit(spark: Any) -> None:
    values = doubles(300)
    listed = ", ".join(SparkSQL({}).number(x).sql("spark") for x in values)
    found = [row[0] for row in spark.sql(f"SELECT EXPLODE(ARRAY({listed})) AS x").collect()]
    assert [x.hex() for x in found] == [x.hex() for x in values]


def test_keys_that_are_not_public_are_dropped_after_the_addition(spark: Any) -> None:
    """A test of every row costs a tenth of the time: Spark's plan has none of the keys before it adds up."""
    data = arrow_table(random_rows(3, 40))
    engine = Spark(spark.createDataFrame(data.to_pylist(), schema="id long, x double, k long"))
    plan = planned(policy_of(), statistic="count", by=("k",))
    text = engine.write(select_of([plan])).text
    early = text.replace("CASE WHEN COUNT(*) > 0 THEN", "").replace("ELSE FALSE END", "")
    assert early != text

    def steps(statement: str) -> list[str]:
        planned_by_spark = spark.sql(statement)._jdf.queryExecution().executedPlan().toString()
        return [line for line in planned_by_spark.splitlines() if "Filter" in line or "HashAggregate" in line]

    assert "Filter" in steps(text)[0]
    assert "HashAggregate" in steps(text)[-1]
    assert "Filter" in steps(early)[-1]


def test_what_spark_says_is_withheld(spark: Any) -> None:
    engine = Spark(spark.sql("SELECT 'secret' AS d"))
    with pytest.raises(DataError, match="withheld") as caught:
        engine.aggregate(f"SELECT CAST(d AS INT) FROM {engine._names['']}")
    assert caught.value.__context__ is None


def test_bytes_that_are_no_utf8_are_no_key_and_two_of_them_stay_two(spark: Any) -> None:
    """A classic session made one group of two such names, and Spark Connect stopped at them."""
    engine = attach(
        spark.sql(
            "SELECT CAST(b AS STRING) AS id, CAST(b AS STRING) AS d"
            " FROM VALUES (X'61'), (X'FF'), (X'FE'), (X'FF'), (X'6181'), (CAST(NULL AS BINARY)) AS given (b)"
        )
    )
    assert exact(
        planned(policy_of(columns={"d": {"keys": ["a"]}}), statistic="count", by=("d",)), engine
    ) == [[1]]
    private = policy_of(columns={"d": {"keys": "private"}}, caps={"epsilon": 9.0, "delta": 0.5})
    plan = planned(private, statistic="count", by=("d",), delta=0.1)
    groups = engine.run(engine.write(select_of([plan]))).arrays[0].tolist()
    assert sorted(groups) == ["a", "\ufffd6181", "\ufffdFE", "\ufffdFF"]
    people = policy_of(unit={"id": "id", "max_rows": 1}, columns={"d": {"keys": ["a"]}})
    assert exact(planned(people, statistic="distinct"), engine) == [[4]]
