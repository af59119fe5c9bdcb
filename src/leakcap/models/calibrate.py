"""From a budget to the scale of integer noise, never rounded in the spender's favour."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from leakcap.definition import ApproxDP, ZeroConcentratedDP, convert
from leakcap.errors import require
from leakcap.numeric import up

__all__ = ["gaussian_tail", "gaussian_variance", "largest_rho"]


@lru_cache(maxsize=256)
def largest_rho(epsilon: float, delta: float) -> float:
    """The largest ρ for which ρ-zCDP is certified to be (ε, δ)-DP, by the best conversion in the graph.

    Source: Canonne, Kamath & Steinke 2020, proposition 12.

    >>> 0.02 < largest_rho(1.0, 1e-6) < 0.03
    True
    """
    owner = "largest_rho"
    require(0.0 < epsilon < math.inf, "epsilon", owner, "be positive and finite", epsilon)
    require(0.0 < delta < 1.0, "delta", owner, "lie in (0, 1)", delta)
    low, high = 0.0, epsilon
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        keeps = convert(ZeroConcentratedDP(middle), ApproxDP, delta=delta).epsilon <= epsilon
        low, high = (middle, high) if keeps else (low, middle)
    require(low > 0.0, "epsilon", owner, "be large enough for any noise", epsilon)
    return low


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
