"""What goes wrong outside: one clear line, and nothing spent."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger import Caps, Ledger, database
from warmed import done_warmed

POLICY = "ab12cd34ef56ab78"
OWNER = {"dataset": "patients", "policy": POLICY, "caps": Caps(epsilon=0.9)}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("hospital.db", "URL cannot be read"),
        ("", "URL cannot be read"),
        ("mysql://user:secret@host/x", "cannot live in `mysql`"),
        ("nonsense://x", "cannot live in `nonsense`"),
        ("postgresql+nonsense://user:secret@host/x", "needs the driver"),
        ("postgresql://user:secret@host:port/x", "URL cannot be read"),
        ("sqlite:///x.db?mode=memory", "nothing else"),
        ("sqlite+aiosqlite:///x.db", "nothing else"),
        ("sqlite:////no/such/directory/x.db", "directory of the ledger .* does not exist"),
        ("sqlite:////tmp", "is a directory"),
    ],
)
@pytest.mark.parametrize("opening", ["open", "read"])
def test_urls_that_cannot_be(url: str, message: str, opening: str) -> None:
    with pytest.raises(LedgerError, match=message) as refusal:
        Ledger.open(url, **OWNER) if opening == "open" else Ledger.read(url)
    assert "\n" not in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_reading_creates_nothing(file: Path) -> None:
    with pytest.raises(LedgerError, match=r"There is no ledger `sqlite:///.*hospital\.db`"):
        Ledger.read(f"sqlite:///{file}")
    assert not file.exists()
    file.touch()
    with pytest.raises(LedgerError, match="There is no ledger in"):
        Ledger.read(f"sqlite:///{file}")
    assert file.read_bytes() == b""
    with pytest.raises(LedgerError, match="There is no ledger in"):
        Ledger.read("sqlite://")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dataset": "others"}, "belongs to dataset `patients`, not `others`"),
        ({"policy": "0011223344556677"}, r"another policy \(ab12cd34ef56, this one is 001122334455\)"),
        ({"caps": Caps(epsilon=1.0)}, "made with other caps"),
        ({"caps": Caps(epsilon=0.9, delta=0.0)}, "made with other caps"),
    ],
)
def test_a_foreign_ledger_is_refused(opened: Any, charge: Any, changed: dict[str, Any], message: str) -> None:
    ledger = opened()
    ledger.require_owner(**OWNER)
    ledger.reserve([charge()])
    with pytest.raises(LedgerError, match=message):
        opened(**changed)
    with pytest.raises(LedgerError, match=message):
        ledger.require_owner(**OWNER | changed)


@pytest.mark.parametrize(
    "changed", [{"policy": "0011223344556677"}, {"caps": Caps(epsilon=0.5)}, {"caps": Caps(epsilon=9.0)}]
)
def test_what_was_never_used_takes_a_corrected_policy(
    opened: Any, charge: Any, file: Path, changed: dict[str, Any]
) -> None:
    first = opened()
    seed = first.seed
    ledger = opened(**changed)
    ledger.require_owner(**OWNER | changed)
    assert (ledger.seed, ledger.head().rows, ledger.amendments()) == (seed, 1, [])
    assert ledger.balances()[0].cap == changed.get("caps", Caps(epsilon=0.9)).epsilon
    with pytest.raises(LedgerError, match=r"another policy|other caps"):
        first.require_owner(**OWNER)  # whoever opened it before may not spend under what it was
    ledger.reserve([charge()])
    ledger.verify()
    with pytest.raises(LedgerError, match=r"another policy|other caps"):
        opened()


@pytest.mark.parametrize(
    "owner", [{"dataset": ""}, {"policy": "not hex"}, {"policy": "ab"}, {"dataset": "a\0"}]
)
def test_an_owner_that_is_none(opened: Any, file: Path, owner: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter):
        opened(**owner)
    assert not file.exists()


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (0, "No leakcap ever wrote"),
        (1, "before leakcap's first release.* caps lower by what the old one has spent"),
        (3, "before leakcap's first release.* caps lower by what the old one has spent"),
        (7, "before leakcap's first release.* caps lower by what the old one has spent"),
        (10, "before leakcap's first release.* caps lower by what the old one has spent"),
        (12, "newer leakcap: upgrade"),
        (1000, "newer leakcap: upgrade"),
    ],
)
def test_other_schemas_are_refused(opened: Any, sql: Any, file: Path, version: int, message: str) -> None:
    opened().close()
    sql(f"UPDATE leakcap_schema SET version = {version}")
    with pytest.raises(LedgerError, match=message):
        opened()
    with pytest.raises(LedgerError, match=message):
        Ledger.read(f"sqlite:///{file}")


def test_another_programs_file_is_left_alone(opened: Any, sql: Any, file: Path) -> None:
    sql("CREATE TABLE patients (id)")
    before = file.read_bytes()
    with pytest.raises(LedgerError, match="other tables"):
        opened()
    assert file.read_bytes() == before


def test_a_file_that_is_not_sqlite(opened: Any, file: Path) -> None:
    file.write_bytes(b"id,diagnosis\n1,malignant\n" * 100)
    before = file.read_bytes()
    with pytest.raises(LedgerError, match="is not an SQLite file"):
        opened()
    with pytest.raises(LedgerError, match="is not an SQLite file"):
        Ledger.read(f"sqlite:///{file}")
    assert file.read_bytes() == before


def test_a_damaged_file(opened: Any, charge: Any, file: Path) -> None:
    opened().reserve([charge()])
    opened().close()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    damaged = file.with_name("damaged.db")
    damaged.write_bytes(content)
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger.read(f"sqlite:///{damaged}")


def test_a_file_that_another_process_holds(
    opened: Any, charge: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Before it is opened: a connection that is kept would wait for the minute that it was made with.
    monkeypatch.setattr(database, "BUSY_SECONDS", 0)
    ledger = opened()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="is busy: another process held it"):
            ledger.reserve([charge()])
        assert ledger.totals().epsilon == 0.0
        other.execute("ROLLBACK")
    ledger.reserve([charge()])
    assert ledger.totals().epsilon == 0.1


@pytest.fixture
def full_disk() -> Iterator[None]:
    """SQLite's own limit on a file's pages, as a disk that has no more."""

    def limit(connection: Any, _: object) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {max(pages, 1)}").close()

    event.listen(Engine, "connect", limit)
    yield
    event.remove(Engine, "connect", limit)


def test_a_full_disk(opened: Any, charge: Any, full_disk: None, sql: Any, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="the disk is full"):
        Ledger.open(f"sqlite:///{tmp_path}/fresh.db", **OWNER)
    event_, state = "SELECT count(*), max(seq) FROM leakcap_event", "SELECT * FROM leakcap_state"
    filled = done_warmed(_FILL.format(url=f"sqlite:///{tmp_path}/hospital.db", policy=POLICY))
    assert filled.returncode == 0, filled.stderr  # the ledger was created without the limit
    ledger = opened(Caps(epsilon=1000.0))
    before = sql(event_, state)
    while True:
        try:
            ledger.reserve([charge(0.001)])
        except LedgerError as refusal:
            assert str(refusal).endswith("cannot be written: the disk is full.")  # noqa: PT017
            break
        before = sql(event_, state)
    assert sql(event_, state) == before
    ledger.verify()


_FILL = """
from leakcap.ledger import *
ledger = Ledger.open({url!r}, dataset="patients", policy={policy!r}, caps=Caps(epsilon=1000.0))
ledger.reserve([Charge("q", "", Spend(0.1))])
ledger.close()
"""

_AS_NOBODY = """
import os, sys
from leakcap.errors import LedgerError
from leakcap.ledger import *
url = "sqlite:///" + sys.argv[1]
caps, tenth = Caps(epsilon=0.9), [Charge("q", "", Spend(epsilon=0.1))]
with Ledger.read(url), Ledger.open("sqlite://", dataset="d", policy="0" * 8, caps=caps) as memory:
    memory.reserve(tenth)  # everything is imported while root still may
if os.geteuid() == 0: os.setuid(65534)
with Ledger.read(url) as ledger:
    print(ledger.verify().rows, ledger.totals().epsilon)
def spend():
    try:
        ledger = Ledger.open(url, dataset="patients", policy=sys.argv[2], caps=caps)
        ledger.reserve(tenth)
    except LedgerError as error:
        print(error)
spend()
os.access = lambda *_: True  # the rights were taken away only after the look
spend()
"""


@pytest.mark.parametrize("directory_too", [True, False])
def test_a_read_only_file_can_be_read_and_not_spent_from(charge: Any, directory_too: bool) -> None:
    # Not under pytest's own directory, which only its user may enter: root drops its rights for this.
    directory = Path(tempfile.mkdtemp())
    try:
        path = directory / "hospital.db"
        with Ledger.open(f"sqlite:///{path}", **OWNER) as ledger:
            ledger.reserve([charge()])
        path.chmod(0o444)
        directory.chmod(0o555 if directory_too else 0o777)
        done = done_warmed(_AS_NOBODY, str(path), POLICY)
        assert done.returncode == 0, done.stderr
    finally:
        directory.chmod(stat.S_IRWXU)
        shutil.rmtree(directory)
    assert done.stdout.splitlines() == [
        "2 0.1",
        f"The ledger `sqlite:///{path}` cannot be written: the file or its directory is read-only.",
        f"The ledger `sqlite:///{path}` cannot be written: the file or its directory is read-only.",
    ]


def test_a_kill_between_commit_and_release_keeps_the_spend(started: Any, opened: Any, charge: Any) -> None:
    process = started(
        "entry, = ledger.reserve([Charge('q', '', Spend(epsilon=0.5))])\n"
        "print(entry.id, flush=True)\n"
        "time.sleep(60)"
    )
    assert process.stdout.readline() == "1\n"
    process.kill()
    process.wait()
    ledger = opened()
    assert [(entry.id, entry.spend.epsilon) for entry in ledger.unreleased()] == [(1, 0.5)]
    assert ledger.balances()[0].left == 0.4
    ledger.verify()


_KILLS = """
import random, signal
rng = random.Random(2)
hundredth = [Charge("q", "", Spend(epsilon=0.01))]
for round in range({rounds}):
    inlet, outlet = os.pipe()
    child = os.fork()
    if child == 0:
        while True:
            entry, = ledger.reserve(hundredth)
            os.write(outlet, b"%9d\\n" % entry.id)  # the answer leaves
            ledger.mark_released([entry.id])
    os.close(outlet)
    with open(inlet, "rb") as answers:
        answered = [int(answers.readline())]
        time.sleep(rng.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        answered += map(int, answers)
    head, entries = ledger.verify(), ledger.totals().entries
    assert max(answered) <= entries, "an answer without its spend"
    assert ledger.totals().epsilon == entries / 100
    assert len(ledger.unreleased()) <= round + 1
print(entries, len(ledger.unreleased()))
"""


@pytest.mark.parametrize("rounds", [10, pytest.param(500, marks=pytest.mark.slow)])
def test_kills_at_random_moments_never_leave_an_answer_without_its_spend(started: Any, rounds: int) -> None:
    process = started(_KILLS.format(rounds=rounds), "Caps(epsilon=100000.0)")
    entries, unreleased = map(int, process.communicate()[0].split())
    assert entries >= rounds >= unreleased


_FORK = """
from leakcap.errors import LedgerError
memory = Ledger.open("sqlite://", dataset="d", policy="0" * 8, caps=Caps(epsilon=0.9))
tenth = [Charge("q", "", Spend(epsilon=0.1))]
ledger.reserve(tenth)
if os.fork() == 0:
    ledger.reserve(tenth)
    try:
        memory.reserve(tenth)
    except LedgerError as refusal:
        print(refusal, flush=True)
    os._exit(0)
os.wait()
print(ledger.verify().rows)
"""


def test_a_fork_shares_a_file_and_refuses_memory(started: Any, opened: Any) -> None:
    process = started(_FORK)
    assert process.stdout.read().splitlines() == [
        "A ledger in memory cannot follow a fork. Open a file: `sqlite:///ledger.db`.",
        "3",
    ]
    assert opened().totals().epsilon == 0.2
