"""Which ρ an ε buys, which ε a ρ, and how wide Gaussian noise has to be for a ρ.

Gaussian noise is priced by ρ of zero-concentrated privacy: σ² = Δ₂²/(2ρ). A query's ε buys the largest ρ for
which all ρ-zCDP is (ε, δ)-DP at the policy's δ; several numbers of a query share ρ, which adds up. That is
proven for any number of cells at once: D_α ≤ αρ at every order (Canonne, Kamath & Steinke 2020, proposition
5, cell by cell), and δ ≤ e^((α−1)(αρ−ε))/(α−1)·(1−1/α)^α for every α (their proposition 12).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from leakcap.definition import ApproxDP, ZeroConcentratedDP
from leakcap.definition.theorems.renyi import renyi_to_epsilon_at, zcdp_to_renyi
from leakcap.errors import require
from leakcap.numeric import down, up
from leakcap.numeric.search import bisect, last_where

__all__ = ["deviation", "epsilon_of_rho", "largest_rho", "least_root", "pure_epsilon_of_rho"]

_DIGITS = 11
# Beyond it noise is none.
_MOST = 1e15


def deviation(squared: Fraction, rho: Fraction) -> Fraction:
    """The least σ of eleven binary digits with Δ₂²/(2σ²) ≤ ρ.

    >>> deviation(Fraction(2), Fraction(1)), float(deviation(Fraction(1), Fraction(1, 50)))
    (Fraction(1, 1), 5.0)
    """
    wanted = squared / (2 * rho)
    # 2^e ≤ σ < 2^(e+1)
    exponent = (
        (math.floor(wanted.numerator / wanted.denominator).bit_length() - 1) // 2 if wanted >= 1 else -1
    )
    while Fraction(4) ** exponent > wanted:
        exponent -= 1
    while Fraction(4) ** (exponent + 1) <= wanted:
        exponent += 1
    step = Fraction(2) ** (exponent + 1 - _DIGITS)
    return least_root(wanted / step**2) * step


def least_root(number: Fraction) -> int:
    """The least integer whose square is not below.

    >>> least_root(Fraction(9)), least_root(Fraction(19, 2))
    (3, 4)
    """
    whole = math.ceil(number)
    return math.isqrt(whole - 1) + 1 if whole > 0 else 0


@lru_cache(maxsize=1024)
def largest_rho(epsilon: float, delta: float) -> float:
    """The largest ρ for which ρ-zCDP is certified to be (ε, δ)-DP.

    At the best order α, ρ·(α−1)² = ln(1/δ) − ln α. That gives ρ and so ε for each α; both fall as α rises.
    Source: Canonne, Kamath & Steinke 2020, proposition 12.

    >>> 0.02 < largest_rho(1.0, 1e-6) < 0.03
    True
    """
    owner = "largest_rho"
    require(0.0 < epsilon < math.inf, "epsilon", owner, "be positive and finite", epsilon)
    require(0.0 < delta < 1.0, "delta", owner, "lie in (0, 1)", delta)
    rare, most = -math.log(delta), 1.0 / delta - 1.0

    def rho_at(t: float) -> float:
        return (rare - math.log1p(t)) / t / t

    least = 1e-3 * min(1.0, math.sqrt(rare / epsilon), most)
    t = bisect(lambda t: rho_at(t) * (1.0 + 2.0 * t) + math.log(t / (1.0 + t)) - epsilon, least, most)
    rho, less = max(rho_at(t), 0.0), 1e-15
    while epsilon_of_rho(rho, delta) > epsilon:  # what rounding up makes of it
        rho, less = rho * max(1.0 - less, 0.0), 2.0 * less
    require(rho > 0.0, "epsilon", owner, "be large enough for any noise", epsilon)
    return rho


@lru_cache(maxsize=1024)
def epsilon_of_rho(rho: float, delta: float) -> float:
    """The ε with which ρ-zCDP is (ε, δ)-DP, rounded up; any order certifies one, and the best is asked.

    It is what `convert` finds by searching all orders and ways, a thousand times sooner.

    >>> from leakcap.definition import convert
    >>> searched = convert(ZeroConcentratedDP(0.02), ApproxDP, delta=1e-6).epsilon
    >>> abs(epsilon_of_rho(0.02, 1e-6) - searched) < 1e-12
    True
    """
    require(0.0 < delta < 1.0, "delta", "epsilon_of_rho", "lie in (0, 1)", delta)
    rare, most = -math.log(delta), 1.0 / delta - 1.0
    t = bisect(lambda t: rho * t * t + math.log1p(t) - rare, 0.0, most)
    found = renyi_to_epsilon_at(zcdp_to_renyi(ZeroConcentratedDP(rho), alpha=1.0 + t), delta=delta)
    return found.epsilon if isinstance(found, ApproxDP) else math.inf


@lru_cache(maxsize=1024)
def pure_epsilon_of_rho(rho: float) -> float:
    """The largest ε, in ticks of 10⁻¹², for which all ε-DP is ρ-zCDP: ε·tanh(ε/2) ≤ ρ.

    Attained by randomised response, and so by a count. Source: Harrison & Manurangsi 2025.

    >>> round(pure_epsilon_of_rho(0.5 * 1.0986122886681098), 6) == round(1.0986122886681098, 6)
    True
    """

    def keeps(epsilon: float) -> bool:
        return up(epsilon * math.tanh(epsilon / 2), 4) <= rho

    return math.floor(down(last_where(keeps, 0.0, min(rho, _MOST) + 2.0)[0]) * 1e12) / 1e12
