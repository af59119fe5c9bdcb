"""Fits with Gaussian noise under a cap on all answers together are charged by their curves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from leakcap.ledger import Caps, Ledger
from leakcap.ledger.curve import FILTER_ORDERS, ORDERS
from leakcap.models import PrivateGradientDescent, RidgeRegression
from leakcap.models.curve import RenyiCurve
from leakcap.release import load_policy

POLICY = load_policy(
    {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 9.0, "delta": 1e-4},
        "columns": {"x": {"bounds": [0.0, 1.0]}},
    }
)
CHANCE = np.random.default_rng(5)
X = CHANCE.uniform(-1.0, 1.0, size=(400, 2))
Y = np.clip(0.5 * X[:, 0] + 0.1 * CHANCE.normal(size=400), -1.0, 1.0)


def ledger() -> Ledger:
    return Ledger.open("sqlite://", dataset="d", policy=POLICY.fingerprint(), caps=POLICY.caps.ledger_caps())


def least(curve: list[float]) -> float:
    """The least ε of a curve added up, at the half of δ that is for adding up: the proposition, once more."""
    each = 0.5e-4 / len(FILTER_ORDERS)
    return min(
        nats + (math.log(1 / each) + (order - 1) * math.log(1 - 1 / order) - math.log(order)) / (order - 1)
        for order, nats in zip(ORDERS, curve, strict=True)
        if order in FILTER_ORDERS
    )


def test_five_regressions_by_output_perturbation() -> None:
    model = RidgeRegression(policy=POLICY, epsilon=1.0, delta=1e-6)
    rho = model.noise(2, replace=False).rho
    assert rho is not None
    with ledger() as held:
        for _ in range(5):
            RidgeRegression(policy=POLICY, ledger=held, epsilon=1.0, delta=1e-6).fit(X, Y)
        curve = [5 * min(order * rho, 1.0) for order in ORDERS]
        assert held.balances()[0].spent == pytest.approx(least(curve), rel=1e-9)
        assert held.balances()[0].spent < 3.3 < 5.0 == held.totals().epsilon
        assert held.balances()[1].spent == pytest.approx(5e-6)
        held.verify()


def test_a_descent_is_charged_by_the_curve_of_its_steps() -> None:
    with ledger() as held:
        model = PrivateGradientDescent(policy=POLICY, ledger=held, delta=1e-6, steps=50, expected_rows=400)
        model.fit(X, (Y > 0).astype(int))
        (entry,) = held.entries()
        own = RenyiCurve(noise_multiplier=2.0, rate=Fraction(1, 10), steps=50, replace=False)
        assert entry.spend.curve is not None
        for order, nats in zip(ORDERS, entry.spend.curve, strict=True):
            assert nats == pytest.approx(min(own.presence(order), entry.spend.epsilon), abs=2e-12)


def test_without_a_cap_on_all_answers_together_nothing_changes() -> None:
    caps = {"epsilon": 9.0, "delta": 1e-4, "delta_of_answers": 1e-4}
    policy = load_policy(POLICY.model_dump() | {"caps": caps})
    with Ledger.open("sqlite://", dataset="d", policy=policy.fingerprint(), caps=Caps(**caps)) as held:
        for _ in range(3):
            RidgeRegression(policy=policy, ledger=held, epsilon=1.0, delta=1e-6).fit(X, Y)
        assert held.balances()[0].spent == 3.0
