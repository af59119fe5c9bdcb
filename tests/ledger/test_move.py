"""A ledger that moves: the whole chain arrives, and exactly one of the two takes spends, killed or not."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leakcap.errors import LedgerError
from leakcap.ledger import (
    Caps,
    Charge,
    Ledger,
    OutsideSpend,
    OutsideSpends,
    Request,
    Slot,
    SlotPlan,
    Spend,
    outside_event,
    succession,
)
from leakcap.ledger.custody import backup, move, restore
from leakcap.ledger.reading import LedgerReader
from leakcap.ledger.requests import Asked
from ledger.killed import BOUNDS, EVERY, killed
from ledger.server import emptied

POLICY = "ab12cd34ef56ab78"
CAPS = Caps(epsilon=50.0, delta=1e-6, delta_of_answers=1e-6, each_analyst=Caps(epsilon=9.0))


def open_(url: str, caps: Caps = CAPS) -> Ledger:
    return Ledger.open(url, dataset="patients", policy=POLICY, caps=caps)


def spend(ledger: Ledger, name: str, epsilon: float = 0.1) -> int:
    with ledger:
        (entry,) = ledger.reserve([Charge(name, name, Spend(epsilon), analyst="ann")], data="t")
        ledger.mark_released([entry.id], answers={entry.id: [[7]]})
    return entry.id


@pytest.fixture
def rooms(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """An empty place for a ledger, of either kind."""

    def make(kind: str, name: str = "one") -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / name}.db"
        return emptied(request.getfixturevalue("server"), name)

    return make


WAYS = [
    ("sqlite", "sqlite"),
    ("sqlite", "postgresql"),
    ("postgresql", "sqlite"),
    ("postgresql", "postgresql"),
]


@pytest.mark.parametrize(("from_", "to"), WAYS)
def test_everything_arrives_and_the_source_names_its_successor(rooms: Any, from_: str, to: str) -> None:
    source, target = rooms(from_), rooms(to, "two")
    with open_(source) as ledger:
        ledger.plan(SlotPlan("year", [Slot("monthly", 12, epsilon=0.2)], delta=1e-6))
        anchor, seed = ledger.head(), ledger.seed
    spend(open_(source), "sick")
    with Ledger.read(source) as book:
        before = (book.entries(), book.totals(), book.accounts(), book.slots(), book.head())
    found = move(source, target, by="ann")
    with open_(target) as book:
        assert (book.entries(), book.totals(), book.accounts(), book.slots()) == before[:-1]
        assert (book.seed, book.verify(anchor=anchor.hash).hash) == (seed, found.head)
        assert book.verify(anchor=before[-1].hash).rows == before[-1].rows + 2 == found.rows
        # What was answered there is repeated here, for free.
        assert [
            answer.values
            for answer in book.recall([Charge("sick", "sick", Spend(0.1), analyst="ann")], data="t")
            if answer
        ] == [[[7]]]
    with Ledger.read(source) as book:
        assert book.totals() == before[1]
        book.verify(anchor=before[-1].hash)
    for opening in (open_, Ledger.resume):
        with pytest.raises(LedgerError, match=r"was moved to `.*two"):
            opening(source)
    assert spend(open_(target), "well") == 2
    with Ledger.read(target) as book:
        book.verify()


def test_whoever_has_the_source_open_does_nothing_more_there(rooms: Any) -> None:
    """Every verb that writes, found by walking: one that is new is refused too, or fails here."""
    source, target = rooms("sqlite"), rooms("sqlite", "two")
    ledger = open_(source)
    (entry,) = ledger.reserve([Charge("sick", "sick", Spend(0.1), analyst="ann")], data="t")
    move(source, target)
    charge = Charge("well", "well", Spend(0.1), analyst="ann")
    asked = Asked(Request.of("ann", "1", "well"), (charge,))
    stream = Charge("months", "months", Spend(0.1), "ann", {"stream_steps": 3})
    noise = OutsideSpend("digits", outside_event([(1.1, 0.01, 200)]), delta=1e-6)
    elsewhere = OutsideSpends([noise], "add-remove-one")
    doings: dict[str, Callable[[], object]] = {
        "check": lambda: ledger.check([charge]),
        "reserve": lambda: ledger.reserve([charge]),
        "reserve_request": lambda: ledger.reserve_request(asked, data="t"),
        "asked_before": lambda: ledger.asked_before(asked, data="t"),
        "release_once": lambda: ledger.release_once({entry.id: [[1]]}, again=False),
        "reserve_stream": lambda: ledger.reserve_stream(stream),
        "stream": lambda: ledger.stream(stream),
        "recall": lambda: ledger.recall([charge], data="t"),
        "version_asked": lambda: ledger.version_asked([charge], data="t"),
        "mark_released": lambda: ledger.mark_released([entry.id]),
        "mark_repeated": lambda: ledger.mark_repeated([entry.id]),
        "mark_progress": lambda: ledger.mark_progress(entry.id, (0, 1), [[1.0]]),
        "acknowledge": lambda: ledger.acknowledge([entry.id]),
        "revise": lambda: ledger.revise({1: 2}, reason="wrong"),
        "withdraw": lambda: ledger.withdraw([1], reason="wrong"),
        "plan": lambda: ledger.plan(SlotPlan("year", [Slot("monthly", 12, epsilon=0.2)], delta=1e-6)),
        "declared": ledger.declared,
        "charges_of": lambda: ledger.charges_of(elsewhere),
        "spend": lambda: ledger.spend(elsewhere),
        "require_owner": lambda: ledger.require_owner(dataset="patients", policy=POLICY, caps=CAPS),
    }
    more = set(dir(Ledger)) - set(dir(LedgerReader))
    own = {name for name in more if callable(getattr(Ledger, name)) and not name.startswith("_")}
    opened_or_own_test = {"open", "read", "resume", "amend"}
    # These two write nothing: they say when others write, and what they write together.
    assert own - opened_or_own_test - {"seed", "held_back", "one_transaction"} <= set(doings)
    for do in doings.values():
        with pytest.raises(LedgerError, match="was moved to"):
            do()
    ledger.close()
    with Ledger.read(source) as book:
        assert book.totals().entries == 1


def test_a_copy_of_the_closed_file_is_no_successor(rooms: Any, tmp_path: Path) -> None:
    source, target = rooms("sqlite"), rooms("sqlite", "two")
    open_(source).close()
    move(source, target)
    spend(open_(target), "sick")
    shutil.copy(tmp_path / "one.db", tmp_path / "two.db")
    for left in ("two.db-wal", "two.db-shm"):
        (tmp_path / left).unlink(missing_ok=True)
    with pytest.raises(LedgerError, match="was moved to"):
        open_(target)


def test_moving_again_says_the_same(rooms: Any) -> None:
    source, target = rooms("sqlite"), rooms("sqlite", "two")
    spend(open_(source), "sick")
    assert move(source, target) == move(source, target)
    with pytest.raises(LedgerError, match=r"moved to `.*two.db`"):
        move(source, rooms("sqlite", "three"))
    assert move(target, rooms("sqlite", "three")).entries == 1


def test_a_place_that_holds_anything_is_refused(rooms: Any) -> None:
    source, other = rooms("sqlite"), rooms("sqlite", "two")
    for url in (source, other):
        spend(open_(url), "sick")
    for target in (other, source):
        for preview in (True, False):
            with pytest.raises(LedgerError, match="There is a ledger in"):
                move(source, target, preview=preview)
    assert spend(open_(source), "well") == spend(open_(other), "well") == 2
    with pytest.raises(LedgerError, match="in memory"):
        move(source, "sqlite://")
    with pytest.raises(LedgerError, match="There is no ledger"):
        move(rooms("sqlite", "three"), rooms("sqlite", "four"))


def test_a_preview_makes_nothing(rooms: Any, tmp_path: Path) -> None:
    source = rooms("sqlite")
    spend(open_(source), "sick")
    seen = move(source, rooms("sqlite", "two"), preview=True)
    assert (seen.entries, (tmp_path / "two.db").exists()) == (1, False)
    spend(open_(source), "well")


def test_a_preview_refuses_what_a_move_refuses(rooms: Any, tmp_path: Path) -> None:
    """Every way in which a ledger is closed: as a backup, by a move, and restored as a mere record."""
    moved, record = rooms("sqlite", "moved"), rooms("sqlite", "record")
    for url in (moved, record):
        spend(open_(url), "sick")
    backup(moved, tmp_path / "kept.db")
    move(moved, rooms("sqlite", "two"))
    backup(record, tmp_path / "record.backup")
    (tmp_path / "record.db").unlink()
    kept = f"sqlite:///{tmp_path / 'record.backup'}"
    assert restore(kept, record, anchor="0" * 64, book_lost=True, reason="the disk broke").closed
    closed = {rooms("sqlite", "kept"): "is a backup", moved: "was moved to", record: "is only a record"}
    for source, why in closed.items():
        for preview in (True, False):
            with pytest.raises(LedgerError, match=why):
                move(source, rooms("sqlite", "three"), preview=preview)
    assert not (tmp_path / "three.db").exists()
    # Where it went, moving again is no more than finishing.
    assert move(moved, rooms("sqlite", "two"), preview=True).entries == 1


def test_a_preview_says_that_the_chain_holds_only_where_it_does(rooms: Any, sql: Any, file: Path) -> None:
    """Also where the move was made before, and the target has the very last row."""
    source, target = f"sqlite:///{file}", rooms("sqlite", "two")
    spend(open_(source), "sick")
    move(source, target)
    sql("UPDATE leakcap_event SET analyst = 'eve' WHERE kind = 'reserve'")
    with pytest.raises(LedgerError, match="was edited"):
        move(source, target, preview=True)


def test_a_chain_that_does_not_verify_does_not_move(rooms: Any, sql: Any, file: Path) -> None:
    source = f"sqlite:///{file}"
    spend(open_(source), "sick")
    sql("UPDATE leakcap_event SET analyst = 'eve' WHERE kind = 'reserve'")
    with pytest.raises(LedgerError, match="was edited"):
        move(source, rooms("sqlite", "two"))
    with Ledger.read(source) as book:
        assert book.head().rows == 3


def accepting(*urls: str) -> list[str]:
    """Where a spend is taken; a ledger that is not there is not made."""
    found = []
    for url in urls:
        try:
            with Ledger.resume(url) as ledger:
                ledger.reserve([Charge("after", "after", Spend(0.1), analyst="ann")])
            found.append(url)
        except LedgerError:
            pass
    return found


def fresh(rooms: Any, kind: str, name: str) -> str:
    url = rooms(kind, name)
    spend(open_(url), "sick")
    return str(url)


@pytest.mark.parametrize(
    ("from_", "to", "of"),
    [
        ("sqlite", "sqlite", BOUNDS),
        *(pytest.param(*way, BOUNDS, marks=pytest.mark.slow) for way in WAYS[1:3]),
        pytest.param("sqlite", "sqlite", EVERY, marks=pytest.mark.slow),
    ],
)
def test_killed_before_any_step_exactly_one_takes_spends(
    rooms: Any, from_: str, to: str, of: tuple[str, ...]
) -> None:
    """`BOUNDS`: before and after each transaction's end; all else is undone with its transaction."""
    steps, places = 0, []
    while True:
        source, target = fresh(rooms, from_, f"s{steps}"), rooms(to, f"t{steps}")
        ended = not killed(lambda: move(source, target), steps, of=of)  # noqa: B023 (runs at once)
        (place,) = accepting(source, target)
        places.append(place == target)
        # Whichever it was, moving again ends well, and nothing is forgotten.
        assert move(source, target).entries == 2
        with Ledger.read(target) as book:
            book.verify()
            assert [entry.query for entry in book.entries()] == ["sick", "after"]
        assert accepting(source, target) == [target]
        if ended:
            break
        steps += 1
    assert steps >= 8
    # One moment at which it passes, and never back.
    assert places == sorted(places)
    assert 1 < sum(places) < steps


class _Anything(str):
    """A hash that is whatever it is compared with."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


def test_the_walk_would_notice_two_that_take_spends(rooms: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the copy does not look whether its predecessor is closed."""
    monkeypatch.setattr(succession, "_head_at", lambda _: _Anything())
    counts = set()
    for steps in range(8):
        source, target = fresh(rooms, "sqlite", f"s{steps}"), rooms("sqlite", f"t{steps}")
        killed(lambda: move(source, target), steps, of=BOUNDS)  # noqa: B023 (runs at once)
        counts.add(len(accepting(source, target)))
    assert counts == {1, 2}


@pytest.mark.parametrize("to", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_a_spend_during_the_move_is_at_the_target_or_refused(rooms: Any, to: str) -> None:
    source, target = rooms("sqlite"), rooms(to, "two")
    spend(open_(source), "sick")
    taken, refused, go = [], [], threading.Event()

    def spender(name: str) -> None:
        try:
            with open_(source) as ledger:
                while True:
                    (entry,) = ledger.reserve([Charge(name, name, Spend(0.0001), analyst=name)])
                    taken.append(entry.hash)
                    if len(taken) > 10:
                        go.set()
        except LedgerError as error:
            refused.append(str(error))

    crowd = [threading.Thread(target=spender, args=(f"a{i}",)) for i in range(3)]
    for one in crowd:
        one.start()
    assert go.wait(30)
    move(source, target)
    for one in crowd:
        one.join()
    with Ledger.read(target) as book:
        book.verify()
        assert {entry.hash for entry in book.entries()} >= set(taken)
        assert len(book.entries()) == len(taken) + 1
    assert len(refused) == 3
    assert all("was moved to" in text for text in refused)
