"""Answers by columns say the same as rows; recorded ones of all versions are read, damaged ones refused."""

from __future__ import annotations

from typing import Any

import pandas
import pyarrow
import pytest

from leakcap.errors import LedgerError
from leakcap.ledger import Answer
from leakcap.release import PrivateTable, Row, attach
from leakcap.release.engine.base import Columns
from leakcap.release.numbers.answers import Answers, Rows
from leakcap.release.planning.price import price_of
from leakcap.release.results.recorded import from_ledger, parsed_answer
from release.world import planned, policy_of, table

ROWS = [Row({"ward": "a", "day": 1}, 5, (2.0, 8.0)), Row({"ward": "b", "day": 2}, -1, (-4.0, 2.0))]


def test_rows_are_a_sequence() -> None:
    rows = Rows.of(ROWS)
    assert list(rows) == ROWS
    assert rows == ROWS
    assert rows == tuple(ROWS)
    assert rows != ROWS[:1]
    assert rows[-1] == ROWS[1]
    assert rows[1:] == ROWS[1:]
    assert ROWS[0] in rows
    assert [type(row.value) for row in rows] == [int, int]
    with pytest.raises(IndexError):
        rows[2]
    assert rows.places({"ward": "b"}) == [1]
    assert rows.places({"ward": "b", "day": 1}) == rows.places({"street": 1}) == []
    assert Rows.of([]) == ()
    assert "5" in repr(rows)


def test_columns_make_a_data_frame() -> None:
    keys = [{"value": "x"}, {"value": "y"}]
    rows = Rows.of([Row(key, 1.5, (1.0, 2.0)) for key in keys])
    frame = pandas.DataFrame(rows.columns())
    assert list(frame) == ["value", "value_", "lower", "upper"]
    assert frame["value_"].tolist() == [1.5, 1.5]
    wide = Rows.of([Row({}, 2**70, (0.0, 1.0))])
    assert wide.columns()["value"] == [2**70]


def test_every_type_comes_back_from_the_engine_as_it_is() -> None:
    """Sums of 128 bits, missing values, text, booleans: against what Python's own rows say."""
    engine = attach(pyarrow.table({"x": [2**62, 2**62, 2**62, None], "s": ["a", None, "ü", "\U0001f600"]}))
    for text in (
        "SELECT SUM(x) AS t0, COUNT(*) AS t1 FROM leakcap_source",
        "SELECT s, x, x > 0, CAST(x AS DOUBLE) FROM leakcap_source ORDER BY s",
        "SELECT s AS k0, COUNT(x) AS t0 FROM leakcap_source GROUP BY s ORDER BY s",
        "SELECT x FROM leakcap_source WHERE FALSE",
    ):
        found = engine._columns(text, None)  # type: ignore[attr-defined]
        assert found.rows() == engine.aggregate(text), text  # type: ignore[attr-defined]
        kinds = [[type(value) for value in row] for row in engine.aggregate(text)]  # type: ignore[attr-defined]
        assert [[type(value) for value in row] for row in found.rows()] == kinds
        assert found.known == all(None not in row for row in found.rows())
    assert Columns.of([], 3).rows() == []
    assert len(Columns.of([], 3).arrays) == 3


DAMAGED: list[Any] = [
    None, 7, "[]", [7], [[1, 2]], [[1, 2, True]], [[1, 2, "3"]], [[1, 2, 3], [1, 2, 3, 4]], {},
    {"values": [1], "lower": [0.0]}, {"values": [1], "lower": [0.0], "upper": [1.0, 2.0]},
    {"values": [1], "lower": [0.0], "upper": ["1"]}, {"values": [True], "lower": [0.0], "upper": [1.0]},
    {"values": [1, 2], "lower": [0.0, 0.0], "upper": [1.0, 1.0]},
    {"values": [1], "lower": [0.0], "upper": [1.0], "keys": [["a"]]},
    {"values": [1], "lower": [0.0], "upper": [1.0], "keys": "a"},
    {"values": [1], "lower": [0.0], "upper": [1.0], "parts": [["count", ["1"]]]},
    {"values": [1], "lower": [0.0], "upper": [1.0], "parts": 3},
]  # fmt: skip


@pytest.mark.parametrize("answer", DAMAGED)
def test_what_is_no_answer_is_refused(answer: Any) -> None:
    plan = planned(policy_of(), statistic="count")
    with pytest.raises(LedgerError, match="shape"):
        from_ledger(plan, price_of(plan), Answer(1, answer))
    assert parsed_answer({"values": [1], "lower": [0.0], "upper": [1.0]}) is not None


def test_an_answer_weighs_what_its_numbers_do() -> None:
    """No object a group until rows are looked at."""
    answers = Answers.of([(i, (i - 1.0, i + 1.0)) for i in range(1000)])
    assert answers.values.nbytes == answers.lower.nbytes == 8000
    private = PrivateTable(table([{"x": 1.0, "k": 1}]), policy=policy_of(), ledger="sqlite://")
    release = private.count(by="k", epsilon=1.0)
    assert isinstance(release.value, Rows)
    assert list(release.at(k=1).rows) == [row for row in release.rows if row.keys == {"k": 1}]
