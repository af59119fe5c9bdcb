"""The same query again is free, and which table it is about is known without looking into it."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from leakcap.errors import BudgetExceeded, InvalidQuery, LedgerError
from leakcap.ledger import Answer, Ledger
from leakcap.release import PrivateTable, Query
from leakcap.release.engine.beforehand import Identity
from leakcap.release.results.recorded import parsed_answer
from release.world import policy_of
from release.world import table as rows_table
from seeded import SeededSource

ROWS: list[dict[str, Any]] = [
    {"id": n, "x": 1.5 * n, "y": 3.0, "d": "abc"[n % 3], "k": 1 + n % 2, "f": True} for n in range(9)
]


def private(data: Any = None, *, ledger: Any = "sqlite://", **options: Any) -> PrivateTable:
    caps = options.pop("caps", {"epsilon": 100.0})
    return PrivateTable(
        rows_table(ROWS) if data is None else data, policy=policy_of(caps=caps), ledger=ledger, **options
    )


def spent(table: PrivateTable) -> float:
    return table.budget()[0].spent


ASKED: list[dict[str, Any]] = [
    {"statistic": "count"},
    {"statistic": "count", "by": ("d",)},
    {"statistic": "sum", "column": "x"},
    {"statistic": "mean", "column": "x", "by": ("k",)},
    {"statistic": "histogram", "column": "x", "bins": 4},
    {"statistic": "histogram", "column": "d", "where": "x > 3"},
]


@pytest.mark.parametrize(
    "recorded",
    [
        [],
        [[1, 0]],
        [[1, 0, 2, 3]],
        [[1, 0, 2], [1, 0, 2]],
        [1],
        [["1", 0, 2]],
        [[True, 0, 2]],
        [[None, 0, 2]],
    ],
    ids=str,
)
def test_what_is_no_answer_is_not_repeated(recorded: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program wrote into the ledger; nothing is spent, and the remedy works."""
    table = private()
    table.count(epsilon=0.5)
    monkeypatch.setattr(Ledger, "recall", lambda *_, **__: [Answer(1, recorded)])
    with pytest.raises(LedgerError, match="has not the shape of an answer"):
        table.count(epsilon=0.5)
    assert spent(table) == 0.5
    assert not table.release([Query(name="q", statistic="count", epsilon=0.5)], fresh=True)[0].repeated


@pytest.mark.parametrize("fields", ASKED, ids=str)
def test_a_repeat_is_the_same_release_for_nothing(fields: dict[str, Any]) -> None:
    table = private()
    (first,) = table.release([Query(name="asked-1", epsilon=0.5, **fields)])
    (again,) = table.release([Query(name="asked-2", epsilon=0.5, **fields)])
    assert (first.repeated, again.repeated) == (False, True)
    assert again.name == "asked-2"
    assert (again.rows, again.price, again.text, again.noise_scale) == (
        first.rows,
        first.price,
        first.text,
        first.noise_scale,
    )
    assert [type(row.value) for row in again.rows] == [type(row.value) for row in first.rows]
    assert str(again.statement().to_dict()).replace("asked-2", "asked-1") == str(first.statement().to_dict())
    assert spent(table) == 0.5
    assert table.ledger.verify().rows == 4  # opened, reserved, released, repeated


def test_fresh_noise_is_paid_for() -> None:
    table = private()
    values = {table.count(epsilon=0.5, fresh=True).value for _ in range(20)}
    assert len(values) > 1
    assert spent(table) == 10.0
    last = table.release([Query(name="n", statistic="count", epsilon=0.5)])[0]
    assert last.repeated
    assert spent(table) == 10.0


def test_a_repeat_is_free_where_nothing_is_left() -> None:
    table = private(caps={"epsilon": 0.5})
    first = table.count(epsilon=0.5)
    assert table.count(epsilon=0.5).value == first.value
    with pytest.raises(BudgetExceeded):
        table.count(epsilon=0.5, fresh=True)
    with pytest.raises(BudgetExceeded):
        table.count(epsilon=0.5, where="x > 3")


def test_twins_in_a_batch_are_answered_once() -> None:
    table = private()
    queries = [
        Query(name=f"q{n}", statistic="count", where=text, epsilon=0.5)
        for n, text in enumerate(("x > 3", "(x>3)", "x > 4"))
    ]
    one, two, other = table.release(queries)
    assert (one.repeated, two.repeated, other.repeated) == (False, True, False)
    assert one.value == two.value
    assert spent(table) == 1.0


def test_a_batch_pays_for_what_is_new_alone() -> None:
    table = private(caps={"epsilon": 1.0})
    known = Query(name="n", statistic="count", epsilon=0.5)
    first = table.release([known])[0]
    again, new = table.release([known, Query(name="s", statistic="sum", column="x", epsilon=0.5)])
    assert (again.value, new.repeated) == (first.value, False)
    assert spent(table) == 1.0


def test_an_answer_that_never_left_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    table = private()

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "mark_released", stopped)
        with pytest.raises(KeyboardInterrupt):
            table.count(epsilon=0.5)
    assert not table.release([Query(name="n", statistic="count", epsilon=0.5)])[0].repeated
    assert spent(table) == 1.0
    assert len(table.ledger.unreleased()) == 1


def write(path: Path, rows: list[dict[str, Any]], time: int) -> Path:
    pyarrow.parquet.write_table(rows_table(rows), path)
    os.utime(path, ns=(time, time))
    return path


class TestWhichTable:
    def test_a_file_is_known_across_processes(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", ROWS, 10**18)
        first = private(path, ledger=tmp_path / "l.db").count(epsilon=0.5)
        again = private(path, ledger=tmp_path / "l.db")
        assert again.count(epsilon=0.5).value == first.value
        assert spent(again) == 0.5

    def test_a_changed_file_is_a_new_version_under_the_same_budget(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", ROWS, 10**18)
        table = private(path, ledger=tmp_path / "l.db")
        table.count(epsilon=0.5)
        write(path, ROWS[:4], 10**18 + 1)
        assert not table.count(epsilon=0.5).repeated  # a table that is open already
        later = private(path, ledger=tmp_path / "l.db")
        assert not later.count(epsilon=0.5).repeated
        assert later.count(epsilon=0.5).repeated
        assert spent(later) == 1.5
        assert [entry.data_version for entry in later.ledger.entries()] == [1, 2, 3]

    def test_a_data_frame_is_known_by_the_object_or_by_a_name(self, tmp_path: Path) -> None:
        for version, costs in ((None, 1.0), ("2026-03", 0.5)):
            ledger = tmp_path / f"{version}.db"
            for _ in range(2):
                table = private(ledger=ledger, version=version)
                table.count(epsilon=0.5)
            assert spent(table) == costs

    def test_the_name_does_not_depend_on_what_is_in_the_table(self, tmp_path: Path) -> None:
        """Two tables with other contents and another size, written to one file at one time, have one name."""
        path = tmp_path / "t.csv"
        names = []
        for content in ("id,x\n1,2\n", "id,x\n1,3\n2,4\n"):
            with path.open("w" if not path.exists() else "r+") as file:
                file.write(content)
            os.utime(path, ns=(10**18, 10**18))
            names.append(Identity(path).now())
        assert names[0] == names[1]
        os.utime(path, ns=(10**18 + 1, 10**18 + 1))
        assert Identity(path).now() != names[0]

    def test_a_file_that_changes_while_it_is_open_has_no_name_twice(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", ROWS, 10**18)
        identity = Identity(path)
        first = identity.now()
        write(path, ROWS, 10**18 + 5)
        assert len({first, identity.now(), identity.now()}) == 3


def moved(tmp_path: Path, **options: Any) -> PrivateTable:
    """A table that was asked for half of its ε, in a file that was written anew since."""
    path = write(tmp_path / "t.parquet", ROWS, 10**18)
    private(path, ledger=tmp_path / "l.db", caps={"epsilon": 0.5}).count(epsilon=0.5)
    write(path, ROWS, 10**18 + 1)
    return private(path, ledger=tmp_path / "l.db", caps={"epsilon": 0.5}, **options)


def test_a_refusal_says_that_a_touched_file_is_the_reason(tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded, match=r"answers to these queries about version 1 .*`--same-as 1`"):
        moved(tmp_path).count(epsilon=0.5)


@pytest.mark.parametrize("fields", [{"where": "x > 3"}, {"by": "d"}])
def test_a_refusal_of_what_was_never_asked_does_not(fields: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded) as refusal:
        moved(tmp_path).count(epsilon=0.5, **fields)
    assert "version" not in str(refusal.value)


def test_new_noise_is_refused_without_a_word_of_versions(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", ROWS, 10**18)
    table = private(path, ledger=tmp_path / "l.db", caps={"epsilon": 0.5})
    table.count(epsilon=0.5)
    with pytest.raises(BudgetExceeded) as refusal:
        table.count(epsilon=0.5, fresh=True)
    assert "version" not in str(refusal.value)


def test_the_owner_may_say_that_it_is_the_same_table(tmp_path: Path) -> None:
    table = moved(tmp_path, same_as=1)
    assert table.count(epsilon=0.5).repeated
    assert spent(table) == 0.5
    with pytest.raises(LedgerError, match="knows no version 7"):
        private(ledger=tmp_path / "l.db", caps={"epsilon": 0.5}, same_as=7)
    with pytest.raises(InvalidQuery, match="Leave one out"):
        private(ledger=tmp_path / "l.db", caps={"epsilon": 0.5}, version="2026", same_as=1)


def test_the_ledger_holds_released_values_and_no_others(tmp_path: Path) -> None:
    # Seeded: one answer in twenty is an interval around its middle, which is recorded more shortly.
    table = private(ledger=tmp_path / "l.db", source=SeededSource(1))
    release = table.mean("x", epsilon=0.5)
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(tmp_path / "l.db")) as connection:
        answers = [
            json.loads(text) for (text,) in connection.execute("SELECT answer FROM leakcap_event") if text
        ]
    # The noisy parts were paid for with the answer, and are a part of it.
    assert release.drawn is not None
    low, high = release.interval
    parts = [[part.role, list(part.numbers)] for part in release.drawn.parts]
    assert answers == [{"values": [release.value], "lower": [low], "upper": [high], "parts": parts}]


@pytest.mark.parametrize("statistic", ["count", "sum"])
def test_intervals_that_are_the_value_and_so_much_are_recorded_as_such(statistic: str) -> None:
    """To the last bit: what comes back is the answer that left."""
    table = private()
    ask = {"count": table.count, "sum": lambda **terms: table.sum("x", **terms)}[statistic]
    release, again = ask(epsilon=0.5), ask(epsilon=0.5)
    answer = table.ledger.answer(1)
    assert answer is not None
    assert answer.values.keys() & {"off", "lower", "upper"} == {"off"}
    assert again.repeated
    assert again.rows == release.rows


def test_of_a_sum_only_the_integers_are_recorded_and_what_a_step_is_worth() -> None:
    table = private()
    release = table.sum("x", epsilon=0.5)
    answer = table.ledger.answer(1)
    assert answer is not None
    assert answer.values.keys() == {"step", "off", "parts"}
    ((role, (number,)),) = answer.values["parts"]
    assert role == "sum"
    assert Fraction(number) * Fraction(answer.values["step"]) == Fraction(release.value)
    again, edited = (
        parsed_answer(answer.values),
        parsed_answer({**answer.values, "step": 2 * answer.values["step"]}),
    )
    assert again is not None
    assert edited is not None
    assert again.values == [release.value] == [value / 2 for value in edited.values]
    for broken in (
        {**answer.values, "parts": []},
        {**answer.values, "parts": [["sum", [10**400]]]},
        {**answer.values, "parts": [["sum", ["1"]]]},
        {**answer.values, "step": None},
        {**answer.values, "step": 1e308, "parts": [["sum", [10**9]]]},
    ):
        assert parsed_answer(broken) is None
