"""A table in another process: the same data, the same ledger, one cap; nothing secret on the way."""

from __future__ import annotations

import copy
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow
import pyarrow.parquet
import pytest

from ending_with_us import with_us
from leakcap.credentials import may_hold_secret
from leakcap.errors import (
    DataError,
    InvalidParameter,
    InvalidPolicy,
    LeakcapError,
    LedgerError,
)
from leakcap.ledger import Caps, Charge, Ledger, Spend
from leakcap.ledger.database import connect
from leakcap.release import PrivateTable, attach
from leakcap.release.engine.portable import portable
from release.world import policy_of
from release.world import table as rows_table
from seeded import SeededSource

ROWS = [{"id": i, "x": float(i % 7), "d": "abc"[i % 3]} for i in range(60)]
SPENT = 0.125


def arrow() -> pyarrow.Table:
    return rows_table(ROWS).select(["id", "x", "d"])


def in_duckdb(folder: Path) -> dict[str, Any]:
    path, held = folder / "clinic.duckdb", arrow()
    with duckdb.connect(str(path)) as connection:
        connection.register("held", held)
        connection.execute("CREATE TABLE visits AS SELECT * FROM held")
    return {"data": path, "table": "visits"}


def in_parquet(folder: Path) -> dict[str, Any]:
    pyarrow.parquet.write_table(arrow(), folder / "t.parquet")
    return {"data": str(folder / "t.parquet")}


WAYS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "arrow": lambda folder: {"data": arrow()},
    "pandas": lambda folder: {"data": arrow().to_pandas()},
    "polars": lambda folder: {"data": polars.from_arrow(arrow())},
    "parquet": in_parquet,
    "duckdb": in_duckdb,
}


SPEND_ALL = f"""
import pickle, sys
from leakcap.errors import BudgetExceeded
table = pickle.load(sys.stdin.buffer)
print("ready", flush=True)
answered = 0
while True:
    try:
        table.count(epsilon={SPENT}, fresh=True)
    except BudgetExceeded as error:
        print(error.cap, answered)
        break
    answered += 1
"""


def test_two_processes_spend_under_one_cap(tmp_path: Path) -> None:
    table = PrivateTable(arrow(), policy=policy_of(caps={"epsilon": 4.0}), ledger=tmp_path / "l.db")
    table.count(epsilon=SPENT)
    told = pickle.dumps(table)
    pipe = subprocess.PIPE
    command = with_us([sys.executable, "-c", SPEND_ALL])
    others = [subprocess.Popen(command, stdin=pipe, stdout=pipe) for _ in range(2)]
    for other in others:
        assert other.stdin is not None
        other.stdin.write(told)
        other.stdin.close()
        other.stdin = None
    said = [other.communicate(timeout=120)[0].decode().split() for other in others]
    assert [(ready, cap) for ready, cap, _ in said] == [("ready", "epsilon")] * 2
    assert sum(int(answered) for _, _, answered in said) == 31
    assert table.budget()[0].left == 0.0
    table.ledger.verify()


@pytest.mark.parametrize("way", WAYS)
def test_the_copy_has_the_same_data_and_ledger(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = WAYS[way](tmp_path)
    if isinstance(given["data"], str | Path):
        given["data"] = Path(given["data"]).name  # as it is called here, and nowhere else
    table = PrivateTable(**given, policy=policy_of(), ledger="l.db", analyst="li")
    first = table.sum("x", by="d", epsilon=50.0)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    told = pickle.dumps(table)
    monkeypatch.chdir(elsewhere)
    copied = pickle.loads(told)
    before = table.budget()
    again = copied.sum("x", by="d", epsilon=50.0)
    assert again.repeated  # a copy of a frame, or the same file, is the same table
    assert again.rows == first.rows
    assert copied.budget() == table.budget() == before
    exact = [sum(row["x"] for row in ROWS if row["d"] == key) for key in "abc"]
    fresh = copied.sum("x", by="d", epsilon=50.0, fresh=True)
    assert all(abs(row.value - sum_) < 5 for row, sum_ in zip(fresh.rows, exact, strict=True))
    assert table.ledger.entries()[-1].analyst == copied.analyst == "li"
    assert copied.ledger.seed == table.ledger.seed
    assert not list(elsewhere.iterdir())
    assert {Path(one).is_absolute() for one in copied.files[:-1]} <= {True}


def test_nothing_secret_is_in_the_pickle(tmp_path: Path) -> None:
    table = PrivateTable(**in_parquet(tmp_path), policy=policy_of(), ledger=tmp_path / "l.db")
    seed = table.ledger.seed  # which is kept in memory from here on
    table.count(epsilon=0.5)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        told = pickle.dumps(table, protocol=protocol)
        assert seed.encode() not in told
        assert bytes.fromhex(seed) not in told
    assert len(told) < 5_000


SECRETS = [
    "://ann:s3cret@db/x",
    "://db/x?password=s3cret",
    "://db/x?sslpassword=s3cret",
    "://db/x?options=-cx%3Ds3cret",
]


@pytest.mark.parametrize("rest", SECRETS)
def test_a_url_with_a_password_is_refused(rest: str) -> None:
    with pytest.raises(DataError, match="a pickle would carry it") as caught:
        portable(f"postgresql{rest}")
    assert "s3cret" not in str(caught.value)
    with pytest.raises(LedgerError, match="a pickle would carry it") as refused:
        connect(f"postgresql+psycopg{rest}").address()
    assert "s3cret" not in str(refused.value)
    assert may_hold_secret("sc://h:1/;token=s3cret")


def test_a_url_without_one_travels() -> None:
    for url in ("postgresql+psycopg://ann@db:5432/x", "postgresql+psycopg://db/x?sslmode=require"):
        assert portable(url) == connect(url).address() == url


def lazy() -> Any:
    return polars.from_arrow(arrow()).lazy()  # type: ignore[union-attr]


REFUSED: dict[str, tuple[Callable[[Path], PrivateTable], type[LeakcapError], str]] = {
    "ledger in memory": (
        lambda folder: PrivateTable(arrow(), policy=policy_of(), ledger="sqlite://"),
        LedgerError,
        "in memory cannot be pickled",
    ),
    "an engine": (
        lambda folder: PrivateTable(attach(arrow()), policy=policy_of(), ledger=folder / "l.db"),
        DataError,
        "over a DuckDB cannot be pickled",
    ),
    "a lazy frame": (
        lambda folder: PrivateTable(lazy(), policy=policy_of(), ledger=folder / "l.db"),
        DataError,
        "over a LazyFrame cannot be pickled",
    ),
    "a source of its own": (
        lambda folder: PrivateTable(
            arrow(), policy=policy_of(), ledger=folder / "l.db", source=SeededSource(0)
        ),
        InvalidParameter,
        "a copy would draw the same noise",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_travel_is_one_line(name: str, tmp_path: Path) -> None:
    make, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words) as caught:
        pickle.dumps(make(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_clock_of_its_own_stays_here(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    ledger = Ledger.open(
        url, dataset="d", policy="ab12cd34", caps=Caps(1.0), clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)
    )
    with pytest.raises(LedgerError, match="clock"):
        pickle.dumps(ledger)


def test_a_ledger_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    table = PrivateTable(arrow(), policy=policy_of(), ledger=tmp_path / "l.db")
    table.count(epsilon=0.5)
    told = pickle.dumps(table)
    table.ledger.close()
    (tmp_path / "l.db").unlink()
    with pytest.raises(LedgerError, match="There is no ledger"):
        pickle.loads(told)
    assert not (tmp_path / "l.db").exists()


def test_neither_another_ledger_nor_an_older_copy_is_taken_for_it(tmp_path: Path) -> None:
    table = PrivateTable(arrow(), policy=policy_of(), ledger=tmp_path / "l.db")
    table.ledger.close()
    shutil.copy(tmp_path / "l.db", tmp_path / "old.db")
    table.count(epsilon=0.5)
    told = pickle.dumps(table)
    pickle.loads(told).ledger.close()
    table.ledger.close()
    shutil.copy(tmp_path / "old.db", tmp_path / "l.db")
    with pytest.raises(LedgerError, match="lacks the last entry"):
        pickle.loads(told)


def test_a_policy_that_was_changed_stays_refused(tmp_path: Path) -> None:
    table = PrivateTable(arrow(), policy=policy_of(), ledger=tmp_path / "l.db")
    table.policy.columns["x"].__dict__["bounds"] = (0.0, 1.0)
    with pytest.raises((InvalidPolicy, LedgerError)):
        pickle.loads(pickle.dumps(table)).count(epsilon=0.5)


def test_a_ledger_for_looking_stays_one(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    Ledger.open(url, dataset="d", policy="ab12cd34", caps=Caps(1.0)).close()
    with pytest.raises(LedgerError, match="opened for reading"):
        pickle.loads(pickle.dumps(Ledger.read(url))).reserve([Charge("q", "t", Spend(epsilon=0.1))])


@pytest.mark.parametrize("given", [False, True], ids=["its own", "one that was given"])
def test_a_worker_that_closes_its_table_leaves_no_log(given: bool, tmp_path: Path) -> None:
    """What the copy opened it closes: the file alone has all that was spent."""
    path, policy = tmp_path / "l.db", policy_of()
    held = PrivateTable(arrow(), policy=policy, ledger=path)
    table = PrivateTable(arrow(), policy=policy, ledger=held.ledger) if given else held
    told = pickle.dumps(table)
    held.close()
    with pickle.loads(told) as copied:
        copied.count(epsilon=SPENT)
    assert [one.name for one in tmp_path.iterdir()] == ["l.db"]
    shutil.copy(path, tmp_path / "copy.db")
    with Ledger.read(f"sqlite:///{tmp_path / 'copy.db'}") as alone:
        assert alone.totals().epsilon == SPENT


def test_a_copy_that_cannot_be_opened_leaves_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "ledger"
    folder.mkdir()
    given = in_parquet(tmp_path)
    with PrivateTable(**given, policy=policy_of(), ledger=folder / "l.db") as table:
        table.count(epsilon=SPENT)
        told = pickle.dumps(table)
    Path(given["data"]).unlink()
    with pytest.raises(DataError, match="no file"):
        pickle.loads(told)
    assert [one.name for one in folder.iterdir()] == ["l.db"]


def test_a_shallow_copy_leaves_a_ledger_in_memory_to_its_original() -> None:
    table = PrivateTable(arrow(), policy=policy_of(), ledger="sqlite://")
    copy.copy(table).close()
    table.count(epsilon=SPENT)
    assert table.ledger.totals().epsilon == SPENT


def test_a_ledger_in_memory_that_was_closed_says_so(tmp_path: Path) -> None:
    """A file is opened again by whoever asks again."""
    table = PrivateTable(arrow(), policy=policy_of(), ledger="sqlite://")
    table.close()
    with pytest.raises(LedgerError, match="`sqlite://` was in memory and was closed: it is gone"):
        table.count(epsilon=SPENT)
    with pytest.raises(LedgerError, match="was closed"):
        table.budget()
    table = PrivateTable(arrow(), policy=policy_of(), ledger=tmp_path / "l.db")
    table.close()
    table.count(epsilon=SPENT)
    table.close()
    assert [one.name for one in tmp_path.iterdir()] == ["l.db"]
