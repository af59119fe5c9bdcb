"""A spend whose curve is all that bounds the odds, as Gaussian noise's: which caps take it, which refuse."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Limits, Spend
from leakcap.ledger.continuing import ChargeTerms, counts_now
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.exporting import export

POLICY = "0" * 64
SIGMA = 15.3064


def gaussian(number: int = 0) -> Charge:
    """A count with Gaussian noise of ±30: αρ with ρ = 1/(2σ²)."""
    rho = 1.0 / (2.0 * SIGMA**2)
    spend = Spend(epsilon=math.inf, nats_person=rho, curve=tuple(order * rho for order in ORDERS))
    return Charge(f"count {number}", "count", spend, asked=str(number))


def opened(caps: Caps, path: Path | None = None) -> Ledger:
    url = "sqlite://" if path is None else f"sqlite:///{path}"
    return Ledger.open(url, dataset="ward", policy=POLICY, caps=caps)


def test_a_hundred_gaussian_counts_pass_under_the_cap_that_the_filter_proves_and_one_more_does_not(
    tmp_path: Path,
) -> None:
    """3.6409 is the theory's own figure for the filter, of a hundred counts of ±30 at δ = 10⁻⁶."""
    caps = Caps(epsilon=3.65, delta=1e-6, delta_of_answers=0.0)
    with opened(caps, tmp_path / "l.db") as ledger:
        for number in range(100):
            ledger.reserve([gaussian(number)])
        assert round(ledger.balances()[0].spent, 4) == 3.6409
        with pytest.raises(BudgetExceeded) as error:
            ledger.reserve([gaussian(100)])
        assert "`epsilon` cap" in str(error.value)
        assert error.value.passed[0].asked is not None
        assert len(ledger.entries()) == 100
        assert math.isinf(ledger.entries()[0].spend.epsilon)
        assert math.isfinite(ledger.odometer(1e-6).epsilon)
        ledger.verify()
        assert '"epsilon":null' in export(ledger.entries()[:1], "json").replace(" ", "")


@pytest.mark.parametrize(
    "caps",
    [
        Caps(epsilon=1e6),
        Caps(epsilon=1e6, delta=1e-6, delta_of_answers=1e-6),
        Caps(epsilon=1e6, delta=1e-6, each_analyst=Limits(epsilon=1e6)),
        Caps(epsilon=1e6, delta=1e-6, period="month", each_period=Limits(epsilon=1e6)),
    ],
)
def test_a_cap_on_epsilon_without_room_for_a_delta_takes_no_such_spend(caps: Caps) -> None:
    with opened(caps) as ledger:
        with pytest.raises(BudgetExceeded, match=r"no bound is known for what was asked.*Nothing was spent"):
            ledger.reserve([gaussian()])
        assert ledger.entries() == []


def test_caps_that_people_bring_themselves_take_no_such_spend() -> None:
    with opened(Caps(epsilon=1e6, delta=1e-6, each_person=(0.5, 1.0))) as ledger:
        one = gaussian()
        asked = Charge(one.query, one.text, one.spend, asked="1", counts_by_cap=True)
        with pytest.raises(LedgerError, match=r"Gaussian noise has none.*Nothing was spent"):
            ledger.reserve([asked])
        assert ledger.entries() == []


def test_what_it_tells_two_steps_apart_is_not_made_up() -> None:
    ticks = gaussian().spend.ticks(None)
    with pytest.raises(LedgerError, match="no finite ε"):
        counts_now(ticks, ChargeTerms("add-remove-one", None), ChargeTerms("replace-one", None))
    assert (
        counts_now(ticks, ChargeTerms("replace-one", None), ChargeTerms("replace-one", None)).epsilon is None
    )


def test_without_a_curve_nothing_is_known_of_it_at_all() -> None:
    with opened(Caps(epsilon=1e6, delta=1e-6)) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.reserve([Charge("n", "count", Spend(epsilon=math.inf))])
        assert ledger.entries() == []
    assert Spend(epsilon=math.inf).ticks(2.0).numbers == (None, 0, None, None, None, None, 1)


@pytest.mark.parametrize("wrong", [math.nan, -math.inf, -1.0, 1e7])
def test_other_numbers_are_no_epsilon(wrong: float) -> None:
    with pytest.raises(InvalidParameter, match="`epsilon` of `Spend`"):
        Spend(epsilon=wrong)
