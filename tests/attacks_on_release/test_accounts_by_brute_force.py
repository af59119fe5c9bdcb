"""Random compositions, heterogeneous, sampled, with infinite losses: every output listed and added up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from leakcap.accounting import PrivacyLoss, guess_success

Floats = NDArray[np.float64]


def rows(dice: np.random.Generator) -> tuple[Floats, Floats]:
    size = int(dice.integers(2, 5))
    p, q = dice.dirichlet(np.full(size, dice.choice([0.3, 2.0, 20.0])), size=2)
    for row, place in ((p, 0), (q, 1)):
        if dice.random() < 0.3:
            row[place] = 0.0
    return p / p.sum(), q / q.sum()


def composition(dice: np.random.Generator) -> tuple[PrivacyLoss, Floats, Floats]:
    losses, left, right = [], np.ones(1), np.ones(1)
    for _ in range(int(dice.integers(1, 7))):
        p, q = rows(dice)
        loss, kind = PrivacyLoss.of_rows(p, q), dice.random()
        if kind < 0.4:
            rate = float(dice.uniform(0.01, 1.0))
            loss, p = loss.sampled(rate), (1 - rate) * q + rate * p
        elif kind < 0.6:
            loss, p, q = loss.reverse, q, p
        losses.append(loss)
        left, right = np.outer(left, p).ravel(), np.outer(right, q).ravel()
    return PrivacyLoss.of(losses), left, right


def profile(p: Floats, q: Floats, epsilon: float) -> float:
    return math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0))


@pytest.mark.parametrize("seed", range(20))
def test_both_directions_enclose_the_listed_profile(seed: int) -> None:
    dice = np.random.default_rng(seed)
    loss, p, q = composition(dice)
    for epsilon in (-1.0, 0.0, 0.3, 1.0, 2.5, float(dice.uniform(0.0, 6.0))):
        for one, a, b in ((loss, p, q), (loss.reverse, q, p)):
            found, truth = one.delta(epsilon), profile(a, b, epsilon)
            assert found.lower - 1e-12 <= truth <= found.upper + 1e-12
            assert found.upper - found.lower < 1e-2
    for delta in (1e-6, 1e-3, 0.05, 0.4):
        upper = loss.epsilon(delta).upper
        reached = profile(p, q, upper) if math.isfinite(upper) else math.fsum(p[q == 0.0])
        assert reached <= delta * (1 + 1e-9) if math.isfinite(upper) else reached >= delta - 1e-12
    prior = float(dice.uniform(0.05, 0.95))
    success = guess_success(loss, prior)
    assert success.lower - 1e-12 <= math.fsum(np.maximum(prior * p, (1 - prior) * q)) <= success.upper + 1e-12


def test_a_composition_with_one_query_left_out_would_be_seen() -> None:
    p, q = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    found = PrivacyLoss.of([PrivacyLoss.of_rows(p, q)] * 2).delta(0.3)
    assert not found.lower <= profile(p, q, 0.3) <= found.upper
