"""Sibson capacities of unknown order, enclosed between those that are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from leakcap.bound import Bound
from leakcap.divergence import Renyi
from leakcap.mechanism.base import Laws
from leakcap.numeric.enclosure import Digits, Interval, enclose

__all__ = ["best_of", "bounded_range_capacity", "two_point_capacity"]

_STEEP = 1e15
"""Beyond this α·ε the largest capacity is ε to double precision."""


def bounded_range_capacity(order: Renyi, epsilon: float) -> float:
    """At least the largest Sibson capacity of any ε-private mechanism, any alphabet, order in (0, ∞].

    D − 1 − ln D with D = ε/(1−e^−ε) at α = 1, ε at ∞, else (1/(α−1)) ln[(1+f(A^α−1))/(1+f(A−1))^α] with
    f = ((A^α−1) − α(A−1))/((α−1)(A−1)(A^α−1)) and A = e^ε. The likelihoods of an output lie in [m, Am], and
    the worst case puts mass f on Am. Source: leakcap, after Dong, Durfee & Rogers 2020.

    >>> round(bounded_range_capacity(Renyi(1), 1.0), 11), round(bounded_range_capacity(Renyi(2), 1.0), 11)
    (0.12330156148, 0.24022901392)
    """
    alpha = order.alpha
    if math.isinf(alpha) or alpha * epsilon > _STEEP:
        return epsilon

    def formula(digits: Digits) -> Interval:
        width = digits.of(epsilon)
        if alpha == 1.0:
            ratio = width / (1 - (-width).exp())
            return ratio - 1 - ratio.log()
        a, t = digits.of(alpha), digits.of(alpha) - 1
        high, one = (a * width).exp() - 1, width.exp() - 1
        f = (high - a * one) / (t * one * high)
        return ((1 + f * high).log() - a * (1 + f * one).log()) / t

    return min(enclose(formula)[1], epsilon)


def two_point_capacity(order: Renyi, rows: Callable[[Digits], Laws | None]) -> float:
    """At most Sibson's capacity of two rows: their information under the fair prior.

    It is the capacity where the rows are mirror images of each other.

    >>> half = lambda d: Laws((d.of(0.75), d.of(0.25)), (d.of(0.25), d.of(0.75)))
    >>> round(two_point_capacity(Renyi(1), half), 12)
    0.130812035941
    """

    def formula(digits: Digits) -> Interval:
        laws = rows(digits)
        assert laws is not None
        pairs = [(a, b) for a, b in zip(laws.p, laws.q, strict=True) if not (a.is_zero and b.is_zero)]
        if math.isinf(order.alpha):
            return digits.sum(a.or_more(b) for a, b in pairs).log()
        if order.alpha == 1.0:
            told = (a * (2 * a / (a + b)).log() for p in pairs for a, b in (p, p[::-1]) if not a.is_zero)
            return digits.sum(told) / 2
        alpha = digits.of(order.alpha)
        logs = ([mass.log() for mass in pair if not mass.is_zero] for pair in pairs)
        norms = (digits.log_sum(log * alpha for log in pair) - digits.of(2).log() for pair in logs)
        return digits.log_sum(norm / alpha for norm in norms) * alpha / (alpha - 1)

    return max(enclose(formula)[0], 0.0)


def best_of(order: Renyi, lowers: Iterable[float], uppers: Iterable[float], witness: object = None) -> Bound:
    """The best of several lower and upper bounds on Sibson's capacity, each rounded outward already.

    Lower bounds come from fewer secrets, from merged outputs or from a lower order; upper bounds from a
    centre Q, from a higher order or from ε. Source: Ho & Verdú 2015 (Sibson's capacity increases in α).

    >>> print(best_of(Renyi(2), [0.1, 0.05], [0.2, 0.3]))
    [0.1, 0.2] nats (bracket of order 2)
    """
    method = f"bracket of order {order.alpha:g}"
    return Bound(max(lowers), min(uppers), method, "Ho & Verdú 2015", witness=witness)
