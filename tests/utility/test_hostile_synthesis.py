"""The best mechanism where it is hard to compute: tiny and huge ε, certain priors, losses of any scale.

Whatever comes back keeps its ε however it is measured, and is no worse than ignoring the secret.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from leakcap import Channel, Renyi, capacity
from leakcap.utility import least_distortion, optimal_mechanism

EPSILONS = (1e-300, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 3.0, 10.0, 25.0, 40.0, 60.0, 200.0, 700.0)


def priors(rng: np.random.Generator, k: int) -> list[np.ndarray]:
    nearly = np.full(k, 1e-14)
    nearly[0] = 1.0 - 1e-14 * (k - 1)
    sparse = rng.dirichlet(np.full(k, 0.05)) + 1e-300
    return [rng.dirichlet(np.ones(k)), np.full(k, 1 / k), np.eye(k)[0], nearly, sparse / sparse.sum()]


def losses(rng: np.random.Generator, k: int, m: int) -> list[np.ndarray]:
    steps = np.abs(np.subtract.outer(np.arange(k), np.arange(m))).astype(float)
    table = rng.random((k, m))
    return [table, steps, 1e6 * table, 1e-6 * table, np.zeros((k, m)), -table]


def metrics(rng: np.random.Generator, k: int) -> list[np.ndarray | None]:
    x = rng.random((k, 2))
    line = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
    plane = np.hypot(*(x[:, None] - x[None]).transpose(2, 0, 1))
    return [None, line, plane, np.where(np.eye(k) > 0, 0.0, math.inf)]


def too_much(channel: Channel, limits: np.ndarray) -> list[str]:
    """Pairs of secrets told apart by more than their limit, by the divergence or by the bare quotient."""
    found = []
    rows = channel.matrix[:, channel.matrix.max(axis=0) > 0]
    for x, first in enumerate(rows):
        for other, second in enumerate(rows):
            if x != other:
                seen = first > 0
                with np.errstate(divide="ignore"):
                    quotient = float(np.max(np.log(first[seen] / second[seen])))
                measured = (float(Renyi(math.inf).between(first, second)), quotient)
                if max(measured) > limits[x, other]:
                    found.append(f"{x}, {other}: {measured} > {limits[x, other]}")
    return found


def faults(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        k, m = (int(v) for v in rng.integers(2, 7, size=2))
        epsilon = float(rng.choice(EPSILONS))
        prior = priors(rng, k)[rng.integers(5)]
        loss = losses(rng, k, m)[rng.integers(6)]
        metric = metrics(rng, k)[rng.integers(4)]
        channel = optimal_mechanism(prior, loss, epsilon=epsilon, metric=metric)
        limits = epsilon * (1.0 - np.eye(k) if metric is None else metric)
        found += [f"ε = {epsilon}: {fault}" for fault in too_much(channel, limits)]
        if metric is None and capacity(channel, Renyi(math.inf)).upper > epsilon:
            found.append(f"ε = {epsilon}: the capacity is above it")
        paid, (_, ignoring) = (
            float(prior @ (channel.matrix * loss).sum(axis=1)),
            least_distortion(prior, loss),
        )
        if paid > ignoring + 1e-15 * k * m * float(np.abs(loss).max()):
            found.append(f"ε = {epsilon}: loss {paid} above {ignoring}")
    return found


@pytest.mark.parametrize(("count", "seed"), [(150, 150), pytest.param(1000, 5000, marks=pytest.mark.slow)])
def test_every_result_is_private_and_worth_it(count: int, seed: int) -> None:
    """A fault that one in 217 of such tasks shows is missed by a thousand with probability 0.01."""
    assert faults(count, seed=seed) == []


def test_a_ratio_above_the_limit_is_found() -> None:
    limits = np.array([[0.0, math.log(3.0)], [math.log(3.0), 0.0]])
    assert too_much(Channel([[0.75, 0.25], [0.25, 0.75]]), limits - 1e-12) != []
    assert too_much(Channel([[0.7, 0.3], [0.3, 0.7]]), limits) == []


def test_a_hundred_thousandth_of_a_nat_is_still_used() -> None:
    # Two secrets: the optimum of the 0-1 loss is randomised response, of loss 1/(1+e^ε).
    for epsilon in (1e-5, 1e-3, 0.5, 5.0, 20.0):
        channel = optimal_mechanism([0.5, 0.5], [[0, 1], [1, 0]], epsilon=epsilon)
        paid = float(0.5 * (channel.matrix[0, 1] + channel.matrix[1, 0]))
        assert math.isclose(paid, 1.0 / (1.0 + math.exp(epsilon)), abs_tol=1e-9)
