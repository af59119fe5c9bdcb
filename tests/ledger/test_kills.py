"""`kill -9` at random moments while a private table answers, and disks that end."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from leakcap.ledger import Ledger
from warmed import done_warmed

POLICY = """
dataset = "ward"
neighbours = "replace-one"
rows = 4
[columns.age]
bounds = [0.0, 120.0]
[caps]
epsilon = 100000.0
"""
_TABLE = """
import os, random, signal, sys, time
import pyarrow
from leakcap.errors import LeakcapError
from leakcap.ledger import Ledger
from leakcap.release import PrivateTable
ages = pyarrow.table({{"age": [31.0, 45.0, 72.0, 90.0]}})
def table():
    return PrivateTable(ages, policy="{folder}/policy.toml", ledger="{folder}/ward.db", version="1")
"""
_KILLS = """
table().ledger.close()
rng = random.Random(5)
answers = 0
for round in range({rounds}):
    children = []
    for _ in range({crowd}):
        inlet, outlet = os.pipe()
        child = os.fork()
        if child == 0:
            private = table()
            while True:
                release = private.count(epsilon=0.01, fresh={fresh})
                os.write(outlet, b"%d\\n" % release.value)  # the answer leaves
        os.close(outlet)
        children.append((child, open(inlet, "rb")))
    if round % 2:
        answers += children[0][1].readline().endswith(b"\\n")  # else some die before their first answer
    time.sleep(rng.random() * {seconds})
    for child, _ in children:
        os.kill(child, signal.SIGKILL)
        time.sleep(rng.random() * 0.005)
    for child, answered in children:
        os.waitpid(child, 0)
        answers += answered.read().count(b"\\n")
        answered.close()
    with Ledger.read("sqlite:///{folder}/ward.db") as book:
        book.verify()
        entries = book.entries()
        released = sum(entry.state == "released" for entry in entries)
        assert book.totals().epsilon == float("%.12g" % (len(entries) / 100))
        assert answers <= released or not {fresh}, "an answer without its spend"
        assert len(book.unreleased()) <= (round + 1) * {crowd}
print(answers, len(entries), released)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def run(code: str, **values: object) -> str:
    done = done_warmed((_TABLE + code).format(**values))
    assert done.returncode == 0, done.stderr
    return done.stdout


CROWD = {"crowd": 4, "seconds": 0.1}


@pytest.mark.parametrize("rounds", [6, pytest.param(125, marks=pytest.mark.slow)])
def test_an_answer_never_leaves_without_its_committed_spend(folder: Path, rounds: int) -> None:
    answers, entries, released = map(
        int, run(_KILLS, folder=folder, rounds=rounds, fresh=True, **CROWD).split()
    )
    assert 0 < answers <= released <= entries


def test_the_test_would_notice_an_answer_without_its_spend(folder: Path) -> None:
    """Planted: nothing is written."""
    early = """
class Early:
    id, people_from = 1, None
Ledger.reserve = lambda self, charges, data="": [Early()] * len(tuple(charges))
Ledger.mark_released = lambda self, ids, answers=None: None
"""
    with pytest.raises(AssertionError, match="an answer without its spend"):
        run(early + _KILLS, folder=folder, rounds=2, fresh=True, **CROWD)


def test_repeats_under_kills_cost_nothing(folder: Path) -> None:
    answers, entries, _ = map(int, run(_KILLS, folder=folder, rounds=4, fresh=False, **CROWD).split())
    assert answers >= 2
    assert entries <= 2 * CROWD["crowd"]  # at most until the first answer was recorded


_UNTIL_FULL = """
import resource
answers = 0
private = table()
while True:
    try:
        private.count(epsilon=0.01, fresh=True)
        answers += 1
    except LeakcapError as error:
        print(answers, type(error).__name__, str(error))
        break
"""


def full(folder: Path, before: str = "") -> tuple[int, str, str]:
    answers, kind, message = run(before + _UNTIL_FULL, folder=folder).strip().split(" ", 2)
    return int(answers), kind, message


def check_after(folder: Path, answers: int, room: str) -> None:
    with Ledger.read(f"sqlite:///{room}") as book:
        book.verify()
        released = sum(entry.state == "released" for entry in book.entries())
        assert released == answers
        assert len(book.unreleased()) <= 1


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of 400 KiB: a real one where root may mount it."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k,mode=0777", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        yield folder
        return
    (disk / "policy.toml").write_text(POLICY)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


LIMIT = """
import signal, resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
"""


def require_refused_when_full(folder: Path, limit: str) -> None:
    answers, kind, message = full(folder, limit)
    assert kind == "LedgerUnavailable"
    assert "cannot be written" in message
    assert answers > 0
    check_after(folder, answers, f"{folder}/ward.db")


def test_a_disk_that_fills_up(small_disk: Path) -> None:
    """Where no disk can be mounted, a limit on the size of files stands in for it."""
    require_refused_when_full(small_disk, "" if os.path.ismount(small_disk) else LIMIT)


def test_a_limit_on_the_size_of_files(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert soft == hard or soft < 0 or soft > 200_000
    require_refused_when_full(folder, LIMIT)
