"""How many members are recognised at a given rate of false alarms, with exact limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.audit.pilot import read_canaries
from leakcap.audit.tails import binomial_tail, fraction_lower, fraction_upper
from leakcap.bound import Bound
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["RecognisedMembers", "members_recognised"]


@dataclass(frozen=True)
class RecognisedMembers:
    """The true positive rate of the best threshold whose false positive rate is at most `false_alarms`."""

    rate: Bound
    false_alarms: float
    members: int
    others: int
    confidence: float


def members_recognised(
    scores: ArrayLike, included: ArrayLike, *, false_alarms: float, confidence: float = 0.95
) -> RecognisedMembers:
    """TPR at FPR: members' scores above the threshold that others' pass with probability `false_alarms`.

    Both ends are exact and hold together, whatever the laws of the scores, if members' scores are independent
    draws of one law and others' of another. The lower end is at a threshold whose rate of false alarms is at
    most `false_alarms`, by the law of order statistics of the others' scores; which one it is does not depend
    on the members, whose part above it has the limits of Clopper & Pearson 1934. The lower end is zero where
    there are fewer than ln(4/(1 − confidence))/`false_alarms` others or so.

    >>> draws = np.random.default_rng(0)
    >>> inside = np.arange(2000) < 1000
    >>> found = members_recognised(2 * inside + draws.normal(size=2000), inside, false_alarms=0.01)
    >>> 0.37212 in found.rate, found.rate.width < 0.35
    (True, True)
    """
    owner = "members_recognised"
    seen = read_canaries(scores, included, owner)
    require(0 < false_alarms < 1, "false_alarms", owner, "lie strictly between 0 and 1", false_alarms)
    require(0 < confidence < 1, "confidence", owner, "lie strictly between 0 and 1", confidence)
    inside, outside = np.sort(seen.scores[seen.included]), np.sort(seen.scores[~seen.included])
    require(len(inside) > 0 and len(outside) > 0, "included", owner, "have members and others", len(inside))
    level = (1.0 - confidence) / 4.0
    lower = _above(inside, outside, _strict(len(outside), false_alarms, level), level)
    upper = _at_or_above(inside, outside, _lenient(len(outside), false_alarms, level), level)
    rate = Bound(lower, max(lower, upper), "order statistics", "Clopper & Pearson 1934", unit="probability")
    return RecognisedMembers(rate, false_alarms, len(inside), len(outside), confidence)


def _strict(others: int, rate: float, level: float) -> int:
    """The largest k such that more than `rate` lies above the k-th largest with probability ≤ `level`; or 0.

    That it does means that fewer than k of the others fell on the upper `rate`: P(Bin(n, rate) ≤ k − 1).
    """
    k = 0
    while k < others and binomial_tail(others - k, others, 1.0 - rate) <= level:
        k += 1
    return k


def _lenient(others: int, rate: float, level: float) -> int:
    """The least k such that `rate` or less lies at or above the k-th largest with probability ≤ `level`.

    That it does means that k or more fell on the upper `rate`: P(Bin(n, rate) ≥ k). n + 1 if there is none.
    """
    k = max(1, math.floor(others * rate))
    while k <= others and binomial_tail(k, others, rate) > level:
        k += 1
    return k


def _above(inside: Floats, outside: Floats, k: int, level: float) -> float:
    if k == 0:
        return 0.0
    hits = len(inside) - int(np.searchsorted(inside, outside[len(outside) - k], side="right"))
    return fraction_lower(hits, len(inside), level)


def _at_or_above(inside: Floats, outside: Floats, k: int, level: float) -> float:
    if k > len(outside):
        return 1.0
    hits = len(inside) - int(np.searchsorted(inside, outside[len(outside) - k], side="left"))
    return fraction_upper(hits, len(inside), level)
