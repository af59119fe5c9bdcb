"""Revisions and withdrawals: on record, in the chain, never repeated as valid, and nothing given back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from leakcap.errors import InvalidParameter, InvalidQuery, LedgerError
from leakcap.ledger import Charge, Edition, Ledger, Spend, answer_once, export
from leakcap.ledger.chain import fingerprint, link
from leakcap.ledger.revising import pairs_of, valid_of
from ledger.conftest import CAPS, POLICY

WHY = "A ward was counted twice."


def ask(version: str = "1.0", period: str = "2026-03", epsilon: float = 0.1) -> Charge:
    return Charge("stays", "count", Spend(epsilon=epsilon), edition=Edition("Stays", period, version))


def told(ledger: Ledger, charge: Charge, data: str, value: int, *, fresh: bool = False) -> Any:
    """The answer as `answer_once` gives it, which computes `value` where it has to."""
    (paid,) = answer_once(
        ledger, [charge], lambda *_: lambda entries: [(value, [[value]])], data=data, fresh=fresh
    )
    return paid.answer.values[0][0]


@pytest.fixture
def ledger(url: str) -> Any:
    with Ledger.open(url, dataset="patients", policy=POLICY, caps=CAPS) as book:
        yield book


def test_a_withdrawn_answer_is_not_repeated_and_nothing_comes_back(ledger: Ledger) -> None:
    assert [told(ledger, ask(), "t", 7) for _ in range(2)] == [7, 7]
    left = ledger.balances()[0].left
    ledger.withdraw([1], reason=WHY, by="ada")
    assert ledger.balances()[0].left == left
    with pytest.raises(LedgerError, match=r"`stays`, entry 1, was withdrawn on 20\d\d-.*twice. Nothing was"):
        told(ledger, ask(), "t", 8)
    assert ledger.totals().entries == 1
    (known,) = ledger.recall([ask()], data="t")
    assert known is not None
    assert known.revised.startswith("withdrawn on ")
    found = ledger.answer(1)
    assert found is not None
    assert found.revised == known.revised
    # Fresh noise is paid for, and is the valid answer from then on.
    assert told(ledger, ask(), "t", 9, fresh=True) == 9
    assert told(ledger, ask(), "t", 8) == 9
    ledger.verify()
    (one,) = ledger.revisions()
    assert (one.entry, one.replaced_by, one.by, one.reason, one.what) == (1, None, "ada", WHY, "withdrawn")
    assert one.edition == Edition("Stays", "2026-03", "1.0")


def test_a_corrected_file_replaces_the_answer_about_the_old_one(ledger: Ledger) -> None:
    assert told(ledger, ask(), "old", 7) == 7
    # The corrected file pays in full: what changed would be a number of the data.
    assert told(ledger, ask("1.1"), "new", 6) == 6
    assert ledger.totals().epsilon == 0.2
    ledger.revise({1: 2}, reason=WHY)
    assert told(ledger, ask("1.1"), "new", 0) == 6
    with pytest.raises(LedgerError, match="entry 1, was replaced by entry 2 on"):
        told(ledger, ask(), "old", 0)
    assert ledger.version_asked([ask()], data="other") == 2
    ledger.verify()
    (one,) = ledger.revisions()
    assert (one.what, one.by_edition) == ("replaced by entry 2", Edition("Stays", "2026-03", "1.1"))


def test_a_table_whose_answers_were_withdrawn_is_not_offered_for_same_as(ledger: Ledger) -> None:
    told(ledger, ask(), "old", 7)
    assert ledger.version_asked([ask()], data="other") == 1
    ledger.withdraw([1], reason=WHY)
    assert ledger.version_asked([ask()], data="other") is None


def test_the_last_valid_answer_is_repeated_where_a_later_one_was_withdrawn(ledger: Ledger) -> None:
    told(ledger, ask(), "t", 7)
    told(ledger, ask(), "t", 8, fresh=True)
    ledger.withdraw([2], reason=WHY)
    assert told(ledger, ask(), "t", 9) == 7


REFUSED: dict[str, tuple[dict[int, int | None], str]] = {
    "no such entry": ({9: None}, "no entry 9"),
    "no such replacement": ({1: 9}, "no entry 9"),
    "never released": ({4: None}, "Entry 4 .* was never released"),
    "by what was never released": ({1: 4}, "Entry 4 .* was never released"),
    "by itself": ({1: 1}, "not a later one"),
    "by an earlier one": ({2: 1}, "not a later one"),
    "by another period's": ({1: 3}, "Entry 3 is about 2026-04, entry 1 .* about 2026-03"),
    "two of which one is wrong": ({1: None, 9: None}, "no entry 9"),
    "nothing": ({}, "name at least one entry"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_revision_is_refused_and_nothing_is_written(ledger: Ledger, case: str) -> None:
    told(ledger, ask(), "t", 7)
    told(ledger, ask(), "t", 8, fresh=True)
    told(ledger, ask(period="2026-04"), "u", 9)
    ledger.reserve([ask()], data="t")
    head = ledger.head()
    pairs, words = REFUSED[case]
    replaced = {old: new for old, new in pairs.items() if new}
    with pytest.raises((LedgerError, InvalidParameter), match=words):
        ledger.revise(replaced, reason=WHY) if replaced else ledger.withdraw(pairs, reason=WHY)
    assert ledger.head() == head
    assert ledger.revisions() == []


@pytest.mark.parametrize("again", ["withdraw", "revise", "replace by it"])
@pytest.mark.parametrize("first", ["withdraw", "revise"])
def test_an_answer_is_revised_once_and_one_that_is_gone_replaces_none(
    ledger: Ledger, first: str, again: str
) -> None:
    for value, version in enumerate(("1.0", "1.1", "1.2")):
        told(ledger, ask(version), "t", value, fresh=True)
    steps: dict[str, Callable[[], None]] = {
        "withdraw": lambda: ledger.withdraw([2], reason=WHY),
        "revise": lambda: ledger.revise({2: 3}, reason=WHY),
        "replace by it": lambda: ledger.revise({1: 2}, reason=WHY),
    }
    steps[first]()
    with pytest.raises(LedgerError, match=r"replaced or withdrawn before|withdrawn or replaced itself"):
        steps[again]()
    assert len(ledger.revisions()) == 1
    ledger.verify()


def publish(ledger: Ledger, title: str, version: str) -> None:
    charge = Charge("stays", "count", Spend(epsilon=0.1), edition=Edition(title, "2026-03", version))
    told(ledger, charge, title, 7, fresh=True)


def test_a_publication_is_replaced_by_its_own_next_version_only(ledger: Ledger) -> None:
    """Two publications of one month and one version, whose answers have one name."""
    for title, version in (("Stays", "1.0"), ("Staff", "1.0"), ("Staff", "1.1"), ("Stays", "1.1")):
        publish(ledger, title, version)

    def pairs(title: str) -> dict[int, int]:
        return pairs_of(ledger.entries(), set(), Edition(title, "2026-03", "1.0"), "1.1")

    assert (pairs("Stays"), pairs("Staff")) == ({1: 4}, {2: 3})
    with pytest.raises(InvalidQuery, match=r"is several publications: `Staff`, `Stays`\. Name one .*--title"):
        pairs("")
    with pytest.raises(InvalidQuery, match="is several publications: `Staff`, `Stays`"):
        valid_of(ledger.entries(), set(), Edition("", "2026-03", "1.0"))
    assert [one.id for one in valid_of(ledger.entries(), {1}, Edition("", "2026-03", "1.0"))] == [2]


def test_without_a_title_the_only_publication_is_meant(ledger: Ledger) -> None:
    for title, version in (("Stays", "1.0"), ("Staff", "1.1"), ("Stays", "1.1")):
        publish(ledger, title, version)
    assert pairs_of(ledger.entries(), set(), Edition("", "2026-03", "1.0"), "1.1") == {1: 3}
    with pytest.raises(InvalidQuery, match=r"No answer of version 1\.0"):
        pairs_of(ledger.entries(), {3}, Edition("", "2026-03", "1.0"), "1.1")


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "x" * 1001, "a\0b"])
def test_a_revision_says_why_in_a_line(ledger: Ledger, reason: str) -> None:
    told(ledger, ask(), "t", 7)
    with pytest.raises(InvalidParameter, match="`reason` of `withdraw` must"):
        ledger.withdraw([1], reason=reason)
    with pytest.raises(InvalidParameter, match="`reason` of `revise` must"):
        ledger.revise({1: 2}, reason=reason)


def test_one_who_may_only_look_revises_nothing(ledger: Ledger, url: str) -> None:
    told(ledger, ask(), "t", 7)
    with Ledger.read(url) as book, pytest.raises(LedgerError, match="opened for reading"):
        book.withdraw([1], reason=WHY)


def test_the_export_has_them(ledger: Ledger) -> None:
    for value, version in enumerate(("1.0", "1.1", "1.2")):
        told(ledger, ask(version), "t", value, fresh=True)
    ledger.revise({1: 2}, reason=WHY, by="ada")
    ledger.withdraw([3], reason="Lost.", by="ng")
    rows = json.loads(export(ledger.entries(), "json", ledger.amendments(), ledger.revisions()))
    assert [row["state"] for row in rows] == [*["released"] * 3, "revised", "withdrawn"]
    assert [row["details"] for row in rows[3:]] == [
        {"entry": 1, "reason": WHY, "replaced_by": 2},
        {"entry": 3, "reason": "Lost."},
    ]
    assert [row["analyst"] for row in rows[3:]] == ["ada", "ng"]
    assert all(row["epsilon"] == 0.0 for row in rows[3:])
    assert "withdrawn" in export(ledger.entries(), "csv", ledger.amendments(), ledger.revisions())


@pytest.mark.parametrize(
    ("kind", "entry", "details"),
    [
        ("withdraw", 2, {"reason": WHY}),  # never released
        ("withdraw", 1, {"reason": WHY, "replaced_by": 3}),
        ("revise", 1, {"reason": WHY}),
        ("revise", 1, {"reason": WHY, "replaced_by": 2}),
        ("revise", 1, {"reason": WHY, "replaced_by": 1}),
        ("revise", 3, {"reason": WHY, "replaced_by": 1}),
        ("revise", 1, {"reason": WHY, "replaced_by": 9}),
    ],
)
def test_a_row_that_no_revision_writes_does_not_verify(
    tmp_path: Path, kind: str, entry: int, details: dict[str, Any]
) -> None:
    """Written by whoever has the file and the source: hashed, linked, and the totals sealed anew."""
    file = tmp_path / "l.db"
    with Ledger.open(f"sqlite:///{file}", dataset="d", policy=POLICY, caps=CAPS) as ledger:
        told(ledger, ask(), "t", 7)
        ledger.reserve([ask()], data="t")
        told(ledger, ask(), "t", 8, fresh=True)
        ledger.withdraw([3], reason=WHY)
        ledger.verify()
    with closing(sqlite3.connect(file)) as base, base:
        base.row_factory = sqlite3.Row
        (last,) = base.execute("select * from leakcap_event order by seq desc limit 1")
        base.execute("delete from leakcap_event where seq = ?", (last["seq"],))
        before = base.execute("select * from leakcap_event where seq = ?", (last["seq"] - 1,)).fetchone()
        row = {name: last[name] for name in last.keys() if name not in ("hash", "previous", "format")}  # noqa: SIM118
        row |= {
            "kind": kind,
            "entry": entry,
            "details": json.dumps(details, sort_keys=True, separators=(",", ":")),
        }
        row = link(row, before["hash"])
        marks = ", ".join("?" * len(row))
        base.execute(f"insert into leakcap_event ({', '.join(row)}) values ({marks})", tuple(row.values()))
        (state,) = base.execute("select * from leakcap_state")
        moved = {name: state[name] for name in state.keys()} | {"head": row["hash"], "seal": None}  # noqa: SIM118
        seal = fingerprint(moved)
        base.execute("update leakcap_state set head = ?, seal = ?", (row["hash"], seal))
    with (
        Ledger.read(f"sqlite:///{file}") as book,
        pytest.raises(LedgerError, match=f"Row {last['seq']} .* revises an answer that was not valid"),
    ):
        book.verify()
