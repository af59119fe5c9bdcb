"""Levels of people's own caps in the ledger: decided with the spend, whoever else spends, and read again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from leakcap.errors import BudgetExceeded, InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Spend, events
from leakcap.ledger.chain import link
from leakcap.ledger.details import FROM
from leakcap.ledger.people import SCOPE, Levels
from leakcap.ledger.schema import ACCOUNT, EVENT
from leakcap.ledger.state import load_state, replace_state, save_account

OWNER = {"dataset": "patients", "policy": "ab12cd34ef56ab78"}
CAPS = Caps(each_person=(0.4, 1.0, 3.0))
LEVELS = "Caps(each_person=(0.4, 1.0, 3.0))"
RACE = """
import random
from leakcap.errors import BudgetExceeded
chance = random.Random({seed})
print("ready", flush=True)
sys.stdin.readline()
for _ in range({attempts}):
    epsilon = chance.choice([0.05, 0.1, 0.2])
    try:
        ledger.reserve([Charge("q", "count", Spend(epsilon=epsilon), counts_by_cap=True)])
    except BudgetExceeded:
        pass
print("done", flush=True)
"""


def charge(epsilon: float, **options: Any) -> Charge:
    return Charge("n", "count", Spend(epsilon), **{"counts_by_cap": True} | options)


def test_processes_that_race_pass_no_level(started: Any, url: str) -> None:
    running = [started(RACE.format(seed=seed, attempts=15), LEVELS, url) for seed in range(5)]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in running] == ["done\n"] * 5
    with Ledger.open(url, caps=CAPS, **OWNER) as ledger:
        ledger.verify()
        entries = ledger.entries()
        for account, level in zip(ledger.accounts()[1:], CAPS.each_person, strict=True):
            # In order of the chain, and in whole ticks, as no double would add them.
            spent = sum(
                round(entry.spend.epsilon * 10**12) for entry in entries if (entry.people_from or 9) <= level
            )
            assert spent <= round(level * 10**12)
            assert account.balances[0].spent == spent / 10**12
        assert ledger.accounts()[-1].balances[0].left < 0.05
        assert {entry.people_from for entry in entries} == set(CAPS.each_person)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([0.4, 0.6, 2.0], [0.4, 1.0, 3.0]),
        # What a level lacks at 1 keeps those of 0.4 out too, though they have room.
        ([0.95, 0.2, 0.05, 0.05], [1.0, 3.0, 0.4, 3.0]),
        ([3.0], [3.0]),
        ([0.1] * 31, [0.4] * 4 + [1.0] * 6 + [3.0] * 20 + [None]),
        ([3.000000000001], [None]),
    ],
)
def test_a_query_counts_from_the_least_level_with_room_in_it_and_above(
    asked: list[float], expected: list[float | None]
) -> None:
    found: list[float | None] = []
    with Ledger.open("sqlite://", caps=CAPS, **OWNER) as ledger:
        for epsilon in asked:
            before, said = ledger.head(), "people with a cap of `3` or more would be exceeded"
            if expected[len(found)] is None:
                with pytest.raises(BudgetExceeded, match=said):
                    ledger.reserve([charge(epsilon)])
                assert ledger.head() == before
                found.append(None)
            else:
                found.append(ledger.reserve([charge(epsilon)])[0].people_from)
    assert found == expected


def test_a_check_spends_nothing_and_says_the_same() -> None:
    with Ledger.open("sqlite://", caps=CAPS, **OWNER) as ledger:
        ledger.check([charge(2.0)])
        with pytest.raises(BudgetExceeded, match="3 left of 3"):
            ledger.check([charge(4.0)])
        with pytest.raises(BudgetExceeded, match="1 left of 3, 2 asked"):
            ledger.check([charge(2.0), charge(2.0)])
        assert ledger.head().rows == 1


def test_the_ordinary_caps_hold_as_before() -> None:
    with Ledger.open("sqlite://", caps=replace(CAPS, epsilon=0.5), **OWNER) as ledger:
        ledger.reserve([charge(0.3)])
        with pytest.raises(BudgetExceeded, match=r"dataset `patients`.*may raise a cap"):
            ledger.reserve([charge(0.3)])


def test_whoever_leaves_nobody_out_is_refused() -> None:
    with Ledger.open("sqlite://", caps=CAPS, **OWNER) as ledger:
        for wrong, said in (
            (charge(0.1, counts_by_cap=False), r"PrivateTable\.release"),
            (Charge("n", "count", Spend(0.1, 1e-6), counts_by_cap=True), "caps on ε alone"),
        ):
            with pytest.raises(LedgerError, match=said):
                ledger.reserve([charge(0.1), wrong])
        assert ledger.head().rows == 1
    with pytest.raises(InvalidParameter, match=FROM):
        charge(0.1, details={FROM: "0.1"})


@pytest.mark.parametrize(
    "levels", [(0.0,), (-1.0,), (1.0, 1.0), (2.0, 1.0), (1e-13,), (True,), (1.0, 1.0 + 1e-13), (2e6,)]
)
def test_levels_that_are_none_are_refused(levels: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameter, match="`each_person` of `Caps` must be rising numbers"):
        Caps(each_person=levels)


def test_a_ledger_with_other_levels_is_another_one(file: Path) -> None:
    with Ledger.open(f"sqlite:///{file}", caps=CAPS, **OWNER) as ledger:
        ledger.reserve([charge(0.1)])
    for caps in (Caps(), Caps(each_person=(0.4, 1.0))):
        with pytest.raises(LedgerError, match="made with other caps"):
            Ledger.open(f"sqlite:///{file}", caps=caps, **OWNER)


def forged(ledger: Ledger, details: dict[str, str]) -> None:
    """A spend that counts whom it likes, by somebody who can make every hash, total and account good."""
    with ledger._database.writing() as connection:
        state = load_state(connection, "")
        ticks = charge(0.3).spend.ticks(None)
        (row,) = events.reserve_rows([charge(0.3)], [ticks], state, state.time, ("", 1))
        row = link(row | {"details": json.dumps(details)}, state.head)
        connection.execute(EVENT.insert(), row)
        spent = state.spent._replace(
            epsilon=(state.spent.epsilon or 0) + (ticks.epsilon or 0),
            nats_person=(state.spent.nats_person or 0) + (ticks.nats_person or 0),
            queries=2,
        )
        replace_state(connection, state, replace(state, rows=row["seq"], head=row["hash"], spent=spent))


@pytest.mark.parametrize("details", [{FROM: "0.4"}, {FROM: "3"}, {FROM: "0.5"}, {}])
def test_verify_makes_the_decision_again(details: dict[str, str]) -> None:
    """0.3 was spent, so that the next 0.3 counts people from 1 on, and nobody else."""
    with Ledger.open("sqlite://", caps=CAPS, **OWNER) as ledger:
        ledger.reserve([charge(0.3)])
        ledger.verify()
        forged(ledger, details)
        with pytest.raises(LedgerError, match=r"Row 3 .* counts people whose own caps have no room"):
            ledger.verify()


def test_verify_finds_a_level_that_was_kept_one_query_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open("sqlite://", caps=CAPS, **OWNER) as ledger:
        true = Levels.floor
        with monkeypatch.context() as late:
            late.setattr(Levels, "floor", lambda self, asked: true(self, asked._replace(epsilon=1)))
            assert [ledger.reserve([charge(0.3)])[0].people_from for _ in range(2)] == [0.4, 0.4]
            ledger.verify()
        with pytest.raises(LedgerError, match="counts people whose own caps have no room"):
            ledger.verify()


def test_an_edited_or_missing_level_is_found() -> None:
    with Ledger.open("sqlite://", caps=CAPS, **OWNER) as ledger:
        ledger.reserve([charge(0.3)])
        with ledger._database.writing() as connection:
            connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == "0.4").values(epsilon=1))
        with pytest.raises(LedgerError, match=f"account of {SCOPE} `0.4` .* is missing or was edited"):
            ledger.reserve([charge(0.3)])
        with ledger._database.writing() as connection:
            save_account(connection, SCOPE, "0.4", charge(0.1).spend.ticks(None), stands=True)
        with pytest.raises(LedgerError, match=r"people's own caps .* do not add up"):
            ledger.verify()
        with ledger._database.writing() as connection:
            connection.execute(ACCOUNT.delete())
        with pytest.raises(LedgerError, match="is missing or was edited"):
            ledger.reserve([charge(0.3)])
