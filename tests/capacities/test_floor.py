"""The entropy floor: reference values, both ends recomputed, brute force over priors."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import sparse

from leakcap.adversary import EntropyFloor
from leakcap.capacities import capacity
from leakcap.capacities.given import log_lift
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter

WIDEST = Renyi(math.inf)
G = Channel(np.array([[4, 1, 1], [2, 2, 2], [1, 1, 4]]) / 6)


def entropy(prior):
    live = prior[prior > 0]
    return -math.fsum(float(p) * math.log(p) for p in live)


def by_root(rows, nats):
    """The optimum at forty digits: for every output the λ with H = b, by bisection."""
    with mpmath.workdps(40):
        best = mpmath.mpf(0)
        for column in rows.T:
            values = [mpmath.mpf(float(v)) for v in column]
            low, high = mpmath.mpf(0), mpmath.mpf(10) ** 6

            def prior(slope, values=values):
                weights = [mpmath.exp(-slope * (v - min(values))) for v in values]
                return [w / mpmath.fsum(weights) for w in weights]

            for _ in range(150):
                middle = (low + high) / 2
                spread = -mpmath.fsum(p * mpmath.log(p) for p in prior(middle) if p > 0)
                low, high = (middle, high) if spread > nats else (low, middle)
            centre = mpmath.fsum(p * v for p, v in zip(prior(low), values, strict=True))
            best = max(best, mpmath.log(max(values) / centre))
        return best


@pytest.mark.parametrize(
    ("nats", "value"),
    # As printed there: seven digits, cut off.
    [(0.0, 1.3862943611), (0.3, 1.3014367), (0.6, 1.1519655), (0.9, 0.9151029), (math.log(3), 0.5389965)],
)
def test_the_values_of_theory(nats, value):
    bound = capacity(G, WIDEST, EntropyFloor(nats))
    assert bound.width < 1e-12
    assert abs(bound.upper - value) <= 1e-7 if nats else math.log(4) in bound


def test_both_ends_at_forty_digits():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = rng.dirichlet(np.ones(3), size=4)
        nats = float(rng.uniform(0.05, math.log(4) - 0.05))
        bound = capacity(Channel(rows), WIDEST, EntropyFloor(nats))
        exact = by_root(rows, nats)
        assert bound.lower <= exact <= bound.upper
        assert bound.width < 1e-12


def test_the_witness_attains_the_lower_end():
    for seed in range(20):
        rng = np.random.default_rng(100 + seed)
        channel = Channel(rng.dirichlet(np.full(5, 0.5), size=6))
        nats = float(rng.uniform(0.01, math.log(6)))
        bound = capacity(channel, WIDEST, EntropyFloor(nats))
        prior = bound.witness
        assert entropy(prior) >= nats - 1e-13
        assert log_lift(channel, prior / prior.sum()) >= bound.lower - 1e-12


def test_no_prior_of_enough_entropy_beats_the_upper_end():
    rng = np.random.default_rng(5)
    tested = 0
    for _ in range(20):
        channel = Channel(rng.dirichlet(np.ones(4), size=4))
        for prior in rng.dirichlet(np.ones(4), size=10):
            bound = capacity(channel, WIDEST, EntropyFloor(max(entropy(prior) - 1e-12, 0.0)))
            assert log_lift(channel, prior) <= bound.upper
            tested += 1
    assert tested == 200


def test_the_ends_of_the_scale():
    rng = np.random.default_rng(8)
    for _ in range(10):
        channel = Channel(rng.dirichlet(np.ones(4), size=5))
        free, whole = capacity(channel, WIDEST, EntropyFloor(0.0)), capacity(channel, WIDEST)
        assert free.upper == pytest.approx(whole.upper, rel=1e-13)
        uniform = log_lift(channel, np.full(5, 0.2))
        full = capacity(channel, WIDEST, EntropyFloor(math.log(5)))
        assert full.lower <= uniform * (1 + 1e-15) + 1e-15
        assert abs(full.upper - uniform) < 1e-12
        floors = np.linspace(0.0, math.log(5), 12)
        values = [capacity(channel, WIDEST, EntropyFloor(b)).upper for b in floors]
        assert all(a >= b - 1e-12 for a, b in pairwise(values))


def test_several_least_likely_secrets():
    """Two secrets rule the output out: all beliefs in those two alone are allowed up to ln 2."""
    channel = Channel([[0.5, 0.5], [0.0, 1.0], [0.0, 1.0]])
    assert capacity(channel, WIDEST, EntropyFloor(math.log(2))).upper == math.inf
    above = capacity(channel, WIDEST, EntropyFloor(math.log(2) + 1e-3))
    assert above.width < 1e-9
    assert 3.0 < above.upper < 10.0


def test_close_to_uniform_the_interval_stays_honest():
    for deficit in (1e-3, 1e-6, 1e-9, 1e-12, 1e-14):
        nats = math.log(3) - deficit
        bound = capacity(G, WIDEST, EntropyFloor(nats))
        exact = by_root(G.matrix, mpmath.mpf(nats))
        assert bound.lower <= exact <= bound.upper


def test_a_constant_channel_and_a_zero_column():
    flat = Channel([[0.25, 0.75, 0.0]] * 3)
    bound = capacity(flat, WIDEST, EntropyFloor(0.5))
    assert bound.lower == 0.0
    assert bound.upper < 1e-13


def test_columns_of_nearly_equal_entries():
    rng = np.random.default_rng(0)
    for relative in (1e-6, 1e-9, 1e-12, 0.0):
        rows = np.full((4, 3), 1 / 3) * (1 + relative * rng.random((4, 3)))
        channel = Channel(rows / rows.sum(axis=1, keepdims=True))
        bound = capacity(channel, WIDEST, EntropyFloor(0.7))
        assert bound.lower <= capacity(channel, WIDEST).upper
        assert bound.width < 1e-12
        assert bound.upper >= log_lift(channel, np.full(4, 0.25))


def test_sparse():
    rows = np.array([[0.5, 0.5], [0.0, 1.0], [0.0, 1.0]])
    thin = Channel(sparse.csr_array(rows))
    assert capacity(thin, WIDEST, EntropyFloor(0.5)).upper == math.inf
    sparse_one, dense = (capacity(c, WIDEST, EntropyFloor(0.9)) for c in (thin, Channel(rows)))
    assert sparse_one.upper == pytest.approx(dense.upper, rel=1e-13)


def test_what_is_refused():
    with pytest.raises(InvalidParameter, match="at most ln 3"):
        capacity(G, WIDEST, EntropyFloor(1.2))
    with pytest.raises(InvalidParameter, match="log-lift"):
        capacity(G, Renyi(1.0), EntropyFloor(0.5))
    with pytest.raises(InvalidParameter, match="nats"):
        EntropyFloor(-1.0)
