"""From a budget to the scale of integer noise, never rounded in the spender's favour."""

from __future__ import annotations

import math
from fractions import Fraction

from leakcap.numeric import up

__all__ = ["gaussian_tail", "gaussian_variance"]


def gaussian_variance(sensitivity_squared: int | Fraction, rho: float) -> Fraction:
    """σ² = Δ₂²/(2ρ) for discrete Gaussian noise, rounded up to a multiple of 2⁻²⁰.

    The noise of k coordinates at squared L2 distance Δ₂² in integers gives Δ₂²/(2σ²)-zCDP.
    Source: Canonne, Kamath & Steinke 2020, theorem 4 and its sum over coordinates.

    >>> gaussian_variance(3, 0.5)
    Fraction(3, 1)
    """
    exact = Fraction(sensitivity_squared) / (2 * Fraction(rho))
    return Fraction(math.ceil(exact * (1 << 20)), 1 << 20)


def gaussian_tail(t: float) -> float:
    """P(N(0,1) > t), rounded up.

    >>> gaussian_tail(0.0) >= 0.5
    True
    """
    return min(1.0, up(0.5 * math.erfc(t / math.sqrt(2.0) * (1 - 2.0**-50 if t > 0 else 1 + 2.0**-50)), 16))
