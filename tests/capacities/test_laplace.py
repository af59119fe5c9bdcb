"""The three regimes of the Laplace mechanism against quadrature, binned channels and fifty digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from leakcap.capacities.noise.laplace import kappa, laplace_capacity, thresholds
from leakcap.capacities.solvers.shannon import shannon_capacity
from leakcap.errors import InvalidParameter

SHAPES = [0.3, 1.0, 3.13, 3.2, 3.5, 3.86, 3.87, 4.5, 8.0, 40.0]


def output_density(bound, epsilon, y):
    """q at y from the witness alone: Laplace noise of scale 1/ε around its atoms and its flat stretch."""
    q = np.zeros_like(y)
    for position, probability in bound.witness.atoms:
        q += probability * epsilon / 2 * np.exp(-epsilon * np.abs(y - position))
    if bound.witness.flat is not None:
        low, high, density = bound.witness.flat

        def distribution(t):
            tail = 0.5 * np.exp(-np.abs(t))
            return np.where(t < 0, tail, 1 - tail)

        q += density * (distribution(epsilon * (y - low)) - distribution(epsilon * (y - high)))
    return q


def divergence(bound, epsilon, x):
    """D(Laplace(x) ‖ q) by Gauss–Legendre between the kinks; beyond [0, 1] the log-ratio is constant."""
    kinks = {0.0, 1.0, *np.clip(x, 0, 1).tolist(), *(a for a, _ in bound.witness.atoms)}
    kinks |= set(np.linspace(0, 1, max(3, int(epsilon) * 2)).tolist())
    edges = np.array(sorted(kinks))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges)[:, None] / 2
    y, w = (edges[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()
    log_q = np.log(output_density(bound, epsilon, y))
    ends = np.log(output_density(bound, epsilon, np.array([0.0, 1.0])))
    values = []
    for secret in x:
        log_p = math.log(epsilon / 2) - epsilon * np.abs(y - secret)
        inside = np.sum(w * np.exp(log_p) * (log_p - log_q))
        left, right = math.exp(-epsilon * secret) / 2, math.exp(-epsilon * (1 - secret)) / 2
        base = math.log(epsilon / 2)
        inside += left * (base - epsilon * secret - ends[0]) + right * (
            base - epsilon * (1 - secret) - ends[1]
        )
        values.append(float(inside))
    return np.array(values)


def proves(bound, epsilon, tolerance=1e-11):
    prior = bound.witness
    total = sum(p for _, p in prior.atoms) + (
        (prior.flat[1] - prior.flat[0]) * prior.flat[2] if prior.flat else 0
    )
    assert abs(total - 1) < 1e-14
    assert all(p >= 0 for _, p in prior.atoms)
    support = [a for a, _ in prior.atoms]
    if prior.flat:
        support += np.linspace(prior.flat[0], prior.flat[1], 7).tolist()
    on, everywhere = (
        divergence(bound, epsilon, np.array(support)),
        divergence(bound, epsilon, np.linspace(0, 1, 201)),
    )
    # Equal on the support and nowhere larger: I = C by Kuhn and Tucker.
    return abs(on - bound.midpoint).max() < tolerance and everywhere.max() < bound.upper + tolerance


@pytest.mark.parametrize("epsilon", SHAPES)
def test_witness_proves_the_value(epsilon):
    assert proves(laplace_capacity(epsilon), epsilon)


@pytest.mark.parametrize("epsilon", [1.0, 3.5, 8.0])
def test_a_planted_wrong_value_or_prior_fails_the_proof(epsilon):
    bound, neighbour = laplace_capacity(epsilon), laplace_capacity(epsilon * (1 + 1e-6))
    make = type(bound)
    assert not proves(make(bound.lower + 1e-9, bound.upper + 1e-9, "planted", witness=bound.witness), epsilon)
    if epsilon > 3:
        assert not proves(
            make(bound.lower, bound.upper, "planted", witness=neighbour.witness), epsilon, 1e-8 / epsilon**2
        )
    two = laplace_capacity(1.0).witness
    if epsilon > 3.2:
        assert not proves(make(bound.lower, bound.upper, "planted", witness=two), epsilon)


def binned(epsilon, secrets, bins):
    """A post-processing of finitely many secrets: its capacity is a lower bound, close on a fine grid."""
    edges = np.linspace(0, 1, bins + 1)
    t = epsilon * (edges[None, :] - np.linspace(0, 1, secrets)[:, None])
    tail = 0.5 * np.exp(-np.abs(t))
    inner = np.diff(np.where(t < 0, tail, 1 - tail), axis=1)
    # Outputs below 0 (above 1) have one likelihood ratio.
    rows = np.concatenate([tail[:, :1], inner, tail[:, -1:]], axis=1)
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 3.5, 5.0, 8.0])
def test_certified_grid_from_below(epsilon):
    grid = shannon_capacity(binned(epsilon, 81, 800), gap=1e-10)
    bound = laplace_capacity(epsilon)
    assert grid.lower <= bound.upper
    # Binning by ε/800 and gridding by ε/80 lose second order each.
    assert bound.lower - grid.upper <= 0.1 * (epsilon / 80) ** 2


def test_reference_values():
    # Printed in the theory notes to ten digits, and the constants to as many as given there.
    assert laplace_capacity(1.0).midpoint == pytest.approx(0.0885196402, abs=5e-11)
    assert kappa() == pytest.approx(5.0435989205860, abs=5e-14)
    assert thresholds()[0] == pytest.approx(3.139357, abs=5e-7)
    assert thresholds()[1] == pytest.approx(3.867234, abs=5e-7)


def test_constants_at_twenty_digits():
    with mp.workdps(20):

        def middle_minus_end(h):
            # D at ½ less D at 0 for the two ends, from ln q = ln cosh on [−h, h] and slopes ∓1 outside.
            def log_q(t):
                return mp.log(mp.cosh(t)) if abs(t) < h else mp.log(mp.cosh(h)) + h - abs(t)

            points = [-mp.inf, -h, 0, h, mp.inf]
            at_middle = -mp.quad(lambda t: mp.exp(-abs(t)) / 2 * log_q(t), points)
            at_end = -mp.quad(lambda t: mp.exp(-abs(t - h)) / 2 * log_q(t), points)
            return at_middle - at_end

        first = 2 * mp.findroot(middle_minus_end, (mp.mpf("1.55"), mp.mpf("1.6")), tol=1e-18)
        assert abs(first - thresholds()[0]) < 1e-14

        def gap(mu, delta):
            # u = ln cosh(t − μ) − ln cosh(δ − μ) on [0, δ], slope 1 before 0: two averages vanish.
            def u(t):
                return mp.log(mp.cosh(max(t, 0) - mu) / mp.cosh(delta - mu)) + min(t, 0)

            points = [-mp.inf, 0, mu, delta]
            return mp.quad(lambda t: mp.exp(t) * u(t), points), mp.quad(
                lambda t: mp.exp(-abs(t)) * u(t), points
            )

        mu, delta = mp.findroot(gap, (mp.mpf("1.49"), mp.mpf("1.93")), tol=1e-18)
        assert abs(2 * delta - thresholds()[1]) < 1e-14
        end = mp.cosh(mu) / mp.cosh(delta - mu)
        mass = end + (mp.sinh(delta - mu) + mp.sinh(mu)) / mp.cosh(delta - mu)
        assert abs(2 * (mass - delta) - kappa()) < 1e-14


@pytest.mark.parametrize("epsilon", [1e-8, 1e-4, 0.1, 0.7, 1.0, 2.0, 3.1])
def test_two_ends_at_fifty_digits(epsilon):
    with mp.workdps(60):
        s = mp.exp(-mp.mpf(epsilon))
        exact = mp.log(2 / (1 + s)) - mp.sqrt(s) * (mp.pi / 2 - 2 * mp.atan(mp.sqrt(s)))
        bound = laplace_capacity(epsilon)
        assert mp.mpf(bound.lower) <= exact <= mp.mpf(bound.upper)
        assert bound.width <= 1e-13 * bound.upper


def test_small_epsilon_is_a_fair_bit_seen_through_its_tails():
    # C = ε²/8 − ε³/24 + O(ε⁴): almost all outputs fall outside [0, 1] and show the log-odds ±ε.
    for epsilon in (1e-8, 1e-6, 1e-4):
        bound = laplace_capacity(epsilon)
        assert bound.midpoint == pytest.approx(epsilon**2 / 8 * (1 - epsilon / 3), rel=epsilon**2 + 1e-13)
    assert laplace_capacity(1e-200).lower == 0.0 < laplace_capacity(1e-200).upper


def test_large_epsilon():
    bound = laplace_capacity(1e6)
    assert bound.midpoint == pytest.approx(math.log(1e6 / (2 * math.e)) + 5.0435989205860e-6, abs=1e-10)
    assert laplace_capacity(1e300).upper < 691


def test_smooth_across_the_thresholds():
    for place in thresholds():
        before, after = laplace_capacity(place * (1 - 1e-13)), laplace_capacity(place * (1 + 1e-13))
        assert abs(after.midpoint - before.midpoint) < 1e-12
        # First differences agree too: the value is continuously differentiable there.
        step = 1e-4
        left = (before.midpoint - laplace_capacity(place - step).midpoint) / step
        right = (laplace_capacity(place + step).midpoint - after.midpoint) / step
        assert abs(left - right) < 2e-4


def test_below_the_other_bounds():
    for epsilon in np.geomspace(1e-3, 100, 60).tolist():
        d = epsilon / -math.expm1(-epsilon)
        bound = laplace_capacity(epsilon)
        assert bound.upper < epsilon - 1 + math.exp(-epsilon)  # KL between the ends
        assert bound.upper < d - 1 - math.log(d)  # any ε-DP mechanism
    assert 0.0885196402 / (math.exp(-1.0)) == pytest.approx(0.2406, abs=1e-4)  # KL at ε = 1 is e⁻¹


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, "1", None])
def test_bad_epsilon(epsilon):
    with pytest.raises(
        InvalidParameter, match="`epsilon` of `laplace_capacity` must be a positive finite number"
    ):
        laplace_capacity(epsilon)
