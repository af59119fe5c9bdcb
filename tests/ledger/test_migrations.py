"""A ledger that the first version wrote, brought to this schema; and what is not migrated."""

from __future__ import annotations

import math
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from leakcap.errors import BudgetExceeded, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Spend, migrations
from leakcap.ledger.export import export
from leakcap.release import PrivateTable, Query, amend
from ledger.server import execute

DATA = Path(__file__).parent / "data"
DUMP = (DATA / "schema_1.sql").read_text(encoding="utf-8")
HEAD = "d55358223dc98b90a38f0cb6bd34e01966b3aa8c4f06216f356edae3c332811d"  # as schema 1 left it
WARD: dict[str, Any] = {
    "dataset": "ward",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 2.0, "delta": 1e-6, "nats_per_person": 1.0},
    "columns": {"d": {"keys": ["a", "b"]}, "x": {"bounds": [0.0, 10.0]}},
}
OWNER: dict[str, Any] = {
    "dataset": "patients",
    "policy": "ab12cd34ef56ab78",
    "caps": Caps(epsilon=0.9, nats_person=0.5),
}


@pytest.fixture
def old(url: str, file: Path) -> str:
    """The ledger of schema 1, in a file or on a server."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(DUMP)
    else:
        body = DUMP.replace("BEGIN TRANSACTION;", "").replace("COMMIT;", "")
        execute(url, *(statement for statement in body.split(";\n") if statement.strip()))
    return url


def do(url: str, file: Path, statement: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute(statement)
    else:
        execute(url, statement)


def test_an_older_schema_is_refused_without_permission(old: str) -> None:
    for opening in (lambda: Ledger.open(old, **OWNER), lambda: Ledger.read(old), lambda: Ledger.resume(old)):
        with pytest.raises(
            LedgerError, match=r"has schema 1, this leakcap reads 4\. .* `leakcap ledger migrate`"
        ):
            opening()


def test_a_migrated_ledger_goes_on_where_it_stood(old: str) -> None:
    assert Ledger.migrate(old) == (1, 4)
    assert Ledger.migrate(old) == (4, 4)
    with Ledger.open(old, **OWNER) as ledger:
        assert ledger.verify(anchor=HEAD).rows == 6  # old hashes stand, old anchors are good
        totals = ledger.totals()
        assert (totals.epsilon, totals.delta, totals.nats_person) == (0.6, 1e-7, 0.01625)
        assert (totals.nats_table, totals.entries) == (math.inf, 3)
        first, second, third = ledger.entries()
        assert (first.query, first.analyst, first.state) == ("malignant", "Dr. Ng", "released")
        assert first.details == {"mechanism": "discrete Laplace", "noise_scale_count": 10.0}
        assert (second.spend.nats_table, second.state) == (3.5, "reserved")
        assert (third.analyst, third.batch, third.data_version) == ("räume", 3, 1)
        (new,) = ledger.reserve([Charge("q", "count", Spend(0.3, nats_person=0.1))], data="now")
        assert (new.id, new.data_version) == (4, 2)
        with pytest.raises(BudgetExceeded, match=r"0 left of 0\.9"):
            ledger.reserve([Charge("q", "count", Spend(0.1))])
        ledger.verify(anchor=HEAD)


def test_answers_of_the_second_schema_are_repeated_after_its_migration(tmp_path: Path) -> None:
    """The dump is of a ledger that a leakcap with schema 2 wrote: three answers, a repeat, a lost spend."""
    with closing(sqlite3.connect(tmp_path / "two.db")) as connection:
        connection.executescript((DATA / "schema_2.sql").read_text(encoding="utf-8"))
    table = pyarrow.table({"d": ["a", "b", "b"], "x": [1.0, 2.0, 3.0]})
    asked = [
        Query(name="n", statistic="count", epsilon=0.5),
        Query(name="g", statistic="count", by=("d",), epsilon=0.25),
        Query(name="m", statistic="mean", column="x", epsilon=0.25),
    ]
    with pytest.raises(
        LedgerError, match=r"schema 2, this leakcap reads 4\. .* run `leakcap ledger migrate`"
    ):
        PrivateTable(table, policy=WARD, ledger=tmp_path / "two.db")
    assert Ledger.migrate(f"sqlite:///{tmp_path}/two.db") == (2, 4)
    private = PrivateTable(table, policy=WARD, ledger=tmp_path / "two.db", version="1")
    count, groups, mean = private.release(asked)
    assert all(release.repeated for release in (count, groups, mean))
    assert (count.value, [row.value for row in groups.rows], mean.value) == (6, [0, -3], 5.0406338723583355)
    totals = private.ledger.totals()
    assert (totals.epsilon, totals.entries) == (1.1, 4)
    assert len(private.ledger.seed) == 32
    private.ledger.verify(anchor="e343103ee0e6353e2f89a06ed8d1acb47e1a6429208226dc3a1a3aa535de1604")
    assert not private.count(where="d = 'a'", epsilon=0.5).repeated


def test_a_ledger_of_the_third_schema_keeps_its_answers_and_can_then_be_amended(tmp_path: Path) -> None:
    """The dump is of a ledger that a leakcap with schema 3 wrote: three answers, a repeat, a lost spend."""
    url = f"sqlite:///{tmp_path}/three.db"
    with closing(sqlite3.connect(tmp_path / "three.db")) as connection:
        connection.executescript((DATA / "schema_3.sql").read_text(encoding="utf-8"))
    assert Ledger.migrate(url) == (3, 4)
    more = WARD | {"columns": WARD["columns"] | {"y": {"bounds": [0.0, 1.0]}}}
    with pytest.raises(LedgerError, match="keeps only the fingerprint"):
        amend(more, url, reason="y is measured too")
    made = amend(more, url, reason="y is measured too", before=WARD)
    assert [change.words for change in made.changes] == ["`columns.y` new: bounds [0.0, 1.0]"]
    with pytest.raises(LedgerError, match="was amended at"):
        PrivateTable(pyarrow.table({"d": ["a"], "x": [1.0]}), policy=WARD, ledger=url)
    table = pyarrow.table({"d": ["a", "b", "b"], "x": [1.0, 2.0, 3.0], "y": [0.5, 0.5, 0.5]})
    private = PrivateTable(table, policy=more, ledger=url, version="1")
    count = private.count(epsilon=0.5)
    assert (count.repeated, count.value) == (True, 2)
    assert not private.mean("y", epsilon=0.25).repeated
    assert (private.ledger.totals().epsilon, private.ledger.totals().entries) == (1.35, 5)
    private.ledger.verify(anchor="38a83960d5bc7312332b4ba978b65154cb97118b24bc99119ee1d18fe4cae4ad")


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE leakcap_event SET epsilon = 1 WHERE seq = 3",
        "DELETE FROM leakcap_event WHERE seq = 5",
        "DELETE FROM leakcap_event WHERE seq = 2",
        "UPDATE leakcap_state SET cap_epsilon = 9000000000000",
        "UPDATE leakcap_state SET policy = 'ff'",
    ],
)
def test_an_edited_ledger_is_not_migrated(old: str, file: Path, edit: str) -> None:
    do(old, file, edit)
    with pytest.raises(LedgerError):
        Ledger.migrate(old)
    with pytest.raises(LedgerError, match="has schema 1"):
        Ledger.read(old)


def test_a_migration_that_fails_halfway_leaves_everything(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = migrations.STEPS[1]

    def broken(connection: Any) -> None:
        whole(connection)
        raise OSError("no space left on device")

    monkeypatch.setitem(migrations.STEPS, 1, broken)
    with pytest.raises(LedgerError, match="disk is full"):
        Ledger.migrate(old)
    monkeypatch.undo()
    assert Ledger.migrate(old) == (1, 4)


def test_steps_lead_from_one_version_to_the_next(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema yet to come, made up: its step runs after the first one's."""
    ran: list[int] = []
    monkeypatch.setattr(migrations, "VERSION", 5)
    monkeypatch.setattr("leakcap.ledger.schema.VERSION", 5)
    monkeypatch.setitem(migrations.STEPS, 4, lambda connection: ran.append(4))
    assert Ledger.migrate(old) == (1, 5)
    assert ran == [4]
    with Ledger.read(old) as ledger:
        ledger.verify(anchor=HEAD)


def test_every_ledger_has_a_secret_of_its_own_which_is_never_exported(old: str, file: Path) -> None:
    Ledger.migrate(old)
    with Ledger.open(old, **OWNER) as ledger, Ledger.open("sqlite://", **OWNER) as other:
        assert len(bytes.fromhex(ledger.seed)) == 16
        assert ledger.seed != other.seed
        assert ledger.seed not in export(ledger.entries(), "json") + export(ledger.entries(), "csv")
    with Ledger.read(old) as again:
        assert again.seed == ledger.seed
    do(old, file, "DELETE FROM leakcap_secret")
    with Ledger.open(old, **OWNER) as lost, pytest.raises(LedgerError, match="lost its seed"):
        lost.seed  # noqa: B018


def test_what_is_not_there_is_not_made(file: Path) -> None:
    with pytest.raises(LedgerError, match="There is no ledger"):
        Ledger.migrate(f"sqlite:///{file}")
    assert not file.exists()


def test_a_clock_that_goes_back_stops_a_migration(old: str) -> None:
    with pytest.raises(LedgerError, match="clock"):
        Ledger.migrate(old, clock=lambda: datetime(2020, 1, 1, tzinfo=UTC))


def test_a_copy_can_be_kept(tmp_path: Path) -> None:
    """What the refusal advises: the backup is as good as the original."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.executescript(DUMP)
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
    Ledger.migrate(f"sqlite:///{tmp_path}/a.db")
    assert Ledger.migrate(f"sqlite:///{tmp_path}/b.db") == (1, 4)
