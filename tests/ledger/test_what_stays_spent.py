"""No row, restoration, admission or earlier leakcap gives back what was spent."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from leakcap.errors import LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Limits, Spend, backup, move, restore
from leakcap.ledger.admission import admit_dataset
from leakcap.ledger.amending import Proposed
from leakcap.ledger.chain import link, text_hash
from leakcap.ledger.database import connect
from leakcap.ledger.events import mark_row, reserve_rows
from leakcap.ledger.schema import EVENT
from leakcap.ledger.state import State, amounts_row, append, load_state
from leakcap.ledger.ticks import NOTHING, Ticks, total

ALL = Caps(1.0)


def policy(**changes: Any) -> str:
    content = {"dataset": "d", "unit": {"id": "p"}, "neighbours": "add-remove-one", "caps": {}, "columns": {}}
    return json.dumps(content | {"tables": {}} | changes, sort_keys=True, separators=(",", ":"))


def opened(url: str, text: str = "", caps: Caps = ALL) -> Ledger:
    text = text or policy()
    return Ledger.open(url, dataset="d", policy=text_hash(text), text=text, caps=caps)


def spend(ledger: Ledger, epsilon: float = 0.1, analyst: str = "", **options: Any) -> int:
    (entry,) = ledger.reserve([Charge("q", "count", Spend(epsilon=epsilon), analyst, **options)], data="t")
    ledger.mark_released([entry.id], answers={entry.id: [[1]]})
    return entry.id


@pytest.fixture
def place(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'a.db'}"


Forge = Callable[[State], tuple[dict[str, Any], Ticks]]


def forged(url: str, forge: Forge) -> None:
    """Write a row as whoever has the file and the source can: hashed, linked, and the totals with it."""
    with closing(connect(url)) as database, database.writing() as connection:
        state = load_state(connection, url)
        row, ticks = forge(state)
        append(connection, state, [row], spent=total([state.spent, ticks]))


def relinked(state: State, row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    plain = {name: value for name, value in row.items() if name not in ("hash", "previous", "format")}
    return link(plain | changes, state.head)


def lost(ticks: Ticks) -> Forge:
    details = {"entries": ticks.queries}
    return lambda state: (mark_row(state, "lost", state.time, details, lost=ticks), ticks)


def reserved(ticks: Ticks) -> Forge:
    def forge(state: State) -> tuple[dict[str, Any], Ticks]:
        charge = Charge("q", "count", Spend(epsilon=0.1))
        (row,) = reserve_rows([charge], [ticks], state, state.time, ("", 0))
        return relinked(state, row, event=""), ticks

    return forge


def kind(name: str) -> Forge:
    return lambda state: (mark_row(state, name, state.time, {"reason": "x"}), NOTHING)


def less(name: str) -> Ticks:
    """A whole ε less in one currency, as one query."""
    return NOTHING._replace(queries=1)._replace(**{name: -(10**12)})


FORGED: dict[str, tuple[Forge, str]] = {
    **{f"lost {name}": (lost(less(name)), "spends less than nothing") for name in Ticks._fields[:6]},
    **{f"reserve {name}": (reserved(less(name)), "spends less than nothing") for name in Ticks._fields[:6]},
    "lost entries": (lost(NOTHING._replace(queries=-1)), "spends less than nothing"),
    "a kind that there is not": (kind("gift"), "kind that does not stand there"),
    "a second beginning": (kind("open"), "kind that does not stand there"),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_row_that_gives_back_does_not_verify(place: str, case: str) -> None:
    forge, said = FORGED[case]
    with opened(place) as ledger:
        spend(ledger, 0.9)
        anchor = ledger.head().hash
    forged(place, forge)
    with Ledger.read(place) as ledger, pytest.raises(LedgerError, match=f"Row 4 .* {said}"):
        ledger.verify(anchor=anchor)


def test_a_first_row_that_is_no_beginning_does_not_verify(place: str) -> None:
    with opened(place) as ledger:
        ledger.verify()
    with closing(connect(place)) as database, database.writing() as connection:
        row = dict(connection.execute(EVENT.select()).mappings().one())
        state = load_state(connection, place)
        connection.execute(EVENT.delete())
        start = State(**{**vars(state), "head": row["previous"]})
        again = relinked(start, row, kind="reserve", entry=1, **amounts_row(NOTHING))
        append(connection, state, [again], spent=NOTHING)
    with Ledger.read(place) as ledger, pytest.raises(LedgerError, match=r"Row 1 .* kind that does not stand"):
        ledger.verify()


ACCOUNTS = {
    "each analyst": Caps(1.0, each_analyst=Limits(epsilon=0.4)),
    "one analyst": Caps(1.0, analysts={"ann": Limits(epsilon=0.4)}),
    "each month": Caps(1.0, each_period=Limits(epsilon=0.4), period="month"),
}


@pytest.mark.parametrize("case", ACCOUNTS)
def test_what_was_lost_is_on_no_account_so_that_none_may_begin(place: str, tmp_path: Path, case: str) -> None:
    """Ann's 0.4 is lost with the file: an account of hers that began now would have all of 0.4 again."""
    file = tmp_path / "a.db"
    with opened(place) as ledger:
        spend(ledger, 0.1, "ann")
    backup(place, tmp_path / "a.bak")
    with opened(place) as ledger:
        spend(ledger, 0.4, "ann")
        anchor = ledger.anchor()
    file.unlink()
    back = restore(f"sqlite:///{tmp_path / 'a.bak'}", place, anchor=anchor, book_lost=True, reason="a fire")
    assert (back.lost, back.closed) == (1, False)
    with opened(place) as ledger:
        with pytest.raises(LedgerError, match=r"analysts or periods.* without all of its spends"):
            ledger.amend(Proposed(policy(x=1), ACCOUNTS[case], "why"))
        # Other amendments stand, and the lost spend counts against them.
        wider = ledger.amend(Proposed(policy(x=1), Caps(2.0), "more"))
        assert wider.balances()[0].left == 1.5
        wider.verify()


OWNED, PUBLIC = {"T": {"id": "p"}}, {"T": {}}


def proposed(text: str) -> Proposed:
    return Proposed(text, ALL, "why")


def test_a_table_that_was_about_people_is_public_in_no_data_set_that_comes_later(place: str) -> None:
    """Asked about as people's, then left out of the policy: what was told of its rows stays told."""
    with opened(place, policy(tables=OWNED)) as ledger:
        spend(ledger)
        ledger.amend(proposed(policy()))
    with pytest.raises(LedgerError, match=r"`tables.T` may not change whose it is"):
        admit_dataset(place, proposed(policy(dataset="v", tables=PUBLIC)))
    admit_dataset(place, proposed(policy(dataset="v", tables=OWNED)))
    admit_dataset(place, proposed(policy(dataset="v")))
    # The other way round: once told of in `v`, in neither a third data set nor the ledger's own.
    with pytest.raises(LedgerError, match=r"`tables.T` may not change whose it is"):
        admit_dataset(place, proposed(policy(dataset="w", tables=PUBLIC)))
    with Ledger.read(place) as ledger:
        ledger.verify()


def test_an_amendment_is_held_against_what_admitted_data_sets_declared_before(place: str) -> None:
    with opened(place) as ledger:
        spend(ledger)
    admit_dataset(place, proposed(policy(dataset="v", tables=OWNED)))
    admit_dataset(place, proposed(policy(dataset="v")))
    with opened(place) as ledger:
        with pytest.raises(LedgerError, match=r"`tables.T` may not change whose it is"):
            ledger.amend(proposed(policy(tables=PUBLIC)))
        ledger.amend(proposed(policy(tables=OWNED))).verify()


def test_a_data_set_that_was_a_public_table_before_is_not_admitted(place: str) -> None:
    with opened(place, policy(tables={"v": {}})) as ledger:
        spend(ledger)
        ledger.amend(proposed(policy()))
    with pytest.raises(LedgerError, match=r"`tables.v` of `d` is public"):
        admit_dataset(place, proposed(policy(dataset="v")))


OLD_DETAILS = {
    "a data set": {"dataset": "wisconsin", "scale": 10.0},
    "a line break": {"publication": "one\ntwo"},
    "a long text": {"publication_version": "x" * 300},
    "a number": {"reference_period": 2026},
}


@pytest.mark.parametrize("case", OLD_DETAILS)
def test_details_that_were_a_callers_own_before_they_had_a_meaning_verify(place: str, case: str) -> None:
    """As an earlier leakcap wrote them: its charges could have details of any name."""
    opened(place).close()

    def as_before(state: State) -> tuple[dict[str, Any], Ticks]:
        charge = Charge("q", "count", Spend(epsilon=0.1))
        ticks = charge.spend.ticks(None)
        (row,) = reserve_rows([charge], [ticks], state, state.time, ("", 0))
        text = json.dumps(OLD_DETAILS[case], sort_keys=True, separators=(",", ":"))
        return relinked(state, row, details=text), ticks

    forged(place, as_before)
    with opened(place) as ledger:
        ledger.verify()
        spend(ledger, 0.9)
        ledger.verify()
        assert [(one.dataset, one.entries) for one in ledger.datasets()] == [("d", 2)]
        assert len(ledger.entries()) == 2
    move(place, place.replace("a.db", "b.db"))


def test_an_answer_that_is_withdrawn_while_it_is_recalled_is_not_repeated(place: str) -> None:
    with opened(place) as ledger:
        spend(ledger)
        (found,) = ledger.recall([Charge("q", "count", Spend(epsilon=0.1))], data="t")
        assert found is not None
        with Ledger.resume(place) as other:
            other.withdraw([found.entry], reason="wrong")
        head = ledger.head()
        with pytest.raises(LedgerError, match=r"entry 1 .* replaced or withdrawn, and is not repeated"):
            ledger.mark_repeated([found.entry])
        assert ledger.head() == head
