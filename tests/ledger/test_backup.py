"""Backups: one moment of a ledger, from which nothing is spent; restoring never gives budget back."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, LedgerError
from leakcap.ledger import Anchor, Caps, Charge, Ledger, Limits, Slot, SlotPlan, Spend, backup, move, restore
from leakcap.ledger.ticks import AMOUNTS
from ledger.killed import BOUNDS, killed

POLICY = "ab12cd34ef56ab78"
CAPS = Caps(epsilon=2.0, delta=1e-6)


@pytest.fixture
def saved(tmp_path: Path) -> str:
    return str(tmp_path / "ward.backup")


def open_(url: str, caps: Caps = CAPS) -> Ledger:
    return Ledger.open(url, dataset="patients", policy=POLICY, caps=caps)


def spend(url: str, name: str, epsilon: float = 0.1, caps: Caps = CAPS) -> None:
    with open_(url, caps) as ledger:
        (entry,) = ledger.reserve([Charge(name, name, Spend(epsilon))], data="t")
        ledger.mark_released([entry.id], answers={entry.id: [[7]]})


def left(url: str) -> float:
    """The ε that the ledger would still let somebody spend."""
    with Ledger.read(url) as book:
        return Fraction(repr(book.balances()[0].left))  # type: ignore[return-value]


def gone(url: str, tmp_path: Path) -> None:
    """The disk is lost: nothing stands at the address any more."""
    for left_over in tmp_path.glob("hospital.db*"):
        left_over.unlink()
    assert url.endswith("hospital.db")


def test_a_backup_is_the_ledger_at_one_moment_and_spends_nothing(url: str, saved: str) -> None:
    spend(url, "sick")
    made = backup(url, saved, by="ann")
    spend(url, "later")
    with Ledger.read(url) as book, Ledger.read(f"sqlite:///{saved}") as kept:
        book.verify(anchor=made.anchor.head)
        assert kept.verify(anchor=made.anchor.head).rows == made.anchor.rows + 1 == 4
        assert kept.entries() == book.entries()[:1]
        assert made.anchor.entries == 1
    assert stat.S_IMODE(Path(saved).stat().st_mode) == 0o600
    for opening in (open_, Ledger.resume):
        with pytest.raises(LedgerError, match="is a backup"):
            opening(f"sqlite:///{saved}")


def test_only_a_later_backup_of_the_same_ledger_replaces_one(url: str, saved: str, tmp_path: Path) -> None:
    spend(url, "sick")
    backup(url, saved)
    other = f"sqlite:///{tmp_path / 'other.db'}"
    spend(other, "sick")
    before = Path(saved).read_bytes()
    with pytest.raises(LedgerError, match="not an earlier backup"):
        backup(other, saved)
    assert Path(saved).read_bytes() == before
    for occupied in (tmp_path / "notes.txt", tmp_path / "other.db"):
        occupied.touch()
        with pytest.raises(LedgerError, match="not an earlier backup"):
            backup(url, occupied)
    with pytest.raises(LedgerError, match="nothing to back up"):
        backup(f"sqlite:///{saved}", tmp_path / "again")
    assert not list(tmp_path.glob("*.part"))
    spend(url, "later")
    assert backup(url, saved).anchor.entries == 2


def test_backups_while_others_spend_are_one_moment_each(url: str, saved: str) -> None:
    stop, taken = threading.Event(), []

    def spender() -> None:
        with open_(url, Caps(epsilon=1e4)) as ledger:
            while not stop.is_set():
                taken.extend(ledger.reserve([Charge("a", "a", Spend(0.1)), Charge("b", "b", Spend(0.1))]))

    open_(url, Caps(epsilon=1e4)).close()
    one = threading.Thread(target=spender)
    one.start()
    try:
        counts = [backup(url, saved).anchor.entries for _ in range(6)]
        with Ledger.read(f"sqlite:///{saved}") as kept:
            kept.verify()
            assert len(kept.entries()) == counts[-1]
    finally:
        stop.set()
        one.join()
    assert counts == sorted(counts)
    assert all(count % 2 == 0 for count in counts)  # never half a batch
    assert counts[-1] > 0


@pytest.mark.parametrize("to", ["sqlite", "postgresql"])
def test_a_lost_ledger_comes_back_as_it_was(
    file: Path, saved: str, tmp_path: Path, to: str, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{file}"
    spend(url, "sick")
    with open_(url) as ledger:
        seed = ledger.seed
        (running,) = ledger.reserve([Charge("run", "run", Spend(0.1))])
    with Ledger.read(url) as book:
        before = book.totals(), [one.hash for one in book.entries()]
    made = backup(url, saved)
    gone(url, tmp_path)
    target = url if to == "sqlite" else str(request.getfixturevalue("database"))
    back = restore(f"sqlite:///{saved}", target, anchor=made.anchor.head, by="ann")
    assert (back.lost, back.closed, back.unreleased) == (0, False, (running.id,))
    with open_(target) as ledger:
        assert (ledger.totals(), [one.hash for one in ledger.entries()], ledger.seed) == (*before, seed)
        ledger.verify(anchor=made.anchor.head)
        assert ledger.recall([Charge("sick", "sick", Spend(0.1))], data="t")[0] is not None
        # It may have left after the backup was made: an answer leaves once.
        with pytest.raises(LedgerError, match="acknowledged as lost"):
            ledger.mark_released([running.id])
    spend(target, "well")


def test_without_an_anchor_or_a_ledger_nothing_is_restored(file: Path, saved: str, tmp_path: Path) -> None:
    url = f"sqlite:///{file}"
    spend(url, "sick")
    backup(url, saved)
    gone(url, tmp_path)
    with pytest.raises(LedgerError, match="no anchor says what it held last"):
        restore(f"sqlite:///{saved}", url)
    assert not file.exists()


def anchored(url: str, tmp_path: Path, kind: str) -> Anchor | str:
    """The newest anchor as it is kept: the hash alone, or the file of `leakcap ledger verify --json`."""
    with Ledger.read(url) as book:
        anchor = book.anchor()
    if kind == "hash":
        return anchor.head
    (tmp_path / "anchor.json").write_text(json.dumps({"anchor": asdict(anchor)}))
    return str(tmp_path / "anchor.json")


@pytest.fixture(params=["hash", "file"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_what_a_backup_forgets_is_said_and_refused(file: Path, saved: str, tmp_path: Path, kind: str) -> None:
    url = f"sqlite:///{file}"
    spend(url, "sick")
    backup(url, saved)
    spend(url, "later", 0.25)
    spend(url, "last", 0.5)
    anchor = anchored(url, tmp_path, kind)
    gone(url, tmp_path)
    said = {
        "hash": "spends after entry 1 would be forgotten",
        "file": r"entries 2 to 3 among them: ε 0\.75 in all",
    }
    with pytest.raises(LedgerError, match=said[kind]):
        restore(f"sqlite:///{saved}", url, anchor=anchor)
    with pytest.raises(InvalidParameter, match="reason"):
        restore(f"sqlite:///{saved}", url, anchor=anchor, book_lost=True)
    assert not file.exists()


def test_a_forgotten_spend_is_booked_as_far_as_the_anchor_says(
    file: Path, saved: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{file}"
    spend(url, "sick")
    backup(url, saved)
    spend(url, "later", 0.25)
    spend(url, "last", 0.5)
    anchor = anchored(url, tmp_path, "file")
    with Ledger.read(url) as book:
        before, state = book.totals(), book._state().spent
    gone(url, tmp_path)
    back = restore(
        f"sqlite:///{saved}", url, anchor=anchor, book_lost=True, reason="the disk broke", by="ann"
    )
    assert (back.lost, back.closed, back.booked) == (2, False, "ε 0.75 in all")
    with Ledger.read(url) as book:
        assert book.totals() == before
        assert book._state().spent == state  # in every currency, and at every order
        assert [(one.id, one.state) for one in book.entries()] == [(1, "released"), (0, "lost")]
        book.verify()
    spend(url, "well")
    with Ledger.read(url) as book:
        assert [one.id for one in book.entries()] == [1, 0, 4]  # no number stands for two spends
        book.verify()
    with pytest.raises(BudgetExceeded):
        spend(url, "large", 1.9)


@pytest.mark.parametrize(
    "why", ["hash", "analysts", "period", "slots"], ids=["only a hash", "analysts", "periods", "slots"]
)
def test_where_nobody_can_say_what_is_lost_the_ledger_is_only_a_record(
    file: Path, saved: str, tmp_path: Path, why: str
) -> None:
    url = f"sqlite:///{file}"
    caps = {
        "hash": CAPS,
        "analysts": Caps(epsilon=2.0, each_analyst=Limits(epsilon=1.0)),
        "period": Caps(epsilon=2.0, each_period=Limits(epsilon=1.0), period="month"),
        "slots": Caps(epsilon=2.0, delta=1e-6, delta_of_answers=1e-6),
    }[why]
    with open_(url, caps) as ledger:
        if why == "slots":
            ledger.plan(SlotPlan("year", [Slot("monthly", 2, epsilon=0.2)], delta=1e-6))
    spend(url, "sick", caps=caps)
    backup(url, saved)
    spend(url, "later", caps=caps)
    anchor = anchored(url, tmp_path, "hash" if why == "hash" else "file")
    gone(url, tmp_path)
    back = restore(f"sqlite:///{saved}", url, anchor=anchor, book_lost=True, reason="the disk broke")
    assert back.closed
    with pytest.raises(LedgerError, match="is only a record"):
        open_(url, caps)
    with Ledger.read(url) as book:
        assert len(book.entries()) >= 1
        book.verify()


def attacks(url: str, saved: str, tmp_path: Path) -> Iterator[tuple[str, Callable[[], str], str]]:
    """What somebody with a backup, and every right to the files, tries with leakcap's own commands to have
    budget again: a name, the deed, which gives the address of a ledger to spend from, and the refusal."""
    kept, other = f"sqlite:///{saved}", f"sqlite:///{tmp_path / 'other.db'}"

    def deed(target: str, **options: Any) -> Callable[[], str]:
        return lambda: restore(kept, target, **options).target

    head = Anchor.read(json.loads((tmp_path / "first.json").read_text())["anchor"]["head"])
    yield "over the ledger itself", deed(url), r"entry 2 `later` \(ε 0\.25\).*nothing to restore"
    yield "with the backup's own head", deed(url, anchor=head), "nothing to restore"
    yield "by the explicit act", deed(url, book_lost=True, reason="oops"), "nothing to restore"
    yield "at another place", deed(other, anchor=head), "is at `.*hospital.db`"
    yield "the backup as a ledger", lambda: kept, "is a backup"
    yield "the backup moved", lambda: move(kept, other).target, "is a backup"


def test_no_restoring_gives_budget_back(file: Path, saved: str, tmp_path: Path) -> None:
    url, refused = f"sqlite:///{file}", 0
    spend(url, "sick")
    made = backup(url, saved)
    (tmp_path / "first.json").write_text(json.dumps({"anchor": asdict(made.anchor)}))
    spend(url, "later", 0.25)
    before = left(url)
    for _, deed, said in attacks(url, saved, tmp_path):
        with pytest.raises(LedgerError, match=said):
            open_(deed())
        refused += 1
    assert (refused, left(url)) == (6, before)


def test_nothing_is_restored_beside_a_ledger_that_moved(file: Path, saved: str, tmp_path: Path) -> None:
    url, new = f"sqlite:///{file}", f"sqlite:///{tmp_path / 'new.db'}"
    spend(url, "sick")
    made = backup(url, saved)
    move(url, new)
    for target in (url, f"sqlite:///{tmp_path / 'other.db'}"):
        with pytest.raises(LedgerError, match=r"new\.db"):
            restore(f"sqlite:///{saved}", target, anchor=made.anchor)
    with pytest.raises(LedgerError, match="nothing to back up"):
        backup(url, tmp_path / "closed.backup")


def test_a_damaged_ledger_says_what_it_has_and_is_replaced_only_by_the_explicit_act(
    file: Path, saved: str, tmp_path: Path, sql: Any
) -> None:
    url = f"sqlite:///{file}"
    spend(url, "sick")
    backup(url, saved)
    spend(url, "later", 0.25)
    anchor = anchored(url, tmp_path, "file")
    sql("UPDATE leakcap_event SET analyst = 'eve' WHERE entry = 2 AND kind = 'reserve'")
    for known in (None, anchor):
        with pytest.raises(
            LedgerError, match=r"1 spend among them \(entry 2 `later`|entry 2 among them: ε 0\.25"
        ):
            restore(f"sqlite:///{saved}", url, anchor=known)
    # More may have been spent than the anchor knows.
    assert restore(f"sqlite:///{saved}", url, anchor=anchor, book_lost=True, reason="edited").closed


def test_an_older_copy_in_place_is_replaced_by_the_longer_history(
    file: Path, saved: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{file}"
    spend(url, "sick")
    shutil.copy(file, tmp_path / "old.db")
    spend(url, "later", 0.25)
    backup(url, saved)
    gone(url, tmp_path)
    shutil.copy(tmp_path / "old.db", file)
    before = left(url)
    assert restore(f"sqlite:///{saved}", url).lost == 0
    assert left(url) < before


def test_what_is_no_backup_of_it_is_refused(file: Path, saved: str, tmp_path: Path) -> None:
    url, other = f"sqlite:///{file}", f"sqlite:///{tmp_path / 'other.db'}"
    spend(url, "sick")
    spend(other, "sick")
    with pytest.raises(LedgerError, match="is a ledger, not a backup"):
        restore(other, url)
    backup(other, saved)
    (tmp_path / "other.db").unlink()
    with pytest.raises(LedgerError, match="is another than the backup's"):
        restore(f"sqlite:///{saved}", url)
    with pytest.raises(LedgerError, match="into memory"):
        restore(f"sqlite:///{saved}", "sqlite://", anchor="0" * 64)
    for text in ("0" * 63, str(tmp_path / "none.json"), saved):
        with pytest.raises(LedgerError, match="cannot be read"):
            restore(f"sqlite:///{saved}", other, anchor=text)


def test_a_later_amendment_counts_what_was_lost(file: Path, saved: str, tmp_path: Path) -> None:
    """An anchor under another policy says nothing of what the backup's own allowed."""
    url = f"sqlite:///{file}"
    spend(url, "sick")
    backup(url, saved)
    with Ledger.read(url) as book:
        other = {**asdict(book.anchor()), "head": "1" * 64, "rows": 99, "policy": "cd" * 32}
    gone(url, tmp_path)
    with pytest.raises(LedgerError, match="does not say how many"):
        restore(f"sqlite:///{saved}", url, anchor=Anchor(**other))
    less = {**other, "policy": POLICY, "spent": dict.fromkeys(AMOUNTS, "0")}
    with pytest.raises(LedgerError, match="no later state"):
        restore(f"sqlite:///{saved}", url, anchor=Anchor(**less))


def contents(file: Path) -> bytes:
    """What is committed in the file; its journal is undone first."""
    with closing(sqlite3.connect(file)) as connection:
        return b"".join(line.encode() for line in connection.iterdump())


def test_killed_while_restoring_there_is_all_or_nothing(file: Path, saved: str, tmp_path: Path) -> None:
    url, steps, whole = f"sqlite:///{file}", 0, []
    spend(url, "sick")
    made = backup(url, saved)
    while True:
        gone(url, tmp_path)
        ended = not killed(lambda: restore(f"sqlite:///{saved}", url, anchor=made.anchor), steps, of=BOUNDS)
        if not file.exists() or b"restore" not in contents(file):
            with pytest.raises(LedgerError, match="There is no ledger"):
                Ledger.read(url)
            whole.append(False)
        else:
            with Ledger.read(url) as book:
                whole.append(book.verify(anchor=made.anchor.head).rows == made.anchor.rows + 1)
        if ended:
            break
        steps += 1
    assert whole == sorted(whole)
    assert 0 < sum(whole) < len(whole)
