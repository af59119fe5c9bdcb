"""Sibson's information under a prior, against sixty digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from leakcap.adversary import GivenPrior
from leakcap.capacities import capacity
from leakcap.capacities.given import log_lift
from leakcap.channel import Channel
from leakcap.divergence import HockeyStick, Renyi
from leakcap.errors import InvalidParameter, InvalidPrior

ORDERS = (1e-2, 0.5, 1 - 1e-9, 1 - 1e-12, 1.0, 1 + 1e-12, 1 + 1e-6, 1.001, 2.0, 8.0, 1e3, 1e6, math.inf)


def exactly(rows, prior, alpha):
    """The formula itself on the doubles taken as exact numbers, normalised."""
    with mpmath.workdps(80):
        rows = [[mpmath.mpf(float(v)) for v in row] for row in rows]
        rows = [[v / mpmath.fsum(row) for v in row] for row in rows]
        prior = [mpmath.mpf(float(p)) for p in prior]
        prior = [p / mpmath.fsum(prior) for p in prior]
        pairs = [(p, row) for p, row in zip(prior, rows, strict=True) if p > 0]
        columns = range(len(rows[0]))
        if math.isinf(alpha):
            return mpmath.log(mpmath.fsum(max(row[y] for _, row in pairs) for y in columns))
        if alpha == 1.0:
            centre = [mpmath.fsum(p * row[y] for p, row in pairs) for y in columns]
            cells = [(p, row[y], centre[y]) for p, row in pairs for y in columns if row[y] > 0]
            return mpmath.fsum(p * c * mpmath.log(c / q) for p, c, q in cells)
        a = mpmath.mpf(alpha)
        sums = [mpmath.fsum(p * row[y] ** a for p, row in pairs if row[y] > 0) for y in columns]
        return a / (a - 1) * mpmath.log(mpmath.fsum(s ** (1 / a) for s in sums if s > 0))


def channels():
    rng = np.random.default_rng(11)
    yield np.eye(3), np.array([0.2, 0.3, 0.5])
    yield np.full((3, 2), 0.5), np.array([0.2, 0.3, 0.5])
    for _ in range(4):
        rows = rng.dirichlet(np.full(4, 0.5), size=4)
        yield rows, rng.dirichlet(np.ones(4))
        yield rows, np.array([0.5, 0.0, 0.5, 0.0])
    near = np.full((3, 4), 0.25) * (1 + 1e-5 * rng.random((3, 4)))
    yield near / near.sum(axis=1, keepdims=True), rng.dirichlet(np.ones(3))
    yield np.array([[1e-200, 1 - 1e-200], [0.5, 0.5]]), np.array([1 - 1e-9, 1e-9])


@pytest.mark.parametrize("alpha", ORDERS)
def test_against_sixty_digits(alpha):
    for rows, prior in channels():
        found = capacity(Channel(rows), Renyi(alpha), GivenPrior(prior))
        expected = exactly(rows, prior, alpha)
        assert found.lower - 1e-70 <= expected <= found.upper + 1e-70  # the noise of sixty digits
        assert found.width <= 2e-12 * abs(expected) + 3e-14


def test_log_lift():
    for rows, prior in channels():
        live = prior > 0
        centre = prior @ rows
        ratios = [rows[x, y] / centre[y] for x in np.flatnonzero(live) for y in np.flatnonzero(centre)]
        assert math.isclose(
            log_lift(Channel(rows), prior), math.log(max(ratios)), abs_tol=1e-15, rel_tol=1e-14
        )


def test_what_is_refused():
    channel = Channel(np.eye(2))
    with pytest.raises(InvalidParameter, match="Neighbours"):
        capacity(channel, HockeyStick(1.0), GivenPrior([0.5, 0.5]))
    with pytest.raises(InvalidPrior, match="one entry a secret"):
        capacity(channel, Renyi(1.0), GivenPrior([1.0]))
