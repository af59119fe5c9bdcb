from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import log, mp, mpf

from leakcap.adversary import AllPriors, GivenPrior, Neighbours
from leakcap.capacities import capacity
from leakcap.capacities.solvers.shannon import shannon_capacity
from leakcap.capacities.solvers.sibson import sibson_capacity
from leakcap.channel import Channel
from leakcap.divergence import Renyi

mp.dps = 50
ORDERS = (0.05, 0.3, 0.5, 0.99, 1 - 1e-3, 1 - 1e-9, 1 + 1e-12, 1.005, 1.01, 1.5, 2.0, 8.0, 100.0, 1e6)


def uniform_value(rows, alpha):
    """Sibson's information of the uniform prior, which is optimal for a symmetric channel."""
    a, count = mpf(alpha), len(rows)
    total = mpf(0)
    for column in zip(*rows, strict=True):
        total += (sum(v**a for v in column if v > 0) / count) ** (1 / a)
    return a / (a - 1) * log(total)


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("size", [2, 5])
def test_symmetric_channels(alpha, size):
    stay, move = 0.625, 0.375 / (size - 1)
    rows = np.full((size, size), move)
    np.fill_diagonal(rows, stay)
    total = mpf(stay) + (size - 1) * mpf(move)
    exact = uniform_value([[mpf(v) / total for v in row] for row in rows.tolist()], alpha)
    bound = sibson_capacity(rows, alpha)
    assert mpf(bound.lower) <= exact <= mpf(bound.upper)
    assert bound.width <= 1e-9


@pytest.mark.parametrize("alpha", ORDERS)
def test_erasure(alpha):
    """1−δ of two perfect rows: (α/(α−1)) ln(δ + (1−δ) 2^{1−1/α})."""
    rows = np.array([[0.75, 0.0, 0.25], [0.0, 0.75, 0.25]])
    a = mpf(alpha)
    exact = a / (a - 1) * log(mpf("0.25") + mpf("0.75") * 2 ** (1 - 1 / a))
    bound = sibson_capacity(rows, alpha)
    assert mpf(bound.lower) <= exact <= mpf(bound.upper)
    assert bound.width <= 1e-9


@pytest.mark.parametrize("alpha", [0.3, 0.99, 1.5, 2.0, 8.0, 1e6])
def test_two_secrets_against_a_grid(alpha):
    rows = np.random.default_rng(11).dirichlet(np.full(4, 0.7), size=2)
    exact_rows = [[mpf(v) / sum(map(mpf, row)) for v in row] for row in rows.tolist()]
    a, best = mpf(alpha), mpf(0)
    for i in range(1, 400):
        p = mpf(i) / 400
        columns = zip(*exact_rows, strict=True)
        total = sum((p * x**a + (1 - p) * y**a) ** (1 / a) for x, y in columns)
        best = max(best, a / (a - 1) * log(total))
    bound = sibson_capacity(rows, alpha)
    assert best <= mpf(bound.upper)
    assert best >= bound.lower - 1e-4  # the grid's step squared, times the curvature
    assert bound.width <= 1e-9


@pytest.mark.parametrize("alpha", ORDERS)
def test_the_witness_attains_the_lower_end(alpha):
    rows = np.random.default_rng(4).dirichlet(np.full(6, 0.4), size=9)
    bound = sibson_capacity(rows, alpha)
    prior = np.asarray(bound.witness)
    told = capacity(Channel(rows), Renyi(alpha), GivenPrior(prior / prior.sum()))
    assert told.upper == pytest.approx(bound.lower, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_it_rises_with_the_order_between_shannon_and_maximal_leakage(seed):
    rng = np.random.default_rng(seed)
    count, width = (int(v) for v in rng.integers(2, 7, size=2))
    rows = rng.dirichlet(np.full(width, rng.choice([0.1, 1.0, 10.0])), size=count)
    channel, previous = Channel(rows), 0.0
    for alpha in (0.2, 0.7, 1 - 1e-9, 1.0, 1 + 1e-9, 1.4, 3.0, 50.0, 1e6, math.inf):
        bound = capacity(channel, Renyi(alpha), AllPriors())
        assert bound.upper >= previous - 1e-14
        assert bound.lower <= capacity(channel, Renyi(alpha), Neighbours()).upper + 1e-14
        previous = bound.lower


def test_continuous_at_one_and_at_infinity():
    rows = np.random.default_rng(8).dirichlet(np.ones(5), size=6)
    shannon = shannon_capacity(rows)
    for alpha in (1 - 1e-12, 1 + 1e-12):
        assert sibson_capacity(rows, alpha).lower == pytest.approx(shannon.lower, abs=2e-9)
    maximal = math.log(rows.max(axis=0).sum())
    assert sibson_capacity(rows, 1e6).upper == pytest.approx(maximal, abs=1e-5)
    assert sibson_capacity(rows, 1e12).upper <= maximal + 1e-12
