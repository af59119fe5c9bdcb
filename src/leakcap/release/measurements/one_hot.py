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

from leakcap.bound import Bound
from leakcap.numeric import crossing

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
    bits = _set_bits(cells, decay)

    def excess(prior: float) -> float:
        at_none, at_one = _divergences(cells, decay, prior, bits)
        return at_one - at_none

    prior = crossing(excess, 0.0, 1.0)
    at_none, at_one = _divergences(cells, decay, prior, bits)
    slack = _SLACK * decay * (cells + 20)
    lower = max(0.0, prior * at_none + (1.0 - prior) * at_one - slack)
    upper = min(max(at_none, at_one) + slack, math.log(cells + 1))
    method = "unary code, certified by duality"
    return Bound(min(lower, upper), upper, method=method, source=source, witness=prior)


def _set_bits(cells: int, decay: float) -> list[tuple[int, float, float]]:
    """How many bits are set, and how likely that is when the person is in no cell, and when in one."""
    flip = math.exp(-decay) / (1.0 + math.exp(-decay))
    none, rest = _binomial(cells, flip), [0.0, *_binomial(cells - 1, flip), 0.0]
    one = [(1.0 - flip) * rest[t] + flip * rest[t + 1] for t in range(cells + 1)]
    return [(t, p, q) for t, (p, q) in enumerate(zip(none, one, strict=True)) if p or q]


def _binomial(trials: int, p: float) -> list[float]:
    """The binomial weights, built outward from the mode, where rounding matters most."""
    mode, odds = min(trials, int((trials + 1) * p)), p / (1.0 - p)
    weights = [0.0] * (trials + 1)
    weights[mode] = 1.0
    for t in range(mode, trials):
        weights[t + 1] = weights[t] * ((trials - t) / (t + 1) * odds)
    for t in range(mode, 0, -1):
        weights[t - 1] = weights[t] / ((trials - t + 1) / t * odds)
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _divergences(
    cells: int, decay: float, prior: float, bits: list[tuple[int, float, float]]
) -> tuple[float, float]:
    """D(P_none‖q) and D(P_one‖q); the latter's log-likelihood ratio to P_none has mean η·tanh(η/2)."""
    up, down, each = math.expm1(decay), math.expm1(-decay), (1.0 - prior) / cells
    set_bit, clear_bit = math.exp(decay), math.exp(-decay)
    none = one = 0.0
    for t, p, q in bits:
        # ln L_t through its distance from 1, which keeps its digits when η is small
        off = each * (t * up + (cells - t) * down)
        level = (
            math.log1p(off)
            if off > -0.5
            else math.log(prior + each * (t * set_bit + (cells - t) * clear_bit))
        )
        none, one = none + p * level, one + q * level
    return -none, decay * math.tanh(decay / 2) - one
