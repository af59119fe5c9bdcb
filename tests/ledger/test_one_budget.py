"""No move, backup or restore leaves a budget at two places, or loses what a file's log holds."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from command_line import leakcap
from leakcap import ledger as package
from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger import Anchor, Charge, Ledger, Spend, backup, move, restore
from leakcap.ledger.admission import admit_dataset
from leakcap.ledger.amending import Proposed
from leakcap.ledger.custody import moving
from leakcap.ledger.database import Database, connect
from ledger.conftest import CAPS, POLICY

# They open nothing that is spent from: what they are for is asked by the others.
PARTS = {"absent", "connect", "existing", "standing", "require_gone"}
ADDRESSES = {"url", "source", "target", "backup"}
SERVER = "postgresql+psycopg://ann@127.0.0.1:1/hospital"


def open_(url: str) -> Ledger:
    return Ledger.open(url, dataset="patients", policy=POLICY, caps=CAPS)


def spend(url: str, name: str = "sick", epsilon: float = 0.1) -> None:
    with open_(url) as ledger:
        (entry,) = ledger.reserve([Charge(name, name, Spend(epsilon))])
        ledger.mark_released([entry.id])


def doors() -> Iterator[tuple[str, str]]:
    """Every public function of the ledger's package that takes an address, and the name that it has there."""
    for info in pkgutil.walk_packages(package.__path__, "leakcap.ledger."):
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            verbs = [found]
            if inspect.isclass(found):
                verbs = [getattr(found, one) for one in vars(found) if not one.startswith("_")]
            for verb in verbs:
                if (inspect.isfunction(verb) or inspect.ismethod(verb)) and verb.__name__ not in PARTS:
                    taken = inspect.signature(verb).parameters
                    for place in ADDRESSES & set(taken):
                        if taken[place].annotation == "str":
                            yield verb.__qualname__, place


def test_a_renamed_ledger_that_lacks_its_log_is_refused_at_every_door(tmp_path: Path) -> None:
    """A process was killed, and the file renamed: its last spend is in the log that was left."""
    file, away = tmp_path / "a.db", tmp_path / "away"
    away.mkdir()
    open_(f"sqlite:///{file}").close()
    backup(f"sqlite:///{file}", tmp_path / "a.backup")
    spend(f"sqlite:///{tmp_path / 'other.db'}")
    with open_(f"sqlite:///{file}") as ledger:
        ledger.reserve([Charge("sick", "sick", Spend(0.9))])
        shutil.copy(file, away / "b.db")
        shutil.copy(f"{file}-wal", away / "a.db-wal")
    file.unlink()
    url, kept, free = f"sqlite:///{away / 'b.db'}", f"sqlite:///{tmp_path / 'a.backup'}", tmp_path / "free"
    proposed = Proposed(json.dumps({"dataset": "visits"}), CAPS, "the same people")
    lost = {
        ("Ledger.open", "url"): lambda: open_(url),
        ("Ledger.read", "url"): lambda: Ledger.read(url),
        ("Ledger.resume", "url"): lambda: Ledger.resume(url),
        ("admit_dataset", "url"): lambda: admit_dataset(url, proposed),
        ("backup", "source"): lambda: backup(url, free),
        ("move", "source"): lambda: move(url, f"sqlite:///{free}"),
        ("move", "target"): lambda: move(f"sqlite:///{tmp_path / 'other.db'}", url),
        ("restore", "target"): lambda: restore(kept, url),
    }
    nothing_spent = {("restore", "backup")}
    assert set(doors()) == set(lost) | nothing_spent
    before = (away / "b.db").read_bytes()
    for door, enter in lost.items():
        with pytest.raises(LedgerError, match=r"log `a\.db-wal` holds entries that the ledger .* lacks"):
            enter()
        assert not free.exists(), door
    with pytest.raises(LedgerError, match="holds entries"):
        move(url, f"sqlite:///{free}", preview=True)
    assert (away / "b.db").read_bytes() == before
    (away / "b.db").rename(away / "a.db")
    with Ledger.read(f"sqlite:///{away / 'a.db'}") as book:
        assert book.totals().entries == 1


@pytest.fixture
def saved(file: Path, tmp_path: Path) -> Anchor:
    """A ledger with a spend, and its backup."""
    spend(f"sqlite:///{file}")
    return backup(f"sqlite:///{file}", tmp_path / "a.backup").anchor


def put(tmp_path: Path, name: str, anchor: Anchor | str, **options: Any) -> None:
    restore(f"sqlite:///{tmp_path / 'a.backup'}", f"sqlite:///{tmp_path / name}", anchor=anchor, **options)


EDITS = {
    "an old row": "UPDATE leakcap_event SET software = 'x' WHERE seq = 2",
    "the first hash": f"UPDATE leakcap_event SET hash = '{'0' * 64}' WHERE seq = 1",
    "a sum": "UPDATE leakcap_state SET epsilon = 0",
    "the schema": "UPDATE leakcap_schema SET version = 1000",
}


@pytest.mark.parametrize("how", ["a hard link", "no database", "a folder", *EDITS])
def test_what_may_take_spends_still_is_not_gone(
    file: Path, tmp_path: Path, saved: Anchor, sql: Callable[[str], Any], how: str
) -> None:
    if how == "a hard link":
        (tmp_path / "link.db").hardlink_to(file)
    elif how == "no database":
        file.write_bytes(b"x" * 4096)
    elif how == "a folder":
        file.unlink()
        file.mkdir()
    else:
        sql(EDITS[how])
    unseen = r"is gone from `.*hospital\.db` cannot be seen: .* Put what is there aside"
    for options in ({}, {"book_lost": True, "reason": "why"}, {"gone": True, "reason": "it is a file"}):
        with pytest.raises(LedgerError, match=unseen):
            put(tmp_path, "b.db", saved, **options)
    assert not (tmp_path / "b.db").exists()
    file.rename(tmp_path / "aside")
    put(tmp_path, "b.db", saved)
    spend(f"sqlite:///{tmp_path / 'b.db'}")


@pytest.mark.parametrize("how", ["nothing", "an empty file", "another ledger", "no folder"])
def test_what_is_gone_is_restored_elsewhere(file: Path, tmp_path: Path, how: str) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    spend(f"sqlite:///{folder / 'a.db'}")
    anchor = backup(f"sqlite:///{folder / 'a.db'}", tmp_path / "a.backup").anchor
    shutil.rmtree(folder)
    if how != "no folder":
        folder.mkdir()
    if how == "an empty file":
        (folder / "a.db").touch()
    elif how == "another ledger":
        spend(f"sqlite:///{folder / 'a.db'}")
    put(tmp_path, "b.db", anchor)
    with Ledger.read(f"sqlite:///{tmp_path / 'b.db'}") as book:
        assert book.verify(anchor=anchor.head).rows == anchor.rows + 1


def test_a_server_that_cannot_be_reached_is_gone_only_by_somebody_s_word(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(f"sqlite:///{file}")
    with monkeypatch.context() as patched:
        patched.setattr(Database, "whereabouts", lambda _: SERVER)
        anchor = backup(f"sqlite:///{file}", tmp_path / "a.backup").anchor
    for options in ({}, {"book_lost": True, "reason": "why"}):
        with pytest.raises(LedgerError, match=r"cannot be seen: .* cannot be reached.* `--gone` with"):
            put(tmp_path, "b.db", anchor, **options)
    with pytest.raises(InvalidParameter, match="what became of the server"):
        put(tmp_path, "b.db", anchor, gone=True)
    words = ["--anchor", anchor.head, "--gone", "--reason", "the server burned down"]
    done = leakcap("ledger", "restore", str(tmp_path / "a.backup"), str(tmp_path / "b.db"), *words)
    assert done.returncode == 0, done.stderr
    with Ledger.read(f"sqlite:///{tmp_path / 'b.db'}") as book:
        book.verify(anchor=anchor.head)


def test_a_moved_ledger_comes_back_from_an_earlier_backup_where_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spend("sqlite:///hospital.db")
    anchor = backup("sqlite:///hospital.db", "a.backup").anchor
    move("sqlite:///hospital.db", "sqlite:///b.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # what was recorded says where it is from any place
    with pytest.raises(LedgerError, match="is whole, and has all that the backup has"):
        put(tmp_path, "b.db", anchor)
    (tmp_path / "b.db").unlink()
    for other in ("c.db", "hospital.db"):
        with pytest.raises(LedgerError, match=r"b\.db"):
            put(tmp_path, other, anchor)
    put(tmp_path, "b.db", anchor)
    spend(f"sqlite:///{tmp_path / 'b.db'}")
    move(f"sqlite:///{tmp_path / 'b.db'}", f"sqlite:///{tmp_path / 'c.db'}")
    for place in ("b.db", "d.db"):
        with pytest.raises(LedgerError, match=r"c\.db"):
            put(tmp_path, place, anchor)


@pytest.mark.parametrize("to", ["two.db", "three.db"])
def test_of_two_moves_at_once_one_is_made_and_nothing_is_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    source, winner = (f"sqlite:///{tmp_path / name}" for name in ("one.db", "two.db"))
    spend(source)
    look = moving._require_free

    def looked(target: str, label: str) -> None:
        look(target, label)
        monkeypatch.setattr(moving, "_require_free", look)
        move(source, winner)

    monkeypatch.setattr(moving, "_require_free", looked)
    if to == "two.db":
        assert move(source, winner).entries == 1
    else:
        with pytest.raises(LedgerError, match=r"was moved to `.*two\.db`"):
            move(source, f"sqlite:///{tmp_path / to}")
    assert not (tmp_path / "three.db").exists()
    spend(winner)


def test_a_shorter_ledger_that_went_another_way_is_no_mishap(file: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{file}"
    spend(url)
    shutil.copy(file, tmp_path / "old.db")
    for name in ("a", "b", "c"):
        spend(url, name)
    anchor = backup(url, tmp_path / "a.backup").anchor
    shutil.copy(tmp_path / "old.db", file)
    spend(url, "other")
    for known in (None, anchor):
        with pytest.raises(LedgerError, match="went another way than the backup, and has no more rows"):
            restore(f"sqlite:///{tmp_path / 'a.backup'}", url, anchor=known)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": "9"},
        {"rows": True},
        {"rows": -1},
        {"entries": 1.5},
        {"head": "0" * 63},
        {"head": 7},
        {"dataset": 1},
        {"policy": None},
        {"curve": ["0.1"]},
        {"spent": {"epsilon": "1/0"}},
        {"spent": []},
    ],
    ids=str,
)
def test_an_anchor_that_no_ledger_wrote_is_refused(
    file: Path, tmp_path: Path, saved: Anchor, wrong: dict[str, Any]
) -> None:
    told = asdict(saved)
    if isinstance(wrong.get("spent"), dict):
        wrong = {"spent": told["spent"] | wrong["spent"]}
    anchor = tmp_path / "anchor.json"
    anchor.write_text(json.dumps({"anchor": told | {"head": "1" * 64, "rows": 99} | wrong}))
    file.unlink()
    with pytest.raises(LedgerError, match="cannot be read"):
        put(tmp_path, "hospital.db", str(anchor))


def test_an_anchor_of_another_data_set_is_refused(file: Path, tmp_path: Path, saved: Anchor) -> None:
    file.unlink()
    with pytest.raises(LedgerError, match="of data set `visits`, the backup of `patients`"):
        put(tmp_path, "hospital.db", replace(saved, head="1" * 64, rows=99, dataset="visits"))


def test_a_copy_that_is_being_made_outlasts_a_loss_of_power(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a write-ahead log a commit is on the disk once the directory is, too."""
    spend(f"sqlite:///{file}")
    one = connect(f"sqlite:///{tmp_path / 'copy.db'}")
    with one.writing() as here:
        found = [here.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    one.close()
    assert found == ["delete", 3]  # 3 is EXTRA
    synced, fsync = [], os.fsync

    def noted(number: int) -> None:
        # The backup has its name already.
        synced.append((stat.S_ISDIR(os.fstat(number).st_mode), (tmp_path / "a.backup").exists()))
        fsync(number)

    monkeypatch.setattr(os, "fsync", noted)
    backup(f"sqlite:///{file}", tmp_path / "a.backup")
    assert synced == [(True, True)]
