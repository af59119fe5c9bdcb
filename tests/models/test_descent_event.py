"""A descent's charge says in canonical JSON what it was, and `verify` computes ε, δ and curve from it."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from leakcap.accounting import PrivacyLoss, SampledSteps
from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Spend
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.measured import charge_covers, guarantee
from leakcap.ledger.values import event_text
from leakcap.mechanism import Gaussian
from leakcap.models import PrivateGradientDescent
from leakcap.models.curve import RenyiCurve
from models.world import ledger_of, policy_of
from seeded import SeededSource

RUNS = [
    pytest.param(rate, replace, id=f"{rate}{' replaced' if replace else ''}")
    for rate in (Fraction(1, 20), Fraction(1))
    for replace in (False, True)
]


def charged(rate: Fraction, replace: bool, **options: Any) -> Any:
    """The entry of a fit of thirty rows, its policy's other caps out of the way."""
    kind: dict[str, Any] = {"neighbours": "replace-one", "rows": 30} if replace else {}
    policy = policy_of(**kind)
    X, y = np.linspace(-1.0, 1.0, 30)[:, None], np.linspace(-1.0, 1.0, 30)
    with ledger_of(policy) as ledger:
        PrivateGradientDescent(
            policy=policy,
            ledger=ledger,
            delta=1e-6,
            steps=4,
            sample_rate=rate,
            noise_multiplier=3.0,
            expected_rows=30,
            source=SeededSource(1),
            **options,
        ).fit(X, y)
        ledger.verify()
        (entry,) = ledger.entries()
    return entry


@pytest.mark.parametrize(("rate", "replace"), RUNS)
def test_the_event_proves_what_is_charged(rate: Fraction, replace: bool) -> None:
    spend = charged(rate, replace).spend
    ticks, found = spend.ticks(None), guarantee(spend.event)
    assert found.epsilon is None
    assert charge_covers(spend.event, ticks)
    # Beside δ no odds pass e^ε, so ρ is that of the smaller of curve and ε: far below what noise alone says.
    noise_alone = 4 / (2 * 3.0**2) * (4 if replace else 1)
    assert 0 < spend.rho <= min(noise_alone * (1 + 1e-8), spend.epsilon)
    for order, nats in zip(ORDERS, found.curve, strict=True):
        assert min(nats, spend.epsilon) <= order * spend.rho * (1 + 1e-9)
    direct = replace and rate == 1
    inner = json.loads(spend.event)
    while "event" in inner:
        inner = inner["event"]
    noise = Fraction(inner["noise_multiplier"])
    assert 0 < 1 - noise / (Fraction(3, 2) if direct else 3) < 1e-9
    # The curve of the event, once more from the loss; by way of absence at twice the order and one less.
    loss = PrivacyLoss.of_mechanism(Gaussian(float(noise))).sampled(float(rate)) ** 4
    for order in (2.0, 8.0):
        one = loss.renyi(order).upper
        if replace and not direct:
            one = (order - 0.5) / (order - 1) * loss.renyi(2 * order).upper + loss.renyi(2 * order - 1).upper
        assert found.curve[ORDERS.index(order)] == pytest.approx(one, rel=1e-9)
    for wrong in (
        ticks._replace(epsilon=(ticks.epsilon or 0) * 99 // 100),
        ticks._replace(delta=(ticks.delta or 0) // 2),
        ticks._replace(delta=0),
        ticks._replace(rho=(ticks.rho or 0) * 99 // 100),
        ticks._replace(curve=tuple((one or 0) * 99 // 100 for one in ticks.curve)),
        *(
            ticks._replace(
                curve=tuple((one or 0) // 2 if k == i else one for k, one in enumerate(ticks.curve))
            )
            for i in range(len(ORDERS))
        ),
    ):
        assert not charge_covers(spend.event, wrong)


def test_the_epsilon_is_the_exact_one_of_the_event() -> None:
    """Of one full step it is Balle and Wang's formula."""
    spend = Spend(
        epsilon=2.0,
        delta=1e-6,
        curve=(9.0,) * len(ORDERS),
        event=RenyiCurve(4.0, Fraction(1), 1, False).event,
    )
    with mpmath.workdps(30):
        mu, e = mpmath.mpf(1) / 4, mpmath.mpf(1)
        exact = mpmath.findroot(
            lambda e: (
                mpmath.ncdf(-e / mu + mu / 2)
                - mpmath.exp(e) * mpmath.ncdf(-e / mu - mu / 2)
                - mpmath.mpf("1e-6")
            ),
            e,
        )
    enough = int(exact * 10**12)
    ticks = spend.ticks(None)
    assert charge_covers(spend.event, ticks._replace(epsilon=enough + enough // 10**8))
    assert not charge_covers(spend.event, ticks._replace(epsilon=enough - enough // 10**6))


@pytest.mark.parametrize("what", ["epsilon", "curve"])
def test_verify_refuses_an_understated_twin(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """As a forger would write it who makes every hash anew."""
    spend = charged(Fraction(1, 20), False).spend
    less: dict[str, Any] = {
        "epsilon": spend.epsilon * (0.9 if what == "epsilon" else 1.0),
        "curve": tuple(one * (0.9 if what == "curve" else 1.0) for one in spend.curve),
    }
    twin = Spend(delta=spend.delta, nats_person=spend.nats_person, event=spend.event, **less)
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(9.0, delta=1e-4)) as ledger:
        ledger.reserve([Charge("d", "descent", spend)])
        ledger.verify()
        ledger.reserve([Charge("d", "descent", twin)])
        with pytest.raises(LedgerError, match=r"Row 3 of ledger .* was charged less than its event"):
            ledger.verify()


def test_a_thousand_descents_are_verified_as_quickly_as_others() -> None:
    """Equal events are computed once: at most twice as long as charges of ε and δ alone."""
    spend = charged(Fraction(1, 20), False).spend
    took = {}
    for name, one in (("plain", Spend(spend.epsilon, spend.delta)), ("descent", spend)):
        caps = Caps(1e5, delta=0.5)
        with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps) as ledger:
            ledger.reserve([Charge("d", "descent", one)] * 1000)
            ledger.verify()
            start = time.process_time()
            ledger.verify()
            took[name] = time.process_time() - start
    assert took["descent"] < 2 * took["plain"] + 0.1


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (
            '{"name":"PoissonSampledDpEvent","sampling_probability":"2","event":'
            '{"name":"GaussianDpEvent","noise_multiplier":"1"}}',
            "`sampling_probability` of `PoissonSampledDpEvent` must be at most 1",
        ),
        (
            '{"name":"PoissonSampledDpEvent","sampling_probability":"0","event":'
            '{"name":"GaussianDpEvent","noise_multiplier":"1"}}',
            "must be above 0",
        ),
        (
            '{"name":"PoissonSampledDpEvent","sampling_probability":"1/2","event":'
            '{"name":"ZCDpEvent","rho":"1"}}',
            "`event` of `PoissonSampledDpEvent` is `ZCDpEvent`, whose samples have no loss",
        ),
        (
            '{"name":"ReplacedDpEvent","event":{"name":"ReplacedDpEvent","event":'
            '{"name":"GaussianDpEvent","noise_multiplier":"1"}}}',
            "`event` of `ReplacedDpEvent` must be steps of Gaussian noise",
        ),
        (
            '{"name":"ReplacedDpEvent","event":{"name":"SelfComposedDpEvent","count":0,"event":'
            '{"name":"GaussianDpEvent","noise_multiplier":"1"}}}',
            "`event` of `ReplacedDpEvent` must be steps of Gaussian noise",
        ),
    ],
)
def test_steps_that_cannot_be_computed_are_refused_by_name(event: str, says: str) -> None:
    with pytest.raises(InvalidParameter, match=says) as refusal:
        Spend(0.1, 1e-6, curve=(1.0,) * len(ORDERS), event=event)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("noise", "rate", "steps"), [("1", "1/1000", 100), ("3", "1/20", 4), ("4/5", "1/1000", 2000)]
)
def test_a_charge_just_below_the_exact_loss_is_refused(noise: str, rate: str, steps: int) -> None:
    """Of the first run the own bracket of the ledger is 10⁻⁴ wide, its lower end too little. By a finer one
    δ is above what is stated; a thousandth less is seen in all of them."""
    inner = {"name": "GaussianDpEvent", "noise_multiplier": noise}
    sampled = {"name": "PoissonSampledDpEvent", "sampling_probability": rate, "event": inner}
    event = event_text({"name": "SelfComposedDpEvent", "count": steps, "event": sampled})
    known = SampledSteps(Fraction(noise), Fraction(rate), steps)
    curve, enough = tuple(map(known.renyi, ORDERS)), known.epsilon(1e-5).upper
    loss = PrivacyLoss.of_mechanism(Gaussian(float(Fraction(noise)))).sampled(float(Fraction(rate))) ** steps
    exact = loss.epsilon_both(1e-5, 1e-5).lower
    assert charge_covers(event, Spend(enough, 1e-5, curve=curve, event=event).ticks(None))
    for little in (exact * (1 - 5e-5), 0.999 * enough):
        assert loss.delta_both(little, 1e-4).lower > 1e-5
        assert not charge_covers(event, Spend(little, 1e-5, curve=curve, event=event).ticks(None))
