"""The ways in that need a server: the same pairs, of some types in some columns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from engines.cluster import connect_server, standalone
from hostile_rows import served, ways
from hostile_rows.asked import UNITS
from hostile_rows.client import walked
from hostile_rows.pairs import of_typed
from hostile_rows.ways import Typed

# How many pairs each test tries at least, of every way that needs a server.
LEAST: dict[type[Typed], int] = {
    served.PostgreSQL: 1_000,
    served.Spark: 500,
    served.Cluster: 1_500,
    served.Connect: 1_500,
}
CLUSTERS: dict[type[served.Spark], Callable[[Path], AbstractContextManager[str]]] = {
    served.Cluster: standalone,
    served.Connect: connect_server,
}


def test_every_way_that_needs_a_server_is_walked() -> None:
    # By name: where examples are collected too, a file is loaded twice, and its classes with it.
    known = {way.__name__ for way in ways.every(served.NEEDS)}
    assert known == {way.__name__ for way in LEAST}
    assert known == {way.__name__ for way in (served.PostgreSQL, served.Spark, *CLUSTERS)}


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("encoding", ["UTF8", "WIN1252", "SQL_ASCII"])
def test_postgresql_in_three_encodings(server: str, encoding: str, unit: str) -> None:
    way = served.PostgreSQL(server, encoding)
    tried = of_typed(way, unit, [("s", "text"), ("d", "varchar"), ("x", "float8"), ("id", "text")])
    print(f"{way.name}, {unit}: {tried} pairs")
    assert tried >= LEAST[served.PostgreSQL]


@pytest.mark.slow
def test_spark(spark: Any, tmp_path: Path) -> None:
    assert spark is not None  # the cluster of the URL is the session that runs already
    tried = of_typed(served.Spark("local[2]", tmp_path), "rows", served.FEW[:1])
    print(f"Spark, rows: {tried} pairs")
    assert tried >= LEAST[served.Spark]


@pytest.mark.slow
@pytest.mark.parametrize("way", list(CLUSTERS), ids=[kind.name for kind in CLUSTERS])
def test_spark_in_a_process_of_its_own(way: type[served.Spark], tmp_path: Path) -> None:
    """Both units through one cluster: Java takes as long to start and to warm up as to answer for one."""
    with CLUSTERS[way](tmp_path) as url:
        tried = walked(way, url, tmp_path, list(UNITS))
    print(f"{way.name}: {tried} pairs")
    assert min(tried.values()) >= LEAST[way]
