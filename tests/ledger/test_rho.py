"""Zero-concentrated privacy: each answer's ρ is proven and as small as can be, and its cap is one."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import pyarrow
import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Limits, Slot, SlotPlan, Spend
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.implied import rho_of_pure
from leakcap.ledger.measured import charge_covers, guarantee, rho_of
from leakcap.ledger.values import event_text
from leakcap.numeric import float_up
from leakcap.release import PrivateTable
from leakcap.release.planning.price import event_of, price_of
from leakcap.release.statistics import statistics
from release.test_coverage import CASES
from release.world import planned, policy_of

ALPHAS = [1 + 10.0**e for e in (-6, -3, -2, -1, -0.5, 0, 0.3, 0.6, 1, 1.5, 2, 2.5)]


def opened(caps: Caps) -> Ledger:
    return Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps)


def gauss(rho: Fraction) -> Spend:
    curve = tuple(float_up(Fraction(str(order)) * rho) for order in ORDERS)
    return Spend(math.inf, curve=curve, event=event_text({"name": "ZCDpEvent", "rho": rho}))


def laplace_ratio(rate: Any, steps: int, alpha: Any) -> Any:
    """D_α/α of discrete Laplace noise and the same so many steps on: term by term."""
    s = mpmath.exp(-rate)
    law = lambda z: (1 - s) / (1 + s) * s ** abs(z)  # noqa: E731
    far = mpmath.exp(rate * steps)
    # On both sides of the two centres the ratio of the laws no longer changes.
    total = far ** (alpha - 1) / (1 + s) + far ** (1 - alpha) * s**steps / (1 + s)
    total += mpmath.fsum(law(z) ** alpha * law(z - steps) ** (1 - alpha) for z in range(1, steps))
    return mpmath.log(total) / (alpha - 1) / alpha


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("rate", ["1/1000", "1/30", "1/3", "2", "11"])
def test_the_rho_of_laplace_noise_is_met_near_order_one_and_nowhere_passed(rate: str, steps: int) -> None:
    text = f'{{"name":"DiscreteLaplaceDpEvent","noise_parameter":"{rate}","sensitivity":{steps}}}'
    said = rho_of(text)
    with mpmath.workdps(60):
        number = mpmath.mpf(Fraction(rate).numerator) / Fraction(rate).denominator
        found = [laplace_ratio(number, steps, mpmath.mpf(alpha)) for alpha in ALPHAS]
        assert max(found) <= mpmath.mpf(said.numerator) / said.denominator
        assert found[0] >= float(said) * (1 - 1e-4)
        # A planted understatement is seen.
        assert max(found) > float(said) * 0.999
    assert said <= Fraction(rho_of_pure(float(Fraction(rate)) * steps * (1 + 1e-12)))


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-6, 0.1, 1.0, 5.0, 40.0, 1e3])
def test_pure_privacy_allows_no_more_than_randomised_response_shows(epsilon: float) -> None:
    said = rho_of_pure(epsilon)
    with mpmath.workdps(60 + int(epsilon)):
        exact = mpmath.mpf(epsilon) * mpmath.tanh(mpmath.mpf(epsilon) / 2)
        assert exact <= said <= exact * (1 + mpmath.mpf(10) ** -12)
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        for a in map(mpmath.mpf, ALPHAS):
            shown = mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1) / a
            assert shown <= said


def test_laplace_noise_on_reals_against_its_closed_form() -> None:
    with mpmath.workdps(40):
        for epsilon in (Fraction(1, 10), Fraction(1), Fraction(7)):
            said = rho_of(json.dumps({"name": "LaplaceDpEvent", "noise_multiplier": str(1 / epsilon)}))
            e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
            assert e + mpmath.exp(-e) - 1 <= float(said) * (1 + 1e-15)
            assert float(said) <= (e + mpmath.exp(-e) - 1) * (1 + mpmath.mpf(10) ** -9)


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_every_statistic_says_its_rho_and_its_event_proves_it(relation: str, noise: str) -> None:
    changed: dict[str, Any] = {"neighbours": relation} | ({"rows": 50} if relation == "replace-one" else {})
    tried = 0
    for name, kind in statistics().items():
        for case in CASES[name] if kind.has_noise or noise == "laplace" else ():
            caps = {"caps": {"epsilon": 3.0, "delta": 1e-6}}
            policy = policy_of(**(case.policy | changed | caps))
            law = {} if noise == "laplace" else {"noise": noise}
            plan = planned(policy, statistic=name, epsilon=0.5, **law, **case.query)
            price, event = price_of(plan), event_of(plan)
            ticks = price.spend.ticks(None)
            assert guarantee(event).rho == pytest.approx(Fraction(price.rho), rel=1e-9)
            assert charge_covers(event, ticks)
            assert ticks.rho is not None
            assert not charge_covers(event, ticks._replace(rho=ticks.rho * 99 // 100))
            if noise == "laplace":
                assert price.rho <= rho_of_pure(0.5)
            tried += 1
    assert tried > 10


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("asked", [0.001, 0.03, 0.5])
def test_what_is_priced_by_rho_costs_no_more_and_hardly_less(noise: str, asked: float) -> None:
    policy = policy_of(neighbours="add-remove-one", caps={"epsilon": 3.0, "delta": 1e-6})
    price = price_of(planned(policy, statistic="count", epsilon=None, rho=asked, noise=noise))
    assert asked * 0.99 < price.rho <= asked
    assert price.spend.ticks(None).rho <= round(asked * 10**12)


@pytest.mark.parametrize(
    "caps",
    [
        Caps(rho=0.02),
        Caps(9.0, each_analyst=Limits(rho=0.02)),
        Caps(9.0, each_period=Limits(rho=0.02), period="month"),
    ],
)
def test_a_charge_without_a_rho_is_refused_under_a_cap_that_needs_one(caps: Caps) -> None:
    curve = tuple(0.001 for _ in Spend(0.1).ticks(None).curve)
    with opened(caps) as ledger:
        with pytest.raises(
            BudgetExceeded, match=r"`rho` cap .* no bound is known for what was asked"
        ) as told:
            ledger.reserve([Charge("n", "", Spend(math.inf, curve=curve))])
        assert "\n" not in str(told.value)
        assert "rho" in [one.cap for one in told.value.passed]
        assert ledger.totals().entries == 0


def test_a_cap_is_reached_to_the_tick_whatever_the_noise() -> None:
    """Gaussian and Laplace answers beside each other; ε added up is without bound then."""
    gaussian = gauss(Fraction(1, 100))
    one = Spend(0.2)
    assert (gaussian.rho, one.ticks(None).rho) == (0.01, math.ceil(0.2 * math.tanh(0.1) * 1e12))
    both = 2 * 10**10 + (one.ticks(None).rho or 0)
    with opened(Caps(rho=both / 1e12)) as ledger:
        ledger.reserve([Charge("n", "", spend) for spend in (gaussian, one, gaussian)])
        with pytest.raises(BudgetExceeded, match=r"`rho` cap .* 0 left"):
            ledger.reserve([Charge("n", "", Spend(1e-6))])
        (balance,) = (one for one in ledger.balances() if one.name == "rho")
        assert balance.left == 0.0
        assert ledger.totals().rho == both / 1e12
        ledger.verify()


def test_orders_beyond_the_grid_need_a_rho_of_their_own() -> None:
    """A sum of small Gaussian answers: what 31 orders say of α = 10⁴ is nothing, ρ says 10⁴ρ."""
    with opened(Caps(rho=1.0)) as ledger:
        ledger.reserve([Charge("n", "", gauss(Fraction(1, 50)))] * 50)
        assert ledger.totals().rho == 1.0
        assert ledger.totals().epsilon == math.inf


def test_a_charge_below_its_event_does_not_verify() -> None:
    with opened(Caps(epsilon=9.0, delta=1e-6)) as ledger:
        ledger.reserve([Charge("n", "", replace(gauss(Fraction(1, 100)), rho=0.0099))])
        with pytest.raises(LedgerError, match="was charged less than its event"):
            ledger.verify()


def test_a_plan_is_charged_its_slots_rho() -> None:
    with opened(Caps(epsilon=3.0, delta=1e-6, delta_of_answers=1e-6, rho=0.3)) as ledger:
        ledger.plan(SlotPlan("year", [Slot("monthly", 12, epsilon=0.2)], delta=1e-6))
        assert ledger.totals().rho == 12 * math.ceil(0.2 * math.tanh(0.1) * 1e12) / 1e12
        ledger.reserve([Charge("n", "", Spend(0.2), slot="monthly")])
        with pytest.raises(BudgetExceeded, match="`rho` cap"):
            ledger.plan(SlotPlan("more", [Slot("weekly", 52, epsilon=0.2)], delta=0.0))
        ledger.verify()


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1e7, True, "0.1"])
def test_numbers_that_are_no_rho(wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match="`rho` of `Caps` must be a number from 0"):
        Caps(rho=wrong)
    with pytest.raises(InvalidParameter, match="`rho` of `Spend` must be a number from 0"):
        Spend(0.1, rho=wrong)


def test_a_policy_with_a_rho_is_kept_by_every_way_to_ask(tmp_path: Any) -> None:
    """OpenDP's and Tumult's users bring a budget in ρ: half of it, and half again, and no more."""
    policy = {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "columns": {"x": {"bounds": [0.0, 1.0]}},
        "caps": {"epsilon": 5.0, "delta": 1e-6, "rho": 0.02, "each_analyst": {"rho": 0.02}},
    }
    rows = pyarrow.table({"x": [0.5] * 20})
    table = PrivateTable(rows, policy=policy, ledger=f"sqlite:///{tmp_path}/l.db")
    table.count(rho=0.01, noise="gaussian")
    table.count(rho=0.009)
    with pytest.raises(BudgetExceeded, match="`rho` cap of dataset `d`") as told:
        table.count(rho=0.002, noise="gaussian")
    assert {one.cap for one in told.value.passed} == {"rho"}
    assert 0.018 < table.ledger.totals().rho <= 0.02
    table.ledger.verify()
