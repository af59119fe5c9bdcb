"""How short a code can be: the finite-blocklength optimum by the normal approximation."""

from __future__ import annotations

import math

from leakcap.attack.use import Use
from leakcap.definition.normal import quantile_of_tail
from leakcap.errors import require

__all__ = ["finite_length_rate", "least_uses"]


def finite_length_rate(use: Use, uses: int, error: float) -> float:
    """(nC − √(nV)·Q⁻¹(error) + ½ ln n)/n, nats a use: what the best code of n uses carries, without feedback.

    The normal approximation: right up to O(1) nats in nR, no bound. Source: Polyanskiy, Poor & Verdú 2010,
    theorem 52.

    >>> from leakcap.attack.use import use_of_capacity
    >>> use = use_of_capacity(0.02)
    >>> round(finite_length_rate(use, 1667, 1e-2) / use.capacity, 2)
    0.48
    """
    require(uses >= 1, "uses", "finite_length_rate", "be at least 1", uses)
    require(0.0 < error < 1.0, "error", "finite_length_rate", "lie strictly between 0 and 1", error)
    spread = math.sqrt(use.dispersion / uses) * quantile_of_tail(error)
    return use.capacity - spread + 0.5 * math.log(uses) / uses


def least_uses(use: Use, bits: int, error: float) -> int:
    """The fewest uses whose finite-length optimum carries `bits` bits at this frame error.

    >>> from leakcap.attack.use import use_of_capacity
    >>> least_uses(use_of_capacity(0.5), 16, 1e-2) > 32
    True
    """
    require(bits >= 1, "bits", "least_uses", "be at least 1", bits)
    wanted = bits * math.log(2.0)
    high = 1
    while high * finite_length_rate(use, high, error) < wanted:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if middle * finite_length_rate(use, middle, error) < wanted:
            low = middle
        else:
            high = middle
    return high
