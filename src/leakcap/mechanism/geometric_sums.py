"""Divergences of geometric noise as sums of geometric series, to any number of digits.

With s = e^−ε and c = (1−s)/(1+s), the rows of secrets 0 and n over outputs clamped to 0, …, n are

    1/(1+s), c·s, c·s², …, c·s^(n−1), s^n/(1+s)    and the same read backwards.

Source: Ghosh, Roughgarden & Sundararajan 2012 (the rows).
"""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache, reduce

from leakcap.divergence import Divergence, HockeyStick, Renyi
from leakcap.numeric.enclosure import Digits, Interval

__all__ = ["geometric_divergence"]


def geometric_divergence(divergence: Divergence, step: Interval, n: int) -> Interval:
    """Between two rows of geometric noise at distance n ≥ 1, of ε a step: sums of geometric series.

    >>> from leakcap.numeric.enclosure import enclose
    >>> low, high = enclose(lambda digits: geometric_divergence(Renyi(1), digits.of(1), 1))
    >>> low <= math.tanh(0.5) <= high
    True
    """
    digits = step.digits
    match divergence:
        case Renyi(alpha) if math.isinf(alpha):
            return step * n
        case Renyi(alpha) if alpha == 1.0:
            s = (-step).exp()
            return step * (n - (1 - (-step * n).exp()) * 2 * s / (1 - s * s))
        case Renyi(alpha) if alpha < 0.5:
            # Both directions are equal, so that (1−α)·D_α = α·D_{1−α}.
            order = digits.of(alpha)
            return _renyi(1 - order, step, n) * order / (1 - order)
        case Renyi(alpha):
            return _renyi(digits.of(alpha), step, n)
        case HockeyStick(gamma):
            return _hockey_stick(digits.of(gamma), step, n)
    return _hockey_stick(digits.of(1), step, n)


def _renyi(order: Interval, step: Interval, n: int) -> Interval:
    """nε + ln[(1 + r^n + (1−s)(r − r^n)/(1−r))/(1+s)]/(α−1) with s = e^−ε, r = s^(2α−1), α ≥ ½."""
    s, log_r = _decay(step.low, step.high, step.digits), -step * (2 * order - 1)
    last = (log_r * n).exp()
    ends = 1 + last
    if n > 1 and log_r.is_zero:
        ends = ends + (n - 1) * (1 - s)
    elif n > 1:
        r = log_r.exp()
        ends = ends + (1 - s) * (r - last) / (1 - r)
    return step * n + (ends / (1 + s)).log() / (order - 1)


@lru_cache(maxsize=64)
def _decay(low: Decimal, high: Decimal, digits: Digits) -> Interval:
    """s of a step between these: a ledger's curve asks it at thirty orders."""
    return (-Interval(low, high, digits)).exp()


def _hockey_stick(gamma: Interval, step: Interval, n: int) -> Interval:
    """[(1 − γs^n)₊ + (s^n − γ)₊ + (1 − s^K)(s − γs^(n−K))]/(1+s), K the last output that counts.

    Whatever K is taken, the sum is no larger than with the right one.
    """
    digits, s, last = step.digits, (-step).exp(), (-step * n).exp()
    total = (1 - gamma * last).positive_part() + (last - gamma).positive_part()
    if gamma.is_zero:
        return digits.of(1)
    middle = (n - gamma.log() / step) / 2
    cuts = {min(max(middle.floor() + k, 0), n - 1) for k in (-1, 0, 1)}
    parts = ((1 - (-step * k).exp()) * (s - gamma * (-step * (n - k)).exp()) for k in cuts)
    return (total + reduce(Interval.or_more, parts)) / (1 + s)
