"""One run under a trade-off curve: against linear programs over all trainings, and over many runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom, norm

from leakcap.audit import Verdict, audit_canaries, audit_gaussian_canaries, members_recognised
from leakcap.audit.right_guesses import approximate_reverse, gaussian_reverse, too_many_right
from leakcap.definition import ApproxDP, GaussianDP
from leakcap.errors import InvalidParameter

ALARM = 1e-6


def largest_chance(m: int, c: int, v: int, lines: list[tuple[float, float]]) -> float:
    """The largest P(W ≥ v) of c guesses at m coins that are (ε, δ)-DP for each of `lines`: a linear program.

    A guess vector has 0, 1 or nothing (2) for each coin; everything that a training gives out and an attacker
    makes of it comes down to it.
    """
    coins = list(itertools.product((0, 1), repeat=m))
    outputs = [y for y in itertools.product((0, 1, 2), repeat=m) if sum(g < 2 for g in y) == c]
    size, column = len(outputs), itertools.count(len(coins) * len(outputs))
    pairs = [(a, b) for a in range(len(coins)) for b in range(len(coins)) if differ(coins[a], coins[b]) == 1]
    rows, limits = [], []
    for (epsilon, delta), (a, b) in itertools.product(lines, pairs):
        slack = [next(column) for _ in outputs]
        for y in range(size):
            rows.append({a * size + y: 1.0, b * size + y: -math.exp(epsilon), slack[y]: -1.0})
            limits.append(0.0)
        rows.append(dict.fromkeys(slack, 1.0))
        limits.append(delta)
    width = next(column)
    matrix = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        for j, value in row.items():
            matrix[i, j] = value
    sums = np.zeros((len(coins), width))
    goal = np.zeros(width)
    for i, world in enumerate(coins):
        sums[i, i * size : (i + 1) * size] = 1.0
        for j, guess in enumerate(outputs):
            if c - differ(guess, world) + guess.count(2) >= v:
                goal[i * size + j] = -1.0 / len(coins)
    done = linprog(goal, matrix, limits, sums, np.ones(len(coins)))
    assert done.status == 0
    return -float(done.fun)


def differ(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


def least_refused(reverse: object, m: int, c: int, v: int) -> float:
    """The largest level that is not refused: an upper bound of P(W ≥ v)."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        refused = too_many_right(reverse, canaries=m, guesses=c, right=v, level=middle)  # type: ignore[arg-type]
        low, high = (low, middle) if refused else (middle, high)
    return high


@pytest.mark.parametrize(("m", "c", "v"), [(1, 1, 1), (2, 2, 2), (2, 1, 1), (3, 3, 3), (3, 3, 2), (3, 2, 2)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (0.5, 0.0), (1.5, 0.05)])
def test_no_training_passes_the_bound(m: int, c: int, v: int, epsilon: float, delta: float) -> None:
    truth = largest_chance(m, c, v, [(epsilon, delta)])
    found = least_refused(approximate_reverse(epsilon, delta), m, c, v)
    assert found >= truth - 1e-7
    # Right where the program can be solved by hand: one coin.
    if m == 1:
        assert found == pytest.approx(
            min(1.0, (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))), abs=1e-6
        )


@pytest.mark.parametrize(("m", "c", "v"), [(2, 2, 2), (3, 3, 2)])
def test_no_training_of_gaussian_curve_passes_the_bound(m: int, c: int, v: int) -> None:
    """The curve lies above each of its (ε, δ): the program over a few of them may pass, by what they miss."""
    mu = 1.0
    lines = [
        (e, float(norm.cdf(mu / 2 - e / mu) - math.exp(e) * norm.cdf(-mu / 2 - e / mu)))
        for e in np.linspace(0.0, 3.5, 8)
    ]
    found = least_refused(gaussian_reverse(mu), m, c, v)
    truth = largest_chance(m, c, v, lines)
    assert found >= truth - 0.01
    # Independent noise on each canary is such a training.
    assert found >= binom.sf(v - 1, m, norm.cdf(mu / 2))


def test_a_forgotten_share_of_canaries_is_caught_by_the_program() -> None:
    """Planted: guesses taken for all of the canaries. Then one guess of two canaries passes the bound."""
    truth = largest_chance(2, 1, 1, [(0.0, 0.1)])
    assert least_refused(approximate_reverse(0.0, 0.1), 2, 1, 1) >= truth - 1e-7
    assert least_refused(approximate_reverse(0.0, 0.1), 1, 1, 1) < truth - 1e-3


def trained(generator: np.random.Generator, m: int, mu: float) -> tuple[np.ndarray, np.ndarray]:
    inside = generator.random(m) < 0.5
    return mu * inside + generator.normal(size=m), inside


def together(generator: np.random.Generator, m: int, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """In one run of twelve each coin is told with an error that the curve of μ allows there; else nothing.

    Where they are told, right with s(1 − q) and wrong with s·q in all, the Gaussian curve has them so.
    """
    share = 1 / 12
    wrong = norm.cdf(norm.ppf(share) - mu) / share
    inside = generator.random(m) < 0.5
    told = inside ^ (generator.random(m) < wrong)
    seen = told if generator.random() < share else generator.random(m) < 0.5
    return seen + 0.1 * generator.normal(size=m), inside


def test_the_bound_of_mu_holds_and_is_ahead() -> None:
    """Runs at a known μ: by independent noise, and by what is nearly the worst that the proof allows."""
    generator, runs = np.random.default_rng(5), 200
    found = [audit_gaussian_canaries(*trained(generator, 1000, 2.0)).mu.lower for _ in range(runs)]
    assert sum(mu > 2.0 for mu in found) <= binom.isf(ALARM, runs, 0.05)
    assert np.mean(found) > 1.1
    few = [audit_gaussian_canaries(*together(generator, 400, 1.0)).mu.lower for _ in range(runs)]
    assert sum(mu > 1.0 for mu in few) <= binom.isf(ALARM, runs, 0.05)
    # At a level of 1/6 they are refuted in one run of twelve: the level is used up to half.
    loud = [
        audit_gaussian_canaries(*together(generator, 400, 1.0), guesses=400, confidence=0.5).mu.lower
        for _ in range(runs)
    ]
    assert any(mu > 0.6 for mu in loud)


def test_ten_thousand_canaries_at_mu_4() -> None:
    """Theorem 5.2 gave 5.13 and the test of jax-privacy 8.44 at δ = 10⁻⁵; the truth is 24.38."""
    found = [
        audit_gaussian_canaries(*trained(np.random.default_rng(seed), 10_000, 4.0)).epsilon_if_gaussian(1e-5)
        for seed in range(3)
    ]
    assert 11.0 < min(found) <= max(found) < 24.38
    scores, inside = trained(np.random.default_rng(0), 10_000, 4.0)
    assert 6.3 < audit_canaries(scores, inside, delta=1e-5).epsilon.lower < 24.38


def test_a_bound_of_mu_is_none_of_epsilon() -> None:
    """Planted: ε(δ) of the μ that is refuted, said of a training that is (1, 0)-DP. It is wrong each time."""
    wrong, right = 0, 0
    for seed in range(10):
        generator = np.random.default_rng(seed)
        inside = generator.random(2000) < 0.5
        scores = inside ^ (generator.random(2000) > 1 / (1 + math.exp(-1.0)))
        wrong += audit_gaussian_canaries(scores, inside, guesses=2000).epsilon_if_gaussian(1e-5) > 1.0
        right += audit_canaries(scores, inside, delta=1e-5).epsilon.lower <= 1.0
    assert wrong == 10
    assert right >= 8


def test_a_number_of_guesses_that_the_same_canaries_choose_is_wrong() -> None:
    """Planted: the best of all numbers of guesses, with no pilot and no share of the level."""
    bad, runs = 0, 60
    for seed in range(runs):
        scores, inside = trained(np.random.default_rng(seed), 200, 0.0)
        bad += any(
            audit_canaries(scores, inside, guesses=size).epsilon.lower > 0.0 for size in range(2, 201, 6)
        )
    assert bad > binom.isf(ALARM, runs, 0.05)
    good = [
        audit_canaries(*trained(np.random.default_rng(seed), 200, 0.0)).epsilon.lower for seed in range(runs)
    ]
    assert sum(epsilon > 0.0 for epsilon in good) <= binom.isf(ALARM, runs, 0.05)


def test_verdicts() -> None:
    scores, inside = trained(np.random.default_rng(1), 2000, 4.0)
    assert audit_gaussian_canaries(scores, inside, claim=GaussianDP(1.0)).verdict is Verdict.VIOLATED
    assert audit_gaussian_canaries(scores, inside, claim=GaussianDP(4.0)).verdict is Verdict.UNDECIDED
    assert audit_canaries(scores, inside, claim=ApproxDP(1.0, 1e-5)).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("ties", [False, True])
def test_the_rate_of_recognised_members_is_covered(ties: bool) -> None:
    """Over many runs at level 0.2; the truth by the normal law, or by counting where scores are rounded."""
    generator, runs, missed = np.random.default_rng(8), 300, 0
    inside = np.arange(600) < 300
    for _ in range(runs):
        scores = 1.5 * inside + generator.normal(size=600)
        truth = norm.sf(norm.isf(0.1) - 1.5)
        if ties:
            scores = np.floor(scores)
            # P(floor ≥ 2) of others is .023, P(floor ≥ 1) is .159: the best threshold within 0.1 is 2.
            truth = norm.sf(2.0 - 1.5)
        missed += truth not in members_recognised(scores, inside, false_alarms=0.1, confidence=0.8).rate
    assert missed <= binom.isf(ALARM, runs, 0.2)


def test_the_threshold_that_looks_best_is_caught() -> None:
    """Planted: Clopper & Pearson at the empirical threshold. It misses more often than it says."""
    generator, runs, missed = np.random.default_rng(9), 400, 0
    for _ in range(runs):
        outside, members = np.sort(generator.normal(size=60)), generator.normal(size=4000) + 1.5
        hits = float((members > outside[-6]).mean())
        missed += abs(hits - norm.sf(norm.isf(0.1) - 1.5)) > 2.58 * math.sqrt(hits * (1 - hits) / 4000)
    assert missed > binom.isf(ALARM, runs, 0.2)


def test_too_few_others_say_nothing_below() -> None:
    scores, inside = trained(np.random.default_rng(1), 100, 4.0)
    found = members_recognised(scores, inside, false_alarms=0.001)
    assert found.rate.lower == 0.0
    with pytest.raises(InvalidParameter, match="members and others"):
        members_recognised(scores, np.ones(100), false_alarms=0.1)
    with pytest.raises(InvalidParameter, match="false_alarms"):
        members_recognised(scores, inside, false_alarms=0.0)
