"""Guesses, beliefs and odds against Bayes' rule and against fifty digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from leakcap.channel import Channel
from leakcap.definition import MIDP, PureDP, meaning
from leakcap.errors import InvalidParameter


def response(epsilon: float, k: int) -> np.ndarray:
    a = math.exp(epsilon)
    return (np.ones((k, k)) + (a - 1) * np.eye(k)) / (a + k - 1)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("k", [2, 3, 50])
def test_guesses_are_attained_by_randomised_response(epsilon: float, k: int) -> None:
    rows = response(epsilon, k)
    success = rows.max(axis=0).sum() / k
    assert meaning.guess_bound(epsilon, k) == pytest.approx(success, rel=1e-12)
    assert meaning.bayes_capacity(epsilon, k) == pytest.approx(rows.max(axis=0).sum(), rel=1e-12)


@pytest.mark.parametrize("prior", [1e-6, 0.1, 0.5, 0.99])
def test_posteriors_are_attained_and_never_passed(prior: float) -> None:
    rng = np.random.default_rng(5)
    belief = np.array([prior, 1 - prior])
    rows = response(1.3, 2)
    posterior = belief * rows.T / (rows.T @ belief)[:, None]
    assert meaning.posterior_bound(1.3, prior) == pytest.approx(posterior[:, 0].max(), rel=1e-12)
    assert meaning.posterior_floor(1.3, prior) == pytest.approx(posterior[:, 0].min(), rel=1e-9)
    for _ in range(50):
        rows = rng.dirichlet(np.ones(4), size=2)
        epsilon = PureDP(0.0).tightest(Channel(rows)).epsilon
        posterior = belief * rows.T / (rows.T @ belief)[:, None]
        assert posterior[:, 0].max() <= meaning.posterior_bound(epsilon, prior) * (1 + 1e-12)
        assert posterior[:, 0].min() >= meaning.posterior_floor(epsilon, prior) * (1 - 1e-9)


def test_posterior_beats_the_lecture_note() -> None:
    """Tu's e^ε/2 for a fair coin is loose: 0.62 against 0.5987 at ε = 0.4 ... and passes one at ε > ln 2."""
    assert meaning.posterior_bound(0.4, 0.5) < math.exp(0.4) / 2
    assert meaning.posterior_bound(2.0, 0.5) < 1.0 < math.exp(2.0) / 2


@pytest.mark.parametrize("nats", [1e-12, 1e-4, 0.1, 0.5])
@pytest.mark.parametrize("k", [2, 5, 1000])
def test_fano_is_the_root_of_its_equation(nats: float, k: int) -> None:
    mp.mp.dps = 50
    if nats >= math.log(k):
        return
    low, high = mp.mpf(1) / k, mp.mpf(1)
    for _ in range(170):
        s = (low + high) / 2
        value = mp.log(k) + s * mp.log(s) + (1 - s) * mp.log(1 - s) - (1 - s) * mp.log(k - 1)
        low, high = (s, high) if value <= nats else (low, s)
    got = meaning.fano_guess(nats, k)
    assert abs(mp.mpf(got) - low) <= 1e-15 + 1e-11 * (low - mp.mpf(1) / k)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_fano_is_attained_by_randomised_response(k: int) -> None:
    channel = Channel(response(1.0, k))
    nats = MIDP(0.0).tightest(channel).nats
    assert meaning.fano_guess(nats, k) == pytest.approx(meaning.guess_bound(1.0, k), abs=1e-8)


def test_odds_and_semantics() -> None:
    assert meaning.odds_factor(math.log(3.0)) == pytest.approx(3.0, rel=1e-15)
    assert meaning.odds_factor(800.0) == math.inf
    assert meaning.semantic_privacy(0.0) == 0.0
    for epsilon in (1e-12, 0.1, 1.0, 30.0, 800.0):
        truth = mp.tanh(mp.mpf(epsilon) / 2)
        assert truth <= meaning.semantic_privacy(epsilon) <= truth * (1 + mp.mpf(10) ** -14)
    assert meaning.two_way_guess(0.0) == 0.5


@pytest.mark.parametrize("alpha", [0.2, 0.9, 1.5, 2.0, 10.0])
def test_surprise_tail_holds_under_every_output(alpha: float) -> None:
    """P(D_α(P_X|Y ‖ P_X) ≥ R) for a channel at its own level, prior by prior."""
    rng = np.random.default_rng(9)
    tested = 0
    for _ in range(40):
        rows, prior = rng.dirichlet(np.ones(3), size=4), rng.dirichlet(np.ones(4))
        seen = prior @ rows
        posterior = prior[:, None] * rows / seen
        told = np.log((posterior**alpha * prior[:, None] ** (1 - alpha)).sum(axis=0)) / (alpha - 1)
        level = math.log(seen @ np.exp((alpha - 1) * told)) / (alpha - 1)
        for r in (1.1 * level, 2 * level, 5 * level):
            assert seen[told >= r].sum() <= meaning.surprise_tail(alpha, level, r) + 1e-12
            tested += seen[told >= r].sum() > 0
    assert tested > 10
    assert meaning.surprise_tail(2.0, 0.5, 0.5) == 1.0
    assert meaning.surprise_tail(1.0, 0.1, 0.4) == 0.25
    assert meaning.surprise_tail(math.inf, 0.1, 0.4) == meaning.surprise_tail(math.inf, 0.1, math.inf) == 0.0
    assert meaning.surprise_tail(2.0, 0.0, 0.5) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: meaning.posterior_bound(-1.0, 0.5),
        lambda: meaning.posterior_bound(1.0, 1.5),
        lambda: meaning.guess_bound(1.0, 1),
        lambda: meaning.fano_guess(math.nan, 2),
        lambda: meaning.surprise_tail(0.0, 0.1, 0.2),
        lambda: meaning.surprise_tail(math.nan, 0.1, 0.2),
        lambda: meaning.two_way_guess(-0.1),
    ],
)
def test_bad_numbers_are_named(call: object) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        call()


@pytest.mark.parametrize("epsilon", [0.0, math.inf])
def test_edges_of_the_range(epsilon: float) -> None:
    sure = epsilon > 0
    assert meaning.posterior_bound(epsilon, 0.3) == (1.0 if sure else 0.3)
    assert meaning.guess_bound(epsilon, 4) == (1.0 if sure else 0.25)
    assert meaning.fano_guess(epsilon, 4) == (1.0 if sure else 0.25)
