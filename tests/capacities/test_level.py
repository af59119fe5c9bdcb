from __future__ import annotations

import math
from itertools import combinations

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import exp, log, mp, mpf

from leakcap.adversary import AllPriors, AllPriorsJoint, Neighbours
from leakcap.capacities import capacity
from leakcap.capacities.level import _bounded_range
from leakcap.capacities.solvers.level_binary import binary_level
from leakcap.channel import Channel
from leakcap.divergence import Renyi, TotalVariation
from leakcap.errors import InvalidParameter

mp.dps = 50
ORDERS = (0.1, 0.5, 0.9, 1 - 1e-9, 1 + 1e-12, 1.003, 1.5, 1.99, 2.0, 2.5, 8.0, 100.0, 1e6)


def joint(rows, prior, alpha):
    """(1/(α−1)) ln Σ π C^α q^{1−α} to fifty digits, in balls; rows and prior scaled to sum to one."""
    with flint.ctx.workprec(240):
        rows = [[flint.arb(float(v)) for v in row] for row in rows]
        rows = [[v / sum(row) for v in row] for row in rows]
        weights = [flint.arb(float(p)) for p in prior]
        weights = [w / sum(weights) for w in weights]
        a, total = flint.arb(float(alpha)), flint.arb(0)
        for column in zip(*rows, strict=True):
            centre = sum(w * c for w, c in zip(weights, column, strict=True))
            total += sum(w * c**a for w, c in zip(weights, column, strict=True) if c > 0 and w > 0) * (
                centre ** (1 - a) if centre > 0 else 0
            )
        found = total.log() / (a - 1)
        assert found.rad() < 1e-45 * (1 + abs(found))
        mantissa, exponent = found.mid().man_exp()
    return mp.ldexp(mpf(int(mantissa)), int(exponent))


BELIEFS = sorted(
    [mpf(10) ** -(mpf(k) / 4) for k in range(1, 60)]
    + [1 - mpf(10) ** -(mpf(k) / 4) for k in range(1, 60)]
    + [mpf(k) / 60 for k in range(1, 60)]
)


def pair(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(2, 6))
    rows = np.maximum(rng.dirichlet(np.full(width, rng.choice([0.1, 0.5, 2.0])), size=2), 1e-12)
    if seed % 3 == 1:
        rows[0, 0] = 0.0
    if seed % 4 == 2:
        rows[1] = rows[0] * (1 + 1e-4 * rng.random(width))
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("alpha", ORDERS)
def test_two_secrets_against_brute_force(alpha):
    for seed in range(6):
        rows = pair(seed)
        found = binary_level(rows[0], rows[1], alpha)
        if alpha > 2 and ((rows > 0).any(axis=0) & (rows == 0).any(axis=0)).any():
            assert found.lower == math.inf
            continue
        best = max(joint(rows, (p, 1 - p), alpha) for p in BELIEFS)
        assert best <= mpf(found.upper)
        assert best >= mpf(found.lower) - mpf("1e-2")  # a grid: the real test is the line above and the next
        assert found.upper - found.lower <= 1e-9
        if min(found.prior) > 0:
            assert joint(rows, found.prior, alpha) >= mpf(found.lower)


def test_a_lower_end_raised_or_an_upper_end_cut_would_be_seen():
    rows = pair(0)
    found = binary_level(rows[0], rows[1], 3.0)
    assert joint(rows, found.prior, 3.0) < mpf(found.lower) + mpf("2e-9")
    best = max(
        joint(rows, (found.prior[0] * (1 + mpf(k) / 10**6), found.prior[1]), 3.0) for k in range(-3, 4)
    )
    assert best > mpf(found.upper) - mpf("2e-9")


@pytest.mark.parametrize("alpha", [0.5, 1.5, 2.0, 8.0])
def test_randomised_response_is_symmetric(alpha):
    """Mirrored rows: the fair prior is optimal for orders up to two; at α = 2, ln(a²/½ + b²/½)."""
    rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    bound = capacity(Channel(rows), Renyi(alpha), AllPriorsJoint())
    fair = joint(rows, (1, 1), alpha)
    assert fair <= mpf(bound.upper)
    if alpha <= 2.0:
        assert fair >= mpf(bound.lower)
    assert bound.width <= 1e-9


@pytest.mark.parametrize(
    ("epsilon", "value"), [(0.5, 0.06185960725), (1.0, 0.24022901392), (4.0, 2.65000549472)]
)
def test_bounded_range_at_order_two(epsilon, value):
    big = exp(mpf(epsilon))
    f = ((big**2 - 1) - 2 * (big - 1)) / ((big - 1) * (big**2 - 1))
    exact = log((1 + f * (big**2 - 1)) / (1 + f * (big - 1)) ** 2)
    assert abs(exact - mpf(value)) < 2e-11
    assert exact <= mpf(_bounded_range(epsilon, 2.0)) <= exact + mpf("1e-11")


def test_bounded_range_is_no_less_than_the_formula():
    """The best mass f on the larger likelihood, by a grid at fifty digits."""
    for epsilon in (0.01, 0.2, 1.0, 5.0, 30.0):
        for alpha in (0.3, 0.9999, 1.0001, 1.5, 2.0, 8.0, 300.0, 1e5):
            a, big = mpf(alpha), exp(mpf(epsilon))
            shares = [mpf(10) ** -(mpf(k) / 20) for k in range(1, 400)] + [
                1 - mpf(k) / 100 for k in range(1, 100)
            ]
            best = max(log((1 + f * (big**a - 1)) / (1 + f * (big - 1)) ** a) / (a - 1) for f in shares)
            assert mpf(_bounded_range(epsilon, alpha)) >= best
            assert _bounded_range(epsilon, alpha) <= epsilon * (1 + 1e-12)
    assert abs(_bounded_range(1.0, 8.0) - 0.63545939857) < 1e-10


def test_the_subset_mechanism_comes_close_to_the_bound():
    """k secrets, one output for each subset of a share f of them: near R_α, which it attains as k grows."""
    alpha, k, take = 2.0, 15, 4
    columns = [[math.e if x in chosen else 1.0 for x in range(k)] for chosen in combinations(range(k), take)]
    rows = np.array(columns).T
    bound = capacity(Channel(rows / rows.sum(axis=1, keepdims=True)), Renyi(alpha), AllPriorsJoint())
    share = mpf(take) / k
    scale = 1 / (share * exp(1) + 1 - share)
    uniform = log(share * (exp(1) * scale) ** 2 + (1 - share) * scale**2)
    assert uniform <= mpf(bound.upper) + mpf("1e-14")
    assert mpf(bound.lower) >= uniform - mpf("1e-10")
    assert uniform > mpf("0.9999") * mpf("0.24022901392")
    assert bound.upper <= 0.24022901392 + 1e-10


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_radius_level_diameter_and_the_order(seed):
    rng = np.random.default_rng(seed)
    count, width = (int(v) for v in rng.integers(2, 6, size=2))
    rows = rng.dirichlet(np.full(width, rng.choice([0.3, 1.0, 10.0])), size=count)
    if seed % 3 == 0:
        rows[0, 0] = 0.0
        rows /= rows.sum(axis=1, keepdims=True)
    channel, previous = Channel(rows), 0.0
    for alpha in (0.3, 1 - 1e-9, 1.0, 1 + 1e-9, 1.5, 2.0, 4.0, 1e6, math.inf):
        radius = capacity(channel, Renyi(alpha), AllPriors())
        level = capacity(channel, Renyi(alpha), AllPriorsJoint())
        diameter = capacity(channel, Renyi(alpha), Neighbours())
        assert radius.lower <= level.upper + 1e-14
        assert radius.lower <= level.lower + 1e-9  # the ascent starts at the radius's prior
        assert level.lower <= diameter.upper + 1e-12
        assert previous <= level.upper + 1e-14
        previous = level.lower


def test_limits_and_edges():
    channel = Channel([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    shannon = capacity(channel, Renyi(1), AllPriors())
    assert capacity(channel, Renyi(1), AllPriorsJoint()).upper == shannon.upper
    epsilon = capacity(channel, Renyi(math.inf), Neighbours())
    assert capacity(channel, Renyi(math.inf), AllPriorsJoint()).upper == epsilon.upper
    assert capacity(Channel([[0.5, 0.5]]), Renyi(3), AllPriorsJoint()).upper == 0.0
    identity = Channel(np.eye(3))
    assert capacity(identity, Renyi(3), AllPriorsJoint()).lower == math.inf
    two = capacity(identity, Renyi(2), AllPriorsJoint())
    assert two.lower == pytest.approx(math.log(3), abs=1e-9)
    assert two.upper == pytest.approx(math.log(3), abs=1e-9)
    # Disjoint rows: p^{2−α} + (1−p)^{2−α} is largest at a half for α < 2.
    apart = capacity(Channel(np.eye(2)), Renyi(1.5), AllPriorsJoint())
    assert apart.lower <= math.log(2) <= apart.upper
    with pytest.raises(InvalidParameter, match="Renyi"):
        capacity(channel, TotalVariation(), AllPriorsJoint())


def test_orders_beyond_double_precision():
    channel = Channel([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    epsilon = math.log(7)
    for order in (1e10, 1e100, 1e300):
        for some in (channel, Channel(channel.matrix[:2])):
            bound = capacity(some, Renyi(order), AllPriorsJoint())
            assert bound.upper == pytest.approx(epsilon, abs=1e-12)
            assert bound.lower == pytest.approx(epsilon, abs=1e-6)
        assert capacity(channel, Renyi(order), AllPriors()).width <= 1e-9


def test_the_method_says_whether_it_is_exact():
    two = capacity(Channel([[0.7, 0.3], [0.2, 0.8]]), Renyi(2), AllPriorsJoint())
    three = capacity(Channel([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]), Renyi(2), AllPriorsJoint())
    assert "branch and bound" in two.method
    assert "the truth is between" in three.method


@pytest.mark.parametrize("flip", [False, True])
def test_a_supremum_that_no_belief_attains_has_a_witness_near_it(flip: bool) -> None:
    # At α = 2 an output of one secret only lets the leakage jump where that secret becomes impossible.
    rows = np.array([[0.4, 0.6, 0.0], [0.5, 0.3, 0.2]])[:: -1 if flip else 1]
    bound = capacity(Channel(rows), Renyi(2.0), AllPriorsJoint())
    witness = np.asarray(bound.witness)
    assert (witness > 0).all()
    assert bound.lower <= float(joint(rows, witness, 2.0)) <= bound.upper
    # As the second secret becomes impossible, its own output keeps adding 0.2 to Σ C²π/q = 1.
    assert bound.upper >= math.log(1.2) - 1e-12
    assert bound.width <= 2e-9


def test_the_witness_attains_the_lower_end_where_the_supremum_is_a_limit() -> None:
    """At order 2 the best beliefs run to the edge; subnormal weights once flattered the lower end."""
    rows = [
        [0, 0, 1, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
        [9.146168513704068e-15, 0.20736661233994183, 0.7250360297313118, 0.06759735792873739],
        [0, 0.27603890524250246, 0, 0.7239610947574975],
        [0.7957950273747999, 0, 0, 0.20420497262520007],
        [8.274055786899677e-09, 0.025620833179053608, 0.9743791585468906, 0],
        [0.24614439819533906, 0.7538556018046609, 0, 0],
    ]
    channel = Channel(rows)
    bound = capacity(channel, Renyi(2.0), AllPriorsJoint())
    prior = np.asarray(bound.witness)
    with mp.workdps(60):
        p = [mp.mpf(float(v)) for v in prior / prior.sum()]
        c = [[mp.mpf(float(v)) for v in row] for row in rows]
        q = [sum(p[x] * c[x][y] for x in range(8)) for y in range(4)]
        value = mp.log(
            sum(p[x] * c[x][y] ** 2 / q[y] for x in range(8) for y in range(4) if c[x][y] > 0 and p[x] > 0)
        )
    assert bound.lower <= float(value) + 1e-12
    assert bound.upper == pytest.approx(math.log(np.max(channel.matrix, axis=0).sum()), rel=1e-12)
