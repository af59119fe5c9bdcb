"""The four shapes of the geometric optimum, each proved again from its witness by brute force."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from leakcap.capacities.noise.geometric import geometric_capacity
from leakcap.capacities.noise.half_sums import FINE, half_sums
from leakcap.capacities.noise.laplace import laplace_capacity
from leakcap.capacities.noise.tilt import tilt_information
from leakcap.capacities.solvers.shannon import shannon_capacity
from leakcap.errors import InvalidParameter


def truncated(steps, decay):
    """The channel with outputs ≤ 0 and ≥ N merged, row by row from the noise's definition."""
    s = math.exp(-decay)
    secrets = np.arange(steps + 1)
    rows = (1 - s) / (1 + s) * np.exp(-decay * np.abs(secrets[:, None] - secrets))
    rows[:, 0], rows[:, -1] = np.exp(-decay * secrets) / (1 + s), np.exp(-decay * secrets[::-1]) / (1 + s)
    return rows


def prior_of(bound, steps):
    prior = np.zeros(steps + 1)
    for position, probability in bound.witness.atoms:
        assert position == int(position)
        prior[int(position)] += probability
    if bound.witness.flat is not None:
        first, last, weight = bound.witness.flat
        prior[int(first) : int(last) + 1] += weight
    return prior


def proves(bound, rows, prior, tolerance=1e-12):
    """Duality with nothing but the matrix: I(π) and max_x D(W_x ‖ πW) must both be the claimed value."""
    assert prior.min() >= 0
    assert abs(prior.sum() - 1) < tolerance
    output = prior @ rows
    divergence = np.sum(rows * (np.log(rows) - np.log(output)), axis=1)
    low, high = float(prior @ divergence), float(divergence.max())
    return bound.lower - tolerance <= low and high <= bound.upper + tolerance and bound.width <= tolerance


def cases():
    rng = np.random.default_rng(20221)
    for steps in (*range(1, 13), 20, 31, 64, 101, 150):
        for decay in (
            *np.exp(rng.uniform(math.log(1e-3), math.log(6.0), 8)),
            *(rng.uniform(2.9, 4.2, 14) / steps),
        ):
            yield steps, float(decay)


def test_every_shape_is_optimal_by_brute_force():
    methods = set()
    for steps, decay in cases():
        bound = geometric_capacity(steps, decay)
        methods.add(bound.method)
        assert proves(bound, truncated(steps, decay), prior_of(bound, steps)), (steps, decay)
    assert len(methods) == 4


def test_a_planted_wrong_value_or_prior_fails_the_proof():
    steps, decay = 31, 0.4
    bound, rows = geometric_capacity(steps, decay), truncated(steps, decay)
    prior = prior_of(bound, steps)
    assert proves(bound, rows, prior)
    wrong = type(bound)(bound.lower * (1 + 1e-9), bound.upper * (1 + 1e-9), "planted")
    assert not proves(wrong, rows, prior)
    assert not proves(type(bound)(bound.lower * (1 - 1e-9), bound.upper * (1 - 1e-9), "planted"), rows, prior)
    gap = np.flatnonzero(prior)[1]
    moved = prior.copy()
    moved[[gap, gap - 1, -1 - gap, gap - 1 - 2 * gap]] = prior[[gap - 1, gap, gap - 1 - 2 * gap, -1 - gap]]
    assert not proves(bound, rows, moved)


@pytest.mark.parametrize(
    ("steps", "decay"), [(2, 1.4), (2, 1.7), (7, 0.45), (9, 0.42), (24, 0.15), (40, 0.3)]
)
def test_agrees_with_the_general_solver(steps, decay):
    general, ours = shannon_capacity(truncated(steps, decay), gap=1e-10), geometric_capacity(steps, decay)
    assert general.lower <= ours.upper + 1e-12
    assert ours.lower <= general.upper + 1e-12


@pytest.mark.parametrize("decay", [1e-150, 1e-12, 1e-8, 1e-3, 0.1, 0.49, 0.51, 1.0, 5.0, 30.0, 600.0])
def test_one_step_is_randomised_response_in_relative_precision(decay):
    with mp.workdps(400):
        p = 1 / (1 + mp.exp(mp.mpf(decay)))
        exact = mp.log(2) + p * mp.log(p) + (1 - p) * mp.log1p(-p)
        bound = geometric_capacity(1, decay)
        assert mp.mpf(bound.lower) <= exact <= mp.mpf(bound.upper)
        assert bound.width <= 1e-12 * bound.upper


@pytest.mark.parametrize(
    ("steps", "decay"),
    [
        (2, 1e-9),
        (3, 0.3),
        (50, 1e-11),
        (50, 0.06),
        (65, 1e-3),
        (780, 1 / 250),
        (5000, 1e-4),
        (5000, 6e-4),
    ],
)
def test_two_ends_in_relative_precision(steps, decay):
    # I = ½ ΣΣ W ln(W/q) over the merged outputs, at 60 digits.
    with mp.workdps(60):
        eta = mp.mpf(decay)
        s, half = mp.exp(-eta), mp.mpf(0)
        for y in range(steps + 1):
            scale = 1 / (1 + s) if y in (0, steps) else (1 - s) / (1 + s)
            a, b = scale * s**y, scale * s ** (steps - y)
            half += a * mp.log(2 * a / (a + b))
        bound = geometric_capacity(steps, decay)
        assert "two ends" in bound.method
        assert mp.mpf(bound.lower) <= half <= mp.mpf(bound.upper)
        assert bound.width <= 1.1e-12 * bound.upper


@pytest.mark.parametrize(
    ("steps", "decay"), [(5, 1.5), (40, 0.9), (30, 0.35), (12, 0.29), (13, 0.28), (2500, 1.4e-3)]
)
def test_value_at_forty_digits(steps, decay):
    """I(π) of the witness, renormalised, at 40 digits: errors of the prior enter squared."""
    bound = geometric_capacity(steps, decay)
    with mp.workdps(40):
        eta = mp.mpf(decay)
        s = mp.exp(-eta)
        prior = [mp.mpf(w) for w in prior_of(bound, steps)]
        total = mp.fsum(prior)
        left, right = [mp.mpf(0)] * (steps + 1), [mp.mpf(0)] * (steps + 1)
        for y in range(steps + 1):
            left[y] = prior[y] / total + (s * left[y - 1] if y else 0)
            z = steps - y
            right[z] = prior[z] / total + (s * right[z + 1] if y else 0)
        output = [(left[y] + right[y] - prior[y] / total) * (1 - s) / (1 + s) for y in range(steps + 1)]
        # I = h(Y) − H with both tails of h(Y) summed in closed form: Σ_{k≥0} q_0 s^k ln(q_0 s^k).
        tails = mp.fsum(q * mp.log(q) / (1 - s) - q * eta * s / (1 - s) ** 2 for q in (output[0], output[-1]))
        inner = mp.fsum(q * mp.log(q) for q in output[1:-1])
        noise = eta / mp.sinh(eta) - mp.log(mp.tanh(eta / 2))
        information = -tails - inner - noise
        assert abs(information - mp.mpf(bound.midpoint)) < 2e-13
        assert mp.mpf(bound.lower) - 1e-16 <= information <= mp.mpf(bound.upper)


def test_muroga_with_two_steps_needs_its_own_condition():
    # At η = 1 the condition for N ≥ 3 holds, while with N = 2 the prior of the middle would be negative.
    steps, decay = 2, 1.0
    s = math.exp(-decay)
    end = math.exp(decay / math.expm1(decay))
    assert 1 + s * s - s * (1 + end) >= 0 > 1 + s * s - 2 * s * end
    bound = geometric_capacity(steps, decay)
    assert "two ends" in bound.method
    assert proves(bound, truncated(steps, decay), prior_of(bound, steps))


@pytest.mark.parametrize("steps", [2**10, 2**16 + 1, 10**6, 2**32, 2**53 + 1])
@pytest.mark.parametrize("range_", [1e-6, 1.0, 3.13, 3.15, 3.6, 3.866, 3.87, 10.0, 1e3])
def test_coupling_with_laplace(steps, range_):
    # Finer than 2⁻⁴⁰ the coupling is the answer; elsewhere the closed forms must lie inside it.
    decay = range_ / steps
    bound, limit = geometric_capacity(steps, decay), laplace_capacity(range_)
    assert limit.lower - 3 * decay <= bound.upper
    assert bound.lower <= limit.upper + 2 * decay
    assert bound.width <= 1e-9


def test_sizes_of_a_whole_table():
    assert geometric_capacity(2**32, 2.0**-32).width <= 1e-9
    assert geometric_capacity(2**70, 1e-20).width <= 1e-9
    assert geometric_capacity(2**70, 1.0).width <= 1e-9
    # Everything is learnt when there is no noise to speak of.
    assert geometric_capacity(7, 1000.0).upper == pytest.approx(math.log(8), abs=1e-12)
    assert geometric_capacity(2**1000, 1e300).upper == pytest.approx(1000 * math.log(2), rel=1e-12)


def test_grows_with_steps_and_decay():
    # More secrets, or less noise (a degraded channel), cannot lower a capacity; across every change of shape.
    for decay in (0.9, 0.35, 0.03):
        values = [geometric_capacity(n, decay) for n in range(1, 160)]
        assert all(a.lower <= b.upper for a, b in pairwise(values))
    for steps in (2, 3, 30, 31, 5000):
        values = [geometric_capacity(steps, e / steps) for e in np.linspace(2.5, 6.0, 300)]
        assert all(a.lower < b.upper for a, b in pairwise(values))
        jumps = np.diff([v.midpoint for v in values])
        assert jumps.max() < 0.01  # no jump where the shape changes: dC/dE < 1/2


@pytest.mark.parametrize(
    ("decay", "d", "centre"),
    [
        (1 / 300, 2100, 1500.3),
        (1e-3, 500, 433.2),
        (1 / 257, 65, 40.0),
        (1e-6, 70, 17.5),
        (1 / 256, 490, 300.7),
        (1e-3, 64, 33.2),
        (0.3, 6, 4.2),
        (3.0, 2, 1.1),
    ],
)
def test_half_sums_at_forty_digits(decay, d, centre):
    assert (decay < FINE and d > 64) == (d in (2100, 500, 65, 70))
    with mp.workdps(40):
        eta, middle = mp.mpf(decay), mp.mpf(centre)
        s = mp.exp(-eta)

        def level(y):
            return mp.log(2 * mp.cosh(eta * (y - middle)))

        tail = level(0) - eta * s / (1 - s)
        inner = (1 - s) * mp.fsum(s ** (d - y) * level(y) for y in range(1, d + 1)) + s**d * tail
        start = (1 - s) * mp.fsum(s**y * level(y) for y in range(1, d + 1)) + tail
        sums = half_sums(decay, d, centre)
        assert abs(sums.inner - inner) < 3e-15
        assert abs(sums.start - start) < 3e-15


def test_tilt_information_at_fifty_digits():
    with mp.workdps(50):
        for t in (1e-9, 0.1, 0.2499999, 0.2500001, 1.0, 9.0, 400.0, 1e5):
            exact = mp.mpf(t) * mp.tanh(t) - mp.log(mp.cosh(t))
            assert abs(float(tilt_information(t)) - exact) <= 4e-15 * exact


@pytest.mark.parametrize("steps", [0, -1, 1.0, True, 2**1001, "3"])
def test_bad_steps(steps):
    with pytest.raises(InvalidParameter, match="`steps` of `geometric_capacity` must be an integer"):
        geometric_capacity(steps, 1.0)


@pytest.mark.parametrize("decay", [0.0, -1.0, math.inf, math.nan, "1"])
def test_bad_decay(decay):
    with pytest.raises(InvalidParameter, match="`decay` of `geometric_capacity` must be a positive finite"):
        geometric_capacity(3, decay)
