"""One-dimensional roots and maxima, down to the last bit."""

from __future__ import annotations

from collections.abc import Callable

_GOLDEN = 0.6180339887498949


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """A root of a function whose sign changes once on [low, high], to adjacent doubles.

    >>> round(bisect(lambda x: x * x - 2.0, 0.0, 2.0), 12)
    1.414213562373
    """
    rising = function(high) > 0.0
    for _ in range(2000):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if (function(middle) > 0.0) == rising:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def maximise(function: Callable[[float], float], low: float, high: float, *, steps: int = 120) -> float:
    """The argument of the maximum of a unimodal function on [low, high] (golden section, Kiefer 1953).

    A maximum's argument is found to about the square root of the precision only; its value to all of it.

    >>> abs(maximise(lambda x: -(x - 1.0) ** 2, 0.0, 3.0) - 1.0) < 1e-7
    True
    """
    left = high - _GOLDEN * (high - low)
    right = low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
    return 0.5 * (low + high)
