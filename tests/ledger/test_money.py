"""Amounts are exact: checked against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakcap.errors import BudgetExceeded, InvalidParameter
from leakcap.ledger import Caps, Charge, Ledger, Limits, Spend
from leakcap.ledger.ticks import Ticks, cap_ticks, decimal, spend_ticks, total, units, units_left, units_spent

TICK = Fraction(1, 10**12)
amounts = st.floats(0, 1_000_000, allow_nan=False) | st.sampled_from([0.1, 0.2, 0.3, 1e-12, 1e-13, 5e-324])


@given(amounts)
def test_a_spend_is_the_least_tick_above_and_a_cap_the_largest_below(amount: float) -> None:
    exact = Fraction(repr(amount))
    spend, cap = spend_ticks(amount), cap_ticks(amount)
    assert spend is not None
    assert cap is not None
    assert spend * TICK >= exact > (spend - 1) * TICK
    assert cap * TICK <= exact < (cap + 1) * TICK


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=50), st.integers(1, 12))
def test_sums_of_decimals_do_not_drift(numerators: list[int], places: int) -> None:
    floats = [n / 10**places for n in numerators]
    ticks = total(Ticks(spend_ticks(x), 0, 0, 0) for x in floats)
    assert ticks.epsilon == Fraction(sum(numerators), 10**places) / TICK


@given(st.integers(-(10**19), 10**19))
def test_messages_show_the_exact_number(ticks: int) -> None:
    assert Fraction(decimal(ticks)) == ticks * TICK


@given(st.integers(0, 10**18))
def test_units_are_the_nearest_float(ticks: int) -> None:
    assert units(ticks) == float(ticks * TICK)


@given(st.integers(0, 10**18))
def test_what_is_left_is_shown_rounded_down_and_what_is_spent_up(ticks: int) -> None:
    left, spent = (Fraction(repr(shown)) for shown in (units_left(ticks), units_spent(ticks)))
    assert left <= ticks * TICK <= spent
    assert Fraction(repr(math.nextafter(units_left(ticks), math.inf))) > ticks * TICK
    assert Fraction(repr(math.nextafter(units_spent(ticks), -math.inf))) < ticks * TICK


def test_all_that_is_left_may_be_spent() -> None:
    """A cap of eighteen digits: the nearest double to what is left would be refused."""
    caps = Caps(epsilon=100_000.0)
    with Ledger.open("sqlite://", dataset="d", policy="abcd1234", caps=caps) as ledger:
        ledger.reserve([Charge("a", "count", Spend(1e-12))])
        left = ledger.balances()[0].left
        assert left is not None
        assert Fraction(repr(left)) <= 100_000 - TICK
        ledger.reserve([Charge("b", "count", Spend(left))])


def test_three_tenths_are_the_float_three_tenths() -> None:
    assert total([Spend(0.1).ticks(None)] * 3).epsilon == Spend(0.3).ticks(None).epsilon
    assert 0.1 + 0.1 + 0.1 != 0.3


@settings(max_examples=40, deadline=None)
@given(
    cap=st.integers(0, 60),
    spends=st.lists(st.lists(st.integers(1, 20), min_size=1, max_size=3), max_size=12),
    places=st.sampled_from([1, 3, 12]),
)
def test_random_batches_against_a_brute_force_account(cap: int, spends: list[list[int]], places: int) -> None:
    unit = Fraction(1, 10**places)
    spent = Fraction(0)
    limits = {"epsilon": float(cap * unit), "nats_table": float(cap * unit)}
    caps = Caps(**limits, each_analyst=Limits(**limits), each_period=Limits(**limits), period="year")
    with Ledger.open("sqlite://", dataset="d", policy="0" * 8, caps=caps) as ledger:
        for batch in spends:
            asked = sum(batch) * unit
            charges = [Charge("q", "", Spend(float(n * unit), 0, 0, float(n * unit))) for n in batch]
            if spent + asked <= cap * unit:
                ledger.check(charges)
                ledger.reserve(charges)
                spent += asked
            else:
                with pytest.raises(BudgetExceeded):
                    ledger.check(charges)
                with pytest.raises(BudgetExceeded):
                    ledger.reserve(charges)
            assert ledger.totals().epsilon == ledger.totals().nats_table == float(spent)
            assert ledger.balances()[0].left == float(cap * unit - spent)
        ledger.verify()


@pytest.mark.parametrize("name", ["epsilon", "delta", "nats_person", "nats_table", "nats_level"])
@pytest.mark.parametrize("value", [-1.0, -1e-300, math.nan, -math.inf, 1e300, "0.1", None, True])
def test_spends_that_are_no_amount_are_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter, match=f"`{name}` of `Spend` must be a number from 0"):
        Spend(**{name: value})


def test_differential_privacy_is_not_spent_without_a_bound() -> None:
    with pytest.raises(InvalidParameter):
        Spend(delta=math.inf)


@pytest.mark.parametrize("caps", [Caps(1e6), Caps(1e6, delta=0.9)])
def test_no_cap_takes_an_epsilon_without_a_bound_and_without_a_curve(caps: Caps) -> None:
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.reserve([Charge("n", "count", Spend(epsilon=math.inf))])
        assert ledger.entries() == []


@pytest.mark.parametrize("name", ["nats_person", "nats_table", "nats_level"])
def test_information_may_be_spent_without_a_bound(name: str) -> None:
    assert getattr(Spend(**{name: math.inf}).ticks(2.0), name) is None


@pytest.mark.parametrize("name", ["epsilon", "delta", "nats_person", "nats_table", "nats_level"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, 1e7])
def test_caps_that_are_no_amount_are_refused(name: str, value: float) -> None:
    with pytest.raises(InvalidParameter, match=f"`{name}` of `Caps` .* Leave the cap out"):
        Caps(**{name: value})


def test_numpy_numbers_count_as_the_numbers_they_print() -> None:
    assert Spend(np.float64(0.1)) == Spend(0.1)
    assert Spend(np.float64(0.1)).ticks(None).epsilon == 10**11


@pytest.mark.parametrize("details", [{"scale": math.nan}, {"x": None}, {1: "a"}, {"x": "\0"}, {"x": [1]}])
def test_details_are_text_or_finite_numbers(details: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        Charge("q", "", Spend(), details=details)


@pytest.mark.parametrize("text", ["a\0b", "\ud800", 5])
def test_text_that_no_database_stores_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        Charge("q", text, Spend())
