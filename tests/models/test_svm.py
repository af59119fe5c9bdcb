"""The support vector machine: the smooth hinge, ε on neighbours, the plain fit, its way from a file."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

from leakcap.errors import InvalidParameter
from leakcap.models import LinearSVC
from leakcap.models.margin_objective import MarginObjective
from leakcap.models.objective_noise import laplace_towards_zero
from models.world import broken, ledger_of, policy_of
from seeded import SeededSource

STEPS = 2**20


@pytest.mark.parametrize("width", [1 / 16, 0.5, 16.0])
def test_the_loss_lies_on_the_hinge(width: float) -> None:
    """Between max(0, 1 − m) and h·ln 2 more, its slope and curvature by mpmath's derivatives."""

    def loss(margin: Any) -> Any:
        return width * mpmath.log1p(mpmath.exp((1 - margin) / width))

    for margin in (-5.0, 0.0, 0.9, 1.0, 1.1, 3.0):
        z = np.array([[margin * STEPS]])
        problem = MarginObjective(z, STEPS, 0.25, np.zeros(1), 1.0, width)
        with mpmath.workdps(40):
            value, slope, bend = (mpmath.diff(loss, margin, order) for order in (0, 1, 2))
        one = np.array([1.0])
        assert problem.value(one) == pytest.approx(float(value) + 0.125, rel=1e-12)
        assert problem.gradient(one)[0] == pytest.approx(float(slope) * margin + 0.25, abs=1e-9)
        assert problem.hessian(one)[0, 0] == pytest.approx(float(bend) * margin**2 + 0.25, abs=1e-9)
        hinge = max(0.0, 1.0 - margin)
        assert hinge <= float(value) <= hinge + width * math.log(2.0) + 1e-12
        assert -1 <= slope < 0
        assert 0 <= bend <= 1 / (4 * width) + 1e-12


def coefficients(present: bool, seed: int, share: Fraction, width: float) -> Any:
    """50,000 fits of one feature to one row or none, by Newton on all at once; `share` of the noise."""
    noise = LinearSVC(epsilon=2.0, penalty=2.0, smoothing=width, fit_intercept=False).noise(1, replace=False)
    source, runs = SeededSource(seed), 50_000
    b = laplace_towards_zero(noise.sampler * share, runs, source) * 2.0**-noise.exponent
    theta = np.zeros(runs)
    for _ in range(60):
        w = present / (1 + np.exp(np.clip((theta - 1.0) / width, -700, 700)))
        theta = theta - (b + 2.0 * theta - w) / (2.0 + w * (1 - w) / width + 0.1)
    rows = np.full((int(present), 1), float(STEPS))
    one = MarginObjective(rows, STEPS, noise.penalty, b[:1], 1.0, width).minimise(noise.gradient)[0]
    assert abs(float(one) - theta[0]) < 1e-6
    return replace(noise.output, size=runs).released(theta, source)


@pytest.mark.parametrize("width", [0.25, 0.5, 4.0])
def test_neighbours_keep_epsilon_and_a_third_of_the_noise_does_not(width: float) -> None:
    """A row comes or goes; ε = 2 holds for every event tried. False alarms: see `models.world.broken`."""
    for share, good in ((Fraction(1), True), (Fraction(1, 3), False)):
        with_it, without = coefficients(True, 20, share, width), coefficients(False, 21, share, width)
        proofs = [
            broken(first, second, 2.0)
            for t in (-1.0, -0.5, 0.0, 0.5, 1.0)
            for first, second in (
                (with_it >= t, without >= t),
                (with_it <= t, without <= t),
                (without >= t, with_it >= t),
                (without <= t, with_it <= t),
            )
        ]
        assert any(proofs) is not good


def test_much_budget_gives_the_plain_fit() -> None:
    """Against SciPy's minimiser of the same objective, written out anew."""
    policy = policy_of()
    generator = np.random.default_rng(22)
    X = generator.uniform(-1, 1, (2000, 2)) / math.sqrt(2)
    y = np.where(X @ [4.0, -2.0] + 0.5 + generator.normal(0, 0.5, 2000) > 0, "yes", "no")
    with ledger_of(policy) as ledger:
        options: dict[str, Any] = {"policy": policy, "ledger": ledger, "classes": ("no", "yes")}
        fitted = LinearSVC(**options, epsilon=3000.0, penalty=1.0, smoothing=0.25).fit(X, y)
        v = np.hstack([X, np.ones((2000, 1))]) * np.where(y == "yes", 1.0, -1.0)[:, None]

        def value(theta: Any) -> float:
            return 0.25 * np.logaddexp(0, (1 - v @ theta) / 0.25).sum() + 0.5 * theta @ theta

        plain = minimize(value, np.zeros(3), method="BFGS", options={"gtol": 1e-4}).x
        assert np.allclose(np.append(fitted.coef_, fitted.intercept_), plain, atol=0.05)
        assert fitted.score(X, y) > 0.85
        assert not hasattr(fitted, "predict_proba")
        again = LinearSVC(**options, epsilon=1.0, smoothing=0.25).fit(X, y, version="1")
        other = LinearSVC(**options, epsilon=1.0, smoothing=0.5).fit(X, y, version="1")
        same = LinearSVC(**options, epsilon=1.0, smoothing=0.25).fit(X, y, version="1")
        assert (again.repeated_, other.repeated_, same.repeated_) == (False, False, True)


def test_real_patients() -> None:
    """Ten features of 569 tumours; at ε = 4 nearly as good as without noise (a plain machine has 0.95)."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :10]
    X = (X - X.mean(axis=0)) / X.std(axis=0) / 4.0
    policy = policy_of()
    with ledger_of(policy) as ledger:
        fitted = LinearSVC(
            policy=policy, ledger=ledger, epsilon=4.0, n_features=10, source=SeededSource(23)
        ).fit(X, y)
        assert fitted.score(X, y) > 0.85


@pytest.mark.parametrize("smoothing", [0.0, -1.0, 0.01, 100.0, float("nan"), "1", None])
def test_a_corner_that_cannot_be_proved_is_refused(smoothing: Any) -> None:
    with pytest.raises(InvalidParameter, match="smoothing"):
        LinearSVC(smoothing=smoothing).fit(np.zeros((1, 1)), np.zeros(1))
