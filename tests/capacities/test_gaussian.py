"""The amplitude-constrained Gaussian capacity against quadrature, binned channels and forty digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from leakcap.capacities.noise.gaussian import gaussian_capacity
from leakcap.capacities.noise.gaussian_ceiling import ceiling
from leakcap.capacities.noise.gaussian_line import line
from leakcap.capacities.noise.gaussian_long import (
    _FLAT,
    _POSITIONS,
    _WEIGHTS,
    long_range_lower,
    long_range_upper,
)
from leakcap.capacities.solvers.shannon import shannon_capacity
from leakcap.errors import InvalidParameter


def divergence(witness, ratio, x):
    """D(N(x, 1) ‖ q) by 80 Gauss–Legendre nodes on each piece of one standard deviation."""
    edges = np.arange(-9.0, 9.0 + 0.5)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    z, w = (edges[:-1, None] + 0.5 * (nodes + 1)).ravel(), np.tile(0.5 * weights, len(edges) - 1)
    y = x[:, None] + z
    at = np.array([a for a, _ in witness.atoms]) * ratio
    probability = np.array([p for _, p in witness.atoms])
    exponent = -0.5 * (y[..., None] - at) ** 2 + np.log(probability)
    top = exponent.max(axis=-1)
    log_q = top + np.log(np.exp(exponent - top[..., None]).sum(axis=-1))
    return (w * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) * (-0.5 * z * z - log_q)).sum(axis=-1)


def proves(bound, ratio, width=1e-8):
    atoms = np.array(bound.witness.atoms)
    assert abs(atoms[:, 1].sum() - 1) < 1e-12
    assert atoms[:, 1].min() > 0
    information = float(atoms[:, 1] @ divergence(bound.witness, ratio, atoms[:, 0] * ratio))
    highest = float(divergence(bound.witness, ratio, np.linspace(0, ratio, 301)).max())
    return (
        bound.lower <= information + 1e-12
        and information <= bound.lower + 1e-9
        and highest <= bound.upper
        and bound.width <= width
    )


@pytest.mark.parametrize("ratio", [0.2, 1.0, 2.0, 3.3, 3.34, 4.0, 5.7, 6.0, 8.04, 10.1, 12.2, 16.0])
def test_witness_proves_the_interval(ratio):
    assert proves(gaussian_capacity(ratio), ratio)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", np.linspace(3.2, 32.0, 61).tolist())
def test_witness_proves_the_interval_everywhere(ratio):
    assert proves(gaussian_capacity(ratio), ratio)


def test_a_planted_wrong_value_or_prior_fails_the_proof():
    bound, neighbour = gaussian_capacity(6.0), gaussian_capacity(6.05)
    make = type(bound)
    assert not proves(make(bound.lower + 2e-9, bound.upper + 2e-9, "planted", witness=bound.witness), 6.0)
    assert not proves(make(bound.lower, bound.lower, "planted", witness=neighbour.witness), 6.0)


def test_published_intervals():
    # Certified on a fine grid when the theory notes were written.
    assert 0.1114210 < gaussian_capacity(1.0).lower <= gaussian_capacity(1.0).upper < 0.1114215
    assert 0.652867 < gaussian_capacity(4.0).lower <= gaussian_capacity(4.0).upper < 0.652873


@pytest.mark.parametrize("ratio", [1e-9, 1e-4, 0.5, 1.0, 2.0, 3.0, 3.3])
def test_two_atoms_at_forty_digits(ratio):
    with mp.workdps(40):
        half = mp.mpf(ratio) / 2

        def integrand(y):
            t = half * y
            density = mp.exp(-(y * y) / 2 - half * half / 2) * mp.cosh(t) / mp.sqrt(2 * mp.pi)
            return density * (t * mp.tanh(t) - mp.log(mp.cosh(t)))

        exact = 2 * mp.quad(integrand, [0, 2, 4, 8, 14])
        bound = gaussian_capacity(ratio)
        assert mp.mpf(bound.lower) <= exact <= mp.mpf(bound.upper)
        assert bound.width <= 3e-13 * bound.upper


def test_small_ratio():
    # The capacity is half the variance of the fair coin on the ends, to first order: Δ²/8.
    assert gaussian_capacity(1e-9).midpoint == pytest.approx(1e-18 / 8, rel=1e-12)
    assert gaussian_capacity(1e-200).lower == 0.0 < gaussian_capacity(1e-200).upper


def test_where_a_third_atom_enters():
    # Sharma & Shamai 2010: two atoms are optimal up to an amplitude of 1.665925….
    assert gaussian_capacity(2 * 1.66592).method.startswith("two atoms")
    assert gaussian_capacity(2 * 1.66593).method.startswith("3 atoms")


@pytest.mark.parametrize("ratio", [1.0, 4.0, 7.0])
def test_certified_grid_from_below(ratio):
    secrets, edges = np.linspace(0, ratio, 121), np.linspace(-6, ratio + 6, 601)
    cells = np.diff(norm.cdf(edges[None, :] - secrets[:, None]), axis=1)
    low, high = norm.cdf(edges[0] - secrets), norm.sf(edges[-1] - secrets)
    grid = shannon_capacity(np.column_stack([low, cells, high]), gap=1e-9)
    bound = gaussian_capacity(ratio)
    assert grid.lower <= bound.upper
    step = edges[1] - edges[0]
    # A cell loses step²/24 of the score's variance, at most ratio²/4; an atom moved to the grid loses at most
    # ½|D''|·(ratio/240)², |D''| ≤ ratio²/4.
    assert bound.lower <= grid.upper + (step**2 / 24 + (ratio / 240) ** 2 / 2) * ratio**2 / 4


def test_derivatives_of_the_divergence():
    nodes = line(3.0)
    x, p = np.array([0.3, 3.0]), np.array([0.4, 0.6])
    log_q = nodes.log_output(x, p)
    step = 1e-4
    value, slope, bend = nodes.divergence(np.array([1.1 - step, 1.1, 1.1 + step]), log_q)
    assert (value[2] - value[0]) / (2 * step) == pytest.approx(slope[1], abs=1e-8)
    assert (slope[2] - slope[0]) / (2 * step) == pytest.approx(bend[1], abs=1e-8)

    def integrand(y):
        q = sum(w / 2 * (norm.pdf(y - a) + norm.pdf(y + a)) for a, w in zip(x, p, strict=True))
        return norm.pdf(y - 1.1) * (norm.logpdf(y - 1.1) - math.log(q))

    assert value[1] == pytest.approx(quad(integrand, -9, 11, epsabs=1e-12, limit=400)[0], abs=1e-11)


def test_quadrature_error_is_what_it_says():
    # The same integral with a much coarser step misses by more than the claimed error: the claim is not idle.
    nodes = line(2.0)
    x, p = np.array([2.0]), np.array([1.0])
    fine = nodes.divergence(x, nodes.log_output(x, p))[0][0]
    with mp.workdps(30):

        def integrand(y):
            q = (mp.npdf(y - 2) + mp.npdf(y + 2)) / 2
            return mp.npdf(y - 2) * (mp.log(mp.npdf(y - 2)) - mp.log(q))

        exact = mp.quad(integrand, np.linspace(-12, 14, 27).tolist())
        assert abs(exact - fine) < nodes.error < 1e-11
    coarse = type(nodes)(2.0, nodes.nodes[::12], nodes.weights[::12] * 12, 0.0)
    assert abs(coarse.divergence(x, coarse.log_output(x, p))[0][0] - fine) > nodes.error


@pytest.mark.parametrize("half", [1.0, 2.5, 4.0])
def test_ceiling_is_above_every_secret_and_close(half):
    # On purpose with priors that are not optimal, where the maximum is anywhere.
    rng = np.random.default_rng(7)
    nodes = line(half)
    for _ in range(20):
        x = np.sort(rng.uniform(0, half, 3))
        p = rng.dirichlet(np.ones(3))
        top = ceiling(nodes, x, p, 1e-9)
        dense = nodes.divergence(np.linspace(0, half, 4001), nodes.log_output(x, p))[0].max()
        # What a grid of spacing h can miss is −D''h²/8 ≤ half²h²/8.
        assert dense <= top <= dense + 2e-9 + half**2 * (half / 4000) ** 2 / 8
    # Two ends at a range where they are not optimal: the ceiling shows it.
    x, p = np.array([3.0]), np.array([1.0])
    wide = line(3.0)
    assert ceiling(wide, x, p, 1e-9) > gaussian_capacity(6.0).upper + 0.05


def test_grows_without_jumps_where_atoms_enter():
    values = [gaussian_capacity(r) for r in np.linspace(3.0, 9.0, 121).tolist()]
    steps = np.diff([v.midpoint for v in values])
    assert (steps > 0).all()
    # C'' is 1/4 at 0 (C ≈ Δ²/8) and smaller in size from there on: a jump or a kink at an entry would show.
    assert np.abs(np.diff(steps)).max() < 0.25 * 0.05**2


def test_bracket_for_long_ranges():
    # The closed forms hold everywhere, so they can be checked where the certified value is at hand.
    # (the lower one where the two ends do not overlap).
    for ratio in (5.0, 9.0, 14.0):
        assert gaussian_capacity(ratio).lower <= long_range_upper(ratio)
    certified = gaussian_capacity(32.0)
    assert certified.upper - 1e-4 < long_range_lower(32.0) <= certified.upper
    for ratio in (32.5, 100.0, 1e4):
        long = gaussian_capacity(ratio)
        assert "bracket" in long.method
        assert long.width < 0.16 / ratio
    assert gaussian_capacity(32.5).upper > certified.upper
    assert gaussian_capacity(1e300).width < 1e-9


def test_the_prior_of_the_long_bracket_by_direct_quadrature():
    ratio = 40.0
    mass = ratio + 2 * (sum(_WEIGHTS) - _FLAT)

    def q(y):
        flat = norm.cdf(y - _FLAT) - norm.cdf(y - ratio + _FLAT)
        pairs = zip(_POSITIONS, _WEIGHTS, strict=True)
        return (flat + sum(w * (norm.pdf(y - a) + norm.pdf(y - ratio + a)) for a, w in pairs)) / mass

    y, step = np.linspace(-10, ratio + 10, 60_001, retstep=True)
    values = q(y)
    assert step * values.sum() == pytest.approx(1.0, abs=1e-9)
    information = -step * np.sum(values * np.log(values)) - 0.5 * math.log(2 * math.pi * math.e)
    assert information - 1e-6 < long_range_lower(ratio) <= information


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.inf, math.nan, "1", None])
def test_bad_ratio(ratio):
    with pytest.raises(
        InvalidParameter, match="`ratio` of `gaussian_capacity` must be a positive finite number"
    ):
        gaussian_capacity(ratio)
