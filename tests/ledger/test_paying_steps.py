"""Steps of a stream: no more than were paid for, by a charge that only a stream may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter
from leakcap.ledger import Caps, Charge, Entry, Ledger, Spend, answer_steps
from leakcap.ledger.unbegun import UnbegunLedger
from leakcap.ledger.unpaid import NothingPaid, UnpaidLedger

OWN: dict[str, Any] = {"dataset": "d", "policy": "ab12cd34", "caps": Caps(1.0)}


def stream(steps: Any = 3, epsilon: float = 0.5) -> Charge:
    return Charge("s", "count", Spend(epsilon=epsilon), "", {"stream_steps": steps})


def draws() -> Callable[[Entry], Callable[[int], list[int]]]:
    return lambda entry: lambda step: [step]


@pytest.mark.parametrize("wanted", [-1, 0, 4, 5, True, 2.0])
def test_a_new_stream_answers_one_step_at_least_and_no_more_than_were_paid_for(wanted: Any) -> None:
    with Ledger.open("sqlite://", **OWN) as ledger:
        with pytest.raises(InvalidParameter, match="from 1 to 3, the steps paid for"):
            answer_steps(ledger, stream(), wanted, draws)
        assert ledger.entries() == []


def test_a_stream_that_was_begun_is_told_without_new_steps_and_answered_to_its_end() -> None:
    with Ledger.open("sqlite://", **OWN) as ledger:
        assert answer_steps(ledger, stream(), 2, draws).steps == [[0], [1]]
        assert answer_steps(ledger, stream(), 0, draws).new == 0
        with pytest.raises(InvalidParameter, match="from 0 to 3, the steps paid for"):
            answer_steps(ledger, stream(), 4, draws)
        assert answer_steps(ledger, stream(), 3, draws).new == 1
        assert [entry.state for entry in ledger.entries()] == ["released"]


@pytest.mark.parametrize("steps", [0, -1, 2.0, True, "3"])
def test_a_stream_says_how_many_steps_it_pays_for(steps: Any) -> None:
    with Ledger.open("sqlite://", **OWN) as ledger:
        for ask in (ledger.reserve_stream, lambda one: answer_steps(ledger, one, 1, draws)):
            with pytest.raises(InvalidParameter, match="stream_steps"):
                ask(stream(steps))
        with pytest.raises(InvalidParameter, match="stream_steps"):
            ledger.reserve_stream(Charge("s", "count", Spend(epsilon=0.5)))
        assert ledger.entries() == []


def test_no_other_charge_calls_itself_a_stream() -> None:
    """It would be missing from what was paid for and never left."""
    with Ledger.open("sqlite://", **OWN) as ledger:
        with pytest.raises(InvalidParameter, match="leave `stream_steps` to `reserve_stream`"):
            ledger.reserve([stream()])
        assert ledger.entries() == []


def test_an_unpaid_ledger_pays_for_no_stream() -> None:
    with UnpaidLedger.of(UnbegunLedger("sqlite:///new.db", plans=[], **OWN), **OWN) as ledger:
        for charge, refusal in ((stream(), NothingPaid), (stream(epsilon=2.0), BudgetExceeded)):
            with pytest.raises(refusal):
                ledger.reserve_stream(charge)
            with pytest.raises(refusal):
                answer_steps(ledger, charge, 1, draws)
        assert ledger.entries() == []
