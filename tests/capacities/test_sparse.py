"""Large sparse channels: both ends proven, and equal to the dense solver's where both can go."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from leakcap.adversary import AllPriors
from leakcap.capacities import capacity
from leakcap.capacities.solvers.shannon import shannon_capacity
from leakcap.capacities.solvers.sparse_rows import SparseRows
from leakcap.capacities.solvers.sparse_shannon import large_shannon_capacity
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter


def random_rows(seed):
    """Smooth, sparse, doubled, near-deterministic and near-equal rows; more rows than columns and fewer."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(1, 40, size=2)
    rows = rng.dirichlet(np.full(y, rng.choice([0.3, 1.0, 10.0])), size=x)
    kind = seed % 5
    if kind == 1:
        rows = rows * (rng.random((x, y)) < 0.3) + np.eye(y)[rng.integers(y, size=x)] * 1e-3
    elif kind == 2:
        rows = np.repeat(rows, 3, axis=0)
    elif kind == 3:
        rows = np.eye(y)[rng.integers(y, size=x)] * (1 - 1e-6) + 1e-6 * rows
    elif kind == 4:
        rows = rows[0] * (1 + 1e-4 * rng.random((x, y)))
    return rows / rows.sum(axis=1, keepdims=True)


def test_the_interval_meets_that_of_the_dense_solver():
    narrow = 0
    for seed in range(60):
        rows = random_rows(seed)
        dense = shannon_capacity(rows)
        found = large_shannon_capacity(SparseRows(sparse.csr_array(rows)))
        assert found.lower <= dense.upper + 1e-12
        assert found.upper >= dense.lower - 1e-12
        assert found.width <= 1e-4
        narrow += found.width <= 1e-6
    assert narrow >= 58  # doubled rows on few columns are the hard ones for conjugate gradients


def test_the_products_are_the_matrix():
    rows = random_rows(1)
    table = SparseRows(sparse.csr_array(rows))
    vector, weights = np.arange(table.shape[1]) + 0.5, np.arange(len(rows)) + 0.5
    seen = rows[:, rows.any(axis=0)]
    np.testing.assert_allclose(table.times(vector), seen @ vector, rtol=1e-14)
    np.testing.assert_allclose(table.mix(weights), weights @ seen, rtol=1e-14)
    np.testing.assert_allclose(table.squares(vector), seen**2 @ vector, rtol=1e-14)
    np.testing.assert_allclose(table.take(np.array([0, 2])), seen[[0, 2]], rtol=0)
    terms = np.where(seen > 0, seen * np.log(np.where(seen > 0, seen, 1.0)), 0.0)
    np.testing.assert_allclose(table.negentropies()[0], terms.sum(axis=1), rtol=1e-13, atol=1e-15)


def test_many_erasures_of_a_large_alphabet():
    """Each of n symbols is erased with probability ½: capacity ½ ln n, in closed form."""
    count = 5000
    rows = sparse.hstack(
        [0.5 * sparse.eye_array(count), sparse.csr_array(np.full((count, 1), 0.5))], format="csr"
    )
    bound = capacity(Channel(rows), Renyi(1.0), AllPriors())
    assert bound.lower <= 0.5 * math.log(count) <= bound.upper
    assert bound.width <= 1e-6
    assert abs(bound.witness.sum() - 1.0) < 1e-12


def test_blocks_of_symmetric_channels():
    """n copies of a binary symmetric channel, told which: ln n more than one of them."""
    count, flip = 2000, 0.1
    block = sparse.csr_array([[1 - flip, flip], [flip, 1 - flip]])
    bound = capacity(
        Channel(sparse.kron(sparse.eye_array(count), block, format="csr")), Renyi(1.0), AllPriors()
    )
    expected = math.log(count) + math.log(2) + flip * math.log(flip) + (1 - flip) * math.log(1 - flip)
    assert bound.lower <= expected + 1e-12
    assert bound.upper >= expected - 1e-12
    assert bound.width <= 1e-6


@pytest.mark.parametrize("size", [3000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_random_sparse_channel_to_a_millionth(size):
    rng = np.random.default_rng(size)
    columns = rng.integers(size, size=(size, 10))
    values = rng.dirichlet(np.ones(10), size=size)
    places = (np.repeat(np.arange(size), 10), columns.ravel())
    channel = Channel(sparse.csr_array((values.ravel(), places), shape=(size, size)))
    bound = capacity(channel, Renyi(1.0), AllPriors())
    assert bound.width <= 1e-6
    leakage = capacity(channel, Renyi(math.inf), AllPriors())
    assert bound.upper < leakage.upper
    # The lower end is the information of the witness, term by term.
    table, prior = channel.sparse, bound.witness
    centre = table.T @ prior
    x = np.repeat(np.arange(size), np.diff(table.indptr))
    live = prior[x] > 0
    terms = (prior[x] * table.data)[live] * np.log(table.data[live] / centre[table.indices[live]])
    assert math.fsum(terms) >= bound.lower - 1e-12


def test_an_order_between_one_and_infinity_is_told_what_can_be_asked():
    size = 20_000
    channel = Channel(sparse.csr_array(sparse.eye(size)))
    with pytest.raises(InvalidParameter, match=r"must be `Renyi\(1\)` or `Renyi\(math.inf\)`"):
        capacity(channel, Renyi(2.0), AllPriors())
    assert capacity(channel, Renyi(np.inf), AllPriors()).upper == pytest.approx(np.log(size))
