"""A pandas column is read cell by cell: the dtype, which other people's rows induce, decides nothing."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest

from leakcap.release import PrivateTable, attach
from release.world import exact, planned, policy_of

COLUMNS: dict[str, Any] = {
    "x": {"bounds": [-3.0, 10.0]},
    "d": {"keys": ["1", "2", "true", "a"]},
    "k": {"keys": [1, 2, 0]},
    "f": {"keys": [True, False]},
}


def totals(frame: pandas.DataFrame, column: str, **changes: Any) -> list[list[int]]:
    policy = policy_of(columns=COLUMNS, **changes)
    engine = attach(frame)
    by = planned(policy, statistic="count", by=(column,)) if column != "x" else None
    return exact(by or planned(policy, statistic="sum", column="x"), engine)


# One person's row that makes pandas choose another dtype for all, and is itself none of the keys.
HOSTILE = [None, math.nan, "?", 1j, 2.5, 10**400, 2**63, [1], b"a", pandas.NaT, Decimal("0.5"), "\ud800"]
OTHERS: dict[str, list[Any]] = {
    "x": [1, 2, 2, 0, 3],
    "k": [1, 2, 2, 0, 3],
    "d": [1, 2, 2, 0, 3],
    "f": [True, True, False, True],
}


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
@pytest.mark.parametrize("column", ["d", "k", "f"])
def test_one_row_does_not_change_how_the_others_are_counted(column: str, hostile: Any) -> None:
    before = totals(pandas.DataFrame({column: OTHERS[column]}), column)
    after = totals(pandas.DataFrame({column: [*OTHERS[column], hostile]}), column)
    moved = sum(abs(a - b) for a, b in zip(before[0], after[0], strict=True))
    assert sum(before[0]) >= 3
    assert moved <= 1


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
@pytest.mark.parametrize("others", [[True] * 1000, [2] * 1000, [2.0] * 1000, [np.float32(2)] * 1000])
def test_one_row_does_not_change_what_the_others_add_up_to(others: list[Any], hostile: Any) -> None:
    step = planned(policy_of(columns=COLUMNS), statistic="sum", column="x").grid.step  # type: ignore[union-attr]
    before = totals(pandas.DataFrame({"x": others}), "x")[0][0] * step
    after = totals(pandas.DataFrame({"x": [*others, hostile]}), "x")[0][0] * step
    assert before == 1000 * float(others[0])
    assert abs(after - before) <= 10


@pytest.mark.parametrize("hostile", [None, "a word", 1.5, Decimal(7), 2**70, 1j], ids=ascii)
def test_one_id_does_not_choose_anew_among_the_rows_of_all_others(hostile: Any) -> None:
    """A hundred people with four rows each, of which one is kept: by the same choice, whatever the dtype."""
    people = [person for person in range(100) for _ in range(4)]
    values = list(range(4)) * 100
    policy = policy_of(columns={"k": {"keys": [0, 1, 2, 3]}}, unit={"id": "id", "max_rows": 1})
    plan = planned(policy, statistic="count", by=("k",))

    def counts(ids: list[Any], rows: list[int]) -> list[int]:
        return exact(plan, attach(pandas.DataFrame({"id": ids, "k": rows})))[0]

    before = counts(people, values)
    after = counts([*people, hostile], [*values, 0])
    assert sum(before) == 100
    assert sum(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1


REPRESENTATIONS: list[Any] = [
    [1, 2, 3],
    [1.0, 2.0, 3.0],
    np.array([1, 2, 3], dtype=np.int8),
    np.array([1, 2, 3], dtype=np.uint64),
    np.array([1, 2, 3], dtype=np.float32),
    np.array([1, 2, 3], dtype=np.complex64),
    np.array([1, 2, 3], dtype=np.longdouble),
    pandas.array([1, 2, 3], dtype="Int64"),
    pandas.array([1, 2, 3], dtype="Float32"),
    pandas.array(["1", "2", "3"], dtype="string"),
    pandas.array(["1", "2", "3"], dtype="string[python]"),
    pandas.array([1, 2, 3], dtype=pandas.ArrowDtype(pyarrow.int16())),
    pandas.array([1, 2, 3], dtype=pandas.ArrowDtype(pyarrow.float64())),
    pandas.array(["1", "2", "3"], dtype=pandas.ArrowDtype(pyarrow.large_string())),
    pandas.array([Decimal(1), Decimal(2), Decimal(3)], dtype=pandas.ArrowDtype(pyarrow.decimal128(9, 2))),
    pandas.array([1, 2, 3], dtype=pandas.SparseDtype("int64")),
    pandas.Categorical([1, 2, 3]),
    pandas.Categorical(["1", "2", "3"]),
    pandas.Series([1, 2.0, "3"], dtype=object),
    pandas.Series([Decimal("1.0"), np.int16(2), np.float16(3)], dtype=object),
]


@pytest.mark.parametrize(
    "ids", REPRESENTATIONS, ids=lambda one: f"{type(one).__name__} {getattr(one, 'dtype', '')}"
)
def test_a_number_is_one_key_one_id_and_one_text_in_every_dtype(ids: Any) -> None:
    frame = pandas.DataFrame(dict.fromkeys(("id", "k", "d", "x"), ids))
    assert attach(frame).columns() == dict.fromkeys(("id", "k", "d", "x"), "OBJECT")
    assert totals(frame, "k") == [[1, 1, 0]]
    assert totals(frame, "d") == [[1, 1, 0, 0]]
    step = planned(policy_of(columns=COLUMNS), statistic="sum", column="x").grid.step  # type: ignore[union-attr]
    assert totals(frame, "x")[0][0] * step == 6.0
    people = policy_of(unit={"id": "id", "max_rows": 1}, columns={"k": {"keys": [0, 1, 2, 3]}})
    plan = planned(people, statistic="count", by=("k",))
    # Beside rows of the same people with integers for ids: three people, who keep one row each.
    twice = pandas.DataFrame({"id": [*frame["id"], 1, 2, 3], "k": [1, 2, 3, 0, 0, 0]})
    assert sum(exact(plan, attach(twice))[0]) == 3


@pytest.mark.parametrize("large", [2**53, 2**53 + 1, -(2**53), 2**62])
@pytest.mark.parametrize("beside", [1, 1.0, None, "a"], ids=ascii)
def test_integers_that_a_double_does_not_tell_apart_are_missing_in_every_inferred_dtype(
    large: int, beside: Any
) -> None:
    frame = pandas.DataFrame({"id": [large, beside], "k": [large, beside]})
    people = policy_of(unit={"id": "id", "max_rows": 1}, columns={"k": {"keys": [1, 0]}})
    counted = exact(planned(people, statistic="count"), attach(frame))
    assert counted == [[0 if beside is None else 1]]
    private = policy_of(columns={"k": {"keys": [large, 1]}})
    assert exact(planned(private, statistic="count", by=("k",)), attach(frame)) == [
        [0, int(beside in (1, 1.0))]
    ]
    exactly = frame[["id"]].iloc[:1].astype({"id": "object"}).assign(id=pandas.array([large], dtype="Int64"))
    assert exact(planned(people, statistic="count"), attach(exactly.assign(k=1))) == [[1]]


def test_only_the_policys_columns_are_made_ready() -> None:
    class Costly:
        asked = 0

        def __str__(self) -> str:
            type(self).asked += 1
            return "a"

    frame = pandas.DataFrame({"x": [1.0], "other": [Costly()], "d": [Costly()]})
    PrivateTable(frame, policy=policy_of(columns=COLUMNS), ledger="sqlite://").count(epsilon=1.0)
    assert Costly.asked == 1


def test_columns_of_one_name_and_of_none() -> None:
    frame = pandas.DataFrame([[1, 2, 3]], columns=["x", "X", 0])
    assert list(attach(frame).columns()) == ["x", "X_1", "0"]
    nothing = attach(pandas.DataFrame(index=range(5)), wanted={"": ()})
    assert exact(planned(policy_of(), statistic="count"), nothing) == [[5]]


def test_a_pandas_table_and_an_arrow_table_of_the_same_people_meet() -> None:
    policy = policy_of(
        unit={"id": "id", "max_rows": 1},
        columns={"k": {"keys": [1, 2]}},
        tables={"people": {"id": "id", "columns": {"u": {"keys": ["f", "m"]}}}},
    )
    plan = planned(policy, statistic="count", by=("people.u",), join=("people",))
    visits = {"id": [1, 2, 3], "k": [1, 1, 2]}
    people = {"id": [1, 2, 4], "u": ["f", "m", "m"]}
    for one in (pandas.DataFrame(visits), pyarrow.table(visits)):
        for other in (pandas.DataFrame(people), pandas.DataFrame({**people, "id": [1.0, "2", None]})):
            assert exact(plan, attach(one, tables={"people": other})) == [[1, 1]]


def test_a_date_that_python_does_not_have_does_not_stop_the_opening() -> None:
    """Arrow has days after the year 9999: one such day refused the table to everybody."""
    days = pyarrow.array([1, 2**31 - 1, None, 1], pyarrow.int32()).cast(pyarrow.date32())
    frame = pandas.DataFrame({"d": pandas.array(days, dtype=pandas.ArrowDtype(pyarrow.date32()))})
    plan = planned(policy_of(columns={"d": {"keys": ["1970-01-02"]}}), statistic="count", by=("d",))
    assert exact(plan, attach(frame)) == [[2]]
