"""The one way to pay: nothing is computed before it is committed, and nothing leaves that is not recorded."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import leakcap
from leakcap.errors import BudgetExceeded, DataError, LeakcapError
from leakcap.ledger import Caps, Charge, Entry, Ledger, Paid, Spend, answer_once

SICK, OLD = (Charge(name, name, Spend(epsilon=0.3)) for name in ("sick", "old"))
SAME = Charge("sick again", "sick", Spend(epsilon=0.3))
SOURCE = Path(leakcap.__file__).parent


class Case:
    """A ledger, and all that happened in the order in which it did."""

    def __init__(self, cap: float = 1.0) -> None:
        self.ledger = Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(cap))
        self.seen: list[str] = []

    def spent(self) -> float:
        return self.ledger.balances()[0].spent

    def prepare(
        self, places: Sequence[int], paid_before: bool
    ) -> Callable[[Sequence[Entry]], list[tuple[str, list[list[int]]]]]:
        self.seen.append(f"prepare {list(places)} at {self.spent():g}")

        def compute(entries: Sequence[Entry]) -> list[tuple[str, list[list[int]]]]:
            self.seen.append(f"compute {[entry.state for entry in entries]} at {self.spent():g}")
            return [(entry.query, [[entry.id]]) for entry in entries]

        return compute

    def ask(self, *charges: Charge, data: str = "table", fresh: bool = False) -> list[Paid[str]]:
        return answer_once(self.ledger, charges, self.prepare, data=data, analyst="ana", fresh=fresh)


def test_the_spend_is_committed_before_anything_is_computed() -> None:
    case = Case()
    assert [one.computed for one in case.ask(SICK, OLD)] == ["sick", "old"]
    assert case.seen == ["prepare [0, 1] at 0", "compute ['reserved', 'reserved'] at 0.6"]
    assert [entry.state for entry in case.ledger.entries()] == ["released", "released"]


def test_what_is_known_is_repeated_and_what_is_asked_twice_is_paid_once() -> None:
    case = Case()
    case.ask(SICK)
    again = case.ask(OLD, SICK, SAME, OLD)
    assert [one.computed for one in again] == ["old", None, None, None]
    assert [one.answer.entry for one in again] == [2, 1, 1, 2]
    assert case.seen[2:] == ["prepare [0] at 0.3", "compute ['reserved'] at 0.6"]
    # The first row, two spends, two releases, and three answers that left once more.
    assert case.ledger.verify().rows == 1 + 2 + 2 + 3


def test_without_a_name_of_the_table_nothing_is_remembered() -> None:
    case = Case()
    assert [case.ask(SICK, data="")[0].computed for _ in range(2)] == ["sick", "sick"]
    assert case.spent() == pytest.approx(0.6)


def test_fresh_noise_is_paid_for_each_time_it_is_asked() -> None:
    case = Case()
    case.ask(SICK)
    assert [one.answer.entry for one in case.ask(SICK, SAME, fresh=True)] == [2, 3]
    assert case.spent() == pytest.approx(0.9)


def test_a_refusal_spends_and_computes_nothing() -> None:
    case = Case(cap=0.5)
    with pytest.raises(BudgetExceeded):
        case.ask(SICK, OLD)
    assert case.seen == ["prepare [0, 1] at 0"]
    assert (case.spent(), case.ledger.entries()) == (0.0, [])


def test_what_preparing_refuses_is_not_paid() -> None:
    case = Case()

    def refuses(
        places: Sequence[int], paid_before: bool
    ) -> Callable[[Sequence[Entry]], list[tuple[str, object]]]:
        raise DataError("There is no such column.")

    with pytest.raises(DataError, match=r"no such column\.$"):
        answer_once(case.ledger, [SICK], refuses)
    assert case.spent() == 0.0


@pytest.mark.parametrize("answer", [[[float("nan")]], None])
def test_what_fails_after_the_commit_stays_spent_and_says_so(answer: object) -> None:
    """The engine, or what cannot be recorded: an answer that the ledger does not have does not leave."""
    case = Case()

    def prepare(
        places: Sequence[int], paid_before: bool
    ) -> Callable[[Sequence[Entry]], list[tuple[str, object]]]:
        def compute(entries: Sequence[Entry]) -> list[tuple[str, object]]:
            if answer is None:
                raise DataError("The engine stopped.")
            return [("sick", answer)]

        return compute

    with pytest.raises(LeakcapError, match="stays in the ledger") as caught:
        answer_once(case.ledger, [SICK], prepare, data="table")
    assert caught.value.committed
    assert case.spent() == pytest.approx(0.3)
    assert case.ledger.recall([SICK], data="table") == [None]


def test_nothing_else_in_the_package_reserves() -> None:
    """Planted: a call of the old kind is found."""

    def calls(text: str) -> int:
        return sum(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "reserve"
            for node in ast.walk(ast.parse(text))
        )

    def may(text: str) -> bool:
        return "reserve" in text  # to read all of the package takes a second

    assert calls("entries = table.ledger.reserve(charges)") == 1
    files = [path for path in SOURCE.rglob("*.py") if may(text := path.read_text()) and calls(text)]
    # `Ledger.spend` charges what other software has released: there is no noise to draw after the commit.
    assert [path.relative_to(SOURCE).as_posix() for path in files] == ["ledger/ledger.py", "ledger/paying.py"]
