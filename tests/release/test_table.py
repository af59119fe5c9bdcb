"""The private table from end to end: values, budget, order of events, and every refusal spends nothing."""

from __future__ import annotations

import gc
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest

from leakcap.errors import BudgetExceeded, DataError, InvalidPolicy, InvalidQuery, LeakcapError, LedgerError
from leakcap.ledger import Caps, Ledger
from leakcap.release import PrivateTable, Query, attach, preview
from release.world import COLUMNS, policy_of
from release.world import table as rows_table
from seeded import SeededSource

SECRET = 7.140625  # a value that must not appear in any message
ROWS: list[dict[str, Any]] = [
    {"id": 1, "x": 1.5, "y": 3.0, "d": "a", "k": 1, "f": True},
    {"id": 2, "x": math.nan, "y": None, "d": "b", "k": 2, "f": True},
    {"id": 3, "x": 99.0, "y": 100.0, "d": "a", "k": 1, "f": False},
    {"id": 4, "x": SECRET, "y": 2.0, "d": "secret ward", "k": 77, "f": None},
    {"id": 5, "x": -5.0, "y": 4.0, "d": None, "k": None, "f": False},
]


def private(source: Any = None, **changes: Any) -> PrivateTable:
    extra = {} if source is None else {"source": source}
    return PrivateTable(rows_table(ROWS), policy=policy_of(**changes), ledger="sqlite://", **extra)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise: what is left is the exact arithmetic."""
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace", lambda scale, size, source: np.zeros(size, np.int64)
    )


@pytest.mark.usefixtures("silent")
class TestWithoutNoise:
    def test_counts(self) -> None:
        assert private().count(epsilon=1.0).value == 5
        assert private().count(epsilon=1.0, where="x > 0").value == 3
        grouped = private().count(epsilon=1.0, by="d")
        assert [(row.keys, row.value) for row in grouped.rows] == [
            ({"d": "a"}, 2),
            ({"d": "b"}, 1),
            ({"d": "c"}, 0),  # an empty key appears; unknown keys do not
        ]

    def test_sums_are_clamped(self) -> None:
        assert private().sum("x", epsilon=1.0).value == pytest.approx(1.5 + 10 + SECRET - 3, abs=1e-8)
        assert private().sum("y", epsilon=1.0).value == 3 + 5 + 8 + 2 + 4  # `fill` for the missing one

    def test_means(self) -> None:
        assert private().mean("x", epsilon=1.0).value == pytest.approx((1.5 + 10 + SECRET - 3) / 4, abs=1e-8)
        by_key = private().mean("x", epsilon=1.0, by=["k"])
        assert [row.value for row in by_key.rows] == [5.75, 3.5]  # nobody: the middle of the bounds
        public = private(neighbours="replace-one", rows=5).mean("y", epsilon=1.0)
        assert public.value == pytest.approx(22 / 5, abs=1e-8)
        assert set(public.price.noise_scales) == {"sum"}

    def test_histograms(self) -> None:
        equal = private().histogram("x", bins=2, epsilon=1.0)
        assert [(row.keys["x"], row.value) for row in equal.rows] == [("[-3, 3.5)", 2), ("[3.5, 10]", 2)]
        edges = private().histogram("x", edges=[0, 1.5, 2], epsilon=1.0)
        assert [(row.keys["x"], row.value) for row in edges.rows] == [("[0, 1.5)", 1), ("[1.5, 2]", 3)]
        keys = private().histogram("d", epsilon=1.0)
        assert [row.value for row in keys.rows] == [2, 1, 0]
        crossed = private().histogram("x", bins=2, by="k", epsilon=1.0)
        assert [row.value for row in crossed.rows] == [1, 1, 0, 0]

    def test_totals_are_held_to_the_public_number_of_units(self) -> None:
        assert private(max_rows=3).count(epsilon=1.0).value == 3
        assert private(max_rows=1).sum("x", epsilon=1.0).value == 10.0
        assert private(max_rows=2).count(epsilon=1.0, by="d").rows[0].value == 2


def test_values_carry_their_noise_interval_and_price() -> None:
    release = private(SeededSource(5)).count(epsilon=0.1)
    assert isinstance(release.value, int)
    assert release.noise_scale == 10.0
    assert release.interval == (release.value - 30, release.value + 30)
    assert release.price.epsilon == 0.1


def test_counts_keep_their_sign() -> None:
    private_ = private(SeededSource(1))
    releases = private_.release([QUERY_BY] * 40, fresh=True)
    values = [row.value for release in releases for row in release.rows]
    assert min(values) < 0


QUERY_BY = Query(name="by d", statistic="count", by=("d",), epsilon=0.1)


def test_ten_runs_at_a_cap_for_nine(tmp_path: Path) -> None:
    policy = policy_of(caps={"epsilon": 0.9})
    queries = [Query(name=f"q{i}", statistic="count", epsilon=0.05) for i in range(2)]
    for _ in range(9):  # a new process each time: only the file remembers
        PrivateTable(rows_table(ROWS), policy=policy, ledger=tmp_path / "l.db").release(queries, fresh=True)
    drawn: list[int] = []

    def counting(n: int, /) -> bytes:
        drawn.append(n)
        return SeededSource(0)(n)

    last = PrivateTable(rows_table(ROWS), policy=policy, ledger=tmp_path / "l.db", source=counting)
    before = last.ledger.head()
    with pytest.raises(BudgetExceeded, match="epsilon"):
        last.release(queries, fresh=True)
    assert not drawn
    assert last.ledger.head() == before
    balance = last.budget()[0]
    assert (balance.spent, balance.left) == (0.9, 0.0)
    assert len(last.ledger.entries()) == 18


def test_a_batch_is_all_or_nothing() -> None:
    whole = private(caps={"epsilon": 1.0})
    with pytest.raises(BudgetExceeded):
        whole.release([Query(name=f"q{i}", statistic="count", epsilon=0.4) for i in range(3)], fresh=True)
    assert whole.budget()[0].spent == 0.0


@pytest.mark.parametrize(
    ("field", "cap"), [("nats_per_person", 1e-6), ("nats_table", 1e-6)], ids=["person", "table"]
)
def test_the_other_caps_hold_too(field: str, cap: float) -> None:
    capped = private(caps={"epsilon": 100.0, field: cap}, max_rows=10)
    with pytest.raises(BudgetExceeded):
        capped.count(epsilon=0.5)


BAD: dict[str, dict[str, Any]] = {
    "no bounds": {"statistic": "sum", "column": "d"},
    "unknown column": {"statistic": "sum", "column": "nothing"},
    "mean of keys": {"statistic": "mean", "column": "d"},
    "by a number": {"statistic": "count", "by": ("x",)},
    "by unknown": {"statistic": "count", "by": ("nothing",)},
    "column of a count": {"statistic": "count", "column": "x"},
    "no column": {"statistic": "sum"},
    "unknown statistic": {"statistic": "mode", "column": "x"},
    "no bins": {"statistic": "histogram", "column": "x"},
    "bins of keys": {"statistic": "histogram", "column": "d", "bins": 3},
    "bins and edges": {"statistic": "histogram", "column": "x", "bins": 3, "edges": (0.0, 1.0)},
    "zero bins": {"statistic": "histogram", "column": "x", "bins": 0},
    "falling edges": {"statistic": "histogram", "column": "x", "edges": (1.0, 0.0)},
    "edges beyond": {"statistic": "histogram", "column": "x", "edges": (0.0, 11.0)},
    "NaN edge": {"statistic": "histogram", "column": "x", "edges": (0.0, math.nan)},
    "bins of a sum": {"statistic": "sum", "column": "x", "bins": 3},
    "epsilon 0": {"statistic": "count", "epsilon": 0.0},
    "epsilon −1": {"statistic": "count", "epsilon": -1.0},
    "epsilon NaN": {"statistic": "count", "epsilon": math.nan},
    "epsilon ∞": {"statistic": "count", "epsilon": math.inf},
    "epsilon tiny": {"statistic": "count", "epsilon": 1e-200},
    "epsilon huge": {"statistic": "count", "epsilon": 1e12},
    "key not in policy": {"statistic": "count", "where": "d = 'secret ward'"},
    "does not parse": {"statistic": "count", "where": "x >"},
    "other table": {"statistic": "count", "where": "x IN (SELECT x FROM other)"},
    "too many cells": {
        "statistic": "histogram",
        "column": "x",
        "bins": 9_999,
        "by": ("d", "many"),
    },
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_a_bad_query_is_one_line_and_spends_nothing(fields: dict[str, Any]) -> None:
    many = {"many": {"keys": list(range(100))}}
    private_ = private(columns={**COLUMNS, **many})
    before = private_.ledger.head()
    with pytest.raises(InvalidQuery) as caught:
        private_.release([Query(**{"name": "q", "epsilon": 1.0, **fields})])
    assert private_.ledger.head() == before
    assert "\n" not in str(caught.value)
    assert str(SECRET) not in str(caught.value)


class TestBadData:
    def refused(self, data: Any, match: str, **changes: Any) -> None:
        private_ = PrivateTable(data, policy=policy_of(**changes), ledger="sqlite://")
        before = private_.ledger.head()
        with pytest.raises(DataError, match=match) as caught:
            private_.count(epsilon=1.0, where="x > 0")
        assert private_.ledger.head() == before
        assert str(SECRET) not in str(caught.value)
        assert "secret" not in str(caught.value)

    def test_a_missing_column(self) -> None:
        self.refused(pyarrow.table({"z": [SECRET]}), "no column `x`")

    def test_a_column_of_the_wrong_type(self) -> None:
        self.refused(pyarrow.table({"x": [[SECRET]]}), "cannot be read as number")
        self.refused(pyarrow.table({"x": [{"secret": SECRET}]}), "cannot be read as number")

    def test_categories_are_not_quoted(self, tmp_path: Path) -> None:
        with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
            made.execute("CREATE TABLE t AS SELECT 'secret'::ENUM ('secret') AS x")
        self.refused(attach(tmp_path / "t.duckdb", table="t"), "ENUM, which")

    def test_the_wrong_number_of_units(self) -> None:
        self.refused(rows_table(ROWS), "so many", neighbours="replace-one", rows=4)

    def test_no_id_column(self) -> None:
        self.refused(rows_table(ROWS).drop_columns(["id"]), "no column `id`", unit={"id": "id"})

    def test_no_such_file_makes_no_ledger(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no file"):
            PrivateTable(tmp_path / "no.parquet", policy=policy_of(), ledger=tmp_path / "l.db")
        assert not (tmp_path / "l.db").exists()

    def test_no_kind_of_table(self) -> None:
        with pytest.raises(DataError, match="Got a list"):
            PrivateTable([1, 2], policy=policy_of(), ledger="sqlite://")


def test_the_commit_comes_before_the_data_and_the_noise() -> None:
    """The ledger knows of the spend when the engine runs, and every byte of noise comes after both."""
    seen: list[str] = []

    def source(n: int, /) -> bytes:
        seen.append(f"noise after {len(private_.ledger.unreleased())} reserved")
        return SeededSource(0)(n)

    private_ = private(source)
    engine = private_._engine

    class Watching:
        columns, write = engine.columns, engine.write

        def run(self, statement: Any) -> Any:
            seen.append(f"data after {len(private_.ledger.unreleased())} reserved")
            return engine.run(statement)

    private_._engine = Watching()
    private_.count(epsilon=1.0)
    assert seen[0] == "data after 1 reserved"
    assert set(seen[1:]) == {"noise after 1 reserved"}
    assert not private_.ledger.unreleased()


def test_an_engine_that_fails_after_the_commit_keeps_the_spend() -> None:
    private_ = private()
    engine = private_._engine

    class Failing:
        columns, write = engine.columns, engine.write

        def run(self, statement: Any) -> Any:
            return engine.aggregate("SELECT CAST(d AS INTEGER) FROM leakcap_source")

    private_._engine = Failing()
    with pytest.raises(DataError, match="stays in the ledger") as caught:
        private_.count(epsilon=1.0)
    chain: BaseException | None = caught.value
    while chain is not None:  # the engine's own words would quote the value that it could not read
        assert isinstance(chain, DataError)
        chain = chain.__cause__ or chain.__context__
    assert private_.budget()[0].spent == 1.0
    assert [entry.state for entry in private_.ledger.entries()] == ["reserved"]


def test_a_ledger_belongs_to_its_policy(tmp_path: Path) -> None:
    private_ = PrivateTable(rows_table(ROWS), policy=policy_of(), ledger=tmp_path / "l.db")
    private_.count(epsilon=1.0)
    wider = policy_of(columns={**COLUMNS, "x": {"bounds": [-1000.0, 10.0]}})
    with pytest.raises(LedgerError, match="another policy"):
        PrivateTable(rows_table(ROWS), policy=wider, ledger=tmp_path / "l.db")
    with Ledger.read(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        assert ledger.totals().epsilon == 1.0


def test_a_ledger_opened_by_hand_must_be_the_policys() -> None:
    policy = policy_of(caps={"epsilon": 0.3, "nats_per_person": 0.1})
    for dataset, text, caps, message in (
        ("tests", policy.fingerprint(), Caps(epsilon=0.4, nats_person=0.1), "other caps"),
        ("tests", policy.fingerprint(), Caps(epsilon=0.3), "other caps"),
        ("tests", "ab" * 32, Caps(epsilon=0.3, nats_person=0.1), "another policy"),
        ("other", policy.fingerprint(), Caps(epsilon=0.3, nats_person=0.1), "belongs to dataset `other`"),
    ):
        wrong = Ledger.open("sqlite://", dataset=dataset, policy=text, caps=caps)
        with wrong, pytest.raises(LedgerError, match=message):
            PrivateTable(rows_table(ROWS), policy=policy, ledger=wrong)
    right = Caps(epsilon=0.3, nats_person=0.1)
    with Ledger.open("sqlite://", dataset="tests", policy=policy.fingerprint(), caps=right) as ledger:
        assert PrivateTable(rows_table(ROWS), policy=policy, ledger=ledger).ledger is ledger


def test_a_preview_touches_nothing() -> None:
    private_ = private()
    private_._engine = None  # type: ignore[assignment]
    before = private_.ledger.head()
    queries = [
        Query(name="n", statistic="count", epsilon=0.1),
        Query(name="s", statistic="sum", column="x", epsilon=1.0),
    ]
    seen = private_.preview(queries)
    assert [item.error for item in seen] == [30.0, pytest.approx(10 * math.log(20), rel=1e-8)]
    assert seen == preview(queries, policy=private_.policy)
    assert private_.ledger.head() == before


def test_every_error_is_one_of_ours() -> None:
    with pytest.raises(LeakcapError):
        PrivateTable(rows_table(ROWS), policy={"dataset": "d"}, ledger="sqlite://")
    with pytest.raises(InvalidPolicy):
        PrivateTable(rows_table(ROWS), policy="no such file.toml", ledger="sqlite://")
    with pytest.raises(InvalidQuery):
        private().release([])


def test_a_release_explains_itself() -> None:
    assert private().count(epsilon=1.0).statement()


def test_a_release_is_printed_short_and_without_noisy_integers() -> None:
    private_ = private(caps={"epsilon": 9.0})
    one, several = private_.sum("x", epsilon=1.0), private_.count(by="d", epsilon=1.0)
    assert str(one).startswith("sum of x: ")
    assert "for ε = 1" in str(one)
    assert len(str(several).splitlines()) == 1 + len(several.rows)
    for release in (one, several):
        assert release.drawn is not None
        shown = repr(release) + repr(release.drawn)
        assert "numbers" not in shown
        assert "\n" not in repr(release)
        assert all(str(n) not in shown for n in release.drawn.parts[0].numbers if abs(n) > 999)


def test_a_forgotten_or_unknown_word_is_named() -> None:
    private_ = private()
    with pytest.raises(InvalidQuery, match="`epsilon` of `mean` is missing"):
        private_.mean("x")  # type: ignore[call-arg]
    with pytest.raises(InvalidQuery, match="`count` does not take `espilon`"):
        private_.count(espilon=0.1)  # type: ignore[call-arg]
    assert private_.ledger.entries() == []
    with pytest.raises(InvalidQuery, match="Nothing was released yet"):
        private_.statement()
    private_.count(epsilon=0.1)
    assert private_.statement().exposure.epsilon == 0.1


def left_in_the_log(ledger: Path) -> int:
    """How many bytes of spends are not in the file itself."""
    log = ledger.with_name(f"{ledger.name}-wal")
    return log.stat().st_size if log.exists() else 0


def test_a_table_lets_go_of_the_ledger_that_it_opened(tmp_path: Path) -> None:
    policy = policy_of()
    with PrivateTable(rows_table(ROWS), policy=policy, ledger=tmp_path / "own.db") as own:
        own.count(epsilon=0.1)
        assert left_in_the_log(tmp_path / "own.db")
    assert not left_in_the_log(tmp_path / "own.db")
    with Ledger.read(f"sqlite:///{tmp_path / 'own.db'}") as book:
        assert len(book.entries()) == 1


def test_also_where_it_could_not_be_opened(tmp_path: Path) -> None:
    gc.disable()
    try:
        with pytest.raises(LedgerError, match="no version 7"):
            PrivateTable(rows_table(ROWS), policy=policy_of(), ledger=tmp_path / "own.db", same_as=7)
        assert not left_in_the_log(tmp_path / "own.db")
    finally:
        gc.enable()


def test_a_ledger_that_was_given_stays_open() -> None:
    own = private()
    with PrivateTable(rows_table(ROWS), policy=own.policy, ledger=own.ledger) as table:
        table.count(epsilon=0.1)
    own.count(epsilon=0.1)
    assert len(own.ledger.entries()) == 2
