"""Sibson capacities of unknown order, enclosed between those that are known."""

from __future__ import annotations

import math

import numpy as np

from leakcap.bound import Bound
from leakcap.divergence import Renyi
from leakcap.numeric.rounding import down, up

__all__ = ["bounded_range_capacity", "bracket_by_order"]


def bounded_range_capacity(order: Renyi, epsilon: float) -> float:
    """The largest Sibson capacity of any ε-private mechanism, any alphabet (order in (0, ∞]).

    D − 1 − ln D with D = ε/(1−e^−ε) at α = 1, ε at ∞, else (1/(α−1)) ln[(1+f(A^α−1))/(1+f(A−1))^α] with
    f = ((A^α−1) − α(A−1))/((α−1)(A−1)(A^α−1)) and A = e^ε. The likelihoods of an output lie in [m, Am], and
    the worst case puts mass f on Am. Source: leakcap, after Dong, Durfee & Rogers 2020.

    >>> round(bounded_range_capacity(Renyi(1), 1.0), 11), round(bounded_range_capacity(Renyi(2), 1.0), 11)
    (0.12330156148, 0.24022901392)
    """
    alpha = order.alpha
    if math.isinf(alpha):
        return epsilon
    if abs(alpha - 1.0) < 1e-4:
        # The capacity increases in the order: the next order up to the right is an upper bound.
        if alpha > 1.0:
            return bounded_range_capacity(Renyi(1.0 + 2e-4), epsilon)
        d = epsilon / -math.expm1(-epsilon)
        return d - 1.0 - math.log(d) if epsilon > 1e-2 else epsilon**2 / 8
    if alpha * epsilon > 600.0:
        return epsilon
    high, one = math.expm1(alpha * epsilon), math.expm1(epsilon)
    f = (high - alpha * one) / ((alpha - 1) * one * high)
    return (math.log1p(f * high) - alpha * math.log1p(f * one)) / (alpha - 1)


def bracket_by_order(order: Renyi, shannon: Bound, top: float, epsilon: float, crossover: float) -> Bound:
    """An enclosure of Sibson's capacity from Shannon's (α = 1) and maximal leakage `top` (α = ∞).

    Sibson's capacity increases in the order. `epsilon` bounds the max-divergence (∞ if nothing does), and a
    binary symmetric channel of the given `crossover` is a post-processing of the mechanism.
    Source: Ho & Verdú 2015 (monotone in the order).

    >>> print(bracket_by_order(Renyi(2), Bound.exact(0.1, method="known"), 0.2, 9.0, 0.5))
    [0.1, 0.2] nats (bracket between orders)
    """
    alpha = order.alpha
    row, uniform = np.array([1 - crossover, crossover]), np.array([0.5, 0.5])
    lower = float(order.between(row, uniform))
    lower = max(lower, shannon.lower) if alpha >= 1.0 else lower
    upper = shannon.upper if alpha <= 1.0 else top
    if math.isfinite(epsilon):
        upper = min(upper, bounded_range_capacity(order, epsilon))
    return Bound(down(lower, 64), up(upper, 64), "bracket between orders", "Ho & Verdú 2015")
