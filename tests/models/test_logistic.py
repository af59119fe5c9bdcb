"""Objective perturbation: the gradient's error bound, determinants and tails, ε on neighbours, prices."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression as Plain

from leakcap.errors import InvalidParameter
from leakcap.models import LogisticRegression
from leakcap.models.margin_objective import MarginObjective, grid_point
from leakcap.models.objective_noise import ObjectiveNoise, laplace_towards_zero
from models.world import ALARM, broken, ledger_of, policy_of
from seeded import SeededSource, discrete_gaussian_chi_square

STEPS = 2**20


def objective(seed: int, n: int, k: int, loss: tuple[float, float] = (0.0, 1.0)) -> MarginObjective:
    generator = np.random.default_rng(seed)
    z = generator.integers(-STEPS // 2, STEPS // 2, (n, k)).astype(float)
    return MarginObjective(z, STEPS, 0.7, generator.normal(0, 1, k), *loss)


LOSSES = [(0.0, 1.0), (1.0, 0.5), (1.0, 1 / 16), (1.0, 16.0)]
"""The logistic loss, and the hinge at its default and at both ends."""


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize(("n", "k"), [(0, 2), (1, 1), (63, 3), (200, 4), (5, 200)])
def test_the_gradient_is_as_near_as_it_says(n: int, k: int, loss: tuple[float, float]) -> None:
    """Against fifty digits, at points near and far."""
    problem, (shift, width) = objective(n + k, n, k, loss), loss
    for size in (0.0, 0.3, 30.0):
        theta = grid_point(np.full(k, size) + 0.1 * np.arange(k))
        found, error = problem.exact_gradient(theta)
        with mpmath.workdps(50):
            exact = [
                mpmath.mpf(problem.penalty) * t + mpmath.mpf(b)
                for t, b in zip(theta, problem.linear, strict=True)
            ]
            for row in problem.z:
                margin = mpmath.fsum(mpmath.mpf(x) / STEPS * t for x, t in zip(row, theta, strict=True))
                weight = 1 / (1 + mpmath.exp((margin - shift) / width))
                exact = [g - weight * mpmath.mpf(x) / STEPS for g, x in zip(exact, row, strict=True)]
            off = mpmath.sqrt(mpmath.fsum((f - g) ** 2 for f, g in zip(found, exact, strict=True)))
        assert off <= error
        assert error < 1e-11 * (1 + n) * max(1.0, 1.0 / width)  # a steeper weight feels the margin more
        slow = problem.careful_gradient([Fraction(float(t)) for t in theta])
        assert np.allclose([float(g) for g in slow], [float(g) for g in exact], rtol=1e-14, atol=1e-14)


def test_grid_points_stay_where_they_are() -> None:
    for largest in (0.3, 1.0, 1.0 - 2.0**-53, 1e-9, 7e8):
        point = grid_point(np.array([largest, largest / 3, -largest / 7, 0.0]))
        assert (grid_point(point) == point).all()


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_minimum_is_proved_and_fractions_go_further(loss: tuple[float, float]) -> None:
    problem = objective(5, 30, 2, loss)
    for goal in (1e-6, 1e-10, 1e-25):
        point = problem.minimise(goal)
        slope = problem.careful_gradient(point)
        assert math.sqrt(math.fsum(float(g) ** 2 for g in slope)) <= goal


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_determinants_of_neighbours_are_within_the_claimed_factor(loss: tuple[float, float]) -> None:
    """det(∇²J) with a row and without, and with a row replaced, against 1 + B²/(4hΛ)."""
    generator = np.random.default_rng(6)
    for _ in range(200):
        z = generator.uniform(-1, 1, (4, 2)) * STEPS / math.sqrt(2)
        penalty = float(generator.choice([0.1, 1.0, 10.0]))
        theta = generator.normal(0, 1, 2)
        dets = [
            float(np.linalg.det(MarginObjective(rows, STEPS, penalty, np.zeros(2), *loss).hessian(theta)))
            for rows in (z, z[:3], np.vstack([z[:3], -z[3:] / 2]))
        ]
        factor = (1 + 1 / (4 * loss[1] * penalty)) * (1 + 1e-12)
        assert all(a <= factor * b for a in dets for b in dets)


def test_the_parts_of_epsilon_add_up() -> None:
    """√k·sB/c + ln(1 + β/Λ) + ε₂ = ε, each by hand."""
    for replaced in (False, True):
        noise = ObjectiveNoise.plan(
            3, norm=1.5, epsilon=2.0, delta=0.0, replace=replaced, penalty=None, rows=100
        )
        moves = math.sqrt(3) * 1.5 * (2 if replaced else 1) / noise.scale
        total = moves + math.log1p(1.5**2 / 4 / noise.penalty) + 0.02
        assert total <= 2.0
        assert total == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("replaced", [False, True])
def test_gaussian_losses_by_simulation(replaced: bool) -> None:
    """δ of the worst fixed shift is at most δ (5 standard errors), and for a row that comes all of it; with a
    tenth less noise it is above."""
    noise = ObjectiveNoise.plan(1, norm=1.0, epsilon=1.0, delta=0.01, replace=replaced, penalty=None, rows=9)
    left = 1.0 - 0.01 - math.log1p(0.25 / noise.penalty)
    shift, b = 2.0 if replaced else 1.0, np.random.default_rng(7).normal(0, 1, 400_000)
    found = {}
    for share in (0.9, 1.0):
        scale = share * noise.scale
        loss = (2 * b * scale * shift + shift**2) / (2 * scale**2)
        told = np.maximum(0.0, -np.expm1(left - loss))
        found[share] = told.mean() - 0.01, 5 * told.std() / math.sqrt(b.size)
    assert found[1.0][0] < found[1.0][1]
    if not replaced:
        assert found[1.0][0] > -found[1.0][1]
        assert found[0.9][0] > found[0.9][1]


@pytest.mark.parametrize("replaced", [False, True])
def test_weights_between_nothing_and_all_tell_no_more(replaced: bool) -> None:
    """Of the loss with weights w(b), w'(b) that an adversary chooses after seeing b."""
    noise = ObjectiveNoise.plan(2, norm=1.0, epsilon=1.0, delta=0.01, replace=replaced, penalty=None, rows=9)
    left = 1.0 - 0.01 - math.log1p(0.25 / noise.penalty)
    generator = np.random.default_rng(17)
    b = generator.normal(0, noise.scale, (20_000, 2))
    for angle in (0.3, 1.5, math.pi):
        v, other = np.array([1.0, 0.0]), np.array([math.cos(angle), math.sin(angle)])
        worst = np.full(len(b), -np.inf)
        for w in np.linspace(0, 1, 11):
            for w2 in np.linspace(0, 1, 11) if replaced else (0.0,):
                shift = w * v - w2 * other
                worst = np.maximum(worst, (2 * b @ shift + shift @ shift) / (2 * noise.scale**2))
        told = np.maximum(0.0, -np.expm1(left - worst))
        assert told.mean() < 0.01 + 5 * told.std() / math.sqrt(len(b))


def test_the_objectives_noise_has_its_law() -> None:
    """Floor of an exponential: P(k) = (1−q)qᵏ, q = e^{−1/scale}; a halved scale is caught."""
    for scale, good in ((Fraction(10), True), (Fraction(5), False)):
        draws = np.abs(laplace_towards_zero(scale, 20_000, SeededSource(8)))
        q = math.exp(-0.1)
        share = np.array([(1 - q) * q**k for k in range(40)])
        expected = np.append(share, 1 - share.sum()) * draws.size
        counts = np.bincount(np.minimum(draws, 40), minlength=41)
        assert bool(chi2.sf(((counts - expected) ** 2 / expected).sum(), 40) > ALARM) is good
    signs = np.sign(laplace_towards_zero(Fraction(10), 20_000, SeededSource(9)))
    assert abs(signs.mean()) < 5 / math.sqrt(20_000)
    noise = ObjectiveNoise.plan(1, norm=1.0, epsilon=1.0, delta=1e-5, replace=False, penalty=None, rows=9)
    draws = np.array([noise.draw(SeededSource(s))[0] for s in range(4000)])
    assert (
        discrete_gaussian_chi_square(np.rint(draws * 2.0**noise.exponent).astype(np.int64), noise.sampler)
        > ALARM
    )


def coefficients(present: bool, seed: int, share: Fraction) -> Any:
    """100,000 fits of one feature to one row or none, by Newton on all at once; `share` of the noise."""
    noise = ObjectiveNoise.plan(1, norm=1.0, epsilon=2.0, delta=0.0, replace=False, penalty=0.5, rows=10)
    source, runs = SeededSource(seed), 100_000
    b = laplace_towards_zero(noise.sampler * share, runs, source) * 2.0**-noise.exponent
    theta = np.zeros(runs)
    for _ in range(40):
        w = present / (1 + np.exp(theta))
        theta = theta - (b + 0.5 * theta - w) / (0.5 + w * (1 - w) + 0.1)
    assert np.abs(b + 0.5 * theta - present / (1 + np.exp(theta))).max() < 1e-9
    one = noise_of_one(noise, b[0], present)
    assert abs(one - theta[0]) < 1e-6
    return replace(noise.output, size=runs).released(theta, source)


def noise_of_one(noise: ObjectiveNoise, b: float, present: bool) -> float:
    """The package's own minimiser for one of them."""
    rows = np.full((int(present), 1), float(STEPS))
    return float(MarginObjective(rows, STEPS, noise.penalty, np.array([b])).minimise(noise.gradient)[0])


def test_neighbours_keep_epsilon_and_half_the_noise_does_not() -> None:
    """A row comes or goes; ε = 2 holds for every event tried, and with half the noise it does not."""
    for share, good in ((Fraction(1), True), (Fraction(1, 2), False)):
        with_it, without = coefficients(True, 10, share), coefficients(False, 11, share)
        proofs = [
            broken(first, second, 2.0)
            for t in (-2.0, -1.0, 0.0, 1.0)
            for first, second in (
                (with_it >= t, without >= t),
                (with_it <= t, without <= t),
                (without >= t, with_it >= t),
                (without <= t, with_it <= t),
            )
        ]
        assert any(proofs) is not good


def test_much_budget_gives_the_plain_fit() -> None:
    policy = policy_of()
    generator = np.random.default_rng(12)
    X = generator.uniform(-1, 1, (3000, 2)) / math.sqrt(2)
    y = np.where(generator.uniform(size=3000) < 1 / (1 + np.exp(-(X @ [4.0, -2.0] + 0.5))), "yes", "no")
    with ledger_of(policy) as ledger:
        options: dict[str, Any] = {"policy": policy, "ledger": ledger, "classes": ("no", "yes")}
        fitted = LogisticRegression(**options, epsilon=2000.0, penalty=1.0).fit(X, y)
        plain = Plain(C=1.0).fit(np.hstack([X, np.ones((3000, 1))]), y)
        other = Plain(C=1.0, fit_intercept=False).fit(np.hstack([X, np.ones((3000, 1))]), y)
        assert np.allclose(np.append(fitted.coef_, fitted.intercept_), other.coef_[0], atol=0.02)
        assert fitted.score(X, y) > plain.score(np.hstack([X, np.ones((3000, 1))]), y) - 0.01
        assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
        X[0], y[1] = np.nan, "maybe"
        weak = LogisticRegression(**options, epsilon=1.0, delta=1e-6).fit(X, y)
        assert weak.spend_.delta == 1e-6
        assert weak.score(X[1:], y[1:]) > 0.6
        assert [entry.state for entry in ledger.entries()] == ["released", "released"]


def test_what_cannot_be_paid_for_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="curvature"):
        LogisticRegression(epsilon=0.1, penalty=0.1).noise(2, replace=False)
    with pytest.raises(InvalidParameter, match="grid"):
        LogisticRegression(epsilon=1.0, delta=1e-26).noise(2, replace=False)
    with pytest.raises(InvalidParameter, match="two public labels"):
        LogisticRegression(classes=(1, 2, 3)).fit([[1.0]], [1])
