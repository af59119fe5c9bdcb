"""Tails and limits against SciPy's and against exact enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom

import leakcap.audit.tails
from leakcap.audit.tails import (
    binomial_tail,
    fraction_lower,
    fraction_upper,
    log_odds_lower,
    logistic,
    masses_below,
    mean_lower,
)
from leakcap.errors import InvalidParameter

TRIALS = [
    (0, 1),
    (1, 1),
    (3, 10),
    (10, 10),
    (499, 1000),
    (9_990, 10_000),
    (731_059, 1_000_000),
    (5, 2_000_000),
]


@pytest.mark.parametrize(("hits", "trials"), TRIALS)
def test_tails_are_right_and_never_below_the_truth(hits: int, trials: int) -> None:
    for probability in (1e-9, 1e-4, 0.1, 0.5, 0.73, 0.999):
        found, exact = binomial_tail(hits, trials, probability), binom.sf(hits - 1, trials, probability)
        assert found == pytest.approx(exact, rel=1e-6, abs=1e-7)
        assert found >= exact * (1 - 1e-9) - 1e-12


@pytest.mark.parametrize(("hits", "trials"), TRIALS)
@pytest.mark.parametrize("level", [0.05, 1e-4, 0.4])
def test_limits_are_clopper_and_pearsons(hits: int, trials: int, level: float) -> None:
    lower = beta.ppf(level, hits, trials - hits + 1) if hits else 0.0
    upper = beta.ppf(1 - level, hits + 1, trials - hits) if hits < trials else 1.0
    assert fraction_lower(hits, trials, level) == pytest.approx(lower, rel=1e-6)
    assert fraction_upper(hits, trials, level) == pytest.approx(upper, rel=1e-6)
    assert fraction_lower(hits, trials, level) <= lower * (1 + 1e-12)
    if hits > 0:
        assert log_odds_lower(hits, trials, level) == pytest.approx(math.log(lower / (1 - lower)), abs=1e-5)


def test_a_limit_is_found_with_few_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Halving alone asked for 36 of them; and at the limit found the tail is still within the level."""
    asked = list[float]()

    def tail(hits: int, trials: int, probability: float) -> float:
        asked.append(probability)
        return binomial_tail(hits, trials, probability)

    monkeypatch.setattr(leakcap.audit.tails, "binomial_tail", tail)
    found = 0
    for hits, trials in TRIALS[1:]:
        for level in (0.4, 0.05, 1e-4, 1e-12):
            asked.clear()
            limit = logistic(log_odds_lower(hits, trials, level))
            assert len(asked) <= 24, (hits, trials, level)
            assert binom.sf(hits - 1, trials, limit) <= level
            found += 1
    assert found == 28


def test_masses_below() -> None:
    found = masses_below(40, 100, 0.3)
    assert found == pytest.approx(binom.pmf(np.arange(39, -1, -1), 100, 0.3), rel=1e-10)


def test_the_limit_of_a_mean_holds_for_every_law_of_three_values() -> None:
    """All 3¹⁰ outcomes summed exactly: the limit exceeds the mean with probability below the level."""
    values, level = np.array([-1.0, 0.0, 2.0]), 0.1
    limits = {}
    for counts in itertools.product(range(11), repeat=3):
        if sum(counts) == 10:
            limits[counts] = mean_lower(values, np.array(counts, dtype=float), level, bet=0.4)
    for law in ((0.2, 0.5, 0.3), (0.05, 0.05, 0.9), (0.9, 0.05, 0.05), (0.4, 0.6, 0.0)):
        mean = float(np.dot(values, law))
        over = sum(_multinomial(counts, law) for counts, limit in limits.items() if limit > mean + 1e-12)
        assert over <= level
    assert any(limit > 0.5 for limit in limits.values())


def _multinomial(counts: tuple[int, ...], law: tuple[float, ...]) -> float:
    ways = math.factorial(10)
    for count in counts:
        ways //= math.factorial(count)
    return float(ways * math.prod(Fraction(p) ** c for p, c in zip(law, counts, strict=True)))


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="level"):
        log_odds_lower(1, 2, 0.0)
    with pytest.raises(InvalidParameter, match="probability"):
        binomial_tail(1, 2, 1.5)
