"""What the loss says to people, against closed forms and the solvers of other rooms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from accounting.truth import hockey_stick, listed
from leakcap.accounting import PrivacyLoss, guess_success, odds_quantile, shannon_capacity, trade_off
from leakcap.capacities.solvers.shannon import shannon_capacity as of_matrix
from leakcap.channel import Channel
from leakcap.errors import InvalidParameter
from leakcap.mechanism import Gaussian, Laplace

NORMAL = PrivacyLoss.of_mechanism(Gaussian(20.0)) ** 400
P, Q = [0.6, 0.3, 0.0, 0.1], [0.2, 0.5, 0.3, 0.0]


def quantile(level: float) -> mpf:
    return mp.sqrt(2) * mp.erfinv(2 * mpf(level) - 1)


@pytest.mark.parametrize("level", [1e-4, 0.05, 0.5, 0.9])
def test_trade_off_of_gaussians(level: float) -> None:
    bound = trade_off(NORMAL, level)
    truth = mp.ncdf(quantile(1 - level) - 1)
    assert bound.lower <= truth <= bound.upper
    assert bound.width < 1e-6


@pytest.mark.parametrize("level", [0.05, 0.2, 0.5, 0.95])
def test_trade_off_of_rows_by_the_likelihood_ratio_test(level: float) -> None:
    outcomes = sorted(listed([(P, Q)] * 2), key=lambda o: o[0] / o[1] if o[1] else math.inf, reverse=True)
    missed, spent = 1.0, 0.0
    for p, q in outcomes:
        share = 1.0 if q == 0.0 else min(1.0, max(0.0, (level - spent) / q))
        missed, spent = missed - share * p, spent + share * q
    bound = trade_off(PrivacyLoss.of_rows(P, Q) ** 2, level)
    assert bound.lower - 1e-9 <= missed <= bound.upper + 1e-9
    assert bound.width < 1e-4


@pytest.mark.parametrize("level", [0.01, 0.5, 0.975])
def test_odds_of_gaussians(level: float) -> None:
    bound = odds_quantile(NORMAL, level)
    truth = 0.5 + quantile(level)
    assert bound.lower <= truth <= bound.upper
    assert bound.width < 1e-4


def test_odds_beyond_all_finite_losses() -> None:
    loss = PrivacyLoss.of_rows(P, Q)
    assert odds_quantile(loss, 0.95).lower == math.inf
    assert odds_quantile(loss, 0.85).upper == pytest.approx(math.log(3), abs=1e-5)


@pytest.mark.parametrize("prior", [0.5, 0.2, 0.9])
def test_the_guesser(prior: float) -> None:
    outcomes = listed([(P, Q)] * 2)
    truth = math.fsum(max(prior * p, (1 - prior) * q) for p, q in outcomes)
    bound = guess_success(PrivacyLoss.of_rows(P, Q) ** 2, prior)
    assert bound.lower - 1e-12 <= truth <= bound.upper + 1e-12
    assert guess_success(NORMAL, 1.0).upper == 1.0


def test_total_variation_is_that_of_the_rows() -> None:
    loss = PrivacyLoss.of_rows(P, Q) ** 2
    assert loss.total_variation().midpoint == pytest.approx(hockey_stick(listed([(P, Q)] * 2), 0.0))


@pytest.mark.parametrize("times", [1, 6])
def test_capacity_of_a_binary_secret_is_that_of_the_matrix(times: int) -> None:
    exact = of_matrix((Channel([P, Q]) ** times).matrix, gap=1e-11)
    bound = shannon_capacity(PrivacyLoss.of_rows(P, Q) ** times)
    assert bound.lower <= exact.upper
    assert exact.lower <= bound.upper
    assert bound.width < 0.05 / times


def test_capacity_of_many_laplaces() -> None:
    bound = shannon_capacity(PrivacyLoss.of_mechanism(Laplace(10.0)) ** 100)
    # Near a Gaussian of μ² = 100·KL·2: between the capacities of μ a little smaller and a little larger.
    assert bound.width < 1e-4
    assert _gaussian_capacity(0.96) < bound.lower < bound.upper < _gaussian_capacity(1.0)


def _gaussian_capacity(mu: float) -> float:
    x = np.linspace(-12, 13, 50001)
    p, q = (np.exp(-((x - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in (0.0, mu))
    mixture = (p + q) / 2
    return float(np.sum(0.5 * p * np.log(p / mixture) + 0.5 * q * np.log(q / mixture)) * (x[1] - x[0]))


def test_refusals() -> None:
    for ask in (trade_off, odds_quantile, guess_success):
        with pytest.raises(InvalidParameter, match=r"level|prior"):
            ask(NORMAL, -0.1)
