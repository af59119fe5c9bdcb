"""Whether a number lies within bounds, by one comparison instead of two.

To choose among rows costs an engine more than to compute: |x − m| > h with m in the middle costs half as much
as x BETWEEN low AND high, the most expensive part of a sum. (To choose the rows beyond costs less than to
choose those within.) In doubles it also takes in a hair beyond the bounds, which is right as long as all of
it rounds to the integer of the bound itself; else it is not used.
"""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["ball"]

_ROUNDED = 1 + Fraction(1, 2**52)


def ball(bounds: tuple[float, float], scale: float, ends: tuple[int, int]) -> tuple[float, float] | None:
    """m and h such that |x − m| ≤ h holds in doubles for all x within the bounds, and beyond them only where
    round(x·scale) is the one of `ends` that stands for the nearer bound; None where there are none.

    Differences of doubles are rounded by half of 2⁻⁵² of their size at most and keep their order. So all x
    within the bounds are taken, since both ends are; and what is taken lies in m ± h·(1 + 2⁻⁵²), which is
    rounded exactly here. A policy's bounds lie within ±1e90, so that x − m cannot overflow, at which
    PostgreSQL would stop: the largest double moves only by more than 1e291.

    >>> ball((0.0, 100.0), 2.0**26, (0, 100 * 2**26))
    (50.0, 50.0)
    >>> ball((1e300, math.nextafter(1e300, math.inf)), 1.0, (0, 1)) is None
    True
    """
    low, high = bounds
    middle = low / 2 + high / 2
    half = max(high - middle, middle - low)
    if not (math.isfinite(half) and half > 2.0**-900):
        return None
    reach, step = Fraction(half) * _ROUNDED, Fraction(scale)
    far = (round((Fraction(middle) - reach) * step), round((Fraction(middle) + reach) * step))
    return (middle, half) if far == ends else None
