"""One run, many canaries: the p-value against SciPy's and against exact laws; the bound over many runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from leakcap.audit import Verdict, audit_canaries, canary_p_value
from leakcap.definition import ApproxDP, PureDP
from leakcap.errors import InvalidParameter

ALARM = 1e-6


def by_scipy(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """The theorem's formula, summand by summand."""
    q = 1 / (1 + math.exp(-epsilon))
    steps = [(binom.cdf(v - 1, r, q) - binom.cdf(v - i - 1, r, q)) / i for i in range(1, m + 1)]
    return float(min(1.0, binom.sf(v - 1, r, q) + 2 * m * delta * max(steps)))


@pytest.mark.parametrize(("m", "r", "v"), [(20, 20, 15), (100, 40, 40), (500, 300, 210), (50, 10, 0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-2])
def test_p_values(m: int, r: int, v: int, epsilon: float, delta: float) -> None:
    found = canary_p_value(canaries=m, guesses=r, right=v, epsilon=epsilon, delta=delta)
    assert found == pytest.approx(by_scipy(m, r, v, epsilon, delta), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("delta", [1e-3, 0.05])
def test_p_values_cover_a_mechanism_that_tells_all_with_probability_delta(delta: float) -> None:
    """Randomised response on every canary, and with probability δ the plain truth: (ε, δ)-DP, law known."""
    for m in (5, 30):
        for epsilon in (0.3, 1.5):
            q = 1 / (1 + math.exp(-epsilon))
            for v in range(1, m + 1):
                truth = delta + (1 - delta) * binom.sf(v - 1, m, q)
                bound = canary_p_value(canaries=m, guesses=m, right=v, epsilon=epsilon, delta=delta)
                assert bound >= truth * (1 - 1e-9)


def trained(generator: np.random.Generator, m: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Laplace noise on each canary's presence: pure ε-DP."""
    inside = generator.random(m) < 0.5
    return inside + generator.laplace(scale=1 / epsilon, size=m), inside


@pytest.mark.parametrize("guesses", [None, 200])
def test_the_bound_holds_and_is_near(guesses: int | None) -> None:
    generator, runs = np.random.default_rng(1), 300
    found = [
        audit_canaries(*trained(generator, 1000, 2.0), guesses=guesses).epsilon.lower for _ in range(runs)
    ]
    assert sum(e > 2.0 for e in found) <= binom.isf(ALARM, runs, 0.05)
    assert np.mean(found) > 1.2


def test_a_training_that_forgets_its_noise_is_found() -> None:
    scores, inside = trained(np.random.default_rng(2), 2000, 4.0)
    found = audit_canaries(scores, inside, claim=ApproxDP(1.0, 1e-5))
    assert found.verdict is Verdict.VIOLATED
    assert found.delta == 1e-5
    held = audit_canaries(*trained(np.random.default_rng(3), 20_000, 1.0), claim=PureDP(1.0), guesses=4000)
    assert held.verdict is Verdict.CONSISTENT
    few = audit_canaries(*trained(np.random.default_rng(4), 60, 1.0), claim=PureDP(1.0))
    assert few.verdict is Verdict.UNDECIDED
    assert few.needed is not None
    assert few.needed > 60


def test_what_is_no_audit_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="included"):
        audit_canaries([1.0] * 20, [2] * 20)
    with pytest.raises(InvalidParameter, match="included"):
        audit_canaries([1.0] * 20, [True] * 19)
    with pytest.raises(InvalidParameter, match="scores"):
        audit_canaries([math.nan] * 20, [True] * 20)
    with pytest.raises(InvalidParameter, match="10 canaries"):
        audit_canaries([1.0] * 5, [True] * 5)
    with pytest.raises(InvalidParameter, match="guesses"):
        audit_canaries([1.0] * 20, [True] * 20, guesses=21)
