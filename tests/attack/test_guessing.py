"""The guessing game against brute force, against games that are played, and against its limit."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leakcap.accounting import PrivacyLoss
from leakcap.attack import guessing_game
from leakcap.channel import Channel
from leakcap.errors import InvalidPrior
from leakcap.mechanism import Gaussian, Laplace, RandomisedResponse, TwoSidedGeometric

G = [[2 / 3, 1 / 6, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 6, 2 / 3]]


def best_of_every_strategy(rows: list[list[Fraction]], prior: list[Fraction]) -> Fraction:
    """Every function from outputs to guesses, played out."""
    inputs, outputs = range(len(rows)), range(len(rows[0]))
    return max(
        sum((prior[guess[y]] * rows[guess[y]][y] for y in outputs), Fraction(0))
        for guess in itertools.product(inputs, repeat=len(outputs))
    )


@pytest.mark.parametrize("prior", [(1, 1, 1), (1, 2, 3), (8, 1, 1), (0, 1, 1), (1, 0, 0)])
def test_no_strategy_does_better(prior: tuple[int, ...]) -> None:
    sixth = Fraction(1, 6)
    rows = [[4 * sixth, sixth, sixth], [2 * sixth] * 3, [sixth, sixth, 4 * sixth]]
    belief = [Fraction(p, sum(prior)) for p in prior]
    game = guessing_game(Channel(G), [float(p) for p in belief])
    assert game.got == pytest.approx(float(best_of_every_strategy(rows, belief)), abs=1e-14)
    assert game.blind - 1e-14 <= game.got <= game.at_most + 1e-14
    assert game.surest <= game.surest_at_most + 1e-14


@pytest.mark.parametrize("k", [2, 3, 10])
def test_randomised_response_reaches_the_limit(k: int) -> None:
    a = 5.0
    game = guessing_game(RandomisedResponse(k=k, epsilon=math.log(a)), [1 / k] * k)
    assert game.got == pytest.approx(a / (a + k - 1), rel=1e-13)
    assert game.ratio == pytest.approx(1.0, rel=1e-12)


def test_a_lopsided_belief_reaches_the_limit_for_its_posterior() -> None:
    game = guessing_game(RandomisedResponse(k=2, epsilon=math.log(3.0)), [0.9, 0.1])
    assert game.surest == pytest.approx(2.7 / 2.8, rel=1e-13)
    assert game.surest == pytest.approx(game.surest_at_most, rel=1e-13)
    assert game.got == pytest.approx(0.9)  # the output never changes the guess


def test_a_count_by_playing_it() -> None:
    """100,000 games with the real sampler; six standard deviations, false alarm 2·10⁻⁹."""
    mechanism, prior, rounds = TwoSidedGeometric(Fraction(10, 7), 2), np.array([0.5, 0.2, 0.3]), 100_000
    game = guessing_game(mechanism, prior)
    generator = np.random.default_rng(5)
    secrets = generator.choice(3, size=rounds, p=prior)
    seen = mechanism.sample(secrets)
    posterior = prior * np.exp(-0.7 * np.abs(seen[:, None] - np.arange(3)))
    wins = int((posterior.argmax(axis=1) == secrets).sum())
    slack = 6 * math.sqrt(game.got * (1 - game.got) * rounds)
    assert abs(wins - game.got * rounds) < slack
    blind = int((seen.clip(0, 2) == secrets).sum())  # a worse test is told apart by the same margin
    assert game.got * rounds - blind > slack


@pytest.mark.parametrize("p", [0.5, 0.3])
def test_unbounded_outputs_between_two_values(p: float) -> None:
    game = guessing_game(Laplace(1.0), [p, 1 - p])
    # Success by hand: guess 0 below the point where p e^{-y} = (1-p) e^{-(1-y)}, for outputs in [0, 1].
    t = 0.5 * (1.0 + math.log(p / (1 - p)))
    by_hand = p * (1 - 0.5 * math.exp(-t)) + (1 - p) * (1 - 0.5 * math.exp(-(1 - t)))
    assert game.got == pytest.approx(by_hand, abs=1e-9)
    assert game.surest == pytest.approx(game.surest_at_most, rel=1e-12)
    gauss = guessing_game(PrivacyLoss.of_mechanism(Gaussian(1.0)), [0.5, 0.5])
    assert gauss.got == pytest.approx(0.5 * (1 + math.erf(0.5 / math.sqrt(2))), abs=1e-6)
    assert gauss.at_most == 1.0


def test_a_wrong_belief_is_refused() -> None:
    for prior in ([0.5, 0.6], [1.0], [-0.5, 1.5]):
        with pytest.raises(InvalidPrior):
            guessing_game(Laplace(1.0), prior)
        with pytest.raises(InvalidPrior):
            guessing_game(RandomisedResponse(k=2, epsilon=1.0), prior)
