"""How far the sum of several noises goes: the exact tail of a sum of discrete Laplace variables.

A discrete Laplace Z of scale b has E e^(ξZ) = M(ξ) = 1/(1 − (sinh(ξ/2)/sinh(1/2b))²) for |Re ξ| < 1/b. For
the sum S of k of them P(S ≥ a) is the integral of

    e^(−ξa)/(1 − e^(−ξ)) · M(ξ)^k / 2πi

up a vertical line between 0 and 1/b. To its right the integrand has one singularity only, the pole at 1/b, so
the line may be a circle around it, on which the trapezoid rule converges geometrically however large b is.
The circle passes through the saddle point between 0 and 1/b, where nothing cancels.

Source: Lugannani & Rice 1980 for the saddle point; Trefethen & Weideman 2014 for the trapezoid rule.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

__all__ = ["noise_variance", "sum_error", "sum_tail"]

_MOST_NODES = 1 << 17
# A hair more, so that a tail that equals the level up to rounding errs towards the wider interval.
_SLACK = 1e-9


def noise_variance(scale: Fraction) -> float:
    """The variance of discrete Laplace noise of this scale: 1/(2·sinh²(1/2b)).

    >>> round(noise_variance(Fraction(1)), 9)
    1.841347188
    """
    half = float(1 / scale) / 2
    return 0.0 if half > 300.0 else 1.0 / (2.0 * math.sinh(half) ** 2)


def sum_tail(scale: Fraction, count: int, at: int) -> float:
    """P(S ≥ at) for the sum S of `count` independent discrete Laplace noises of this scale; `at` ≥ 1.

    >>> round(sum_tail(Fraction(1), 1, 1), 9) == round(math.exp(-1) / (1 + math.exp(-1)), 9)
    True
    """
    decay = float(1 / scale)
    if decay > 300.0:
        return 0.0
    place = _saddle(decay, count, at)
    nodes = min(_MOST_NODES, max(256, math.ceil(40 * decay / place)))
    turn = np.exp(2j * math.pi * (np.arange(nodes) + 0.5) / nodes) * (decay - place)
    xi = decay + turn
    # 1 − (sinh(ξ/2)/sinh(1/2b))² through the distance from the pole, which keeps its digits.
    base = math.sinh(decay / 2) ** 2
    gap = -np.sinh(turn / 2) * np.sinh((xi + decay) / 2) / base
    logs = -count * np.log(gap) - xi * at
    return float((np.exp(logs) / np.expm1(-xi) * turn).real.mean())


def _saddle(decay: float, count: int, at: int) -> float:
    """Where −ξa + k·ln M(ξ) − ln(1 − e^(−ξ)) is smallest between 0 and 1/b, by halving its slope's sign."""
    low, high = 0.0, decay
    base = math.sinh(decay / 2) ** 2
    for _ in range(60):
        middle = (low + high) / 2
        sinh = math.sinh(middle / 2)
        slope = count * sinh * math.cosh(middle / 2) / max(base - sinh * sinh, 1e-300)
        slope -= at + 1.0 / math.expm1(middle)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return (low + high) / 2


@cache
def sum_error(scale: Fraction, count: int, *, beyond: float) -> int:
    """The smallest integer a with P(|S| > a) ≤ `beyond` for the sum S of `count` noises.

    >>> sum_error(Fraction(10), 1, beyond=0.05)
    30
    """
    level = beyond / 2 * (1 - _SLACK)
    low, high = -1, 1
    while sum_tail(scale, count, high + 1) > level:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sum_tail(scale, count, middle + 1) > level else (low, middle)
    return high
