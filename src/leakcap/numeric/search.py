"""One-dimensional roots and maxima, down to the last bit."""

from __future__ import annotations

from collections.abc import Callable

_GOLDEN = 0.6180339887498949


def bracket(
    function: Callable[[float], float], low: float, high: float, *, width: float = 0.0
) -> tuple[float, float]:
    """Adjacent doubles around the root of a function whose sign changes once on [low, high].

    Where the function is zero at an end, that end is returned twice. With a `width` above 0 the search stops
    sooner, at numbers no farther apart than this part of the larger one. They come from halving alone, so
    that two processors find the same ones although the last digits of the function differ.

    >>> low, high = bracket(lambda x: x * x - 2.0, 0.0, 2.0)
    >>> low * low < 2.0 < high * high, 0.5 * (low + high) in (low, high)
    (True, True)
    >>> bracket(lambda x: x - 2.0, 0.0, 2.0)
    (2.0, 2.0)
    """
    at_low, at_high = function(low), function(high)
    for end, value in ((low, at_low), (high, at_high)):
        if value == 0.0:
            return end, end
    rising = at_high > at_low
    for _ in range(2000):
        middle = 0.5 * (low + high)
        if middle in (low, high) or abs(high - low) <= width * max(abs(low), abs(high)):
            break
        if (function(middle) > 0.0) == rising:
            high = middle
        else:
            low = middle
    return low, high


def last_where(
    holds: Callable[[float], bool], inside: float, end: float, *, width: float = 0.0
) -> tuple[float, float]:
    """Adjacent doubles: the last from `inside` towards `end` where a condition holds, the first where not.

    It holds at `inside`, and once it fails it fails for good. Where it holds at `end`, that is returned
    twice. For `width` see `bracket`.

    >>> last_where(lambda x: x * x <= 9.0, 0.0, 10.0), last_where(lambda x: x >= 0.0, 1.0, 0.0)
    ((3.0, 3.0000000000000004), (0.0, 0.0))
    """
    if holds(end):
        return end, end
    return bracket(lambda x: 1.0 if holds(x) else -1.0, inside, end, width=width)


def doubled_until(holds: Callable[[float], bool], start: float, most: float) -> tuple[float, float]:
    """`start` doubled until a condition holds, or the number passes `most`: the one before, and that one.

    The one before is 0 where the condition holds at `start`.

    >>> doubled_until(lambda x: x >= 5.0, 1.0, 1e9), doubled_until(lambda x: x >= 5.0, 8.0, 1e9)
    ((4.0, 8.0), (0.0, 8.0))
    """
    before = 0.0
    while start <= most and not holds(start):
        before, start = start, 2.0 * start
    return before, start


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """A root of a function whose sign changes once on [low, high], to adjacent doubles.

    >>> round(bisect(lambda x: x * x - 2.0, 0.0, 2.0), 12)
    1.414213562373
    """
    below, above = bracket(function, low, high)
    return 0.5 * (below + above)


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function crosses zero, in some ten calls where `bisect` has fifty.

    The chord's root replaces the end of its sign, and an end that stays twice in a row counts half. The root
    is as good as the last digits of the function; where there is none, the end nearest to zero is returned.

    Source: Dowell & Jarratt 1971 (the Illinois algorithm).

    >>> round(crossing(lambda x: x * x - 2.0, 0.0, 2.0), 12), crossing(lambda x: x - 3.0, 0.0, 2.0)
    (1.414213562373, 2.0)
    """
    at_low, at_high = function(low), function(high)
    if at_low >= 0.0 or at_high <= 0.0:
        return low if at_low >= 0.0 else high
    middle, side = low, 0
    for _ in range(60):
        previous, middle = middle, high - at_high * (high - low) / (at_high - at_low)
        value = function(middle)
        if value == 0.0 or abs(middle - previous) <= 2.0**-52 * high:
            break
        if value > 0.0:
            high, at_high, at_low, side = middle, value, at_low / 2 if side > 0 else at_low, 1
        else:
            low, at_low, at_high, side = middle, value, at_high / 2 if side < 0 else at_high, -1
    return middle


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
