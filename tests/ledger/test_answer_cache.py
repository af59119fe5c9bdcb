"""The same query again: what is the same, what is recorded, what is not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger import Answer, Caps, Charge, Ledger, Limits, Spend

COUNT = Charge("old", "count where age >= 65", Spend(0.1, 0, 0.00125, 1.0), "ng", {"noise_scale_count": 10.0})


def changed(**fields: Any) -> Charge:
    base = {
        "query": "old",
        "text": COUNT.text,
        "spend": COUNT.spend,
        "analyst": "ng",
        "details": COUNT.details,
    }
    return Charge(**base | fields)


def answered(ledger: Ledger, charge: Charge = COUNT, data: str = "monday", value: int = 212) -> int:
    (entry,) = ledger.reserve([charge], data=data)
    ledger.mark_released([entry.id], answers={entry.id: [[value, value - 30, value + 30]]})
    return entry.id


def test_an_answer_is_recalled_for_free(opened: Any) -> None:
    ledger = opened()
    assert ledger.recall([COUNT], data="monday") == [None]
    first = answered(ledger)
    before = ledger.totals()
    assert ledger.recall([COUNT], data="monday") == [Answer(first, [[212, 182, 242]])]
    ledger.mark_repeated([first, first], analyst="räume")
    assert ledger.totals() == before
    assert ledger.verify().rows == 5
    ((value, _, _),) = ledger.recall([COUNT], data="monday")[0].values
    assert isinstance(value, int)


@pytest.mark.parametrize(
    ("charge", "data"),
    [
        (changed(text="count where age >= 66"), "monday"),
        (changed(spend=Spend(0.2, 0, 0.00125, 1.0)), "monday"),
        (changed(spend=Spend(0.1, 1e-9, 0.00125, 1.0)), "monday"),
        (changed(details={"noise_scale_count": 11.0}), "monday"),
        (COUNT, "tuesday"),
        (COUNT, ""),
    ],
)
def test_what_differs_is_another_query(opened: Any, charge: Charge, data: str) -> None:
    ledger = opened()
    answered(ledger)
    assert ledger.recall([charge], data=data) == [None]


def test_name_and_analyst_do_not_make_another_query(opened: Any) -> None:
    ledger = opened()
    first = answered(ledger)
    for charge in (changed(query="elderly"), changed(analyst="räume")):
        assert ledger.recall([charge], data="monday")[0].entry == first


def test_where_analysts_have_accounts_nobody_learns_off_the_account(opened: Any) -> None:
    ledger = opened(Caps(each_analyst=Limits(epsilon=0.5)))
    first = answered(ledger)
    assert ledger.recall([changed(analyst="räume")], data="monday") == [None]
    assert ledger.recall([COUNT], data="monday")[0].entry == first


def test_what_was_never_released_is_never_recalled(opened: Any) -> None:
    ledger = opened()
    (lost,) = ledger.reserve([COUNT], data="monday")
    assert ledger.recall([COUNT], data="monday") == [None]
    ledger.acknowledge([lost.id], note="power cut")
    assert ledger.recall([COUNT], data="monday") == [None]
    (plain,) = ledger.reserve([COUNT], data="monday")
    ledger.mark_released([plain.id])  # left, but was not recorded
    assert ledger.recall([COUNT], data="monday") == [None]


def test_fresh_noise_replaces_what_is_remembered(opened: Any) -> None:
    ledger = opened()
    answered(ledger, value=212)
    second = answered(ledger, value=208)
    assert ledger.recall([COUNT], data="monday")[0] == Answer(second, [[208, 178, 238]])
    assert ledger.totals().epsilon == 0.2


def test_a_changed_table_is_a_new_version_under_the_same_budget(opened: Any) -> None:
    ledger = opened()
    for data in ("monday", "tuesday", "monday", "wednesday", ""):
        ledger.reserve([COUNT], data=data)
    assert [entry.data_version for entry in ledger.entries()] == [1, 2, 1, 3, 3]
    assert ledger.totals().epsilon == 0.5
    ledger.verify()


def test_an_edited_answer_is_found(opened: Any, sql: Any) -> None:
    ledger = opened()
    answered(ledger)
    sql("UPDATE leakcap_event SET answer = '[[0,0,0]]' WHERE kind = 'release'")
    with pytest.raises(LedgerError, match="edited"):
        ledger.recall([COUNT], data="monday")
    with pytest.raises(LedgerError, match=r"Row 3 .* was edited"):
        ledger.verify()


@pytest.mark.parametrize("both", [False, True])
def test_an_edited_question_is_found(opened: Any, sql: Any, both: bool) -> None:
    """The keys of two queries are swapped, or one is copied: neither is answered with the other's answer."""
    ledger = opened()
    other = changed(text="count where age < 65")
    first, second = answered(ledger, COUNT, value=212), answered(ledger, other, value=5)
    keys = dict(sql("SELECT entry, memo FROM leakcap_event WHERE kind = 'reserve'"))
    assert keys[first] != keys[second]
    move = "UPDATE leakcap_event SET memo = '{}' WHERE kind = 'reserve' AND entry = {}"
    sql(move.format(keys[first], second))
    if both:
        sql(move.format(keys[second], first))
    with pytest.raises(LedgerError, match=r"Row 4 .* was edited"):
        ledger.recall([COUNT], data="monday")
    if both:
        with pytest.raises(LedgerError, match=r"Row 2 .* was edited"):
            ledger.recall([other], data="monday")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_answers_are_numbers(opened: Any, value: float) -> None:
    ledger = opened()
    (entry,) = ledger.reserve([COUNT], data="monday")
    with pytest.raises(InvalidParameter, match="finite"):
        ledger.mark_released([entry.id], answers={entry.id: [[value]]})
    assert ledger.unreleased() == [entry]


def test_repeats_are_of_entries_that_are_there(opened: Any) -> None:
    with pytest.raises(LedgerError, match="no entry 7"):
        opened().mark_repeated([7])


def test_repeats_are_of_answers_that_left(opened: Any) -> None:
    ledger = opened()
    reserved, lost = ledger.reserve([COUNT, COUNT], data="monday")
    ledger.acknowledge([lost.id])
    rows = ledger.verify().rows
    for entry in (reserved, lost):
        with pytest.raises(LedgerError, match=f"Entry {entry.id} .* was never released"):
            ledger.mark_repeated([entry.id])
    assert ledger.verify().rows == rows
    ledger.mark_released([reserved.id])
    ledger.mark_repeated([reserved.id])
    assert ledger.verify().rows == rows + 2


def test_answers_are_of_the_entries_that_leave(opened: Any) -> None:
    ledger = opened()
    first, second = ledger.reserve([COUNT, COUNT], data="monday")
    for answers in ({second.id: [[1, 0, 2]]}, {first.id: [[1, 0, 2]], 99: [[1, 0, 2]]}):
        with pytest.raises(InvalidParameter, match=r"`answers` of `mark_released` must be of entries"):
            ledger.mark_released([first.id], answers=answers)
    with pytest.raises(InvalidParameter, match="among `ids`"):
        ledger.mark_released([], answers={first.id: [[1, 0, 2]]})
    assert [entry.id for entry in ledger.unreleased()] == [first.id, second.id]
    assert ledger.recall([COUNT], data="monday") == [None]


class TestAcknowledging:
    def test_it_stays_spent_is_no_longer_listed_and_cannot_leave(self, opened: Any) -> None:
        ledger = opened()
        lost, late = ledger.reserve([COUNT, COUNT])
        ledger.acknowledge([lost.id], note="power cut", analyst="root")
        assert [entry.id for entry in ledger.unreleased()] == [late.id]
        assert [entry.state for entry in ledger.entries()] == ["acknowledged", "reserved"]
        assert ledger.totals().epsilon == 0.2
        with pytest.raises(LedgerError, match="acknowledged as lost"):
            ledger.mark_released([lost.id])
        with pytest.raises(LedgerError, match="acknowledged as lost"):
            ledger.acknowledge([lost.id])
        ledger.mark_released([late.id])
        with pytest.raises(LedgerError, match="released before"):
            ledger.acknowledge([late.id])
        assert ledger.verify().rows == 5

    def test_an_existing_ledger_is_resumed_under_its_own_caps(
        self, opened: Any, charge: Any, file: Any
    ) -> None:
        opened().reserve([charge()])
        with Ledger.resume(f"sqlite:///{file}") as ledger:
            ledger.acknowledge([1])
        with Ledger.read(f"sqlite:///{file}") as ledger, pytest.raises(LedgerError, match="for reading"):
            ledger.acknowledge([1])
        with pytest.raises(LedgerError, match="There is no ledger"):
            Ledger.resume(f"sqlite:///{file}.none")
        assert not file.with_name(file.name + ".none").exists()
