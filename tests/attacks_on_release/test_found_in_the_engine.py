"""Attacks on the engine that once worked: each moved an answer by more than its noise was made for."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pyarrow
import pyarrow.parquet
import pytest

from leakcap.errors import LeakcapError
from leakcap.release import Column, DuckDB, PrivateTable, attach
from release.world import COLUMNS, exact, planned, policy_of

NAN = math.nan


def by_arrow(values: list[float], path: Path) -> DuckDB:
    pyarrow.parquet.write_table(pyarrow.table({"x": values}), path)
    return attach(path)


def by_polars(values: list[float], path: Path) -> DuckDB:
    polars.DataFrame({"x": values}).write_parquet(path)
    return attach(path)


QUERIES: tuple[dict[str, Any], ...] = (
    {"statistic": "count", "where": "x > 1.5"},
    {"statistic": "count", "where": "x IS NULL"},
    {"statistic": "sum", "column": "x"},
    {"statistic": "mean", "column": "x"},
    {"statistic": "histogram", "column": "x", "bins": 2},
)
# Neighbours: each of these tables has one row more than the one before.
TABLES = ([NAN] * 50 + [1.0], [NAN] * 50 + [1.0, 2.0], [NAN] * 50 + [1.0, 2.0, NAN])


@pytest.mark.parametrize("written", [by_arrow, by_polars])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.get("where", query["statistic"]))
def test_parquet_statistics_do_not_bring_missing_values_back(
    written: Callable[[list[float], Path], DuckDB], query: dict[str, Any], tmp_path: Path
) -> None:
    """Parquet's statistics leave NaN out. An engine that believes them takes ISNAN for always false as soon
    as some row's value differs from another's: one row then makes fifty missing ones count.
    """
    plan = planned(policy_of(), **query)
    answers = []
    for values in TABLES:
        seen = exact(plan, written(values, tmp_path / "t.parquet"))
        # The same rows with nothing but NULL for missing values, and no file: what the answer has to be.
        plain = [None if math.isnan(value) else value for value in values]
        assert seen == exact(plan, attach(pyarrow.table({"x": pyarrow.array(plain, pyarrow.float64())})))
        answers.append(seen)
    for one, other in itertools.pairwise(answers):
        for part, before, after in zip(plan.parts, one, other, strict=True):
            assert sum(abs(a - b) for a, b in zip(before, after, strict=True)) <= part.sensitivity


class _Meeting:
    """A connection that lets another thread run between a statement and the fetching of its rows."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._turns = threading.Barrier(2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, *arguments: Any) -> Any:
        result = self._connection.execute(*arguments)
        self._wait()
        return result

    def cursor(self) -> Any:
        return self._connection.cursor()

    def _wait(self) -> None:
        try:
            self._turns.wait(timeout=0.3)
        except threading.BrokenBarrierError:
            self._turns.reset()


def test_a_thread_never_gets_the_answer_of_another_threads_query() -> None:
    """A count's noise on a sum's integers would give the sum away: it is 2³² times too small."""
    engine = attach(pyarrow.table({"x": [9.0] * 100, "y": [3.0] * 100}))
    engine._connection = _Meeting(engine._connection)
    plans = [planned(policy_of(), statistic="count"), planned(policy_of(), statistic="sum", column="x")]
    answers: dict[int, Any] = {}

    def ask(index: int) -> None:
        try:
            answers[index] = exact(plans[index], engine)
        except (LeakcapError, IndexError) as error:
            answers[index] = type(error).__name__

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    grid = plans[1].grid
    assert grid is not None
    assert answers == {0: [[100]], 1: [[int(900 / grid.step)]]}


@pytest.mark.parametrize("name", ["leakcap_row_number", "LEAKCAP_ROW_NUMBER"])
def test_no_column_of_the_table_can_stand_in_for_the_row_number(name: str) -> None:
    """With a column of this name full of zeros one person's fifty rows all counted."""
    data = pyarrow.table(
        {"id": [1] * 50, "x": [1.0] * 50, "y": [1.0] * 50, "d": ["a"] * 50, "k": [1] * 50, "f": [True] * 50}
        | {name: [0] * 50}
    )
    plan = planned(policy_of(unit={"id": "id", "max_rows": 1}), statistic="count")
    try:
        seen = exact(plan, attach(data))
    except LeakcapError:
        return  # to refuse such a table is as good
    assert seen == [[1]]


def test_the_policy_cannot_change_under_an_open_ledger() -> None:
    """The ledger was bound to the policy that it was opened with; its caps are in that policy's unit."""
    empty = {name: [None] * 9 for name in COLUMNS if name != "x"}
    data = pyarrow.table({"id": [1] * 9, "x": [1.0] * 9, **empty})

    def other_unit(private: PrivateTable) -> None:
        private.policy = policy_of()
        private.count(epsilon=1.0)

    def other_bounds(private: PrivateTable) -> None:
        private.policy.columns["x"] = Column(bounds=(0.0, 1.0))
        private.sum("x", epsilon=1.0)

    for change in (other_unit, other_bounds):
        private = PrivateTable(data, policy=policy_of(unit={"id": "id"}), ledger="sqlite://")
        with pytest.raises((LeakcapError, AttributeError, TypeError)):
            change(private)
