"""Decimals are read alike by every engine: as the nearest double, which is then rounded to the grid."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow
import pytest

from leakcap.release import Engine, attach
from leakcap.release.engine.postgresql import PostgreSQL
from ledger.server import execute
from release.world import exact, planned, policy_of

POLICY = policy_of(
    columns={
        "q": {"bounds": [-5, 10**6]},
        "gross": {"from": ["q", 1.19], "compute": "*"},
        "band": {"from": "q", "cuts": [0.1, 100]},
    }
)
DIGITS, SCALE = 38, 10


def _values() -> list[Decimal | None]:
    """Of all lengths, halves of the grid's steps, and what lies beyond the bounds."""
    draw = random.Random(14)
    found = [Decimal(draw.randrange(-(10**length), 10**length)).scaleb(-SCALE) for length in range(1, 29)] * 3
    odd = [
        "0.1",
        "-5",
        "1000000",
        "99.9999999999",
        "0.0999999999",
        "100",
        "9999999999999999999999999999",
        "-0.0",
    ]
    return [*found, *map(Decimal, odd), None, *(Decimal(2 * n + 1) / 2**9 for n in range(20))]


def check(engine: Engine) -> int:
    values, tested = [one for one in _values() if one is not None], 0
    for name in ("q", "gross"):
        asked = planned(POLICY, statistic="sum", column=name)
        assert asked.grid is not None
        total = 0
        for one in values:
            clamped = min(max(float(one), -5.0), 1e6)
            worked = clamped if name == "q" else float(Fraction(clamped) * Fraction(1.19))
            total += round(Fraction(worked) * Fraction(2) ** asked.grid.exponent) - asked.centre
        assert exact(asked, engine) == [[total]], name
        tested += 1
    worked = [
        sum(one < Fraction("0.1") for one in values),
        sum(Fraction("0.1") <= one < 100 for one in values),
    ]
    counts = exact(planned(POLICY, statistic="count", by=("band",)), engine)[0]
    assert counts == [*worked, len(values) - sum(worked)]
    assert exact(planned(POLICY, statistic="count", where="q = 0.1"), engine) == [
        [values.count(Decimal("0.1"))]
    ]
    return tested + 2


def test_duckdb_reads_decimals() -> None:
    column = pyarrow.array(_values(), pyarrow.decimal128(DIGITS, SCALE))
    assert check(attach(pyarrow.table({"q": column}))) == 4


def test_postgresql_reads_decimals(server: str) -> None:
    execute(
        server,
        "DROP TABLE IF EXISTS decimals",
        f"CREATE TABLE decimals (q numeric({DIGITS}, {SCALE}))",
        *(
            f"INSERT INTO decimals VALUES ({one:f})"
            if one is not None
            else "INSERT INTO decimals VALUES (NULL)"
            for one in _values()
        ),
    )
    assert check(PostgreSQL(server, table="decimals")) == 4


@pytest.mark.slow
def test_spark_reads_decimals(spark: Any) -> None:
    frame = spark.createDataFrame([(one,) for one in _values()], f"q decimal({DIGITS}, {SCALE})")
    assert check(attach(frame)) == 4
