"""How often so many guesses at canaries can be right in one run, by the trade-off curve of the training.

Canaries are in by independent fair coins; the attacker sees all that the training gave out and names c of
the m as in or out; W are right. Let Q_t = P(W ≥ t), f̄ = 1 − f of a symmetric trade-off curve f, and
g(y) = inf{x : f̄(x) ≥ y}. For the coin of one canary, all others fixed, an output that makes a right guess of
it among more than t right ones makes, with this coin turned, a wrong guess beside t right ones or more. With
I a canary chosen uniformly, f-DP and the concavity of f̄ give

    P(W ≥ t + 1, the guess at I is right) ≤ f̄(P(W ≥ t, the guess at I is wrong)).

Both sides are sums of Q: (c − t)·Q_t ≥ Σ_{u>t} Q_u + m·g(((t + 1)·Q_{t+1} + Σ_{u>t+1} Q_u)/m). The right-hand
side rises in every Q_u, so that from Q_v = level and zeros above it the least Q_{v−1}, …, Q_0 follow. Where
Q_0 > 1 there is no such training: P(W ≥ v) < level. Source: Mahloujifar, Melis & Chaudhuri 2024, whose
numbers these are; docs/theory/black-boxes.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from leakcap.errors import require

__all__ = ["Reverse", "approximate_reverse", "gaussian_reverse", "too_many_right"]

Reverse = Callable[[float], float]
"""g: the least mass under one world of an event that has mass y under the other."""

_NORMAL = NormalDist()
_LESS = 1.0 - 1e-9
"""Roundings are on the safe side: g and what is refused are this much smaller."""


def gaussian_reverse(mu: float) -> Reverse:
    """g of μ-GDP: Φ(Φ⁻¹(y) − μ).

    >>> round(gaussian_reverse(1.0)(0.5), 6)
    0.158655
    """

    def least(mass: float) -> float:
        if mass <= 0.0:
            return 0.0
        if mass >= 1.0:
            return 1.0
        return 0.5 * math.erfc((mu - _NORMAL.inv_cdf(mass)) / math.sqrt(2.0)) * _LESS

    return least


def approximate_reverse(epsilon: float, delta: float) -> Reverse:
    """g of (ε, δ)-DP: the largest of 0, e^−ε(y − δ) and 1 − δ − e^ε(1 − y).

    >>> round(approximate_reverse(math.log(3.0), 0.0)(0.75), 6)
    0.25
    """
    odds = math.exp(epsilon)

    def least(mass: float) -> float:
        return max(0.0, (mass - delta) / odds, 1.0 - delta - odds * (1.0 - mass)) * _LESS

    return least


def too_many_right(reverse: Reverse, *, canaries: int, guesses: int, right: int, level: float) -> bool:
    """Whether `right` or more of the guesses are right with a probability below `level`.

    >>> too_many_right(approximate_reverse(0.0, 0.0), canaries=10, guesses=10, right=10, level=0.002)
    True
    >>> too_many_right(approximate_reverse(0.0, 0.0), canaries=10, guesses=10, right=10, level=0.0009)
    False
    """
    ordered = 0 <= right <= guesses <= canaries
    require(
        ordered, "right", "too_many_right", "be 0 ≤ right ≤ guesses ≤ canaries", (right, guesses, canaries)
    )
    require(0 < level < 1, "level", "too_many_right", "lie strictly between 0 and 1", level)
    most, above = level, 0.0
    # `most` is Q_{t+1}, `above` the sum of all Q beyond it.
    for t in range(right - 1, -1, -1):
        mass = ((t + 1) * most + above) / canaries
        above += most
        if mass >= 1.0:
            return True
        needed = (above + canaries * reverse(mass)) / (guesses - t) * _LESS
        if needed <= most:
            # Then P(W = t) may be nothing, and for every lower t too.
            return False
        most = needed
        if most > 1.0:
            return True
    return False
