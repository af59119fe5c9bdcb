"""Slots of gradient descents: what five trainings are together, what is admitted, and that it holds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from leakcap.accounting import PrivacyLoss
from leakcap.errors import BudgetExceeded, InvalidParameter, InvalidPolicy, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, PlannedDescent, Proposed, Slot, SlotPlan, Spend, export
from leakcap.ledger import planning as planning_module
from leakcap.ledger.plan_price import charge_of, proven
from leakcap.ledger.slots import plan_read, plan_text
from leakcap.ledger.ticks import Ticks
from leakcap.ledger.values import event_text
from leakcap.mechanism import Gaussian
from leakcap.models import PrivateGradientDescent
from leakcap.release import load_policy
from seeded import SeededSource

CAPS = {"epsilon": 8.0, "delta": 1e-5, "delta_of_answers": 6e-6}
TRAININGS = SlotPlan(
    "year", [Slot("trainings", 5, descent=PlannedDescent(1.1, "256/50000", 11_760))], delta=5e-6
)
SMALL = {"noise_multiplier": 2.0, "sample_rate": "1/10", "steps": 8}
POLICY: dict[str, Any] = {
    "dataset": "d",
    "neighbours": "add-remove-one",
    "max_rows": 100,
    "columns": {"x": {"bounds": [0.0, 1.0]}},
    "caps": CAPS,
    "plan": [{"name": "trainings", "count": 3, "descent": SMALL, "delta": 5e-6}],
}
X, Y = np.linspace(-1.0, 1.0, 30)[:, None], np.linspace(-1.0, 1.0, 30)


def one_step(mu: Any, rate: Any, epsilon: Any, *, back: bool) -> Any:
    """δ of one sampled step, from where the two densities cross: both directions."""
    gamma, phi = mpmath.exp(epsilon), mpmath.ncdf
    odds = (gamma - 1 + rate) / rate if not back else (1 / gamma - 1 + rate) / rate
    if odds <= 0:  # one law is everywhere above, or below, γ times the other
        return max(1 - gamma, mpmath.mpf(0)) if not back else mpmath.mpf(0)
    at = mpmath.log(odds) / mu + mu / 2
    with_, without = rate * phi(mu - at) + (1 - rate) * phi(-at), phi(-at)
    if not back:
        return with_ - gamma * without
    return (1 - without) - gamma * (1 - with_)


def test_a_rate_of_another_library_is_refused_by_name() -> None:
    """It was a bare `TypeError`."""
    says = "`sample_rate` of `PlannedDescent` must be a probability of .*, as a float, fraction or text"
    with pytest.raises(InvalidParameter, match=says):
        PlannedDescent(2.0, np.float32(0.1), 8)  # type: ignore[arg-type]


def test_an_order_without_bound_is_charged_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was charged as nothing, in the curve alone."""
    curve = PlannedDescent(2.0, "1/10", 8).curve
    slots = [Slot("a", 2, descent=PlannedDescent(2.0, "1/10", 8)), Slot("b", 3, epsilon=0.1)]
    whole = charge_of(SlotPlan("p", slots, delta=5e-6), None).curve
    monkeypatch.setattr(PlannedDescent, "curve", property(lambda law: (*curve[:-1], math.inf)))
    plan = SlotPlan("p", slots, delta=5e-6)
    charged = charge_of(plan, None)
    assert charged.curve == (*whole[:-1], None)
    assert proven(plan, None, charged)
    assert not proven(plan, None, charged._replace(curve=whole))


def test_five_trainings_are_charged_their_exact_loss() -> None:
    """6.83 at δ = 5·10⁻⁶, where adding up curves asks for 8.27; by the grid alone, another route."""
    charged = charge_of(TRAININGS, None)
    loss = PrivacyLoss.of_mechanism(Gaussian(1.1)).sampled(256 / 50_000) ** (5 * 11_760)
    grid = loss.epsilon_by_grid(5e-6)
    assert charged.epsilon is not None
    assert grid.lower * (1 - 1e-6) <= charged.epsilon / 1e12 <= grid.upper * (1 + 1e-4)
    assert 6.82e12 < charged.epsilon < 6.84e12
    assert charged.delta == 5 * 10**6
    assert proven(TRAININGS, None, charged)
    for less in (
        charged._replace(epsilon=charged.epsilon * 9999 // 10_000),
        charged._replace(delta=0),
        charged._replace(rho=(charged.rho or 0) * 99 // 100),
        charged._replace(nats_person=(charged.nats_person or 0) * 99 // 100),
        charged._replace(curve=tuple((one or 0) * 99 // 100 for one in charged.curve)),
    ):
        assert not proven(TRAININGS, None, less)
    assert plan_read(plan_text(TRAININGS)) == TRAININGS
    # No odds pass e^ε beside δ, so that ρ is far below that of as many full steps.
    assert (charged.rho or 0) <= charged.epsilon


def test_one_step_is_charged_as_its_formula_says() -> None:
    plan = SlotPlan("p", [Slot("s", 1, descent=PlannedDescent(1.0, Fraction(1, 10), 1))], delta=1e-4)
    epsilon = charge_of(plan, None).epsilon
    with mpmath.workdps(30):
        exact = mpmath.findroot(
            lambda e: one_step(mpmath.mpf(1), mpmath.mpf(1) / 10, e, back=False) - mpmath.mpf("1e-4"), 1
        )
        assert exact < (epsilon or 0) / mpmath.mpf(10) ** 12 < exact + mpmath.mpf("3e-8")


def test_whatever_is_admitted_is_dominated_in_both_directions() -> None:
    """Nothing is admitted that tells more at some ε; what is quieter and rarer is."""
    slot = Slot("s", 1, descent=PlannedDescent(2.0, "1/5", 1))
    tries = [mpmath.mpf(k) / 20 for k in range(-8, 40)]
    seen = set()
    with mpmath.workdps(30):
        for noise, rate in itertools.product(("19/10", "2", "5/2", "9"), ("1/9", "1/5", "1/4")):
            event = steps(noise, rate, 1)
            mine = 1 / mpmath.mpf(Fraction(noise).numerator) * Fraction(noise).denominator
            q = mpmath.mpf(Fraction(rate).numerator) / Fraction(rate).denominator
            below = all(
                one_step(mine, q, e, back=back)
                <= one_step(mpmath.mpf(1) / 2, mpmath.mpf(1) / 5, e, back=back) + mpmath.mpf(10) ** -25
                for e in tries
                for back in (False, True)
            )
            assert slot.admits(price(), event) <= below
            seen.add((slot.admits(price(), event), below))
    assert {(True, True), (False, False)} <= seen


def steps(noise: str, rate: str, count: int, *, replaced: bool = False) -> str:
    event: dict[str, Any] = {"name": "GaussianDpEvent", "noise_multiplier": noise}
    if rate != "1":
        event = {"name": "PoissonSampledDpEvent", "sampling_probability": rate, "event": event}
    if count > 1:
        event = {"name": "SelfComposedDpEvent", "event": event, "count": count}
    return event_text({"name": "ReplacedDpEvent", "event": event} if replaced else event)


def price(**changed: Any) -> Ticks:
    return Spend(1.0, 1e-6).ticks(None)._replace(**changed)


@pytest.mark.parametrize(
    ("event", "admitted"),
    [
        (steps("2", "1/10", 8), True),
        (steps("5/2", "1/10", 8), True),
        (steps("2", "1/20", 8), True),
        (steps("2", "1/10", 7), True),
        (steps("2", "1/10", 1), True),
        (steps("2", "1/10", 9), False),
        (steps("199/100", "1/10", 8), False),
        (steps("2", "1/9", 8), False),
        (steps("2", "1", 1), False),
        (steps("2", "1/10", 8, replaced=True), False),
        ("", False),
        ('{"name":"ZCDpEvent","rho":"1/1000000"}', False),
        ('{"delta":"0","epsilon":"1/1000000","name":"EpsilonDeltaDpEvent"}', False),
    ],
)
def test_fewer_quieter_and_rarer_steps_are_admitted(event: str, admitted: bool) -> None:
    slot = Slot("s", 3, descent=PlannedDescent(2.0, 0.1, 8))
    assert slot.admits(price(), event) is admitted
    assert Slot("s", 3, nats_table=1.0, descent=slot.descent).admits(price(), event) is False


def fitted(policy: Any, ledger: Any, **changed: Any) -> PrivateGradientDescent:
    model = {
        "noise_multiplier": 2.0,
        "sample_rate": 0.1,
        "steps": 8,
        "expected_rows": 30,
        "slot": "trainings",
    }
    return PrivateGradientDescent(
        policy=policy, ledger=ledger, source=SeededSource(1), **(model | changed)
    ).fit(X, Y)


def test_descents_of_a_plan_cost_nothing_more(tmp_path: Any) -> None:
    policy, url = load_policy(POLICY), f"sqlite:///{tmp_path}/l.db"
    for changed in ({}, {"steps": 5, "noise_multiplier": 3.0}):
        fitted(policy, url, **changed)
    with Ledger.read(url) as ledger:
        before, (use,) = ledger.totals(), ledger.slots()
        planned, first, _ = ledger.entries()
        ledger.verify()
    assert (use.used, use.left) == (2, 1)
    assert (planned.state, planned.spend.delta, before.delta) == ("planned", 5e-6, 5e-6)
    assert before.epsilon == planned.spend.epsilon
    assert (first.slot, first.spend.epsilon, first.own.delta) == ("trainings", 0.0, 1e-6)
    text = export([planned, first], "json")
    assert "3 answers of 8 steps of noise 2 at rate 0.1 at most" in text
    assert "PoissonSampledDpEvent" in text
    with pytest.raises(
        LedgerError, match=r"Slot `trainings` admits gradient descents of 8 steps at most.*9 steps"
    ):
        fitted(policy, url, steps=9)
    # Another cap by an amendment: the plan and its slots stay, and what is left of them.
    wider = load_policy(POLICY | {"caps": CAPS | {"epsilon": 9.0}})
    with Ledger.resume(url) as ledger:
        ledger.amend(
            Proposed(wider.text(), wider.caps.ledger_caps(), "more", plans=[wider.plan[0].ledger_plan()])
        )
        assert ledger.totals().epsilon == before.epsilon
    fitted(wider, url)
    with pytest.raises(BudgetExceeded, match="has 0 of 3 answers left"):
        fitted(wider, url)
    replaced = {"neighbours": "replace-one", "rows": 30, "max_rows": None}
    full = [{"name": "trainings", "count": 3, "descent": SMALL | {"sample_rate": 1.0}, "delta": 5e-6}]
    other = load_policy(POLICY | replaced | {"plan": full, "caps": wider.caps.model_dump()})
    with Ledger.resume(url) as ledger:
        with pytest.raises(LedgerError, match="`neighbours` may not change where a `plan` has a `descent`"):
            ledger.propose(Proposed(other.text(), other.caps.ledger_caps(), "other"))
        ledger.verify()


def test_two_contents_need_everybody_in_every_step(tmp_path: Any) -> None:
    replaced = POLICY | {"neighbours": "replace-one", "rows": 30, "max_rows": None}
    with pytest.raises(InvalidPolicy, match=r"`sample_rate` of `PlannedDescent` must be 1\. .* no pair"):
        load_policy(replaced)
    full = SMALL | {"sample_rate": 1.0, "noise_multiplier": 20.0}
    policy = load_policy(
        replaced | {"plan": [{"name": "trainings", "count": 3, "descent": full, "delta": 5e-6}]}
    )
    url = f"sqlite:///{tmp_path}/l.db"
    fitted(policy, url, sample_rate=1.0, noise_multiplier=20.0)
    with Ledger.read(url) as ledger:
        ledger.verify()
        spent = ledger.totals().epsilon
        assert ledger.slots()[0].left == 2
    with mpmath.workdps(30):  # 24 steps at a distance of 1/10: one at √24/10
        mu, phi = mpmath.sqrt(24) / 10, mpmath.ncdf
        exact = mpmath.findroot(
            lambda e: phi(mu / 2 - e / mu) - mpmath.exp(e) * phi(-mu / 2 - e / mu) - mpmath.mpf("5e-6"), 2
        )
        assert exact < spent < exact * (1 + mpmath.mpf("1e-5"))


def test_verify_finds_a_plan_of_descents_that_was_charged_a_thousandth_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def less(plan: SlotPlan, alpha: float | None) -> Ticks:
        whole = charge_of(plan, alpha)
        return whole._replace(epsilon=(whole.epsilon or 0) * 999 // 1000)

    monkeypatch.setattr(planning_module, "charge_of", less)
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(**CAPS)) as ledger:
        ledger.plan(TRAININGS)
        with pytest.raises(LedgerError, match=r"Row 2 of ledger .* was charged less than its plan"):
            ledger.verify()


def test_a_slot_takes_no_other_charge_and_spends_nothing_for_it() -> None:
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(**CAPS)) as ledger:
        ledger.plan(TRAININGS)
        before = ledger.balances()
        with pytest.raises(LedgerError, match=r"query `n` asks for something else\. Nothing was spent"):
            ledger.reserve([Charge("n", "count", Spend(0.001), slot="trainings")])
        assert ledger.balances() == before


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"noise_multiplier": 0.0}, "`noise_multiplier` of `PlannedDescent` must lie between 0.01 and 1e6"),
        ({"noise_multiplier": math.nan}, "`noise_multiplier` of `PlannedDescent`"),
        ({"sample_rate": 0.0}, "`sample_rate` of `PlannedDescent` must be a probability"),
        ({"sample_rate": 1e-9}, "`sample_rate` of `PlannedDescent`"),
        ({"sample_rate": "1/0"}, "`sample_rate` of `PlannedDescent`"),
        ({"sample_rate": "often"}, "`sample_rate` of `PlannedDescent`"),
        ({"sample_rate": 1.1}, "`sample_rate` of `PlannedDescent`"),
        ({"sample_rate": math.inf}, "`sample_rate` of `PlannedDescent`"),
        ({"steps": 0}, "`steps` of `PlannedDescent` must be a whole number"),
        ({"steps": 10**10}, "`steps` of `PlannedDescent`"),
    ],
)
def test_descents_that_are_none(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameter, match=says) as refusal:
        PlannedDescent(**(SMALL | fields))
    assert "\n" not in str(refusal.value)
    plan = {"name": "s", "count": 3, "delta": 1e-6, "descent": SMALL | fields}
    with pytest.raises(InvalidPolicy):
        load_policy(POLICY | {"plan": [plan]})


@pytest.mark.parametrize("beside", [{"epsilon": 0.1}, {"rho": 0.1}, {"noise": "laplace"}, {"steps": 3}])
def test_a_descent_says_all_of_its_slot(beside: dict[str, Any]) -> None:
    with pytest.raises(
        InvalidParameter, match=f"`{next(iter(beside))}` of `Slot` must be left out beside `descent`"
    ):
        Slot("s", 3, descent=PlannedDescent(2.0, 0.1, 8), **beside)
    with pytest.raises(InvalidParameter, match="`delta` of `SlotPlan` must be from 10⁻¹¹"):
        SlotPlan("p", [Slot("s", 3, descent=PlannedDescent(2.0, 0.1, 8))])


def test_a_descent_without_a_delta_of_its_own_is_charged_its_curve() -> None:
    """All of δ is then for adding up, which takes less than a descent with a share of it; and a cap on ε
    added up refuses it with nothing spent."""
    spent = {}
    for delta, share in ((1e-6, 5e-6), (None, 0.0)):
        caps = {"epsilon": 20.0, "delta": 1e-5, "delta_of_answers": share}
        policy = load_policy(POLICY | {"caps": caps, "plan": []})
        ledger = Ledger.open(
            "sqlite://", dataset="d", policy=policy.fingerprint(), caps=policy.caps.ledger_caps()
        )
        with ledger:
            for _ in range(5):
                fitted(policy, ledger, slot="", delta=delta)
            spent[delta] = ledger.balances()[0].spent
            assert ledger.totals().delta == (0.0 if delta is None else 5e-6)
            ledger.verify()
    assert spent[None] < spent[1e-6]
    pure = load_policy(POLICY | {"caps": {"epsilon": 20.0, "delta": 0.0}, "plan": []})
    with Ledger.open(
        "sqlite://", dataset="d", policy=pure.fingerprint(), caps=pure.caps.ledger_caps()
    ) as ledger:
        with pytest.raises(BudgetExceeded, match="no bound is known for what was asked"):
            fitted(pure, ledger, slot="", delta=None)
        assert ledger.totals().entries == 0
