"""From a budget to the scale of integer noise, never rounded in the spender's favour."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from leakcap.accounting.normal import GaussianLoss
from leakcap.errors import require
from leakcap.numeric import down
from leakcap.numeric.search import doubled_until, last_where

__all__ = ["ROUNDED", "exact_rho", "gaussian_delta", "gaussian_variance"]

_CLOSEST, _FARTHEST = 1e-12, 1e3
ROUNDED = 16
"""Steps² of variance: with so many more, noise on a grid is rounded continuous noise, but for 10⁻¹³⁵."""


def gaussian_variance(sensitivity_squared: int | Fraction, rho: float) -> Fraction:
    """σ² = Δ₂²/(2ρ) for discrete Gaussian noise, rounded up to a multiple of 2⁻²⁰.

    The noise of k coordinates at squared L2 distance Δ₂² in integers gives Δ₂²/(2σ²)-zCDP.
    Source: Canonne, Kamath & Steinke 2020, theorem 4 and its sum over coordinates.

    >>> gaussian_variance(3, 0.5)
    Fraction(3, 1)
    """
    exact = Fraction(sensitivity_squared) / (2 * Fraction(rho))
    return Fraction(math.ceil(exact * (1 << 20)), 1 << 20)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ at ε of Gaussian noise, the two laws μ standard deviations apart, rounded up.

    Source: Balle & Wang 2018, theorem 8.

    >>> round(gaussian_delta(1.0, 1.0), 12)
    0.126936737507
    """
    return GaussianLoss(mu).hockey_stick(epsilon)[1]


@lru_cache(maxsize=1024)
def exact_rho(epsilon: float, delta: float) -> float:
    """The largest ρ = μ²/2 for which Gaussian noise is (ε, δ)-DP: more than all ρ-zCDP is, so less noise.

    For discrete Gaussian noise of variance Δ₂²/(2ρ) + 16 too: see `docs/theory/accounting.md`, "Noise on a
    grid". Raises `InvalidParameter` where no noise of doubles keeps (ε, δ).

    >>> round(exact_rho(1.0, 1e-6), 5)
    0.02801
    """
    owner = "exact_rho"
    require(0.0 < epsilon < math.inf, "epsilon", owner, "be positive and finite", epsilon)
    require(0.0 < delta < 1.0, "delta", owner, "lie in (0, 1)", delta)
    # What the grid may take, 10⁻¹⁰⁰, is far less than is kept back here.
    at, room = down(epsilon, 4), down(delta, 4)

    def keeps(mu: float) -> bool:
        return mu == 0.0 or gaussian_delta(mu, at) <= room

    low, high = doubled_until(lambda mu: not keeps(mu), 1e-3, _FARTHEST)
    mu = last_where(keeps, low, high, width=1e-9)[0]
    require(mu > _CLOSEST, "epsilon", owner, "be large enough for any noise", epsilon)
    return down(0.5 * mu * mu * (1.0 - 1e-9), 4)
