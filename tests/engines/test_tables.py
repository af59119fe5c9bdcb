"""Tables released together: the same exact counts from PostgreSQL and Spark as worked out in Python."""

from __future__ import annotations

import math
from typing import Any

import pytest

from leakcap.release import attach
from leakcap.release.engine.postgresql import PostgreSQL
from ledger.server import execute
from tables.test_release import check_counts, policy_of, rows_of


def _said(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float) and math.isnan(value):
        return "'NaN'"
    return f"'{value}'" if isinstance(value, str) else str(value)


@pytest.mark.parametrize("size", [0, 200])
def test_postgresql_has_the_same_counts(server: str, size: int) -> None:
    rows = rows_of(size)
    execute(
        server,
        "DROP TABLE IF EXISTS margins",
        "CREATE TABLE margins (id bigint, sex text, ward bigint, smokes boolean, age float8)",
        *(f"INSERT INTO margins VALUES ({', '.join(map(_said, row.values()))})" for row in rows),
    )
    check_counts(PostgreSQL(server, table="margins"), rows, policy_of())


@pytest.mark.slow
def test_spark_has_the_same_counts(spark: Any) -> None:
    rows = rows_of(200)
    schema = "id bigint, sex string, ward bigint, smokes boolean, age double"
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema)
    check_counts(attach(frame), rows, policy_of())
