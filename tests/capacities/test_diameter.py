"""Diameters: brute force over pairs, exact rationals, sparse against dense."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from scipy import sparse

from leakcap.adversary import AllPriors, GivenPrior, Neighbours
from leakcap.capacities import capacity
from leakcap.capacities.batch import batch_capacity
from leakcap.capacities.solvers import rational
from leakcap.channel import Channel, ChannelBatch
from leakcap.divergence import HockeyStick, Renyi, TotalVariation
from leakcap.errors import InvalidChannel, InvalidParameter, InvalidPrior

F = Fraction
RULERS = [Renyi(0.5), Renyi(1.0), Renyi(2.0), Renyi(math.inf), HockeyStick(1.5), TotalVariation()]


def random_rows(seed, x, y, zeros=0.0):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(y), size=x) * (rng.random((x, y)) >= zeros)
    rows[:, 0] += 1e-3
    return rows / rows.sum(axis=1, keepdims=True)


def exact_channel(seed, x, y):
    counts = np.random.default_rng(seed).integers(1, 9, size=(x, y))
    return Channel([[F(int(v), int(row.sum())) for v in row] for row in counts])


@pytest.mark.parametrize("ruler", RULERS, ids=repr)
@pytest.mark.parametrize("zeros", [0.0, 0.5])
def test_the_diameter_is_the_largest_over_pairs(ruler, zeros):
    for seed in range(10):
        rows = random_rows(seed, 6, 5, zeros)
        values = {(a, b): float(ruler.between(rows[a], rows[b])) for a, b in permutations(range(6), 2)}
        bound = capacity(Channel(rows), ruler, Neighbours())
        assert bound.is_sharp
        assert math.isclose(bound.upper, max(values.values()), rel_tol=1e-12)
        assert math.isclose(values[bound.witness], bound.lower, rel_tol=1e-12)
        listed = ((0, 1), (4, 2))
        some = capacity(Channel(rows), ruler, Neighbours(listed)).upper
        expected = max(values[p] for a, b in listed for p in ((a, b), (b, a)))
        assert math.isclose(some, expected, rel_tol=1e-12)


@pytest.mark.parametrize("ruler", RULERS, ids=repr)
@pytest.mark.parametrize("zeros", [0.0, 0.6])
def test_sparse_is_dense(ruler, zeros):
    rows = random_rows(5, 7, 9, zeros)
    dense, thin = Channel(rows), Channel(sparse.csr_array(rows))
    for adversary in (Neighbours(), Neighbours(((0, 3), (6, 1)))):
        a, b = capacity(dense, ruler, adversary), capacity(thin, ruler, adversary)
        assert math.isclose(a.upper, b.upper, rel_tol=1e-13)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1 + 1e-12, 2.0, 1e6, math.inf])
def test_sparse_information_under_a_prior_is_dense(alpha):
    rows = random_rows(5, 7, 9, 0.6)
    prior = np.array([0.0, 0.1, 0.2, 0.3, 0.1, 0.05, 0.25])
    values = [
        capacity(Channel(m), Renyi(alpha), GivenPrior(prior)).upper for m in (rows, sparse.csr_array(rows))
    ]
    assert math.isclose(*values, rel_tol=1e-13)


def test_a_huge_sparse_channel_wants_its_pairs_listed():
    count = 20_000
    ring = sparse.csr_array(
        0.5 * sparse.eye_array(count) + 0.5 * sparse.eye_array(count).tocsr()[:, np.arange(count) - 1]
    )
    channel = Channel(ring)
    pairs = Neighbours(tuple((x, x + 1) for x in range(count - 1)))
    assert capacity(channel, TotalVariation(), pairs).upper == pytest.approx(0.5, rel=1e-14)
    assert capacity(channel, Renyi(2.0)).upper == math.inf
    assert capacity(channel, Renyi(math.inf)).upper == math.inf
    with pytest.raises(InvalidParameter, match="must be listed"):
        capacity(channel, TotalVariation())


@pytest.mark.parametrize("pairs", [((0, 3),), ((-1, 0),), ((0, 1, 2),)])
def test_pairs_that_are_no_secrets(pairs):
    with pytest.raises(InvalidParameter, match="pairs of secrets from 0 to 2"):
        capacity(Channel(np.eye(3)), Renyi(1.0), Neighbours(pairs))


# --- exact rationals -----------------------------------------------------------------------------------


def test_the_reference_channels_of_theory_exactly():
    g = Channel([[F(4, 6), F(1, 6), F(1, 6)], [F(1, 3)] * 3, [F(1, 6), F(1, 6), F(4, 6)]])
    r = Channel([[F(3, 5) if x == y else F(1, 5) for y in range(3)] for x in range(3)])
    uniform = [F(1, 3)] * 3
    assert (rational.bayes_capacity(g), rational.bayes_capacity(r)) == (F(5, 3), F(9, 5))
    assert (rational.lift_capacity(g), rational.lift_capacity(r)) == (4, 3)
    assert (rational.lift(g, uniform), rational.lift(r, uniform)) == (F(12, 7), F(9, 5))
    for channel, leakage in ((g, F(5, 3)), (r, F(9, 5))):
        assert 3 * rational.posterior_vulnerability(channel, uniform, np.eye(3, dtype=int)) == leakage


def test_exact_measures_against_floats_and_events():
    for seed in range(10):
        channel = exact_channel(seed, 4, 4)
        rows = channel.exact
        pairs = list(permutations(range(4), 2))
        assert rational.lift_capacity(channel) == max(
            rows[a, y] / rows[b, y] for a, b in pairs for y in range(4)
        )
        differences = [sum((v for v in rows[a] - rows[b] if v > 0), F(0)) for a, b in pairs]
        assert rational.total_variation(channel) == max(differences)
        gamma = F(5, 4)
        assert float(rational.hockey_stick(channel, gamma)) == pytest.approx(
            capacity(Channel(channel.matrix), HockeyStick(1.25)).upper, abs=1e-15
        )
        assert rational.total_variation(channel, pairs=[(0, 1)]) == differences[pairs.index((0, 1))]
        assert rational.lift_capacity(channel, pairs=[(2, 1)]) == max(
            max(rows[2, y] / rows[1, y], rows[1, y] / rows[2, y]) for y in range(4)
        )


def test_a_bound_of_fractions_is_rounded_once():
    for seed in range(30):
        channel = exact_channel(seed, 3, 5)
        ratio = rational.lift_capacity(channel)
        with mpmath.workdps(60):
            expected = float(mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator))
        found = capacity(channel, Renyi(math.inf))
        assert found.lower <= expected <= found.upper <= math.nextafter(found.lower, math.inf)
        found, apart = capacity(channel, TotalVariation()), rational.total_variation(channel)
        assert found.lower <= apart <= found.upper <= math.nextafter(found.lower, math.inf)
    tiny = F(1, 10**25)
    near = Channel([[F(1, 2), F(1, 2)], [F(1, 2) + tiny, F(1, 2) - tiny]])
    assert capacity(near, Renyi(math.inf)).upper == 2e-25
    assert capacity(near, TotalVariation()).upper == 1e-25


def test_what_has_no_finite_ratio():
    assert rational.lift_capacity(Channel(np.eye(2))) == math.inf
    assert capacity(Channel([[F(1), F(0)], [F(1, 2), F(1, 2)]]), Renyi(math.inf)).upper == math.inf
    assert rational.lift_capacity(Channel([[F(1), F(0)], [F(1), F(0)]])) == 1


def test_exact_measures_refuse_doubles():
    with pytest.raises(InvalidChannel, match="fractions"):
        rational.bayes_capacity(Channel([[0.25, 0.75]]))
    half = Channel([[F(1, 2), F(1, 2)]])
    with pytest.raises(InvalidPrior, match="exactly one"):
        rational.lift(half, [F(1, 3)])
    with pytest.raises(InvalidParameter, match="one column a secret"):
        rational.posterior_vulnerability(half, [1], [[1, 2]])


# --- batches -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruler", RULERS, ids=repr)
def test_a_batch_is_answered_like_its_channels(ruler):
    batch = ChannelBatch(np.stack([random_rows(seed, 4, 5, 0.2) for seed in range(6)]))
    adversaries = [Neighbours(), Neighbours(((0, 1),))]
    if isinstance(ruler, Renyi):
        adversaries += [AllPriors(), GivenPrior([0.1, 0.2, 0.3, 0.4])]
    for adversary in adversaries:
        found = batch_capacity(batch, ruler, adversary)
        singles = [capacity(channel, ruler, adversary) for channel in batch]
        assert all(found.lower <= [b.upper for b in singles])
        assert all(found.upper >= [b.lower for b in singles])
        np.testing.assert_allclose(found.lower, [b.lower for b in singles], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.upper, [b.upper for b in singles], rtol=1e-13, atol=1e-16)


def test_a_guarantee_that_surely_holds_has_a_delta_of_zero() -> None:
    flip = 1 / (1 + math.exp(1.0))
    channel = Channel([[1 - flip, flip, 0.0], [flip, 1 - flip, 0.0]])
    for epsilon, holds in ((0.9, False), (1.0, False), (1.000001, True), (4.0, True)):
        delta = capacity(channel, HockeyStick(math.exp(epsilon))).upper
        assert (delta == 0.0) is holds, epsilon
