"""A seeded byte source and tests of fit, for every test that needs noise it can repeat.

`from seeded import SeededSource, discrete_laplace_chi_square`. The package itself ships no seeded source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import mpmath
import numpy as np
from numpy.typing import NDArray

ALARM = 1e-6
"""Tests of fit fail below this p-value: the chance of a false alarm per test over the choice of its seed."""

Samples = NDArray[np.int64]


class SeededSource:
    """Repeatable bytes from PCG64. Not for releases: whoever has the seed can subtract the noise.

    They are those of NumPy's `Generator.bytes`, which takes three times as long: whole words of 32 bits, the
    last of which is cut, and what is left of one of 64 is the next one.
    """

    def __init__(self, seed: int) -> None:
        self._generator, self._left = np.random.PCG64(seed), b""

    def __call__(self, n: int, /) -> bytes:
        size = (max(n, 1) + 3) // 4 * 4
        count = (size - len(self._left) + 7) // 8
        drawn = self._left + self._generator.random_raw(count).astype("<u8").tobytes()
        self._left = drawn[size:]
        return drawn[:n]


def discrete_laplace_cdf(z: int, scale: Fraction) -> mpmath.mpf:
    """P(Z ≤ z) for P(z) ∝ e^(−|z|/scale): the geometric series summed by hand."""
    q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    return q**-z / (1 + q) if z < 0 else 1 - q ** (z + 1) / (1 + q)


def discrete_laplace_chi_square(samples: Samples, scale: Fraction | int) -> float:
    """p-value of Pearson's test of the samples against the exact discrete Laplace law."""
    exact = Fraction(scale)
    wide = float(exact)
    levels = np.arange(1, 64) / 64
    edges = [math.floor(wide * (math.log(2 * u) if u < 0.5 else -math.log(2 - 2 * u))) for u in levels]
    with mpmath.workdps(40):
        return _chi_square(samples, [*edges, *range(-4, 4)], lambda z: discrete_laplace_cdf(z, exact))


def discrete_gaussian_chi_square(samples: Samples, sigma_squared: Fraction | int) -> float:
    """p-value of Pearson's test against the discrete Gaussian law, by direct summation.

    From σ = 2000 on the continuous law with half-unit edges stands in: off by 10⁻⁸ relatively.
    """
    variance = Fraction(sigma_squared)
    sigma = math.sqrt(variance)
    edges = [
        math.floor(float(sigma * mpmath.sqrt(2) * mpmath.erfinv(2 * u - 1))) for u in np.arange(1, 64) / 64
    ]
    with mpmath.workdps(40):
        cdf = _gaussian_cdf(variance, sigma)
        return _chi_square(samples, [*edges, *range(-4, 4)], cdf)


def _gaussian_cdf(variance: Fraction, sigma: float) -> Callable[[int], mpmath.mpf]:
    width = mpmath.mpf(variance.numerator) / variance.denominator
    if sigma >= 2000:
        return lambda z: mpmath.ncdf((z + mpmath.mpf("0.5")) / mpmath.sqrt(width))
    reach = math.ceil(12 * sigma) + 8
    weights = [mpmath.exp(-mpmath.mpf(z * z) / (2 * width)) for z in range(-reach, reach + 1)]
    sums = list(_running(weights))
    return lambda z: sums[min(max(z + reach, 0), 2 * reach)] / sums[-1]


def _running(values: Iterable[mpmath.mpf]) -> Iterable[mpmath.mpf]:
    total = mpmath.mpf(0)
    for value in values:
        total += value
        yield total


def _chi_square(samples: Samples, edges: list[int], cdf: Callable[[int], mpmath.mpf]) -> float:
    """Cells (−∞, e₁], (e₁, e₂], …, each expecting 10 or more; edges depend on the law and the count only."""
    cells, below = [], mpmath.mpf(0)
    kept: list[int] = []
    for edge in sorted(set(edges)):
        upto = cdf(edge)
        if (upto - below) * samples.size >= 10 and (1 - upto) * samples.size >= 10:
            kept.append(edge)
            cells.append(upto - below)
            below = upto
    assert kept, "too few samples for a chi-square test"
    expected = np.array([float(cell) for cell in [*cells, 1 - below]]) * samples.size
    from scipy.stats import chi2  # takes a second; every run loads this module, few need it

    counts = np.bincount(np.searchsorted(np.array(kept), samples, side="left"), minlength=len(kept) + 1)
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(kept)))
