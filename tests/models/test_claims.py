"""Every model keeps the ε it claims on neighbouring tables, rows and people, and planted bugs are caught.

Each audit speaks with a confidence of 1 − 10⁻⁶ of its lower bound. What is audited are the models' own steps
from a table to what leaves, the ledger aside: integers, sums, solver, noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakcap.audit import Batched, Verdict, audit
from leakcap.definition import ApproxDP, PureDP
from leakcap.models import PrivateGradientDescent, RenyiCurve, RidgeRegression, descent, lecture
from leakcap.models.descent import coins
from leakcap.models.lattice_noise import LatticeNoise
from leakcap.models.logistic import LogisticRegression
from leakcap.models.margin_objective import MarginObjective
from leakcap.models.objective_noise import ObjectiveNoise
from models.world import ALARM
from seeded import SeededSource

CONFIDENCE = 1.0 - ALARM
STEPS = 2**20
Maker = Callable[[Any, int], Any]


def verdict(run: Maker, pair: tuple[Any, Any], claim: Any, samples: int = 30_000) -> Verdict:
    found = audit(
        Batched(run), *pair, claim=claim, samples=samples, confidence=CONFIDENCE, bits=False, seed=1
    )
    return found.verdict


# Output perturbation: people of one and of three rows, who come and go or are replaced.
CORNERS = {
    (1, True): ([[1.0]], [1.0], [[1.0]], [-1.0]),
    (1, False): ([[1.0]], [1.0], [[0.0]], [0.0]),
    (3, True): ([[1.0]] * 3, [1.0] * 3, [[1.0]] * 3, [-1.0] * 3),
    (3, False): ([[1.0]] * 3, [1.0] * 3, [[0.0]] * 3, [0.0] * 3),
}


def ridge(noise: LatticeNoise, model: RidgeRegression) -> Maker:
    source = SeededSource(7)

    def run(table: Any, runs: int) -> Any:
        problem, unit = model._problem(np.array(table[0]), np.array(table[1]))
        theta = float(problem.near(Fraction(1, 10**12))[0] * unit)
        return replace(noise, size=runs).released(np.full(runs, theta), source)

    return run


@pytest.mark.parametrize(("most", "replaced"), CORNERS)
def test_output_perturbation(most: int, replaced: bool) -> None:
    """The corner moves by more than nine tenths of the bound: ε is nearly
    spent, and noise for fewer rows is caught."""
    model = RidgeRegression(epsilon=1.0, penalty=100.0, radius=0.04)
    x, y, x2, y2 = CORNERS[most, replaced]
    pair = ((x, y), (x2, y2))
    run = ridge(model.noise(1, replace=replaced, rows=most), model)
    assert verdict(run, pair, PureDP(1.0)) is not Verdict.VIOLATED
    bug = RidgeRegression(epsilon=1.0 if most > 1 else 2.0, penalty=100.0, radius=0.04)
    planted = ridge(bug.noise(1, replace=replaced, rows=1), model)
    assert verdict(planted, pair, PureDP(1.0)) is Verdict.VIOLATED


# Objective perturbation, the package's own noise and minimiser.
def logistic(noise: ObjectiveNoise, share: Fraction = Fraction(1)) -> Maker:
    """Many fits at once: Newton on all, checked against the package's minimiser, and its own output noise."""
    source = SeededSource(9)

    def run(rows: list[float], runs: int) -> Any:
        b = objective_draws(noise, share, runs, source)
        theta = np.zeros(runs)
        for _ in range(60):
            w = [v / (1 + np.exp(np.clip(v * theta, -700, 700))) for v in rows]
            slope = b + noise.penalty * theta - sum(w, np.zeros(runs))
            bend = noise.penalty + sum((w_ * (v - w_) for w_, v in zip(w, rows, strict=True)), np.zeros(runs))
            theta = theta - slope / (bend + 0.1)
        one = MarginObjective(np.array(rows).reshape(-1, 1) * STEPS, STEPS, noise.penalty, b[:1])
        assert abs(float(one.minimise(noise.gradient)[0]) - theta[0]) < 1e-6
        return replace(noise.output, size=runs).released(theta, source)

    return run


def objective_draws(noise: ObjectiveNoise, share: Fraction, runs: int, source: Any) -> Any:
    return replace(noise, size=runs, sampler=noise.sampler * share).draw(source)


PAIRS = [
    (([1.0], []), False, 1),
    (([1.0], [-1.0]), True, 1),
    (([1.0] * 3, []), False, 3),
    (([1.0] * 3, [-1.0] * 3), True, 3),
]


@pytest.mark.parametrize(("pair", "replaced", "most"), PAIRS)
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_objective_perturbation(pair: Any, replaced: bool, most: int, delta: float) -> None:
    """A sixth of the noise, as if rows and solver were not paid for, is caught."""
    options: dict[str, Any] = {"fit_intercept": False, "penalty": 4.0}
    noise = LogisticRegression(epsilon=2.0, delta=delta, **options).noise(
        1, replace=replaced, rows=10, most=most
    )
    claim = ApproxDP(2.0, delta) if delta else PureDP(2.0)
    assert verdict(logistic(noise), pair, claim) is not Verdict.VIOLATED
    share = Fraction(1, 36) if delta else Fraction(1, 6)
    assert verdict(logistic(noise, share), pair, claim) is Verdict.VIOLATED


# Descent: several steps, sampled, for rows and people.
def descending(model: PrivateGradientDescent, steps: int, most: int) -> Maker:
    def run(rows: int, runs: int) -> Any:
        """`rows` of one person with the longest gradients; θ never enters them, so runs are sums of steps."""
        source, size = model.source, 2**16 // most
        total = np.array(model._total(np.zeros(1), np.full((rows, 1), 9.0), np.full(rows, -9.0), most))
        variance = Fraction(float(model.noise_multiplier) * size * most) ** 2
        found = np.zeros(runs)
        for _ in range(steps):
            drawn = descent.discrete_gaussian(variance, runs, source)
            present = coins(model._rate, runs, source)
            found += total[0] * present + drawn
        return found

    return run


@pytest.mark.parametrize("most", [1, 3])
def test_descent_over_several_steps(most: int) -> None:
    """Four sampled steps; forgotten sampling is caught, and three rows of a person clipped as one each."""
    rate, steps, delta = Fraction(1, 4), 4, 0.01
    model = PrivateGradientDescent(
        noise_multiplier=1.0, sample_rate=rate, steps=steps, source=SeededSource(3)
    )
    claim = ApproxDP(RenyiCurve(1.0, rate, steps, replace=False).epsilon(delta), delta)
    assert verdict(descending(model, steps, most), (most, 0), claim) is not Verdict.VIOLATED
    always = PrivateGradientDescent(
        noise_multiplier=1.0, sample_rate=1.0, steps=steps, source=SeededSource(4)
    )
    assert verdict(descending(always, steps, most), (most, 0), claim) is Verdict.VIOLATED
    assert verdict(descending(model, steps, 1), (3, 0), claim) is Verdict.VIOLATED


def test_the_lectures_noise_is_caught() -> None:
    """Claimed ε = 1; its two tables never look alike."""
    bound = lecture.lecture_bound(k=1, n=1000, M=0.01, N=1.0, P=1.0)
    source = SeededSource(5)
    noise = LatticeNoise.plan(bound, allowance=0.0, size=1, epsilon=1.0, delta=0.0)

    def run(place: int, runs: int) -> Any:
        theta = lecture.minimiser(lecture.neighbouring_tables()[place], P=1.0)
        return replace(noise, size=runs).released(np.full(runs, theta), source)

    assert verdict(run, (0, 1), PureDP(1.0)) is Verdict.VIOLATED
