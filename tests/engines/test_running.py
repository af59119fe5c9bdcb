"""Running counts: the same exact counts, and of people the same first rows, from PostgreSQL and Spark."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from leakcap.release import attach
from leakcap.release.engine import Engine
from leakcap.release.engine.postgresql import PostgreSQL
from leakcap.running.reading import running_counts, running_statement
from ledger.server import execute
from running.streams import DAYS, policy_of, table_of, visits

QUESTION = DAYS.model_copy(update={"by": ("ward",), "where": "age < 90"})
ROWS = visits(300)


def _said(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return "'NaN'" if math.isnan(value) else repr(value)
    return str(value) if isinstance(value, int) else f"'{value}'"


def check(engine: Engine) -> None:
    units: tuple[dict[str, Any], ...] = ({}, {"unit": {"id": "id", "max_rows": 2}})
    for unit, question in itertools.product(units, (QUESTION, DAYS)):
        planned, duck = question.planned(policy_of(**unit)), attach(table_of(ROWS))
        for steps in (1, 6):
            found = [
                running_counts(planned, running_statement(planned, one, steps, "s"), steps, one)
                for one in (duck, engine)
            ]
            assert found[0].sum() > 10
            # Which of a person's rows of one day count is for each engine's own hash to say.
            assert np.array_equal(*(one.sum(axis=0) if unit else one for one in found))


def test_postgresql_has_the_same_counts(server: str) -> None:
    execute(
        server,
        "DROP TABLE IF EXISTS streams",
        "CREATE TABLE streams (id bigint, day date, ward text, age float8)",
        *(f"INSERT INTO streams VALUES ({', '.join(map(_said, row.values()))})" for row in ROWS),
    )
    check(PostgreSQL(server, table="streams"))


@pytest.mark.slow
def test_spark_has_the_same_counts(spark: Any) -> None:
    schema = "id bigint, day date, ward string, age double"
    check(attach(spark.createDataFrame([tuple(row.values()) for row in ROWS], schema)))
