"""Every divergence against sixty digits, over random pairs and the nasty ones."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest

from leakcap.divergence import HockeyStick, Renyi, TotalVariation

ORDERS = (
    1e-3,
    0.3,
    0.5,
    1 - 1e-6,
    1 - 1e-9,
    1 - 1e-12,
    1.0,
    1 + 1e-12,
    1 + 1e-9,
    1.0001,
    1.5,
    2.0,
    8.0,
    1e3,
    1e6,
)
DIGITS = 60


def exact_pair(p, q):
    """The doubles as exact numbers, scaled to sum to one exactly: that much of them is rounding."""
    with mpmath.workdps(DIGITS):
        big = [[mpmath.mpf(float(v)) for v in side] for side in (p, q)]
        return [[v / mpmath.fsum(side) for v in side] for side in big]


def renyi(p, q, alpha):
    with mpmath.workdps(DIGITS + 40):
        pairs = list(zip(*exact_pair(p, q), strict=True))
        if alpha >= 1 and any(a > 0 and b == 0 for a, b in pairs):
            return mpmath.inf
        both = [(a, b) for a, b in pairs if a > 0 and b > 0]
        if math.isinf(alpha):
            return max(mpmath.log(a / b) for a, b in both)
        if alpha == 1.0:
            return mpmath.fsum(a * mpmath.log(a / b) for a, b in both)
        order = mpmath.mpf(alpha)
        total = mpmath.fsum(a**order * b ** (1 - order) for a, b in both)
        return mpmath.log(total) / (order - 1) if total else mpmath.inf


def dirichlet(seed, size, concentration):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(size, concentration), size=2)


def close(p, relative):
    """A neighbour of p at a relative distance, normalised."""
    wave = np.where(np.arange(p.size) % 2 == 0, 1.0, -1.0)
    q = p * (1.0 + relative * wave)
    return q / q.sum()


UNIFORM = np.full(8, 0.125)
SKEWED = np.array([0.9, 0.09, 0.009, 1 - 0.9 - 0.09 - 0.009])
PAIRS = {
    **{f"dirichlet {s}": dirichlet(s, 2 + s, 1.0) for s in range(4)},
    **{f"sparse dirichlet {s}": dirichlet(50 + s, 6, 0.1) for s in range(3)},
    **{f"close {r:g}": (SKEWED / SKEWED.sum(), close(SKEWED, r)) for r in (1e-2, 1e-4, 1e-6)},
    "zero in P": ([0.0, 0.5, 0.5], [0.2, 0.3, 0.5]),
    "zero in Q": ([0.2, 0.3, 0.5], [0.0, 0.5, 0.5]),
    "zeros in both": ([0.0, 0.25, 0.75, 0.0], [0.0, 0.5, 0.5, 0.0]),
    "disjoint": ([1.0, 0.0], [0.0, 1.0]),
    "deterministic": ([1.0, 0.0], [0.5, 0.5]),
    "tiny masses": ([1e-300, 1.0], [1e-10, 1 - 1e-10]),
    "tiny in Q": ([1e-3, 1 - 1e-3], [1e-300, 1.0]),
    "large ratio": ([0.5, 0.5], [1e-12, 1 - 1e-12]),
    "equal": (UNIFORM, UNIFORM),
}


@pytest.mark.parametrize("alpha", [*ORDERS, math.inf])
@pytest.mark.parametrize("name", PAIRS)
def test_renyi(name, alpha):
    p, q = (np.asarray(side, dtype=float) for side in PAIRS[name])
    for a, b in ((p, q), (q, p)):
        expected = renyi(a, b, alpha)
        found = float(Renyi(alpha).between(a, b))
        if mpmath.isinf(expected):
            assert found == math.inf
        else:
            # Sums of doubles miss one by some 1e-16, which no formula can undo: hence the absolute term.
            assert abs(found - expected) <= 1e-11 * abs(expected) + 1e-15


@pytest.mark.parametrize("relative", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("alpha", [0.5, 1 - 1e-12, 1.0, 1 + 1e-12, 2.0, 8.0])
def test_small_divergences_keep_their_digits(relative, alpha):
    """Dyadic pairs whose doubles sum to one exactly: the value is second order in a small step."""
    step = 2.0 ** round(math.log2(relative))
    p = np.array([0.5, 0.25, 0.25])
    q = p + np.array([step, -step / 2, -step / 2])
    expected = renyi(p, q, alpha)
    assert abs(float(Renyi(alpha).between(p, q)) - expected) <= 1e-9 * expected


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, math.exp(0.1), math.e, math.exp(30.0)])
def test_hockey_stick(name, gamma):
    p, q = PAIRS[name]
    with mpmath.workdps(DIGITS):
        pairs = zip(*exact_pair(p, q), strict=True)
        expected = mpmath.fsum(max(a - mpmath.mpf(gamma) * b, 0) for a, b in pairs)
    assert abs(float(HockeyStick(gamma).between(p, q)) - expected) <= 1e-15 * (1 + gamma)


@pytest.mark.parametrize("name", PAIRS)
def test_total_variation_is_the_largest_difference_of_an_event(name):
    p, q = (np.asarray(side, dtype=float) for side in PAIRS[name])
    events = product((0, 1), repeat=p.size)
    best = max(math.fsum(float(d) * e for d, e in zip(p - q, event, strict=True)) for event in events)
    assert abs(float(TotalVariation().between(p, q)) - best) <= 4e-16
    assert abs(float(HockeyStick(1.0).between(p, q)) - best) <= 4e-16


def test_limits_are_limits():
    p, q = dirichlet(7, 5, 1.0)
    values = [float(Renyi(alpha).between(p, q)) for alpha in sorted(ORDERS)] + [
        float(Renyi(math.inf).between(p, q))
    ]
    assert values == sorted(values)
    assert values[-1] - values[-2] < 1e-4


def test_broadcasting_is_pair_by_pair():
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(4), size=5)
    for ruler in (Renyi(1.0), Renyi(1.5), Renyi(math.inf), HockeyStick(1.2), TotalVariation()):
        table = ruler.between(rows[:, None, :], rows[None, :, :])
        assert table.shape == (5, 5)
        single = [[float(ruler.between(a, b)) for b in rows] for a in rows]
        np.testing.assert_allclose(table, single, rtol=1e-14, atol=1e-16)
        assert np.ptp(np.diagonal(table)) == 0.0 == table[0, 0]
