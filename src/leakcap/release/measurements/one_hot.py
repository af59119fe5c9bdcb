"""The exact MI-DP of grouped counts: one person is in one of k cells, or in none.

Each cell's noisy count has a two-sided geometric noise of decay η, whose likelihood ratio between "the
person is here" and "is not" is e^{±η} only; so a cell tells one bit, flipped with probability s/(1+s),
s = e^{−η}. The person's cell is sent as k such bits with at most one set. By symmetry over cells the best
prior puts some p on "in none" and spreads the rest evenly, which leaves one unknown; with t set bits

    L_t = q(y)/P(y|none) = p + (1−p)/k · (t·e^η + (k−t)·e^{−η}).

Source: Shannon 1948; Gallager 1968, theorem 4.5.1 (for every q, capacity ≤ max over x of D(P_x‖q)).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound

__all__ = ["MOST_BITS", "one_hot_capacity"]

MOST_BITS = 20_000
# What doubles lose in a sum of k + 1 weighted logarithms of size η at most: this much of k·η, generously.
_SLACK = 1e-15


# The same queries come again and again, and this is most of the time that a price takes.
@lru_cache(maxsize=256)
def one_hot_capacity(cells: int, decay: float) -> Bound:
    """Shannon capacity of "which of `cells` cells, or none" behind a geometric noise on every cell.

    >>> round(one_hot_capacity(1, 1.0).upper, 9)
    0.110944072
    """
    source = "Shannon 1948; Gallager 1968, theorem 4.5.1"
    if decay > 300.0:
        return Bound(0.0, math.log(cells + 1), method="logarithm of the number of inputs", source=source)
    none, one = _set_bits(cells, decay)
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        at_none, at_one = _divergences(cells, decay, middle, none, one)
        low, high = (middle, high) if at_none > at_one else (low, middle)
    prior = 0.5 * (low + high)
    at_none, at_one = _divergences(cells, decay, prior, none, one)
    slack = _SLACK * decay * (cells + 20)
    lower = max(0.0, prior * at_none + (1.0 - prior) * at_one - slack)
    upper = min(max(at_none, at_one) + slack, math.log(cells + 1))
    method = "unary code, certified by duality"
    return Bound(min(lower, upper), upper, method=method, source=source, witness=prior)


def _set_bits(cells: int, decay: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How many bits are set: the law when the person is in no cell, and when in one."""
    flip = math.exp(-decay) / (1.0 + math.exp(-decay))
    none = _binomial(cells, flip)
    rest = _binomial(cells - 1, flip)
    one = np.zeros(cells + 1)
    one[1:] += (1.0 - flip) * rest
    one[:-1] += flip * rest
    return none, one


def _binomial(trials: int, p: float) -> NDArray[np.float64]:
    """The binomial weights, built outward from the mode, where rounding matters most."""
    mode = min(trials, int((trials + 1) * p))
    steps = np.arange(1, trials + 1)
    ratios = np.log((trials - steps + 1) / steps) + math.log(p) - math.log1p(-p)
    logs = np.zeros(trials + 1)
    logs[mode + 1 :] = np.cumsum(ratios[mode:])
    logs[:mode] = -np.cumsum(ratios[:mode][::-1])[::-1]
    weights = np.exp(logs)
    result: NDArray[np.float64] = weights / weights.sum()
    return result


def _divergences(
    cells: int, decay: float, prior: float, none: NDArray[np.float64], one: NDArray[np.float64]
) -> tuple[float, float]:
    """D(P_none‖q) and D(P_one‖q); the latter's log-likelihood ratio to P_none has mean η·tanh(η/2)."""
    bits = np.arange(cells + 1)
    # ln L_t through its distance from 1, which keeps its digits when η is small
    up, down = math.expm1(decay), math.expm1(-decay)
    logs = np.log1p((1.0 - prior) / cells * (bits * up + (cells - bits) * down))
    gain = decay * math.tanh(decay / 2)
    return -float(none @ logs), gain - float(one @ logs)
