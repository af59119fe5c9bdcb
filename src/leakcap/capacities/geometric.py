"""The exact MI-DP of two-sided geometric (discrete Laplace) noise."""

from __future__ import annotations

import math

from leakcap.bound import Bound
from leakcap.errors import require

__all__ = ["geometric_capacity"]


def geometric_capacity(steps: int, decay: float) -> Bound:
    """Shannon capacity of two-sided geometric noise P(z) ∝ e^{−decay·|z|} for secrets 0, 1, …, `steps`.

    >>> round(geometric_capacity(1, 1.0).upper, 10)
    0.1109440717
    """
    require(isinstance(steps, int) and steps >= 1, "steps", "geometric_capacity", "be a positive integer", steps)
    require(0 < decay < math.inf, "decay", "geometric_capacity", "be positive and finite", decay)
    t = math.tanh(decay / 2)
    binary = 0.5 * ((1 + t) * math.log1p(t) + (1 - t) * (math.log1p(-t) if t < 1 else 0.0))
    if t < 1e-3:
        binary = t**2 / 2 + t**4 / 12 + t**6 / 30
    if steps == 1:
        return Bound.exact(binary, method="binary randomised response", source="Shannon 1948")
    s = math.exp(-decay)
    tail = -math.log(-math.expm1(-decay)) + decay * s / -math.expm1(-decay)
    entropy = -math.log(t) + decay * 2 * s / -math.expm1(-2 * decay)
    upper = math.log(steps - 1 + 2 * math.exp(tail)) - entropy
    epsilon = steps * decay
    d = epsilon / -math.expm1(-epsilon)
    upper = min(upper * (1 + 1e-12), d - 1 - math.log(d) if epsilon > 1e-3 else epsilon**2 / 8)
    return Bound(binary * (1 - 1e-12), max(upper, binary), method="bracket")
