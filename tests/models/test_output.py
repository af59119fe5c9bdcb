"""Output perturbation: the solver's proof, the sensitivity on tables, ε on neighbours; the lecture's flaw."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.models import RidgeRegression, lecture
from leakcap.models.ball_ridge import BallRidge, solve_exactly
from leakcap.models.lattice_noise import LatticeNoise
from leakcap.models.output import ridge_sensitivity
from models.world import ALARM, broken, ledger_of, policy_of
from seeded import SeededSource, discrete_gaussian_chi_square, discrete_laplace_chi_square

RUNS = 40_000


def objective(problem: BallRidge, theta: Any) -> float:
    a, b = problem.a.astype(float), problem.b.astype(float)
    return float(0.5 * theta @ a @ theta - b @ theta + float(problem.penalty) / 2 * theta @ theta)


@pytest.mark.parametrize("radius", [Fraction(1, 100), Fraction(1, 2), Fraction(100)])
@pytest.mark.parametrize("size", [1, 3, 6])
def test_the_solver_agrees_with_another_and_keeps_its_promise(size: int, radius: Fraction) -> None:
    generator = np.random.default_rng(size)
    x = generator.integers(-9, 10, (20, size))
    y = generator.integers(-9, 10, 20)
    problem = BallRidge((x.T @ x).astype(object), (x.T @ y).astype(object), Fraction(1, 3), radius)
    allowance = Fraction(1, 10**12)
    near = problem.near(allowance)
    assert sum(t * t for t in near) <= radius**2
    ball = {"type": "ineq", "fun": lambda t: float(radius) ** 2 - t @ t}
    start = np.zeros(size)
    other = minimize(
        lambda t: objective(problem, t), start, constraints=[ball], method="SLSQP", options={"ftol": 1e-14}
    ).x
    ours = np.array([float(t) for t in near])
    assert np.allclose(ours, other, atol=1e-5)
    assert (
        objective(problem, ours)
        <= objective(problem, other * min(1, float(radius) / np.linalg.norm(other))) + 1e-9
    )


@pytest.mark.parametrize("radius", [Fraction(1, 2), Fraction(100)])
def test_fractions_take_over_where_floats_do_not_do(
    radius: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = np.array([[1, 2], [3, 5], [2, 2]]), np.array([7, -1, 4])
    problem = BallRidge((x.T @ x).astype(object), (x.T @ y).astype(object), Fraction(1, 7), radius)
    quick = problem.near(Fraction(1, 10**10))
    monkeypatch.setattr(BallRidge, "_floating", lambda self: iter(()))
    slow = problem.near(Fraction(1, 10**20))
    assert sum((a - b) ** 2 for a, b in zip(quick, slow, strict=True)) <= Fraction(1, 10**18)


def test_exact_solutions_solve() -> None:
    generator = np.random.default_rng(4)
    for size in (1, 2, 5, 9):
        x = generator.integers(-(10**6), 10**6, (12, size)).astype(object)
        a, b = x.T @ x, x.T @ generator.integers(-99, 99, 12).astype(object)
        theta = solve_exactly(a, b, Fraction(3, 7))
        for i in range(size):
            assert sum(int(a[i, j]) * theta[j] for j in range(size)) + Fraction(3, 7) * theta[i] == int(b[i])


@pytest.mark.parametrize("replaced", [True, False])
def test_no_neighbour_is_further_than_the_sensitivity(replaced: bool) -> None:
    """Random small tables of corners: the largest move stays below the bound and comes near half of it."""
    generator, bound, furthest = np.random.default_rng(5), 0.0, 0.0
    for _ in range(300):
        penalty = float(generator.choice([0.5, 3.0, 50.0]))
        model = RidgeRegression(penalty=penalty, radius=0.4)
        x = generator.choice([-1.0, 1.0], (3, 1)) * generator.choice([0.1, 1.0], (3, 1))
        y = generator.choice([-1.0, 1.0], 3)
        x2, y2 = (x[:2], y[:2]) if not replaced else (np.vstack([x[:2], -x[2:]]), y)
        moved = abs(solved(model, x, y) - solved(model, x2, y2))
        bound = ridge_sensitivity(norm=1.0, target=1.0, radius=0.4, penalty=penalty, replace=replaced)
        assert moved <= bound
        furthest = max(furthest, moved / bound)
    assert furthest > 0.4


def solved(model: RidgeRegression, x: Any, y: Any) -> float:
    problem, unit = model._problem(x, y)
    return float(problem.near(Fraction(1, 10**12))[0] * unit)


def neighbours(model: RidgeRegression, noise: LatticeNoise, seed: int) -> tuple[Any, Any]:
    """Releases from one row of two with y = N, and with y = −N: nearly as far apart as the bound."""
    one = solved(model, np.array([[1.0]]), np.array([1.0]))
    many = replace(noise, size=RUNS)
    first = many.released(np.full(RUNS, one), SeededSource(seed))
    second = many.released(np.full(RUNS, -one), SeededSource(seed + 1))
    return first, second


def test_neighbours_keep_epsilon_and_planted_bugs_do_not() -> None:
    """The move is 0.97 of the bound, so ε = 1 is nearly spent; half the noise, and twice ε, are caught."""
    model = RidgeRegression(epsilon=1.0, penalty=100.0, radius=0.01)
    noise = model.noise(1, replace=True)
    first, second = neighbours(model, noise, 1)
    edge = solved(model, np.array([[1.0]]), np.array([1.0]))
    assert not broken(first >= edge, second >= edge, 1.0)
    assert broken(first >= edge, second >= edge, 0.85)
    half = replace(noise, sensitivity=noise.sensitivity // 2)
    first, second = neighbours(model, half, 3)
    assert broken(first >= edge, second >= edge, 1.0)


def test_gaussian_noise_keeps_delta_and_half_of_it_does_not() -> None:
    model = RidgeRegression(epsilon=1.0, delta=1e-2, penalty=100.0, radius=0.01)
    noise = model.noise(1, replace=True)
    edge = 0.72 * noise.scale  # where P − eQ is large for the halved noise
    first, second = neighbours(model, noise, 5)
    assert not broken(first >= edge, second >= edge, 1.0, 1e-2)
    half = replace(noise, sensitivity=noise.sensitivity // 4)
    first, second = neighbours(model, half, 7)
    assert broken(first >= edge, second >= edge, 1.0, 1e-2)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_has_its_law(delta: float) -> None:
    """By hand: the bound 2·1·(1 + 1·1)/10 = 0.4 and its allowance in steps, times √3, plus rounding."""
    noise = RidgeRegression(epsilon=0.5, delta=delta).noise(3, replace=True)
    zero = replace(noise, size=6000).released(np.zeros(6000), SeededSource(9))
    steps = np.rint(zero / noise.step).astype(np.int64)
    reach = 0.4 * 2.0**noise.exponent
    if delta:
        assert noise.sensitivity == pytest.approx((reach + math.sqrt(3)) ** 2, rel=1e-5)
        assert discrete_gaussian_chi_square(steps, noise._parameter()) > ALARM
    else:
        assert noise.sensitivity == pytest.approx(reach * math.sqrt(3) + 3, rel=1e-5)
        assert discrete_laplace_chi_square(steps, Fraction(noise.sensitivity) * 2) > ALARM


def test_it_fits_and_pays() -> None:
    policy = policy_of(neighbours="replace-one", rows=4000)
    generator = np.random.default_rng(6)
    X = generator.uniform(-1, 1, (4000, 3)) / math.sqrt(3)
    y = X @ [0.5, -0.5, 0.2]
    with ledger_of(policy) as ledger:
        options: dict[str, Any] = {"policy": policy, "ledger": ledger, "source": SeededSource(1)}
        fitted = RidgeRegression(**options, epsilon=1e4).fit(X, y)
        assert np.allclose(fitted.coef_, np.linalg.solve(X.T @ X + 10 * np.eye(3), X.T @ y), atol=1e-3)
        assert ledger.totals().epsilon == 1e4
        assert fitted.spend_.nats_person <= 1e4
        X[0], y[1] = np.nan, np.inf
        fitted.fit(X, y)
        with pytest.raises(InvalidParameter, match="penalty"):
            RidgeRegression(**options, penalty=0.0).fit(X, y)
        assert len(ledger.entries()) == 2


# The lecture.


def test_the_lectures_neighbouring_tables() -> None:
    """theory.md §7: the constrained minimiser moves by 2 and the bound says 0.002."""
    one, other = lecture.neighbouring_tables()
    assert np.count_nonzero((one.x != other.x) | (one.y != other.y)) == 1
    assert np.abs(one.x).max() <= 0.01
    assert np.abs(one.y).max() <= 1.0
    moved = abs(lecture.minimiser(one, P=1.0) - lecture.minimiser(other, P=1.0))
    bound = lecture.lecture_bound(k=1, n=1000, M=0.01, N=1.0, P=1.0)
    assert moved == 2.0
    assert bound == pytest.approx(0.0020002)
    for ridge in (1e-6, 1e-3, 1.0):
        moved = abs(lecture.minimiser(one, P=1.0, ridge=ridge) - lecture.minimiser(other, P=1.0, ridge=ridge))
        assert moved <= lecture.ridge_bound(n=1000, M=0.01, N=1.0, P=1.0, ridge=ridge)


def test_noise_of_the_lectures_scale_tells_its_tables_apart() -> None:
    """Planted: claimed ε = 1, the releases never overlap."""
    bound = lecture.lecture_bound(k=1, n=1000, M=0.01, N=1.0, P=1.0)
    noise = LatticeNoise.plan(bound, allowance=0.0, size=2000, epsilon=1.0, delta=0.0)
    first, second = (
        noise.released(np.full(2000, lecture.minimiser(table, P=1.0)), SeededSource(seed)) >= 0.0
        for seed, table in enumerate(lecture.neighbouring_tables())
    )
    assert broken(first, second, 4.0)


def test_the_lectures_release_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="demonstration"):
        lecture.release(lecture.neighbouring_tables()[0], epsilon=1.0, P=1.0)
