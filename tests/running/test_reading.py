"""What is counted: every row that counts in its period, and of each person the first rows by period."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakcap.release import attach
from leakcap.running import RunningQuestion
from leakcap.running.reading import running_counts, running_statement
from running.streams import DAYS, FIRST, policy_of, table_of, visits

WARDS = ("north", "south")
BY_WARD = DAYS.model_copy(update={"by": ("ward",), "where": "age < 90"})


def read(
    question: RunningQuestion, rows: list[dict[str, Any]], steps: int, seed: str = "s", **policy: Any
) -> Any:
    planned, engine = question.planned(policy_of(**policy)), attach(table_of(rows))
    return running_counts(planned, running_statement(planned, engine, steps, seed), steps, engine)


def place_of(row: dict[str, Any], steps: int) -> int | None:
    when = None if row["day"] is None else (row["day"] - FIRST).days
    return when if when is not None and 0 <= when < steps else None


def test_counts_are_those_of_the_rows() -> None:
    rows = visits(400)
    for steps in (1, 4, 6):
        expected = np.zeros((2, steps), dtype=np.int64)
        alone = np.zeros((1, steps), dtype=np.int64)
        for row in rows:
            when = place_of(row, steps)
            if when is None:
                continue
            alone[0, when] += 1
            if row["ward"] in WARDS and row["age"] < 90:
                expected[WARDS.index(row["ward"]), when] += 1
        assert np.array_equal(read(BY_WARD, rows, steps), expected)
        assert np.array_equal(read(DAYS, rows, steps), alone)


def test_an_empty_table_has_empty_periods() -> None:
    assert read(BY_WARD, [], 3).tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_each_person_the_first_rows_by_period_count(most: int) -> None:
    rows = visits(400)
    unit = {"unit": {"id": "id", "max_rows": most}}
    for steps in (2, 6):
        expected = np.zeros(steps, dtype=np.int64)
        mine: dict[int, list[int]] = {}
        for row in rows:
            when = place_of(row, steps)
            if when is not None and row["id"] is not None and row["ward"] in WARDS and row["age"] < 90:
                mine.setdefault(row["id"], []).append(when)
        for places in mine.values():
            for when in sorted(places)[:most]:
                expected[when] += 1
        assert np.array_equal(read(BY_WARD, rows, steps, **unit).sum(axis=0), expected)


def test_rows_that_come_later_take_no_counted_row_away_and_late_ones_move_it_earlier() -> None:
    unit = {"unit": {"id": "id", "max_rows": 1}}
    rows = [{"id": 1, "day": FIRST.replace(day=3), "ward": "north", "age": 20.0}]
    assert read(BY_WARD, rows, 6, **unit)[0].tolist() == [0, 0, 1, 0, 0, 0]
    for number in range(4, 7):
        rows.append({"id": 1, "day": FIRST.replace(day=number), "ward": "south", "age": 20.0})
        assert read(BY_WARD, rows, 6, **unit).tolist() == [[0, 0, 1, 0, 0, 0], [0] * 6]
    rows.append({"id": 1, "day": FIRST, "ward": "south", "age": 20.0})
    assert read(BY_WARD, rows, 6, **unit).tolist() == [[0] * 6, [1, 0, 0, 0, 0, 0]]


def test_which_rows_of_one_period_count_hangs_on_the_seed_and_not_on_the_ward() -> None:
    unit = {"unit": {"id": "id", "max_rows": 1}}
    rows = [
        {"id": person, "day": FIRST, "ward": ward, "age": 20.0} for person in range(200) for ward in WARDS
    ]
    counts = [read(BY_WARD, rows, 1, seed, **unit)[:, 0] for seed in "abcd"]
    assert all(found.sum() == 200 for found in counts)
    # A hash is fair: below 50 or above 150 of 200 with a probability of 10⁻¹³, and the seeds are fixed.
    assert all(50 < found[0] < 150 for found in counts)
    assert len({int(found[0]) for found in counts}) > 1
