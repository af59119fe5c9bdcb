"""Discrete Gaussian noise is rounded continuous noise of a little less variance: the proof of
`docs/theory/accounting.md`, "Noise on a grid", against sums over the lattice in one to three dimensions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from leakcap.ledger import lattice_gaussian
from leakcap.models import curve, descent

Law = dict[int, mpmath.mpf]
SHIFTS = [
    tuple(shift)
    for size in (1, 2, 3)
    for shift in itertools.combinations_with_replacement(range(1, 4), size)
    if sum(one * one for one in shift) <= 9
]
REACH = 26


def rest(squared: mpmath.mpf) -> mpmath.mpf:
    """2Σ e^(−2π²r²k²): what the sum over a grid can be off by, relative to the integral."""
    return 2 * mpmath.nsum(lambda k: mpmath.exp(-2 * (mpmath.pi * k) ** 2 * squared), [1, mpmath.inf])


def line(variance: mpmath.mpf) -> Law:
    weights = {z: mpmath.exp(-mpmath.mpf(z * z) / (2 * variance)) for z in range(-REACH, REACH + 1)}
    total = mpmath.fsum(weights.values())
    return {z: one / total for z, one in weights.items()}


def along(shift: tuple[int, ...], variance: mpmath.mpf) -> Law:
    """The law of ⟨shift, z⟩, on which alone the ratio of both laws depends."""
    found: Law = {0: mpmath.mpf(1)}
    for one in shift:
        wider: Law = {}
        for (t, p), (z, q) in itertools.product(found.items(), line(variance).items()):
            wider[t + one * z] = wider.get(t + one * z, mpmath.mpf(0)) + p * q
        found = wider
    return found


def outcomes(
    law: Law, squared: int, variance: mpmath.mpf, rate: mpmath.mpf
) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """Of each outcome mixed/out, and out."""
    return [(1 - rate + rate * mpmath.exp((2 * t - squared) / (2 * variance)), out) for t, out in law.items()]


def on_the_lattice(
    found: list[tuple[mpmath.mpf, mpmath.mpf]], epsilon: mpmath.mpf
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Σ(mixed − e^ε·out)₊ and Σ(out − e^ε·mixed)₊, outcome by outcome."""
    gamma = mpmath.exp(epsilon)
    there = mpmath.fsum((ratio - gamma) * out for ratio, out in found if ratio > gamma)
    back = mpmath.fsum((1 - gamma * ratio) * out for ratio, out in found if gamma * ratio < 1)
    return there, back


def on_the_line(mu: mpmath.mpf, gamma: mpmath.mpf) -> mpmath.mpf:
    """∫(N(μ,1) − γN(0,1))₊. Source: Balle & Wang 2018, theorem 8."""
    if gamma <= 0:
        return 1 - gamma
    at = mpmath.log(gamma) / mu
    return mpmath.ncdf(mu / 2 - at) - gamma * mpmath.ncdf(-mu / 2 - at)


def of_the_pair(mu: mpmath.mpf, rate: mpmath.mpf, epsilon: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Both directions of a continuous step on a sample."""
    gamma = mpmath.exp(epsilon)
    there = rate * on_the_line(mu, 1 + (gamma - 1) / rate)
    kept = 1 - gamma * (1 - rate)
    return there, kept * on_the_line(mu, gamma * rate / kept) if kept > 0 else mpmath.mpf(0)


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(2, 3), Fraction(1)])
def test_every_shift_is_dominated_in_both_directions(rate: Fraction) -> None:
    """σ² = 4, of which 1.5 is the rounding's; without it the claim is false."""
    tried = needed = 0
    with mpmath.workdps(25):
        variance, rounding = mpmath.mpf(4), mpmath.mpf("1.5")
        q = mpmath.mpf(rate.numerator) / rate.denominator
        for shift in SHIFTS:
            squared = sum(one * one for one in shift)
            each, off = outcomes(along(shift, variance), squared, variance, q), rest(rounding)
            kappa = len(shift) * (mpmath.log1p(off) - mpmath.log1p(-off))
            mu, plain = (mpmath.sqrt(squared / left) for left in (variance - rounding, variance))
            for step in range(-8, 9):
                epsilon = mpmath.mpf(step) / 4
                found = on_the_lattice(each, epsilon)
                allowed = of_the_pair(mu, q, epsilon - 2 * kappa)
                for one, most in zip(found, allowed, strict=True):
                    assert one <= mpmath.exp(kappa) * most + mpmath.mpf(10) ** -18
                    tried += 1
                needed += any(
                    one > most + mpmath.mpf(10) ** -9
                    for one, most in zip(found, of_the_pair(plain, q, epsilon), strict=True)
                )
    assert tried == 2 * 17 * 9
    assert needed > 9


def test_rounding_at_random_makes_the_noise_on_the_grid() -> None:
    """By quadrature: N(c, ¼), rounded with r² = ¼, is the discrete Gaussian of variance ½ to e^±κ, and no
    nearer than a hundredth of that. The trapezoid rule errs by e^(−2π²·64²/8) for such functions."""
    off = float(rest(mpmath.mpf(1) / 4))
    kappa = math.log1p(off) - math.log1p(-off)
    law, c = line(mpmath.mpf(1) / 2), 2
    y = np.arange(-14 * 64, 19 * 64 + 1) / 64
    weights = np.exp(-2 * (np.arange(-20, 25)[:, None] - y) ** 2).sum(axis=0)
    centred = np.exp(-2 * (y - c) ** 2) / math.sqrt(math.pi / 2)
    found = [
        float((centred * np.exp(-2 * (x - y) ** 2) / weights).sum()) / 64 / float(law[x - c])
        for x in range(-3, 8)
    ]
    worst = max(abs(math.log(one)) for one in found)
    assert kappa / 100 < worst <= kappa


def test_the_grid_of_a_descent_is_fine_enough() -> None:
    """Of every number of rows that a person may have the rounding's share is 15.5 steps² at least."""
    for most in range(1, descent._MOST_ROWS + 1):
        reach = descent._STEPS // most * most
        assert lattice_gaussian._ROUNDED * reach**2 >= Fraction(31, 2)
    assert 2 * math.pi**2 * 15.5 > 132 * math.log(10)
    noise = Fraction(curve.RenyiCurve(0.01, Fraction(1), 1, replace=False)._steps.noise_multiplier)
    assert noise**2 + lattice_gaussian._ROUNDED <= Fraction(0.01) ** 2
