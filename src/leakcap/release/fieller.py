"""Intervals for ratios of noisy numbers that keep what the noise of both together does.

A ratio r of two true numbers fulfils A(r)·x + B(r)·y = 0. Noisy numbers X, Y give A(r)·X + B(r)·Y, which is
noise alone at the true r; so the r at which it is no further from 0 than 95 % of that noise goes are a set
that covers with 95 % probability, exactly, however small the denominator is (Fieller 1954). A box of two
intervals of 97.5 % each covers more often and is wider.

The law of A·Z + B·W for Laplace Z, W has a closed form. Discrete Laplace noise is within one step of a
Laplace variable of its scale (its |Z| lies between the floor and the ceiling of the other's, quantile by
quantile), so |A| + |B| more is enough.

Source: Fieller 1954.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["fieller_ends", "mixture_tail", "noise_reach"]


def mixture_tail(first: float, second: float, at: float) -> float:
    """P(|L + M| > at) for independent Laplace variables of these scales.

    >>> mixture_tail(1.0, 0.0, 2.0) == math.exp(-2.0)
    True
    """
    wide, narrow = max(first, second), min(first, second)
    if wide == 0.0 or at <= 0.0:
        return 1.0 if at <= 0.0 else 0.0
    if narrow == 0.0:
        return math.exp(-at / wide)
    share = narrow / wide
    if share > 1.0 - 1e-5:
        # The limit for equal scales, at the wider one: a hair too much.
        return math.exp(-at / wide) * (1.0 + at / (2.0 * wide))
    other = math.exp(-at / narrow) * share**2
    return (math.exp(-at / wide) - other) / (1.0 - share**2)


def noise_reach(first: float, second: float, beyond: float) -> float:
    """How far L + M goes: further with probability `beyond` at most.

    >>> round(noise_reach(10.0, 0.0, 0.05), 6) == round(10 * math.log(20), 6)
    True
    """
    low, high = 0.0, (first + second) * (math.log(1.0 / beyond) + 1.0)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if mixture_tail(first, second, middle) > beyond else (low, middle)
    return high * (1 + 1e-9)


def fieller_ends(
    weights: Callable[[float], tuple[float, float]],
    noisy: tuple[float, float],
    scales: tuple[float, float],
    within: tuple[float, float, float],
    beyond: float = 0.05,
) -> tuple[float, float]:
    """The ends of {r: |A(r)·X + B(r)·Y| ≤ reach of its noise}, numbers and scales in steps.

    `within` are the least r, the r where the combination is nearest to 0, and the largest r. The ends are
    those of the set's hull; where even the least or the largest belongs to it, that is the end.

    >>> low, high = fieller_ends(lambda r: (1.0, -r), (50.0, 100.0), (1.0, 1.0), (0.0, 0.5, 9.0))
    >>> 0.4 < low < 0.5 < high < 0.6
    True
    """

    def outside(r: float) -> bool:
        a, b = weights(r)
        far = abs(a * noisy[0] + b * noisy[1]) - abs(a) - abs(b)
        # As much as to ask whether it is beyond the reach of the noise, a hair more.
        return mixture_tail(abs(a) * scales[0], abs(b) * scales[1], far * (1 - 1e-9)) < beyond

    least, middle, most = within
    if outside(middle):
        return middle, middle
    return _end(outside, middle, least), _end(outside, middle, most)


def _end(outside: Callable[[float], bool], inner: float, outer: float) -> float:
    if not outside(outer):
        return outer
    # Beyond a thousand the ends are looked for by their logarithm.
    for _ in range(200):
        middle = inner / 2 + outer / 2
        if abs(outer) > 1e3 * max(1.0, abs(inner)):
            middle = math.copysign(math.sqrt(abs(outer)) * math.sqrt(max(1.0, abs(inner))), outer)
        if middle in (inner, outer):
            break
        inner, outer = (inner, middle) if outside(middle) else (middle, outer)
    return outer
