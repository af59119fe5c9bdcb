"""The ways in that need a server: the same pairs, of some types in some columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from hostile_rows import served
from hostile_rows.asked import UNITS
from hostile_rows.pairs import of_typed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("encoding", ["UTF8", "WIN1252", "SQL_ASCII"])
def test_postgresql_in_three_encodings(server: str, encoding: str, unit: str) -> None:
    way = served.PostgreSQL(server, encoding)
    tried = of_typed(way, unit, [("s", "text"), ("d", "varchar"), ("x", "float8"), ("id", "text")])
    print(f"{way.name}, {unit}: {tried} pairs")
    assert tried >= 1_000


def test_spark(spark: Any, tmp_path: Path) -> None:
    assert spark is not None  # the cluster of the URL is the session that runs already
    tried = of_typed(served.Spark("local[2]", tmp_path), "rows", [("s", pyarrow.string())])
    print(f"Spark, rows: {tried} pairs")
    assert tried >= 500
