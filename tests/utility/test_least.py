"""Distortion, the least leakage at a given loss, and the curve of a family against its optimum."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from leakcap.channel import Channel
from leakcap.errors import InvalidParameter
from leakcap.leakage import bayes_capacity, bayes_vulnerability, mutual_information
from leakcap.utility import (
    expected_distortion,
    information,
    least_bayes_capacity,
    least_bayes_vulnerability,
    least_distortion,
    least_mutual_information,
    optimal_mechanism,
    tradeoff_curve,
)
from strange_channels import RESPONSE

HAMMING = 1.0 - np.eye(4)
UNIFORM = np.full(4, 0.25)


def rate_of(k: int, loss: float) -> float:
    """Shannon 1959: uniform source, Hamming loss: ln k − h(D) − D ln(k − 1)."""
    d = mp.mpf(loss)
    return float(mp.log(k) + d * mp.log(d) + (1 - d) * mp.log(1 - d) - d * mp.log(k - 1))


@pytest.mark.parametrize("loss", [0.05, 0.3, 0.5, 0.7])
def test_rate_distortion_of_a_uniform_source(loss: float) -> None:
    bound = least_mutual_information(UNIFORM, HAMMING, max_loss=loss)
    assert bound.lower - 1e-12 <= rate_of(4, loss) <= bound.upper + 1e-12
    assert bound.width < 1e-9
    assert expected_distortion(bound.witness, UNIFORM, HAMMING) <= loss + 1e-12


@pytest.mark.parametrize(("p", "loss"), [(0.2, 0.05), (0.4, 0.3), (0.01, 0.005)])
def test_rate_distortion_of_a_skewed_bit(p: float, loss: float) -> None:
    """h(p) − h(D) (Cover & Thomas, theorem 10.3.1)."""
    h = [float(-mp.mpf(v) * mp.log(v) - (1 - mp.mpf(v)) * mp.log(1 - mp.mpf(v))) for v in (p, loss)]
    bound = least_mutual_information([1 - p, p], [[0, 1], [1, 0]], max_loss=loss)
    assert bound.lower - 1e-12 <= h[0] - h[1] <= bound.upper + 1e-12
    assert bound.width < 1e-9


def test_rate_distortion_is_certified_on_random_losses() -> None:
    rng = np.random.default_rng(5)
    for _ in range(8):
        prior, loss = rng.dirichlet(np.ones(5)), rng.random((5, 4))
        low, high = least_distortion(prior, loss)
        bound = least_mutual_information(prior, loss, max_loss=0.5 * (low + high))
        channel = bound.witness
        assert isinstance(channel, Channel)
        assert bound.width < 1e-6
        assert mutual_information(channel, prior) == pytest.approx(bound.upper, abs=1e-14)
        for _ in range(100):
            other = Channel(rng.dirichlet(np.full(4, 0.3), 5))
            if expected_distortion(other, prior, loss) <= 0.5 * (low + high):
                assert mutual_information(other, prior) >= bound.lower


def test_no_loss_and_any_loss() -> None:
    lossless = least_mutual_information(UNIFORM, HAMMING, max_loss=0.0)
    assert lossless.upper == pytest.approx(math.log(4), abs=1e-9)
    assert least_mutual_information(UNIFORM, HAMMING, max_loss=0.8).upper == 0.0
    assert least_bayes_capacity(UNIFORM, HAMMING, max_loss=0.0).upper == pytest.approx(4.0, abs=1e-8)
    assert least_bayes_capacity(UNIFORM, HAMMING, max_loss=0.8).upper == pytest.approx(1.0, abs=1e-8)
    with pytest.raises(InvalidParameter, match="least possible loss"):
        least_bayes_capacity(UNIFORM, HAMMING, max_loss=-0.1)
    with pytest.raises(InvalidParameter, match="least possible loss"):
        least_mutual_information(UNIFORM, HAMMING, max_loss=-0.1)


@pytest.mark.parametrize("loss", [0.1, 0.4, 0.7])
def test_the_least_bayes_capacity_under_hamming_loss(loss: float) -> None:
    """The output is itself a guess, right with probability 1 − D: capacity at least k(1 − D)."""
    bound = least_bayes_capacity(UNIFORM, HAMMING, max_loss=loss)
    assert bound.lower - 1e-9 <= 4 * (1 - loss) <= bound.upper + 1e-9
    assert bound.width < 1e-8
    channel = bound.witness
    assert isinstance(channel, Channel)
    assert bayes_capacity(channel).upper == pytest.approx(bound.upper, abs=1e-12)
    guess = least_bayes_vulnerability(UNIFORM, HAMMING, max_loss=loss)
    assert guess.lower - 1e-9 <= 1 - loss <= guess.upper + 1e-9


def test_least_guessing_is_certified_on_random_losses() -> None:
    rng = np.random.default_rng(6)
    for _ in range(10):
        prior, loss = rng.dirichlet(np.ones(5)), rng.random((5, 4))
        low, high = least_distortion(prior, loss)
        at = 0.7 * low + 0.3 * high
        for least, measure in (
            (least_bayes_capacity, lambda c, p: bayes_capacity(c).upper),
            (least_bayes_vulnerability, bayes_vulnerability),
        ):
            bound = least(prior, loss, max_loss=at)
            channel = bound.witness
            assert isinstance(channel, Channel)
            assert bound.width < 1e-8
            assert expected_distortion(channel, prior, loss) <= at + 1e-12
            assert measure(channel, prior) == pytest.approx(bound.upper, abs=1e-12)
            assert bound.lower >= (1.0 if least is least_bayes_capacity else prior.max()) - 1e-12


def test_expected_distortion() -> None:
    prior = [0.2, 0.3, 0.5]
    by_hand = sum(p * RESPONSE.matrix[x, y] * (x - y) ** 2 for x, p in enumerate(prior) for y in range(3))
    assert expected_distortion(RESPONSE, prior, lambda x, y: (x - y) ** 2) == pytest.approx(by_hand)
    identity = Channel(np.eye(2))
    assert expected_distortion(identity, [0.5, 0.5], [[0, math.inf], [math.inf, 0]]) == 0.0
    assert expected_distortion(identity, [1.0, 0.0], [[0, 1], [1, math.inf]]) == 0.0
    assert information(RESPONSE, prior) == mutual_information(RESPONSE, prior)
    for distance in ([[0, 1]], [[0, -1], [1, 0]], [[0, math.nan], [1, 0]]):
        with pytest.raises(InvalidParameter, match="`distance`"):
            expected_distortion(identity, [0.5, 0.5], distance)


def test_a_family_lies_above_the_optimum() -> None:
    """The truncated geometric mechanism against the programs' optimum, mutual information on the axis."""
    line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    prior = np.array([0.1, 0.2, 0.3, 0.4])

    def geometric(epsilon: float) -> Channel:
        a = math.exp(-epsilon)
        rows = (1 - a) / (1 + a) * a**line
        rows[:, [0, -1]] = a ** line[:, [0, -1]] / (1 + a)
        return Channel(rows)

    axes = {
        "distortion": lambda c: expected_distortion(c, prior, line),
        "leakage": lambda c: mutual_information(c, prior),
    }
    steps = [0.2, 0.5, 1.0, 2.0]
    family = tradeoff_curve(geometric, steps, **axes)
    best = tradeoff_curve(lambda e: optimal_mechanism(prior, line, epsilon=e, metric=line), steps, **axes)
    for point, optimum in zip(family, best, strict=True):
        assert optimum.distortion <= point.distortion + 1e-9
        least = least_mutual_information(prior, line, max_loss=point.distortion)
        assert least.lower <= point.leakage.lower
    assert [p.parameter for p in family] == steps
    assert sorted(p.leakage.lower for p in family) == [p.leakage.lower for p in family]
