"""What randomised responses tell together, by every outcome: the second route of composed statements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

__all__ = ["best_guess"]


def best_guess(pure: Iterable[tuple[float, int]]) -> float:
    """How often a fifty-fifty guess is right at best, after so many responses of each ε."""
    each = [epsilon for epsilon, times in pure for _ in range(times)]
    assert len(each) <= 16
    right = 0.0
    for signs in itertools.product((1, -1), repeat=len(each)):
        one = math.prod(
            1 / (1 + math.exp(-sign * epsilon)) for sign, epsilon in zip(signs, each, strict=True)
        )
        other = math.prod(
            1 / (1 + math.exp(sign * epsilon)) for sign, epsilon in zip(signs, each, strict=True)
        )
        right += max(one, other) / 2
    return right
