"""What is asked under a key is paid once and answered once, whoever dies in between."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import leakcap
from leakcap.errors import BudgetExceeded, DataError, InvalidParameter, LedgerError, RequestReused
from leakcap.ledger import (
    Caps,
    Charge,
    Entry,
    Ledger,
    Limits,
    Paid,
    Proposed,
    Request,
    Spend,
    admit_dataset,
    answer_once,
    backup,
    export,
    move,
    restore,
)
from leakcap.ledger.events import request_row
from leakcap.ledger.requested import memo_of, row_of_request
from leakcap.ledger.requests import AnsweredEntry, Asked
from leakcap.ledger.state import append, load_state
from ledger.conftest import POLICY
from ledger.killed import BOUNDS, EVERY, killed
from warmed import Warmed

SICK, OLD, TALL = (Charge(name, name, Spend(epsilon=0.1), "ann") for name in ("sick", "old", "tall"))
ASKED = Request.of("ann", "1", "sick, old")
OTHER = Request.of("ann", "2", "sick, old")
DRAWN = [0]
NEW = 7
"""How many new questions the requests have before whose every step a process is killed."""


def drawn(
    places: Sequence[int], paid_before: bool
) -> Callable[[Sequence[Entry]], list[tuple[str, list[list[int]]]]]:
    """Noise: another number each time that it is drawn."""

    def compute(entries: Sequence[Entry]) -> list[tuple[str, list[list[int]]]]:
        DRAWN[0] += 1
        return [(entry.query, [[entry.id, DRAWN[0] * 1000 + os.getpid()]]) for entry in entries]

    return compute


def ask(
    ledger: Ledger,
    *charges: Charge,
    request: Request | None = ASKED,
    prepare: Any = drawn,
    fresh: bool = False,
    data: str = "t",
) -> list[Paid[str]]:
    asked = charges or (SICK, OLD)
    return answer_once(
        ledger, asked, prepare, data=data, analyst=asked[0].analyst, fresh=fresh, request=request
    )


def values(paid: Sequence[Paid[Any]]) -> list[Any]:
    return [one.answer.values for one in paid]


@pytest.fixture
def ledger(opened: Any) -> Ledger:
    found: Ledger = opened()
    return found


@pytest.mark.parametrize("fresh", [False, True])
def test_a_second_call_gets_the_same_answers_and_pays_nothing(url: str, fresh: bool) -> None:
    with Ledger.open(url, dataset="d", policy=POLICY, caps=Caps(epsilon=0.9)) as ledger:
        first = ask(ledger, fresh=fresh)
        again = ask(ledger, fresh=fresh, data="another state of the table")
        assert [one.computed for one in first] == ["sick", "old"]
        assert [one.computed for one in again] == [None, None]
        assert values(again) == values(first)
        assert ledger.totals().epsilon == 0.2
        # The second time they left is on record.
        assert ledger.verify().rows == 1 + 2 + 1 + 2 + 2


def test_a_new_key_pays_where_the_noise_is_to_be_fresh_and_recalls_where_not(ledger: Ledger) -> None:
    first = ask(ledger)
    assert values(ask(ledger, request=OTHER)) == values(first)
    assert values(ask(ledger, request=Request.of("ann", "3", "sick, old"), fresh=True)) != values(first)
    assert ledger.totals().epsilon == 0.4
    assert [(one.entries, one.paid) for one in ledger.requests()] == [
        ((1, 2), (1, 2)),
        ((1, 2), ()),
        ((3, 4), (3, 4)),
    ]
    ledger.verify()


def test_what_was_recalled_stays_free_though_its_table_has_changed(ledger: Ledger) -> None:
    ask(ledger, SICK, request=None)
    (first, second) = ask(ledger, SICK, OLD)
    assert (first.computed, second.computed) == (None, "old")
    again = ask(ledger, SICK, OLD, fresh=True, data="t2")
    assert values(again) == values([first, second])
    assert ledger.totals().epsilon == 0.2
    ledger.verify()


def test_a_question_that_stands_twice_in_a_request_is_answered_twice_by_one_entry(ledger: Ledger) -> None:
    same = Charge("sick again", "sick", Spend(epsilon=0.1), "ann")
    first = ask(ledger, SICK, same, OLD)
    assert [one.answer.entry for one in first] == [1, 1, 2]
    assert values(ask(ledger, SICK, same, OLD)) == values(first)
    twice = ask(ledger, SICK, same, request=OTHER, fresh=True)
    assert [one.answer.entry for one in twice] == [3, 4]
    assert values(ask(ledger, SICK, same, request=OTHER)) == values(twice)
    ledger.verify()


def test_reserve_gives_the_same_entries_again(ledger: Ledger) -> None:
    entries = ledger.reserve([SICK, OLD], data="t", request=ASKED)
    assert [one.id for one in ledger.reserve([SICK, OLD], data="t", request=ASKED)] == [1, 2]
    ledger.mark_released([1, 2], answers={1: [[7]], 2: [[8]]})
    again = ledger.reserve([SICK, OLD], data="t", request=ASKED)
    assert [(one.id, one.state) for one in again] == [(1, "released"), (2, "released")]
    assert [one.hash for one in again] == [one.hash for one in entries]
    assert ledger.totals().entries == 2


@pytest.mark.parametrize(
    ("request_", "charges", "why"),
    [
        (Request.of("ann", "1", "another body"), (SICK, OLD), "with another content"),
        (ASKED, (SICK,), "with another number of questions"),
        (ASKED, (OLD, SICK), "with another question `sick`"),
        (ASKED, (SICK, Charge("old", "old", Spend(0.2), "ann")), "with another question `old`"),
        (ASKED, tuple(Charge(c.query, c.text, c.spend, "bo") for c in (SICK, OLD)), "by another analyst"),
    ],
)
def test_a_key_stands_for_one_request(
    ledger: Ledger, request_: Request, charges: tuple[Charge, ...], why: str
) -> None:
    ask(ledger)
    before = ledger.head()
    for call in (
        lambda: ask(ledger, *charges, request=request_),
        lambda: ledger.reserve(charges, request=request_),
    ):
        with pytest.raises(RequestReused, match=why) as caught:
            call()
        assert (caught.value.key, caught.value.entries) == (ASKED.key, (1, 2))
    assert ledger.head() == before


def test_keys_and_digests_are_hashes() -> None:
    for key, digest in (("a", ASKED.digest), (ASKED.key, "A" * 64), (ASKED.key.upper(), ASKED.digest)):
        with pytest.raises(InvalidParameter, match="SHA-256"):
            Request(key, digest)
    with pytest.raises(InvalidParameter, match="the same in all charges"):
        Asked(ASKED, (SICK, Charge("old", "old", Spend(0.1), "bo")))


def test_a_refusal_leaves_the_key_free(opened: Any) -> None:
    ledger = opened(Caps(epsilon=0.1))
    with pytest.raises(BudgetExceeded):
        ask(ledger)
    assert (ledger.requests(), ledger.totals().entries) == ([], 0)
    ask(ledger, SICK)


def test_a_crash_after_the_commit_is_made_good_once(ledger: Ledger) -> None:
    def crashing(places: Sequence[int], paid_before: bool) -> Any:
        def compute(entries: Sequence[Entry]) -> Any:
            raise DataError("The engine stopped.")

        return compute

    with pytest.raises(DataError, match="stays in the ledger"):
        ask(ledger, prepare=crashing)
    assert [one.state for one in ledger.entries()] == ["reserved", "reserved"]
    found = ask(ledger)
    assert [one.computed for one in found] == ["sick", "old"]
    assert values(ask(ledger)) == values(found)
    assert (ledger.totals().epsilon, ledger.unreleased()) == (0.2, [])
    ledger.verify()


def test_a_full_cap_does_not_keep_a_request_from_being_finished(opened: Any) -> None:
    ledger = opened(Caps(epsilon=0.2))
    ledger.reserve([SICK, OLD], data="t", request=ASKED)
    assert [one.computed for one in ask(ledger)] == ["sick", "old"]


def test_of_two_that_compute_at_once_one_answer_leaves_and_both_return_it(ledger: Ledger) -> None:
    inner: list[list[Paid[str]]] = []

    def slow(places: Sequence[int], paid_before: bool) -> Any:
        def compute(entries: Sequence[Entry]) -> Any:
            mine = drawn(places, paid_before)(entries)
            inner.append(ask(ledger))  # another process asks meanwhile, and is faster
            return mine

        return compute

    outer = ask(ledger, prepare=slow)
    assert [one.computed for one in inner[0]] == ["sick", "old"]
    assert [one.computed for one in outer] == [None, None]
    assert values(outer) == values(inner[0])
    assert ledger.totals().entries == 2
    ledger.verify()


@pytest.mark.parametrize("end", ["withdraw", "acknowledge", "revise", "state", "progress"])
def test_what_may_not_leave_any_more_is_refused_by_name(ledger: Ledger, end: str) -> None:
    if end in ("withdraw", "revise"):
        ask(ledger)
        ask(ledger, SICK, request=OTHER, fresh=True)
        if end == "withdraw":
            ledger.withdraw([2], reason="The file was last year's")
        else:
            ledger.revise({1: 3}, reason="A ward was counted twice")
    else:
        ledger.reserve([SICK, OLD], data="t" if end != "state" else "t0", request=ASKED)
    if end == "acknowledge":
        ledger.acknowledge([1])
    if end == "progress":
        ledger.mark_progress(1, (0, 5), [[1.0]])
    before = ledger.head()
    told = {
        "withdraw": "entry 2, was withdrawn",
        "revise": "entry 1, was replaced by entry 3",
        "acknowledge": "Entry 1 .* was acknowledged as lost",
        "state": "Entry 1 .* the table has changed",
        "progress": "entry 1 .* does not begin anew",
    }
    with pytest.raises(LedgerError, match=told[end]):
        ask(ledger, data="t1" if end == "state" else "t")
    assert ledger.head() == before


def test_an_answer_that_was_seen_to_begin_is_not_computed_beside(ledger: Ledger) -> None:
    """A run that was found as reserved, and is seen before this answer could leave."""

    def seen(places: Sequence[int], paid_before: bool) -> Any:
        def compute(entries: Sequence[Entry]) -> Any:
            ledger.mark_progress(1, (0, 5), [[1.0]])
            return drawn(places, paid_before)(entries)

        return compute

    ledger.reserve([SICK, OLD], data="t", request=ASKED)
    with pytest.raises(LedgerError, match="does not begin anew"):
        ask(ledger, prepare=seen)
    assert [one.state for one in ledger.entries()] == ["reserved", "reserved"]


def require_every_kill_pays_once(ledger: Ledger, out: Path, of: tuple[str, ...], least: int) -> None:
    """`kill -9` before each step of a request that is partly recalled, and then the same request again."""
    ask(ledger, TALL, request=None)
    for step in range(200):
        charges = [TALL, *(Charge(f"q{i}", f"q{i} {step}", Spend(epsilon=0.1), "ann") for i in range(NEW))]
        request = Request.of("ann", str(step), "tall, and new ones")
        out.unlink(missing_ok=True)

        def asks(charges: Sequence[Charge] = charges, request: Request = request) -> None:
            out.write_text(repr(values(ask(ledger, *charges, request=request))))

        died = killed(asks, step, of=of)
        found = values(ask(ledger, *charges, request=request))
        assert ledger.totals().entries == 1 + NEW * (step + 1)
        assert all(one.state == "released" for one in ledger.entries())
        assert [one.paid for one in ledger.requests()][step] == tuple(
            range(NEW * step + 2, NEW * (step + 1) + 2)
        )
        assert not out.exists() or out.read_text() == repr(found)
        if not died:
            break
    assert step >= least
    assert out.exists()
    ledger.verify()


def test_every_kill_pays_once_and_one_answer_leaves(opened: Any, tmp_path: Path) -> None:
    require_every_kill_pays_once(opened(Caps(epsilon=99.0)), tmp_path / "out", BOUNDS, 8)


@pytest.mark.slow
def test_every_kill_before_a_statement(url: str, tmp_path: Path) -> None:
    with Ledger.open(url, dataset="d", policy=POLICY, caps=Caps(epsilon=99.0)) as ledger:
        require_every_kill_pays_once(ledger, tmp_path / "out", EVERY, 25)


def test_a_key_that_is_recorded_after_the_commit_is_caught(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the spend first, the key in a transaction of its own."""

    def late(self: Any, asked: Asked, *, data: str) -> tuple[list[AnsweredEntry], bool]:
        known, _ = self.asked_before(asked, data=data)
        if known is not None:
            return known, False
        paid = self.reserve([asked.charges[place] for place in asked.paid_places], data=data)
        with self._database.writing() as connection:
            state = load_state(connection, self.url, lock=True)
            rows = [{"entry": one.id, "hash": state.head} for one in paid]
            before = replace(state, rows=state.rows - len(rows))
            append(connection, state, [row_of_request(asked, before, state.time, rows, POLICY, "")])
            return self._answered(connection, asked.entries([one.id for one in paid])), True

    monkeypatch.setattr(Ledger, "reserve_request", late)
    with pytest.raises(AssertionError):
        require_every_kill_pays_once(opened(Caps(epsilon=99.0)), tmp_path / "out", BOUNDS, 8)


RACE = """
from leakcap.ledger import Request
print("ready", flush=True)
sys.stdin.readline()
charges = [Charge(name, name, Spend(epsilon=0.1), "ann") for name in ("sick", "old")]
def drawn(places, paid_before):
    return lambda entries: [(one.query, [[one.id, os.getpid()]]) for one in entries]
request = Request.of("ann", "1", "sick, old")
found = answer_once(ledger, charges, drawn, data="t", analyst="ann", fresh=True, request=request)
print([one.answer.values for one in found], [one.computed for one in found], flush=True)
"""


def race(started: Callable[..., Warmed], url: str, processes: int) -> list[str]:
    running = [started(RACE, url=url) for _ in range(processes)]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate()[0].strip() for process in running]


def require_one(url: str, found: list[str]) -> None:
    """One spend, one answer that left, and everybody has that one."""
    assert len({line.partition("]]]")[0] for line in found}) == 1
    assert sum("'sick', 'old'" in line for line in found) == 1
    with Ledger.read(url) as ledger:
        assert (ledger.totals().epsilon, len(ledger.requests())) == (0.2, 1)
        ledger.verify()


@pytest.mark.parametrize("processes", [4, pytest.param(32, marks=pytest.mark.slow)])
def test_processes_that_race_for_one_key_pay_once(
    started: Callable[..., Warmed], url: str, processes: int
) -> None:
    require_one(url, race(started, url, processes))


def test_requests_are_in_the_audit_trail(ledger: Ledger) -> None:
    ask(ledger)
    rows = json.loads(export(ledger.entries(), "json", requests=ledger.requests()))
    (row,) = [row for row in rows if row["state"] == "request"]
    assert (row["analyst"], row["details"]["key"], row["details"]["paid"]) == ("ann", ASKED.key, [1, 2])
    assert (row["epsilon"], row["text"]) == (0.0, "entries 1, 2")
    assert ASKED.key in export([], "csv", requests=ledger.requests())
    found = ledger.request(ASKED.key)
    assert found is not None
    assert (found.entries, found.paid, found.analyst) == ((1, 2), (1, 2), "ann")
    assert ledger.request(OTHER.key) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE leakcap_event SET details = replace(details, '[1,2]', '[1,1]')", "edited"),
        ("UPDATE leakcap_event SET memo = 'x'", "edited"),
        ("DELETE FROM leakcap_event", "missing"),
    ],
)
def test_an_edited_request_is_found(ledger: Ledger, sql: Any, change: str, why: str) -> None:
    ask(ledger)
    ask(ledger, TALL, request=None)
    sql(f"{change} WHERE kind = 'request'")
    with pytest.raises(LedgerError, match=why):
        ledger.verify()
    if why == "edited" and "details" in change:
        with pytest.raises(LedgerError, match="was edited"):
            ask(ledger)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"request": ASKED.key, "entries": [1, 2], "paid": []}, "key stands for another one"),
        ({"entries": [1, 2], "paid": [1, 2]}, "paid for other entries"),
        ({"entries": [1, 4], "paid": []}, "an answer that was not valid, or not there"),
        ({"entries": [1, 3], "paid": []}, "an answer that was not valid, or not there"),
        ({"entries": [1], "paid": [4]}, "paid for other entries"),
    ],
)
def test_a_forged_request_is_found(ledger: Ledger, told: dict[str, Any], why: str) -> None:
    """Planted, with hashes that fit: entry 3 was reserved and not released, and there is no entry 4."""
    ask(ledger)
    ledger.reserve([TALL], data="t")
    ledger.acknowledge([3])
    details = {"request": OTHER.key, "digest": OTHER.digest, "policy": POLICY} | told
    with ledger._database.writing() as connection:
        state = load_state(connection, ledger.url, lock=True)
        place, memo = (state.rows + 1, state.head), memo_of(details["request"])
        append(connection, state, [request_row(place, state.time, details, analyst="ann", memo=memo)])
    with pytest.raises(LedgerError, match=why):
        ledger.verify()


def test_accounts_of_analysts_hold_a_request_to_its_own(opened: Any) -> None:
    ledger = opened(Caps(epsilon=0.9, each_analyst=Limits(epsilon=0.3)))
    ask(ledger)
    ask(ledger, fresh=True)
    spent = {one.name: one.balances[0].spent for one in ledger.accounts()[1:]}
    assert spent == {"ann": 0.2}


FIRST: dict[str, Any] = {
    "dataset": "d",
    "unit": "row",
    "neighbours": "add-remove-one",
    "max_rows": 9,
    "columns": {"x": {"bounds": [0.0, 1.0]}},
    "tables": {},
    "caps": {"epsilon": 0.9},
}
WIDER: dict[str, Any] = {"columns": {"x": {"bounds": [0.0, 2.0]}}}
MORE: dict[str, Any] = {"columns": FIRST["columns"] | {"y": {"bounds": [0.0, 1.0]}}}


def proposed(**changes: Any) -> Proposed:
    text = json.dumps(FIRST | changes, sort_keys=True)
    return Proposed(text, Caps(epsilon=0.9), "agreed", "steward")


def governed(url: str, wanted: Proposed) -> Ledger:
    own = {"policy": wanted.policy, "caps": wanted.caps, "text": wanted.text}
    return Ledger.open(url, dataset="d", **own)


@pytest.mark.parametrize("data", ["t", ""])
def test_after_an_amendment_an_answer_is_repeated_where_its_question_means_the_same(
    file: Path, data: str
) -> None:
    with governed(f"sqlite:///{file}", proposed()) as old:
        first = ask(old, data=data)
        old.reserve([TALL], data=data, request=OTHER)
        new = old.amend(proposed(**MORE))
        with pytest.raises(LedgerError, match="was amended"):
            ask(old, data=data)
        if data:
            assert values(ask(new, data=data)) == values(first)
        else:  # what it was asked of is not known, and so not what it means now
            with pytest.raises(LedgerError, match="means or costs something else"):
                ask(new, data=data)
        # What has not left was priced under the policy of before.
        with pytest.raises(LedgerError, match=r"the policy was amended|means or costs something else"):
            ask(new, TALL, request=OTHER, data=data)
        newest = new.amend(proposed(**WIDER))
        with pytest.raises(LedgerError, match="means or costs something else"):
            ask(newest, data=data)
        assert newest.totals().epsilon == 0.3
        newest.verify()


def test_a_request_is_of_one_data_set(file: Path) -> None:
    url, person = f"sqlite:///{file}", {"unit": {"id": "p"}}
    with governed(url, proposed(**person)) as ledger:
        ask(ledger)
    other = proposed(dataset="e", **person)
    admit_dataset(url, other)
    with Ledger.open(url, dataset="e", policy=other.policy, caps=other.caps, text=other.text) as beside:
        with pytest.raises(RequestReused, match="of another data set"):
            ask(beside)
        ask(beside, request=OTHER)
        assert [one.dataset for one in beside.requests()] == ["", "e"]
        beside.verify()


def test_requests_go_where_the_ledger_goes(tmp_path: Path) -> None:
    places = [f"sqlite:///{tmp_path}/{name}.db" for name in ("one", "two", "three")]
    with governed(places[0], proposed()) as ledger:
        first = ask(ledger)
        ledger.reserve([TALL], data="t", request=OTHER)
    backup(places[0], tmp_path / "kept")
    move(places[0], places[1])
    with governed(places[1], proposed()) as ledger:
        assert values(ask(ledger)) == values(first)
        assert [one.computed for one in ask(ledger, TALL, request=OTHER)] == ["tall"]
        ledger.verify()
    for name in ("one.db", "two.db"):
        (tmp_path / name).rename(tmp_path / f"{name}.away")
    kept = f"sqlite:///{tmp_path}/kept"
    with Ledger.read(kept) as book:
        anchor = book.head().hash
    restore(kept, places[2], anchor=anchor)
    with governed(places[2], proposed()) as ledger:
        assert values(ask(ledger)) == values(first)
        # Its answer may have left after the backup was made.
        with pytest.raises(LedgerError, match="acknowledged as lost"):
            ask(ledger, TALL, request=OTHER)
        ledger.verify()


@pytest.mark.parametrize("form", [("--format", "csv"), ("--format", "json"), ("--json",)])
def test_the_command_line_exports_requests(opened: Any, file: Path, form: tuple[str, ...]) -> None:
    with opened() as ledger:
        ask(ledger)
    told = leakcap("ledger", "export", f"sqlite:///{file}", *form).stdout
    assert (ASKED.key in told, ASKED.digest in told) == (True, True)
