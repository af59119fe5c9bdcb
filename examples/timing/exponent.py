"""Modular exponentiation whose time tells the secret exponent, and one whose steps do not depend on it."""

from __future__ import annotations

import time
from collections.abc import Callable

MODULUS, BITS = 2**127 - 1, 64

EXPONENTS = [2**63 | (2**ones - 1) for ones in (3, 19, 35, 51)]
"""Four secrets of 64 bits, with 4, 20, 36 and 52 ones."""


def by_squaring(base: int, exponent: int) -> int:
    """Square for each bit, multiply where the bit is 1: as textbooks have it."""
    result = 1
    for place in reversed(range(BITS)):
        result = result * result % MODULUS
        if exponent >> place & 1:
            result = result * base % MODULUS
    return result


def always_multiplying(base: int, exponent: int) -> int:
    """Square and multiply for each bit, and keep what is needed."""
    result = 1
    for place in reversed(range(BITS)):
        square = result * result % MODULUS
        result = (square, square * base % MODULUS)[exponent >> place & 1]
    return result


def timed(function: Callable[[int, int], int]) -> Callable[[int], int]:
    """The nanoseconds that one call took, as whoever waits for the answer sees them."""

    def system(exponent: int) -> int:
        start = time.perf_counter_ns()
        function(123456789, exponent)
        return time.perf_counter_ns() - start

    return system
