"""A refusal as a program reads it: which cap, what is left, what was asked. Asking for the rest passes."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from leakcap.accounting.personal import Filter
from leakcap.definition import GaussianDP, PureDP
from leakcap.errors import BudgetExceeded, InvalidQuery, Passed
from leakcap.ledger import Caps, Charge, Ledger, Limits, Slot, SlotPlan, Spend
from leakcap.ledger.unbegun import UnbegunLedger
from leakcap.release import PrivateTable
from release.world import policy_of
from release.world import table as rows_table

NOVEMBER = datetime(2026, 11, 22, tzinfo=UTC)
SPENT = Spend(epsilon=0.25, delta=0.25, nats_person=0.25, nats_table=0.25)
MORE = Spend(epsilon=0.5, delta=0.5, nats_person=0.5, nats_table=0.5)
ONE: dict[str, float] = dict.fromkeys(("epsilon", "delta", "nats_person", "nats_table"), 0.375)


def opened(caps: Caps) -> Ledger:
    return Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps, clock=lambda: NOVEMBER)


def refused(ledger: Ledger, spend: Spend, analyst: str = "") -> BudgetExceeded:
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve([Charge("q", "count", spend, analyst)])
    return caught.value


def accounts() -> dict[str, tuple[Any, dict[str, str]]]:
    return {
        "everything": (lambda limits: Caps(**limits), {}),
        "each analyst": (lambda limits: Caps(each_analyst=Limits(**limits)), {"analyst": "li"}),
        "one analyst": (lambda limits: Caps(analysts={"li": Limits(**limits)}), {"analyst": "li"}),
        "a period": (
            lambda limits: Caps(period="month", each_period=Limits(**limits)),
            {"period": "2026-11"},
        ),
    }


@pytest.mark.parametrize("account", accounts())
def test_every_cap_of_every_account_is_told_in_fields(account: str) -> None:
    make, whose = accounts()[account]
    for name, limit in ONE.items():
        # Under a cap on ε alone nothing has a δ.
        first, more = (replace(one, delta=0.0) if name == "epsilon" else one for one in (SPENT, MORE))
        with opened(make({name: limit})) as ledger:
            ledger.reserve([Charge("first", "count", first, "li")])
            error = refused(ledger, more, "li")
            assert error.passed == (Passed(name, 0.375, 0.125, 0.5, **whose),)
            assert (error.cap, error.left, error.asked) == (name, 0.125, 0.5)
            assert {"analyst": error.analyst, "period": error.period} == {
                "analyst": None,
                "period": None,
            } | whose
    with opened(make({"queries": 1})) as ledger:
        ledger.reserve([Charge("first", "count", SPENT, "li")])
        assert refused(ledger, MORE, "li").passed == (Passed("queries", 1.0, 0.0, 1.0, **whose),)


def test_all_caps_that_would_be_passed_are_there_in_the_order_of_the_message() -> None:
    caps = Caps(epsilon=0.25, nats_table=0.25, each_analyst=Limits(epsilon=0.125))
    with opened(caps) as ledger:
        error = refused(ledger, replace(MORE, delta=0.0), "li")
    assert [(one.cap, one.analyst) for one in error.passed] == [
        ("epsilon", None),
        ("nats_table", None),
        ("epsilon", "li"),
    ]
    assert str(error).count("would be exceeded") == 3


def test_a_cap_on_epsilon_alone_is_no_leave_for_a_delta() -> None:
    """An answer with δ = 1 may be the table itself, whatever its ε: the cap would have promised nothing."""
    for delta in (1e-12, 1e-6, 1.0):
        with opened(Caps(epsilon=9.0, nats_table=99.0)) as ledger:
            asked = Spend(epsilon=0.1, delta=delta, nats_person=0.1, nats_table=0.1)
            error = refused(ledger, asked)
            assert error.passed == (Passed("delta", 0.0, 0.0, delta),)
            assert "have an `epsilon` and no `delta`" in str(error)
            assert "Nothing was spent. Ask without a δ." in str(error)
            assert "Ask for less" not in str(error)
            with pytest.raises(BudgetExceeded, match="no `delta`"):
                ledger.check([Charge("q", "count", asked)])
            assert ledger.totals().entries == 0
            ledger.reserve([Charge("q", "count", replace(asked, delta=0.0))])
    with opened(Caps(epsilon=9.0, delta=0.0)) as ledger:
        assert refused(ledger, Spend(0.1, 1e-6)).passed == (Passed("delta", 0.0, 0.0, 1e-6),)
    for caps in (Caps(nats_person=9.0), Caps(9.0, 1e-5), Caps(queries=9)):
        with opened(caps) as ledger:
            ledger.reserve([Charge("q", "count", Spend(0.1, 1e-6, nats_person=0.1))])


@pytest.mark.parametrize("caps", [Caps(epsilon=9.0), Caps(epsilon=9.0, delta=0.0)])
def test_a_cap_on_epsilon_alone_is_no_leave_for_a_plan_with_a_delta(caps: Caps) -> None:
    plan = SlotPlan("year", [Slot("monthly", 12, 0.2)], delta=0.5)
    with opened(caps) as ledger:
        with pytest.raises(BudgetExceeded, match="Plan `year` does not fit") as caught:
            ledger.plan(plan)
        assert caught.value.passed == (Passed("delta", 0.0, 0.0, 0.5),)
        assert (ledger.slots(), ledger.totals().epsilon) == ([], 0.0)
        ledger.plan(replace(plan, delta=0.0))
        assert ledger.totals().delta == 0.0
    with pytest.raises(BudgetExceeded, match="Plan `year` does not fit"):
        UnbegunLedger("sqlite://", dataset="d", policy="ab12cd34", caps=caps, plans=[plan])


def test_an_account_with_a_cap_on_epsilon_alone_takes_a_delta_only_where_everything_holds_it() -> None:
    asked = Spend(epsilon=0.2, delta=1.0, nats_table=0.2, nats_person=0.2)
    own: list[tuple[Caps, dict[str, str]]] = [
        (Caps(nats_table=100.0, each_analyst=Limits(epsilon=1.0)), {"analyst": "li"}),
        (Caps(analysts={"li": Limits(epsilon=1.0)}), {"analyst": "li"}),
        (Caps(nats_person=9.0, period="month", each_period=Limits(epsilon=1.0)), {"period": "2026-11"}),
    ]
    for caps, whose in own:
        with opened(caps) as ledger:
            error = refused(ledger, asked, "li")
            assert error.passed == (Passed("delta", 0.0, 0.0, 1.0, **whose),)
            ledger.reserve([Charge("q", "count", replace(asked, delta=0.0), "li")])
    with opened(Caps(9.0, delta=1e-6, each_analyst=Limits(epsilon=1.0))) as ledger:
        assert refused(ledger, asked, "li").passed[0].cap == "delta"
        ledger.reserve([Charge("q", "count", replace(asked, delta=4e-7), "li")])


def test_what_has_no_bound_is_none() -> None:
    with opened(Caps(nats_table=1.0)) as ledger:
        assert refused(ledger, replace(SPENT, nats_table=math.inf)).passed == (
            Passed("nats_table", 1.0, 1.0, None),
        )


@pytest.mark.parametrize("limit", [0.9, 1e-9, 123456.789012345678, 999_999.87654321, 0.3])
def test_whoever_asks_for_what_is_left_gets_it(limit: float) -> None:
    with opened(Caps(epsilon=limit)) as ledger:
        for share in (1 / 3, 1 / 7, 1.0):
            error = refused(ledger, Spend(epsilon=1e6))
            ledger.reserve([Charge("q", "count", Spend(epsilon=share * error.left))])
            if share == 1.0:
                rest = refused(ledger, Spend(epsilon=1e6)).left
                # To the double at most: what it lacks cannot be said as one.
                assert 0.0 <= rest <= math.ulp(error.left) + 1e-12


def test_a_release_keeps_the_fields_where_it_adds_advice(tmp_path: Any) -> None:
    rows = rows_table([{"id": 1, "x": 1.0}])
    for _ in range(2):  # of another version of the table the ledger has the answer, and says so
        ward = PrivateTable(rows, policy=policy_of(caps={"epsilon": 0.75}), ledger=tmp_path / "l.db")
        if not ward.ledger.entries():
            ward.count(epsilon=0.5)
    with pytest.raises(BudgetExceeded, match="--same-as 1") as caught:
        ward.count(epsilon=0.5)
    assert caught.value.passed == (Passed("epsilon", 0.75, 0.25, 0.5),)


def test_fields_cross_processes_and_copies() -> None:
    with opened(Caps(epsilon=0.25)) as ledger:
        error = refused(ledger, MORE)
    for copied in (pickle.loads(pickle.dumps(error)), error.saying("postgresql://ann:pw@db/x is full")):
        assert copied.passed == error.passed
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert "pw" not in str(error.saying("postgresql://ann:pw@db/x is full"))
    query = InvalidQuery("no")
    query.start = 7
    assert query.saying("no, really").start == 7


def test_a_filter_tells_in_the_units_of_its_costs() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        Filter(GaussianDP(1.0)).after(GaussianDP(0.5)).after(GaussianDP(1.0))
    assert (caught.value.cap, caught.value.left, caught.value.asked) == ("GaussianDP", 0.75, 1.0)
    with pytest.raises(BudgetExceeded) as caught:
        Filter(PureDP(1.0)).after(PureDP(math.inf))
    assert caught.value.asked is None
