"""The benchmark beside SQL by hand knows every statistic; both sides run, by every key and filter."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from leakcap.release import PrivateTable, Query
from leakcap.release.statistics import statistics

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ROWS = 400


@pytest.fixture(scope="module")
def measured() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("measuring.by_hand")


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as found:
        yield found


@pytest.fixture(scope="module")
def path(
    measured: Any, connection: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    found = tmp_path_factory.mktemp("by-hand") / "people.parquet"
    connection.execute(f"COPY ({measured.TABLE.format(rows=ROWS)}) TO '{found}' (FORMAT parquet)")
    return found


@pytest.fixture(scope="module")
def tables(measured: Any, path: Path) -> Callable[[bool], PrivateTable]:
    """The table by rows and by people, each opened once: every statistic has a query of its own."""
    return functools.cache(
        lambda people: PrivateTable(path, policy=measured.rules(people=people), ledger="sqlite://")
    )


@pytest.mark.parametrize("name", sorted(statistics()))
def test_every_statistic_is_written_by_hand(
    name: str,
    measured: Any,
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    tables: Callable[[bool], PrivateTable],
) -> None:
    case = measured.cases()[name]
    table = tables(case.people)
    asked = [(by, None) for by in measured.KEYS.values()] + [(("g",), where) for where in measured.FILTERS]
    ran = 0
    for by, kind in asked:
        where = measured.FILTERS[kind] if kind else None
        text = case.sql(by, where).format(source=f"read_parquet('{path}')")
        assert connection.execute(text).fetchall()
        assert case.target(by) >= 1.2
        ran += 1
        if by and where is None and by != measured.KEYS["two"]:
            continue  # a release by two keys and one with each filter show the same of it
        (released,) = table.release(
            [Query(name="q", statistic=name, epsilon=1.0, by=by, where=where, **case.asked)]
        )
        assert not released.repeated
        assert len(released.rows) > 0
    assert ran == len(measured.KEYS) + len(measured.FILTERS)
