"""Sibson capacities of unknown order, enclosed between those that are known."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from leakcap.bound import Bound
from leakcap.divergence import Renyi
from leakcap.mechanism.base import RowPair
from leakcap.numeric.logspace import Floats, logsumexp, safe_log
from leakcap.numeric.rounding import down, up

__all__ = ["bounded_range_capacity", "bracket", "mirrored", "two_point_capacity"]

_OPERATIONS = 256


def bounded_range_capacity(order: Renyi, epsilon: float) -> float:
    """At least the largest Sibson capacity of any ε-private mechanism, any alphabet, order in (0, ∞].

    D − 1 − ln D with D = ε/(1−e^−ε) at α = 1, ε at ∞, else (1/(α−1)) ln[(1+f(A^α−1))/(1+f(A−1))^α] with
    f = ((A^α−1) − α(A−1))/((α−1)(A−1)(A^α−1)) and A = e^ε. The likelihoods of an output lie in [m, Am], and
    the worst case puts mass f on Am. Rounded up to a simpler bound where the formula would lose digits.
    Source: leakcap, after Dong, Durfee & Rogers 2020.

    >>> round(bounded_range_capacity(Renyi(1), 1.0), 11), round(bounded_range_capacity(Renyi(2), 1.0), 11)
    (0.12330156148, 0.24022901392)
    """
    alpha = order.alpha
    if epsilon < 1e-2 or alpha * epsilon > 600.0:
        # A log-likelihood that varies by ε at most has D_α ≤ αε²/8 (Cesar & Rogers 2021); R_1 covers α < 1.
        return min(epsilon, max(alpha, 1.0) * epsilon**2 / 8)
    if abs(alpha - 1.0) < 1e-4:
        # The capacity increases in the order: a little to the right is an upper bound.
        if alpha > 1.0:
            return bounded_range_capacity(Renyi(1.0 + 2e-4), epsilon)
        d = epsilon / -math.expm1(-epsilon)
        return d - 1.0 - math.log(d)
    high, one = math.expm1(alpha * epsilon), math.expm1(epsilon)
    f = (high - alpha * one) / ((alpha - 1) * one * high)
    return (math.log1p(f * high) - alpha * math.log1p(f * one)) / (alpha - 1)


def two_point_capacity(order: Renyi, pair: RowPair) -> float:
    """Sibson's capacity of two rows that are mirror images of each other: the fair prior is optimal.

    >>> rows = RowPair(np.array([0.75, 0.25]), np.array([0.25, 0.75]))
    >>> round(two_point_capacity(Renyi(1), rows), 12)
    0.130812035941
    """
    x, y = safe_log(pair.p), safe_log(pair.q)
    if math.isinf(order.alpha):
        centre = np.maximum(x, y)
    else:
        centre = np.logaddexp(order.alpha * x, order.alpha * y) / order.alpha
    return float(order.between(pair.p, np.exp(centre - logsumexp(centre))))


def mirrored(cells: Floats) -> RowPair:
    """The masses of one row and the same read backwards."""
    total = cells / cells.sum()
    return RowPair(total, total[::-1])


def bracket(order: Renyi, lowers: Iterable[float], uppers: Iterable[float], witness: object = None) -> Bound:
    """The best of several lower and upper bounds on Sibson's capacity, widened by their rounding.

    Lower bounds come from fewer secrets, from merged outputs or from a lower order; upper bounds from a
    centre Q, from a higher order or from ε. Source: Ho & Verdú 2015 (Sibson's capacity increases in α).

    >>> print(bracket(Renyi(2), [0.1, 0.05], [0.2, 0.3]))
    [0.1, 0.2] nats (bracket of order 2)
    """
    low, high = max(lowers), min(uppers)
    method = f"bracket of order {order.alpha:g}"
    return Bound(down(low, _OPERATIONS), up(high, _OPERATIONS), method, "Ho & Verdú 2015", witness=witness)
