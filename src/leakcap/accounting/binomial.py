"""How often something comes in many trials: chances, and a tail from above."""

from __future__ import annotations

import math

__all__ = ["binomial_masses", "upper_tail"]

_ROUNDING = 1e-6
"""More than the relative error of a chance out of `math.lgamma`, up to 10⁹ trials."""


def _log_chance(trials: int, rate: float, times: int) -> float:
    ways = math.lgamma(trials + 1.0) - math.lgamma(times + 1.0) - math.lgamma(trials - times + 1.0)
    rest = (trials - times) * math.log1p(-rate) if trials > times else 0.0
    return ways + (times * math.log(rate) if times else 0.0) + rest


def binomial_masses(trials: int, rate: float, rare: float) -> tuple[list[float], float]:
    """Chances of 0, 1, … successes, and an upper bound on the chance of more, at most `rare` if that is not
    0.

    >>> binomial_masses(2, 0.5, 0.0)
    ([0.25, 0.5, 0.25], 0.0)
    """
    if rate == 1.0:
        return [*[0.0] * trials, 1.0], 0.0
    chances: list[float] = []
    for times in range(trials + 1):
        rest = upper_tail(trials, rate, times) if times > trials * rate else 1.0
        if rest <= rare:
            return chances, rest
        chances.append(_chance(trials, rate, times))
    return chances, 0.0


def _chance(trials: int, rate: float, times: int) -> float:
    if trials <= 60:
        return math.comb(trials, times) * rate**times * (1.0 - rate) ** (trials - times)
    return math.exp(_log_chance(trials, rate, times))


def upper_tail(trials: int, rate: float, times: int) -> float:
    """An upper bound on the chance of so many successes or more, one part in a million above it at most.

    >>> 0.171875 <= upper_tail(10, 0.5, 7) < 0.1718752
    True
    """
    if times <= 0:
        return 1.0
    if times > trials:
        return 0.0
    if rate >= 1.0:
        return 1.0
    first, total, term = times, 0.0, 1.0
    while term > 1e-18 * total or first < trials * rate:
        total += term
        ratio = (trials - first) * rate / ((first + 1.0) * (1.0 - rate))
        term, first = term * ratio, first + 1
        if term == 0.0:
            break
    # Ratios fall from here on, so what is left is at most a geometric series.
    ratio = min((trials - first) * rate / ((first + 1.0) * (1.0 - rate)), 0.999) if first <= trials else 0.0
    logs = math.log(total + term / (1.0 - max(ratio, 0.0))) + _log_chance(trials, rate, times)
    return min(math.exp(min(logs, 0.0)) * (1.0 + _ROUNDING), 1.0)
