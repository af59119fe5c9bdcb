from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import log, matrix, mp, mpf

from leakcap.adversary import AllPriors, Neighbours
from leakcap.capacities import capacity
from leakcap.capacities.solvers.rows import DenseRows
from leakcap.capacities.solvers.shannon import certified_shannon, shannon_capacity
from leakcap.channel import Channel
from leakcap.divergence import HockeyStick, Renyi
from leakcap.errors import InvalidParameter

mp.dps = 50


def h(p):
    p = mpf(p)
    return -p * log(p) - (1 - p) * log(1 - p) if 0 < p < 1 else mpf(0)


def truncated_geometric(size: int, ratio: float) -> np.ndarray:
    distance = np.abs(np.arange(size)[:, None] - np.arange(size))
    rows = ratio**distance * (1 - ratio) / (1 + ratio)
    rows[:, [0, -1]] /= 1 - ratio
    return rows / rows.sum(axis=1, keepdims=True)


def encloses(bound, truth, gap=1e-9):
    return mpf(bound.lower) <= truth <= mpf(bound.upper) and bound.width <= gap


@pytest.mark.parametrize("error", [0.0, 1e-12, 0.01, 0.25, 0.5])
def test_binary_symmetric(error):
    rows = np.array([[1 - error, error], [error, 1 - error]])
    # The channel is the doubles: each row is scaled to sum to one exactly.
    a, b = mpf(1 - error), mpf(error)
    assert encloses(shannon_capacity(rows), log(2) - h(b / (a + b)))


@pytest.mark.parametrize("erased", [0.0, 0.125, 0.5, 1.0])
def test_binary_erasure(erased):
    rows = np.array([[1 - erased, erased, 0.0], [0.0, erased, 1 - erased]])
    assert encloses(shannon_capacity(rows), (1 - mpf(erased)) * log(2))


@pytest.mark.parametrize("flip", [0.0, 0.125, 0.5, 0.875])
def test_z_channel(flip):
    rows = np.array([[1.0, 0.0], [flip, 1 - flip]])
    truth = log(1 + (1 - mpf(flip)) * mpf(flip) ** (mpf(flip) / (1 - mpf(flip)))) if flip else log(2)
    assert encloses(shannon_capacity(rows), truth)


@pytest.mark.parametrize("size", [2, 3, 17, 200])
def test_symmetric_over_k_values(size):
    stay, move = 0.5, 0.5 / (size - 1)
    rows = np.full((size, size), move)
    np.fill_diagonal(rows, stay)
    total = mpf(stay) + (size - 1) * mpf(move)
    p = [mpf(stay) / total] + [mpf(move) / total] * (size - 1)
    assert encloses(shannon_capacity(rows), log(size) + sum(v * log(v) for v in p))


def muroga(rows):
    """ln Σ_y exp(−(W⁻¹H)_y) and the prior, where it is non-negative. Source: Muroga 1953."""
    w = matrix([[mpf(v) for v in row] for row in rows])
    size = len(rows)
    entropies = matrix([-sum(v * log(v) for v in map(mpf, row)) for row in rows])
    x = mp.lu_solve(w, -entropies)
    value = log(sum(mp.exp(x[y]) for y in range(size)))
    centre = matrix([mp.exp(x[y] - value) for y in range(size)])
    return value, mp.lu_solve(w.T, centre)


def test_values_of_the_theory():
    g = [[mpf(2) / 3, mpf(1) / 6, mpf(1) / 6], [mpf(1) / 3] * 3, [mpf(1) / 6, mpf(1) / 6, mpf(2) / 3]]
    r = [[mpf(3) / 5 if i == j else mpf(1) / 5 for j in range(3)] for i in range(3)]
    exact, prior = muroga(r)
    assert min(prior) > 0
    assert abs(exact - mpf("0.1483417494")) < 1e-10
    assert encloses(shannon_capacity(np.array(r, dtype=float)), exact, 1e-9)
    # G's middle row equals the mean of the others: two secrets, uniform.
    ends = log(2) + sum(
        (a * log(a / (a + b)) + b * log(b / (a + b))) / 2 for a, b in zip(g[0], g[2], strict=True)
    )
    assert abs(ends - mpf("0.1606206307")) < 2e-10
    bound = shannon_capacity(np.array(g, dtype=float))
    # The doubles nearest to sixths move the capacity by less than 1e-15.
    assert bound.lower - 1e-15 <= ends <= bound.upper + 1e-15
    assert bound.width <= 1e-9


def test_muroga_on_random_channels():
    rng, used = np.random.default_rng(3), 0
    for _ in range(60):
        size = int(rng.integers(2, 7))
        rows = 0.3 * rng.dirichlet(np.ones(size), size=size) + 0.7 * np.eye(size)
        scaled = [[mpf(v) / sum(map(mpf, row)) for v in row] for row in rows.tolist()]
        exact, prior = muroga(scaled)
        if min(prior) < 0:
            continue
        used += 1
        assert encloses(shannon_capacity(rows), exact)
    assert used >= 40


def test_two_secrets_against_a_grid():
    rng = np.random.default_rng(5)
    for _ in range(10):
        rows = rng.dirichlet(np.full(4, 0.4), size=2)
        p = np.linspace(0, 1, 20001)[:, None]
        centre = p * rows[0] + (1 - p) * rows[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = sum(
                w[:, 0] * np.nansum(np.where(row > 0, row * np.log(row / centre), 0.0), axis=1)
                for w, row in ((p, rows[0]), (1 - p, rows[1]))
            )
        bound = shannon_capacity(rows)
        best = float(np.nanmax(values))
        assert best <= bound.upper + 1e-13
        assert best >= bound.lower - 1e-7  # the grid's step squared


@pytest.mark.parametrize(
    ("rows", "truth"),
    [
        (np.ones((1, 1)), 0.0),
        (np.ones((9, 1)), 0.0),
        (np.array([[0.25, 0.75]]), 0.0),
        (np.eye(60), math.log(60)),
        (np.repeat(np.eye(7), 5, axis=0), math.log(7)),
        (np.hstack([np.eye(4), np.zeros((4, 3))]), math.log(4)),
        (np.full((30, 8), 0.125), 0.0),
    ],
)
def test_degenerate_shapes(rows, truth):
    bound = shannon_capacity(rows)
    assert bound.lower <= truth <= bound.upper + 1e-15
    assert bound.width <= 1e-9


@pytest.mark.parametrize(
    "rows",
    [
        np.random.default_rng(0).dirichlet(np.full(100, 0.1), size=2000),
        np.random.default_rng(1).dirichlet(np.ones(8), size=5000),
        np.random.default_rng(2).dirichlet(np.ones(5000), size=8),
        np.random.default_rng(3).dirichlet(np.ones(300), size=300),
        truncated_geometric(100, math.exp(-0.1)),
        truncated_geometric(300, math.exp(-0.01)),
    ],
    ids=["tall sparse", "tall", "wide", "square", "geometric", "geometric, two ends"],
)
def test_larger_channels_by_a_plain_recomputation(rows):
    certified = certified_shannon(DenseRows(rows))
    prior, centre = certified.prior / certified.prior.sum(), np.exp(certified.log_centre)
    centre /= centre.sum()
    mixed = prior @ rows
    ratio = np.divide(rows, mixed, out=np.ones_like(rows), where=(rows > 0) & (mixed > 0))
    information = math.fsum(prior * np.sum(rows * np.log(ratio), axis=1))
    farthest = float(
        np.max(np.sum(np.where(rows > 0, rows * np.log(np.maximum(rows, 1e-320) / centre), 0.0), axis=1))
    )
    assert certified.bound.lower <= information + 1e-13
    assert certified.bound.upper >= farthest - 1e-13
    assert certified.bound.width <= 1e-9


def test_the_prior_is_a_prior_and_attains_the_lower_end():
    bound = shannon_capacity(truncated_geometric(40, 0.7))
    prior = np.asarray(bound.witness)
    assert (prior >= 0).all()
    assert math.isclose(prior.sum(), 1.0, abs_tol=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 1.0, 20.0]))
@settings(max_examples=60, deadline=None)
def test_post_processing_and_fewer_secrets_never_raise_it(seed, spread):
    rng = np.random.default_rng(seed)
    count, width = (int(v) for v in rng.integers(2, 7, size=2))
    rows = rng.dirichlet(np.full(width, max(spread, 0.05)), size=count)
    whole = shannon_capacity(rows)
    after = shannon_capacity(rows @ rng.dirichlet(np.ones(3), size=width))
    fewer = shannon_capacity(rows[: count - 1])
    twice = shannon_capacity(np.repeat(rows, 2, axis=0))
    assert after.lower <= whole.upper
    assert fewer.lower <= whole.upper
    assert twice.lower <= whole.upper
    assert whole.lower <= twice.upper
    assert whole.lower <= min(math.log(count), math.log(width)) + 1e-15


def test_the_verb_reaches_it():
    channel = Channel([[0.75, 0.25], [0.25, 0.75]])
    assert capacity(channel, Renyi(1), AllPriors()).upper == shannon_capacity(channel.matrix).upper
    assert capacity(channel, Renyi(math.inf), AllPriors()).upper == pytest.approx(math.log(1.5), abs=1e-15)
    with pytest.raises(InvalidParameter, match="Renyi"):
        capacity(channel, HockeyStick(1.0), AllPriors())
    assert capacity(channel, Renyi(1), AllPriors()).upper <= capacity(channel, Renyi(1), Neighbours()).upper
