"""Inequalities between the closed forms, over random channels: smooth, with zeros, near-equal, steep."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from leakcap.adversary import AllPriors, EntropyFloor, GivenPrior
from leakcap.capacities import capacity
from leakcap.capacities.given import log_lift
from leakcap.channel import Channel
from leakcap.divergence import Renyi

CHANNELS = 250
"""A fault that one channel in forty shows is missed with probability (39/40)²⁵⁰ = 0.002."""
ORDERS = (0.3, 0.5, 1.0, 1 + 1e-12, 2.0, 8.0, 1e6, math.inf)
WIDEST = Renyi(math.inf)


def channels():
    rng = np.random.default_rng(77)
    for k in range(CHANNELS):
        x, y = rng.integers(2, 9, size=2)
        rows = np.maximum(rng.dirichlet(np.full(y, rng.choice([0.05, 0.3, 1.0, 10.0])), size=x), 1e-200)
        if k % 3 == 1:
            rows = rows * (rng.random((x, y)) < 0.6) + np.eye(y)[rng.integers(y, size=x)]
        elif k % 3 == 2:
            rows = rows[0] * (1 + 1e-9 * rng.random((x, y)))
        yield Channel(rows / rows.sum(axis=1, keepdims=True)), rng.dirichlet(np.ones(x))


def test_every_inequality_of_the_closed_forms():
    tested = 0
    for channel, prior in channels():
        values = [capacity(channel, Renyi(a), GivenPrior(prior)).upper for a in ORDERS]
        leakage = capacity(channel, WIDEST, AllPriors()).upper
        epsilon = capacity(channel, WIDEST).upper
        assert all(low <= high + 1e-13 for low, high in pairwise(values))
        assert values[-1] <= leakage + 1e-13 <= epsilon + 1e-12
        assert log_lift(channel, prior) <= epsilon + 1e-13
        entropy = -math.fsum(float(p) * math.log(p) for p in prior)
        floor = capacity(channel, WIDEST, EntropyFloor(max(min(entropy, math.log(prior.size)) - 1e-9, 0.0)))
        assert log_lift(channel, prior) - 1e-12 <= floor.upper <= epsilon + 1e-12
        tested += 1
    assert tested == CHANNELS


def test_reduction_changes_no_closed_form():
    for channel, prior in channels():
        short = channel.reduced()
        for alpha in (0.5, 1.0, 2.0):
            pair = [capacity(c, Renyi(alpha), GivenPrior(prior)).upper for c in (channel, short)]
            assert math.isclose(*pair, rel_tol=1e-9, abs_tol=1e-15)
        assert math.isclose(
            capacity(channel, WIDEST).upper, capacity(short, WIDEST).upper, rel_tol=1e-9, abs_tol=1e-11
        )
