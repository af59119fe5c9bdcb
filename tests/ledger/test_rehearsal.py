"""What a ledger says beforehand is what it then does: every kind of cap, month by month, beside `reserve`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter
from leakcap.ledger import Charge, Ledger
from leakcap.ledger.chain import text_hash
from leakcap.policy import Policy, load_policy
from leakcap.release import Query, open_ledger
from leakcap.release.asking.year import query_charge, scaled, year_of

BASE: dict[str, Any] = {
    "dataset": "ward",
    "neighbours": "add-remove-one",
    "max_rows": 5000,
    "columns": {"age": {"bounds": [0.0, 120.0]}, "sex": {"keys": ["f", "m"]}},
}
PLAN = {"name": "monthly", "delta": 1e-7, "count": 5, "epsilon": 0.3}
PEOPLE = {"unit": {"caps": "own"}, "caps": {"epsilon": 9.0, "each_person": [0.5, 1.0, 2.5]}}
CAPS: dict[str, dict[str, Any]] = {
    "epsilon": {"caps": {"epsilon": 1.0}},
    "nothing binds": {"caps": {"epsilon": 50.0}},
    "nats about a person": {"caps": {"epsilon": 50.0, "nats_per_person": 0.1}},
    "nats about the table": {"caps": {"epsilon": 50.0, "nats_table": 40.0}},
    "queries": {"caps": {"epsilon": 50.0, "queries": 7}},
    "rho": {"caps": {"epsilon": 50.0, "rho": 0.2}},
    "all answers together": {"caps": {"epsilon": 1.5, "delta": 1e-6}},
    "one order": {"caps": {"epsilon": 2.0, "delta": 1e-6, "order": 12.0}},
    "months": {"caps": {"epsilon": 50.0, "each_period": {"length": "month", "epsilon": 0.5}}},
    "too small a month": {"caps": {"epsilon": 50.0, "each_period": {"length": "month", "epsilon": 0.1}}},
    "years": {"caps": {"epsilon": 50.0, "each_period": {"length": "year", "epsilon": 1.3}}},
    "an analyst": {"caps": {"epsilon": 50.0, "each_analyst": {"epsilon": 0.7}}},
    "a slot": {"caps": {"epsilon": 6.0, "delta": 1e-6}, "plan": [PLAN]},
    "people's own": PEOPLE,
}
COUNT = Query(name="n", statistic="count", epsilon=0.3)
BY_SEX = Query(name="by sex", statistic="count", by=("sex",), epsilon=0.1)


class Calendar:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2027, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def policy_of(kind: str) -> Policy:
    return load_policy({**BASE, **CAPS[kind]})


def queries_of(kind: str) -> list[Query]:
    slot = "monthly" if kind == "a slot" else None
    return [Query(name="n", statistic="count", epsilon=0.3, slot=slot), BY_SEX]


def opened(policy: Policy, clock: Calendar) -> Ledger:
    text = policy.text()
    book = Ledger.open(
        "sqlite://",
        dataset=policy.dataset,
        policy=text_hash(text),
        caps=policy.caps.ledger_caps(),
        text=text,
        clock=clock,
    )
    return open_ledger(book, policy)


def lived(
    book: Ledger, clock: Calendar, charges: Sequence[Charge], moments: Sequence[datetime]
) -> list[tuple[str, list[tuple[str, float]]]]:
    """The months as they come: why each is refused, and what is spent of every cap afterwards."""
    found = []
    for moment in moments:
        clock.now, refused = moment, ""
        try:
            book.reserve(charges)
        except BudgetExceeded as error:
            refused = str(error)
        found.append((refused, [(one.name, one.spent) for one in book.balances()]))
    return found


def moments_of(count: int = 14) -> list[datetime]:
    return [datetime(2027 + number // 12, number % 12 + 1, 1, tzinfo=UTC) for number in range(count)]


@pytest.mark.parametrize("kind", CAPS)
def test_what_is_said_beforehand_is_what_happens(kind: str) -> None:
    policy, clock = policy_of(kind), Calendar()
    charges = [query_charge(query, policy, "ada") for query in queries_of(kind)]
    with opened(policy, clock) as book:
        before = book.head()
        told = book.rehearse([(moment, charges) for moment in moments_of()])
        assert book.head() == before
        happened = lived(book, clock, charges, moments_of())
    said = [(one.refused, [(balance.name, balance.spent) for balance in one.balances]) for one in told]
    assert said == happened
    # The family is about caps that bind: all but one refuse some month, and each takes some or none for good.
    refused = sum(bool(one.refused) for one in told)
    assert (refused == 0) == (kind in {"nothing binds", "months"}), refused


@pytest.mark.parametrize("kind", [kind for kind in CAPS if kind not in {"a slot", "queries"}])
def test_the_share_that_is_said_keeps_the_year_and_a_thousandth_more_does_not(kind: str) -> None:
    policy, queries = policy_of(kind), queries_of(kind)
    with opened(policy, Calendar()) as book:
        found = year_of(book, policy, queries, start=date(2027, 1, 1), months=14, analyst="ada")
    assert found.share is not None
    share = round(found.share * 1000)
    fits = []
    for part in {share, min(share + 1, 1000)}:
        charges = [query_charge(query, policy, "ada") for query in scaled(queries, part)]
        clock = Calendar()
        with opened(policy, clock) as book:
            fits.append(not any(refused for refused, _ in lived(book, clock, charges, moments_of())))
    assert sorted(fits) == ([False, True] if share < 1000 else [True])
    assert len(found.even) == len(found.previews) == 2
    for now, then in zip(found.previews, found.even, strict=True):
        assert then.error >= now.error


def test_no_price_keeps_a_year_whose_slots_or_questions_are_counted() -> None:
    for kind in ("a slot", "queries"):
        policy = policy_of(kind)
        with open_ledger("sqlite://", policy) as book:
            found = year_of(book, policy, queries_of(kind))
        assert (found.share, found.even) == (None, ())
        assert found.breaks is not None


def test_what_was_spent_before_counts_and_a_month_that_is_past_is_the_present() -> None:
    policy, clock = policy_of("months"), Calendar()
    clock.now = datetime(2027, 5, 20, tzinfo=UTC)
    with opened(policy, clock) as book:
        book.reserve([query_charge(COUNT, policy, "ada")])
        found = year_of(book, policy, [COUNT], start=date(2027, 5, 1), months=2)
    # May has 0.2 of 0.5 left, June all of it.
    assert [bool(month.refused) for month in found.months] == [True, False]
    assert found.months[0].moment >= datetime(2027, 5, 20, tzinfo=UTC)


def test_no_month_that_is_past_can_be_planned() -> None:
    """Each was moved to the last entry's time, so that one month was asked for all of them."""
    policy, clock = policy_of("months"), Calendar()
    with opened(policy, clock) as book:
        clock.now = datetime(2027, 5, 20, tzinfo=UTC)
        for spent in (False, True):
            if spent:
                book.reserve([query_charge(COUNT, policy, "ada")])
            with pytest.raises(
                InvalidParameter, match=r"`start` must be .* 2027-05, or later\. Got 2027-04\."
            ):
                year_of(book, policy, [COUNT], start=date(2027, 4, 30), months=2)
        # A clock that is behind the last entry's knows no month before it.
        clock.now = datetime(2027, 4, 1, tzinfo=UTC)
        found = year_of(book, policy, [COUNT], months=2)
        assert [month.moment.month for month in found.months] == [5, 6]
        with pytest.raises(InvalidParameter, match="`start`"):
            year_of(book, policy, [COUNT], start=date(2027, 4, 1))


def test_batches_out_of_order_are_answered_as_reserve_would() -> None:
    """No entry is before the one that it follows: by a clock that lags a little it is of the period that has
    begun."""
    policy, clock = policy_of("months"), Calendar()
    charges = [query_charge(COUNT, policy, "ada")]
    begun = [datetime(2027, month, 1, 0, 0, 10, tzinfo=UTC) for month in (2, 3, 4)]
    moments = [moment for first in begun for moment in (first, first - timedelta(seconds=20))]
    with opened(policy, clock) as book:
        told = book.rehearse([(moment, charges) for moment in moments])
        happened = lived(book, clock, charges, moments)
    said = [(one.refused, [(balance.name, balance.spent) for balance in one.balances]) for one in told]
    assert said == happened
    assert [bool(one.refused) for one in told] == [False, True] * 3


@pytest.mark.parametrize("months", [0, -1, 121, True, 1.5])
def test_a_year_has_one_to_a_hundred_and_twenty_months(months: Any) -> None:
    policy = policy_of("epsilon")
    with open_ledger("sqlite://", policy) as book, pytest.raises(InvalidParameter, match="`months`"):
        year_of(book, policy, [COUNT], start=date(2027, 1, 1), months=months)
