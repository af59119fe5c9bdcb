"""Synthesised mechanisms: private when measured, and as good as the optima that are known on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leakcap.adversary import Neighbours
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter, InvalidPrior, LeakcapError
from leakcap.utility import expected_distortion, least_epsilon, optimal_mechanism, synthesis

LINE = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
HAMMING = 1.0 - np.eye(5)


def epsilon_of(channel: Channel) -> float:
    return capacity(channel, Renyi(math.inf), Neighbours()).upper


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, math.log(2), 1.0, 3.0, 8.0, 25.0])
@pytest.mark.parametrize("seed", range(4))
def test_every_result_is_private_when_measured(epsilon: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior, loss = rng.dirichlet(np.ones(5)), rng.random((5, 6))
    channel = optimal_mechanism(prior, loss, epsilon=epsilon)
    assert epsilon_of(channel) <= epsilon
    constant = (prior @ loss).min()
    assert prior @ loss.min(axis=1) - 1e-12 <= expected_distortion(channel, prior, loss) <= constant + 1e-9


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 2.0, 12.0])
def test_metric_privacy_holds_for_every_pair(epsilon: float) -> None:
    rng = np.random.default_rng(1)
    places = rng.random((6, 2))
    metric = np.linalg.norm(places[:, None] - places[None, :], axis=2)
    metric = (metric + metric.T) / 2
    channel = optimal_mechanism(rng.dirichlet(np.ones(6)), metric, epsilon=epsilon, metric=metric)
    for x in range(6):
        for other in range(6):
            ratio = capacity(channel, Renyi(math.inf), Neighbours(((x, other),))).upper
            assert ratio <= epsilon * metric[x, other] * (1 + 1e-15) if x != other else True


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
def test_randomised_response_is_best_for_hamming_loss(epsilon: float) -> None:
    """Least error (k−1)/(A+k−1): one guess among k (Alvim et al. 2011; Kairouz et al. 2016)."""
    channel = optimal_mechanism(np.full(5, 0.2), HAMMING, epsilon=epsilon)
    error = 4 / (math.exp(epsilon) + 4)
    assert expected_distortion(channel, np.full(5, 0.2), HAMMING) == pytest.approx(error, abs=1e-8)


@pytest.mark.parametrize("epsilon", [0.2, math.log(2), 1.5])
@pytest.mark.parametrize("skew", [False, True])
def test_the_geometric_mechanism_remapped_is_best_for_counts(epsilon: float, skew: bool) -> None:
    """Ghosh, Roughgarden & Sundararajan 2009: for every prior and monotone loss, remapping is enough."""
    prior = np.random.default_rng(2).dirichlet(np.ones(8)) if skew else np.full(8, 1 / 8)
    a = math.exp(-epsilon)
    rows = (1 - a) / (1 + a) * a**LINE
    rows[:, [0, -1]] = a ** LINE[:, [0, -1]] / (1 + a)
    assert rows.sum(axis=1) == pytest.approx(np.ones(8))
    for loss in (LINE, LINE**2):
        remapped = ((prior[:, None] * rows).T @ loss).min(axis=1).sum()
        channel = optimal_mechanism(prior, loss, epsilon=epsilon, metric=LINE)
        assert expected_distortion(channel, prior, loss) == pytest.approx(remapped, abs=1e-7)


def test_no_random_private_channel_is_better() -> None:
    rng = np.random.default_rng(3)
    prior, loss, epsilon = rng.dirichlet(np.ones(4)), rng.random((4, 4)), 1.0
    best = expected_distortion(optimal_mechanism(prior, loss, epsilon=epsilon), prior, loss)
    for _ in range(200):
        floor = rng.dirichlet(np.ones(4))
        rows = floor * np.where(rng.random((4, 4)) < 0.5, 1.0, math.e)
        # Scaling rows apart widens ratios: keep those that stay ε-private.
        channel = Channel(rows / rows.sum(axis=1, keepdims=True))
        if epsilon_of(channel) <= epsilon:
            assert expected_distortion(channel, prior, loss) >= best - 1e-9


def test_edges() -> None:
    assert optimal_mechanism([0.3, 0.7], [[0, 1], [1, 0]], epsilon=0.0).matrix.tolist() == [[0, 1], [0, 1]]
    assert optimal_mechanism([1.0], [[2, 1]], epsilon=1.0).matrix.tolist() == [[0, 1]]
    named = optimal_mechanism([0.5, 0.5], [[0, 1], [1, 0]], epsilon=1.0, inputs="ab", outputs="yz")
    assert (named.inputs, named.outputs) == (("a", "b"), ("y", "z"))
    apart = np.array([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    channel = optimal_mechanism([1 / 3] * 3, 1 - np.eye(3), epsilon=1.0, metric=apart)
    assert channel.matrix[2, 2] == pytest.approx(1.0, abs=1e-9)


def test_the_repair_catches_a_solver_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: every solution comes back 1e-5 off and with a zero where the floor should be."""
    honest = synthesis.minimise_linear

    def careless(*args: object, **options: object) -> object:
        solution = honest(*args, **options)
        assert solution is not None
        noise = np.random.default_rng(0).uniform(-1e-5, 1e-5, len(solution.point))
        solution.point[:] = solution.point + noise
        solution.point[1] = 0.0
        return solution

    monkeypatch.setattr(synthesis, "minimise_linear", careless)
    channel = optimal_mechanism(np.full(5, 0.2), HAMMING, epsilon=1.0)
    assert epsilon_of(channel) <= 1.0
    monkeypatch.setattr(synthesis, "minimise_linear", lambda *args, **options: None)
    with pytest.raises(LeakcapError, match="not solved"):
        optimal_mechanism(np.full(5, 0.2), HAMMING, epsilon=1.0)


def test_least_epsilon_inverts_the_optimum() -> None:
    for epsilon in (0.3, 1.0, 4.0):
        error = 4 / (math.exp(epsilon) + 4)
        bound = least_epsilon(np.full(5, 0.2), HAMMING, max_loss=error)
        assert bound.lower - 1e-6 <= epsilon <= bound.upper + 1e-6
        assert epsilon_of(bound.witness) <= bound.upper
    assert least_epsilon(np.full(5, 0.2), HAMMING, max_loss=0.9).upper == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": -1.0}, "`epsilon`"),
        ({"epsilon": math.inf}, "`epsilon`"),
        ({"epsilon": math.nan}, "`epsilon`"),
        ({"epsilon": 1.0, "metric": [[0, 1]]}, "`metric`"),
        ({"epsilon": 1.0, "metric": [[0, 1], [2, 0]]}, "symmetric"),
        ({"epsilon": 1.0, "metric": [[0, 0], [0, 0]]}, "positive between"),
        ({"epsilon": 1.0, "metric": [[0, math.nan], [math.nan, 0]]}, "symmetric"),
    ],
)
def test_what_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        optimal_mechanism([0.5, 0.5], [[0, 1], [1, 0]], **options)


def test_losses_and_priors_that_are_none() -> None:
    for loss in ([[0, math.nan], [1, 0]], [[0, math.inf], [1, 0]], [0, 1], [[0], [1, 2]]):
        with pytest.raises(InvalidParameter, match="`loss`"):
            optimal_mechanism([0.5, 0.5], loss, epsilon=1.0)
    with pytest.raises(InvalidPrior):
        optimal_mechanism([0.5, 0.6], [[0, 1], [1, 0]], epsilon=1.0)
    with pytest.raises(InvalidParameter, match="least possible loss"):
        least_epsilon([0.5, 0.5], [[0, 1], [1, 0]], max_loss=0.0)
