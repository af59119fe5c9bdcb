"""Slots of Gaussian noise: discrete noise is dominated by the pair that is paid for; nothing else fits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import pyarrow
import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, InvalidPolicy, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Slot, SlotPlan, Spend
from leakcap.ledger import planning as planning_module
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.lattice_gaussian import narrowed
from leakcap.ledger.measured import gaussian_distance
from leakcap.ledger.plan_price import charge_of, proven
from leakcap.ledger.slots import plan_read, plan_text
from leakcap.ledger.ticks import Ticks
from leakcap.ledger.values import event_text
from leakcap.numeric import float_up
from leakcap.release import PrivateTable, load_policy

CAPS = {"epsilon": 4.0, "delta": 1e-6, "delta_of_answers": 1e-6}
POLICY: dict[str, Any] = {
    "dataset": "d",
    "neighbours": "add-remove-one",
    "columns": {"x": {"bounds": [0.0, 1.0]}, "ward": {"keys": ["a", "b"]}},
    "caps": CAPS,
}
MONTHLY = {"name": "monthly", "count": 12, "rho": 0.002, "delta": 1e-6}


def gaussian_profile(mu: Any, epsilon: Any) -> Any:
    """Balle & Wang 2018, theorem 8."""
    phi = mpmath.ncdf
    return phi(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


def lattice(variance: Fraction, reach: int) -> dict[int, Any]:
    v = mpmath.mpf(variance.numerator) / variance.denominator
    masses = {z: mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * v)) for z in range(-reach, reach + 1)}
    total = mpmath.fsum(masses.values())
    return {z: mass / total for z, mass in masses.items()}


def lattice_profile(law: dict[int, Any], shifts: tuple[int, ...], epsilon: Any) -> Any:
    """Summed over every output of as many integers as are moved."""
    tilt, zero = mpmath.exp(epsilon), mpmath.mpf(0)
    found = []
    for outputs in itertools.product(law, repeat=len(shifts)):
        one = mpmath.fprod(law[z] for z in outputs)
        other = mpmath.fprod(law.get(z - d, zero) for z, d in zip(outputs, shifts, strict=True))
        found.append(max(one - tilt * other, zero))
    return mpmath.fsum(found)


@pytest.mark.parametrize(
    ("variance", "shifts"),
    [
        (Fraction(9), (1,)),
        (Fraction(81, 4), (1,)),
        (Fraction(250), (1,)),
        (Fraction(25), (4,)),
        (Fraction(16), (3,)),
        (Fraction(9), (1, 1)),
        (Fraction(25, 2), (1, 2)),
    ],
)
def test_discrete_noise_is_dominated_by_the_pair_that_is_paid_for(
    variance: Fraction, shifts: tuple[int, ...]
) -> None:
    """Term by term, at every ε; noise of the same σ does not dominate it, which is why there is a smaller."""
    squared = Fraction(sum(d * d for d in shifts))
    paid = narrowed(variance, squared)
    assert paid is not None
    with mpmath.workdps(30):
        law = lattice(variance, math.ceil(14 * math.sqrt(variance)) if len(shifts) == 1 else 30)
        mu = mpmath.sqrt(2 * mpmath.mpf(paid.numerator) / paid.denominator)
        same = mpmath.sqrt(mpmath.mpf(squared.numerator) / squared.denominator * variance.denominator)
        same /= mpmath.sqrt(variance.numerator)
        epsilons = [mpmath.mpf(k) / 4 for k in range(-4, 9, 1 if len(shifts) == 1 else 4)]
        shown = [lattice_profile(law, shifts, e) for e in epsilons]
        for e, delta in zip(epsilons, shown, strict=True):
            assert delta <= gaussian_profile(mu, e) + mpmath.mpf(10) ** -12
        if shifts == (1,):
            coin = lattice_profile(law, shifts, mpmath.mpf(0))
            assert coin > gaussian_profile(same, mpmath.mpf(0))


def test_the_rounding_makes_the_discrete_law_but_for_next_to_nothing() -> None:
    """Gaussian noise of τ, then odds e^(−(z−y)²/2s²), by quadrature; and what the odds add up to."""
    with mpmath.workdps(50):
        s, tau = mpmath.mpf(2), mpmath.sqrt(5)

        def odds(y: Any) -> Any:
            near = int(mpmath.nint(y))
            return mpmath.fsum(mpmath.exp(-((z - y) ** 2) / (2 * s**2)) for z in range(near - 32, near + 33))

        sums = [odds(mpmath.mpf(k) / 16) / (s * mpmath.sqrt(2 * mpmath.pi)) for k in range(9)]
        assert max(abs(one - 1) for one in sums) < mpmath.mpf(10) ** -33
        assert max(abs(one - 1) for one in sums) > mpmath.mpf(10) ** -35
    with mpmath.workdps(20):
        law = lattice(Fraction(9), 60)
        for z in (0, 5):
            found = mpmath.quad(
                lambda y, z=z: mpmath.npdf(y, 0, tau) * mpmath.exp(-((z - y) ** 2) / (2 * s**2)) / odds(y),
                mpmath.linspace(-20, 25, 7),
            )
            assert found == pytest.approx(law[z], rel=1e-12)


def test_a_plan_is_charged_what_gaussian_noise_of_all_its_slots_shows() -> None:
    """A hundred counts of ±30: 3.06, where the filter needs 3.64 and Gaussian noise of that σ has 3.0288."""
    rho = 1 / (2 * 15.3064**2)
    plan = SlotPlan("year", [Slot("monthly", 100, rho=rho)], delta=1e-6)
    charged = charge_of(plan, None)
    with mpmath.workdps(30):
        exact = Fraction(repr(rho))
        each = exact / (1 - 8 * exact)
        mu = mpmath.sqrt(200 * mpmath.mpf(each.numerator) / each.denominator)
        epsilon = mpmath.findroot(lambda e: gaussian_profile(mu, e) - mpmath.mpf("1e-6"), 3)
        assert epsilon < (charged.epsilon or 0) / mpmath.mpf(10) ** 12 < epsilon * (1 + 1e-5)
    assert (charged.epsilon or 0) < 3.06e12
    assert charged.delta == 10**6
    assert proven(plan, None, charged)
    assert not proven(plan, None, charged._replace(epsilon=(charged.epsilon or 0) * 999 // 1000))
    assert not proven(plan, None, charged._replace(rho=(charged.rho or 0) * 99 // 100))
    assert plan_read(plan_text(plan)) == plan
    both = SlotPlan("two", [*plan.slots, Slot("weekly", 52, 0.05)], delta=1e-6)
    assert charged.epsilon < (charge_of(both, None).epsilon or 0) < (charged.epsilon or 0) + 52 * 0.05e12


def noisy(variance: Fraction, squared: int = 1, **changed: Any) -> tuple[Ticks, str]:
    event = {
        "name": "DiscreteGaussianDpEvent",
        "variance": variance,
        "squared_sensitivity": Fraction(squared),
    }
    rho = Fraction(squared) / (2 * variance)
    curve = tuple(float_up(Fraction(str(order)) * rho) for order in ORDERS)
    spend = Spend(math.inf, curve=curve, event=event_text(event))
    return spend.ticks(None)._replace(**changed), spend.event_text


SLOT = Slot("s", 5, rho=0.002)


@pytest.mark.parametrize(
    ("answer", "admitted"),
    [
        (noisy(Fraction(250)), True),
        (noisy(Fraction(251)), True),
        (noisy(Fraction(2499, 10)), False),
        (noisy(Fraction(1000), 4), True),
        (noisy(Fraction(999), 4), False),
        (noisy(Fraction(250) * 10**14, 10**14), True),
        (noisy(Fraction(250) * 10**42, 10**42), False),
        (noisy(Fraction(250), delta=1), False),
        ((Spend(0.05).ticks(None), Spend(0.05).event_text), True),
        ((Spend(0.051).ticks(None), Spend(0.051).event_text), False),
        ((Spend(0.05, 1e-9).ticks(None), ""), False),
    ],
)
def test_a_slot_admits_what_its_pair_dominates_and_nothing_else(
    answer: tuple[Ticks, str], admitted: bool
) -> None:
    assert SLOT.admits(*answer) is admitted


def test_zero_concentrated_privacy_alone_is_no_gaussian_noise() -> None:
    """A law of curve αρ may have other tails: its event is not dominated by a Gaussian pair."""
    ticks, _ = noisy(Fraction(250))
    assert not SLOT.admits(ticks, '{"name":"ZCDpEvent","rho":"1/500"}')
    assert not SLOT.admits(ticks, "")
    several = '{"name":"DiscreteGaussianDpEvent","squared_sensitivity":"1","variance":"500"}'
    both = f'{{"events":[{several},{several}],"name":"ComposedDpEvent"}}'
    assert gaussian_distance(both) == Fraction(1, 496)
    assert SLOT.admits(ticks, both)


def test_the_largest_pure_answer_is_one_that_a_coin_flip_tells_no_better() -> None:
    """Just admitted, the profile of randomised response is below the Gaussian's at every ε; else above."""
    low, high = 0, 10**12
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if SLOT.law.hides(middle) else (low, middle)
    paid = SLOT.law.narrow
    with mpmath.workdps(30):
        mu = mpmath.sqrt(2 * mpmath.mpf(paid.numerator) / paid.denominator)
        for ticks, below in ((low, True), (high + 1000, False)):
            far = mpmath.mpf(ticks) / 10**12
            p = 1 / (1 + mpmath.exp(-far))
            tries = [far * k / 50 for k in range(-50, 51)]
            shown = [max(p - mpmath.exp(e) * (1 - p), 0) + max(1 - p - mpmath.exp(e) * p, 0) for e in tries]
            assert all(d <= gaussian_profile(mu, e) for d, e in zip(shown, tries, strict=True)) is below


def test_a_policy_pays_for_gaussian_answers_beforehand(tmp_path: Any) -> None:
    """All of δ is the plan's: without the slot Gaussian noise is refused, from it it costs nothing more."""
    policy = load_policy(POLICY | {"plan": [MONTHLY]})
    rows = pyarrow.table({"x": [0.5] * 30, "ward": ["a", "b"] * 15})
    table = PrivateTable(rows, policy=policy, ledger=f"sqlite:///{tmp_path}/l.db")
    before = table.ledger.totals()
    assert before.epsilon < 1.2
    assert before.rho == 0.024
    table.count(rho=0.002, noise="gaussian", slot="monthly")
    table.count(by="ward", rho=0.002, noise="gaussian", slot="monthly")
    table.mean("x", rho=0.002, noise="gaussian", slot="monthly")
    table.sum("x", epsilon=0.04, slot="monthly")
    after = table.ledger.totals()
    assert (after.epsilon, after.delta, after.rho) == (before.epsilon, before.delta, before.rho)
    assert table.ledger.slots()[0].left == 8
    with pytest.raises(LedgerError, match=r"Slot `monthly` admits discrete Gaussian noise that has ρ 0\.002"):
        table.count(rho=0.003, noise="gaussian", slot="monthly")
    stated = Spend(math.inf, rho=0.001, curve=tuple(0.001 * order for order in ORDERS))
    with pytest.raises(LedgerError, match=r"query `covariance` asks for what has no ε and ρ 0\.001"):
        table.ledger.reserve([Charge("covariance", "c", stated, slot="monthly")])
    table.ledger.verify()
    reopened = PrivateTable(rows, policy=policy, ledger=f"sqlite:///{tmp_path}/l.db")
    assert reopened.ledger.totals().epsilon == before.epsilon


def test_verify_refuses_a_slot_that_took_what_it_does_not_admit(monkeypatch: pytest.MonkeyPatch) -> None:
    caps = Caps(**CAPS)
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps) as ledger:
        ledger.plan(SlotPlan("p", [SLOT], delta=1e-6))
        monkeypatch.setattr(planning_module, "uses_of", lambda *_: [1])
        _, event = noisy(Fraction(100))
        curve = tuple(float_up(Fraction(str(order)) / 200) for order in ORDERS)
        ledger.reserve([Charge("n", "c", Spend(math.inf, curve=curve, event=event), slot="s")])
        with pytest.raises(LedgerError, match="uses slot `s`, which does not admit it"):
            ledger.verify()


def test_a_plan_that_does_not_fit_spends_nothing() -> None:
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(**CAPS)) as ledger:
        with pytest.raises(BudgetExceeded, match="Plan `p` does not fit"):
            ledger.plan(SlotPlan("p", [Slot("s", 10**4, rho=0.05)], delta=1e-6))
        assert ledger.head().rows == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rho": 0.0}, "`rho` of `Slot` must be above 0 and at most 0.0625"),
        ({"rho": 0.07}, r"`rho` of `Slot` must be .* Got 0.07. Give more `steps`"),
        ({"rho": math.nan}, "`rho` of `Slot`"),
        ({"rho": "0.01"}, "`rho` of `Slot`"),
        ({"noise": "gaussian"}, "`rho` of `Slot`"),
        ({"rho": 0.01, "epsilon": 0.1}, "`epsilon` of `Slot` must be left out of a slot of Gaussian noise"),
        ({"rho": 0.01, "noise": "laplace", "epsilon": 0.1}, "`rho` of `Slot` must be left out"),
        ({}, "`epsilon` of `Slot` must be above 0"),
    ],
)
def test_slots_that_are_none(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        Slot("s", 3, **fields)
    with pytest.raises(InvalidPolicy):
        load_policy(POLICY | {"plan": [{"name": "s", "count": 3, "delta": 1e-6, **fields}]})


def test_gaussian_slots_need_a_delta() -> None:
    with pytest.raises(InvalidParameter, match="`delta` of `SlotPlan` must be from 10⁻¹¹ where a slot has"):
        SlotPlan("p", [SLOT])
