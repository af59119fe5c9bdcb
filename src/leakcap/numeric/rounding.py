"""Rounding that cannot flatter: up for what is spent, down for what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

_UNIT = 2.0**-53
_LEAST, _NORMAL = 5e-324, 2.0**-960


def floor_log2(number: Fraction) -> int:
    """⌊log₂ number⌋ for a positive number.

    >>> [floor_log2(Fraction(n, 4)) for n in (1, 3, 4, 7, 8)]
    [-2, -1, 0, 0, 1]
    """
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess if Fraction(2) ** guess <= number else guess - 1


def up(value: float, operations: int = 1, magnitude: float | None = None) -> float:
    """A number that is not below the true result of `operations` rounded steps that gave `value`.

    Each correctly rounded operation errs by at most 2⁻⁵³ of the magnitude of its terms; `magnitude` is
    the largest sum of absolute terms on the way (|value| when left out). Higham 2002, §3.1.

    >>> up(1.0) > 1.0
    True
    """
    return value + _error(value, operations, magnitude)


def down(value: float, operations: int = 1, magnitude: float | None = None) -> float:
    """The mirror image of `up`.

    >>> down(1.0) < 1.0
    True
    """
    return value - _error(value, operations, magnitude)


def _error(value: float, operations: int, magnitude: float | None) -> float:
    if not math.isfinite(value):
        return 0.0
    size = abs(value) if magnitude is None else max(abs(value), magnitude)
    # Below the normal numbers a rounding errs by half of the least double.
    return 2.0 * operations * _UNIT * size + (operations * _LEAST if 0.0 < size < _NORMAL else 0.0)


def short_down(value: float) -> float:
    """Nine digits of a number from 0, rounded down: the same where processors differ in the last of all.

    >>> short_down(0.011124691134915566), short_down(0.3)
    (0.0111246911, 0.3)
    """
    if not math.isfinite(value):
        return value
    return float(Context(prec=9, rounding=ROUND_FLOOR).create_decimal(repr(value)))


def short_up(value: float, digits: int = 9) -> float:
    """The first digits of a number from 0, rounded up: the same where processors differ in the last of all.

    >>> short_up(0.011124691134915566), short_up(0.3), short_up(1.8282366665, 6)
    (0.0111246912, 0.3, 1.82824)
    """
    if not math.isfinite(value):
        return value
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value)))


def float_up(value: Fraction | int) -> float:
    """The least double that is not below.

    >>> float_up(Fraction(1, 3)) >= Fraction(1, 3)
    True
    """
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    over, under = nearest.as_integer_ratio()
    low = over * value.denominator < value.numerator * under
    return math.nextafter(nearest, math.inf) if low else nearest


def float_down(value: Fraction | int) -> float:
    """The largest double that is not above.

    >>> float_down(Fraction(1, 3)) <= Fraction(1, 3)
    True
    """
    return -float_up(-value)


def hypot_up(lengths: Sequence[float]) -> float:
    """The least double whose square is not below the sum of these squares; ∞ allowed.

    >>> hypot_up([3.0, 4.0]), hypot_up([0.1]) == 0.1
    (5.0, True)
    """
    found = math.hypot(*lengths)
    if math.isinf(found):
        return found
    squares = sum((Fraction(length) ** 2 for length in lengths), start=Fraction(0))
    while Fraction(found) ** 2 < squares:
        found = math.nextafter(found, math.inf)
    while found > 0.0 and Fraction(math.nextafter(found, 0.0)) ** 2 >= squares:
        found = math.nextafter(found, 0.0)
    return found


def product_up(*factors: float | Fraction) -> float:
    """The least double that is not below the product of these numbers, none of which is negative; 0·∞ is 0.

    >>> product_up(0.1, 3.0) >= Fraction(0.1) * 3
    True
    """
    if any(factor == 0 for factor in factors):
        return 0.0
    if any(math.isinf(factor) for factor in factors):
        return math.inf
    return float_up(math.prod((Fraction(factor) for factor in factors), start=Fraction(1)))


def sum_up(terms: Iterable[float]) -> float:
    """The least double that is not below the sum of these numbers, ∞ allowed.

    >>> sum_up([0.1] * 3) >= 3 * Fraction(0.1)
    True
    """
    numbers = list(terms)
    if any(math.isinf(term) for term in numbers):
        return math.inf
    try:
        # Correctly rounded, and so is what it lacks: the sign of that is exact.
        nearest = math.fsum(numbers)
        lacks = math.fsum([*numbers, -nearest])
    except OverflowError:  # of a sum of some of them, perhaps, and not of all
        return float_up(sum(map(Fraction, numbers), start=Fraction(0)))
    if math.isnan(nearest):
        raise ValueError("A number to add up is NaN.")
    return math.nextafter(nearest, math.inf) if lacks > 0.0 else nearest


def ceil_to(value: float, digits: int) -> float:
    """`value` rounded up at the given number of decimals, for display.

    >>> ceil_to(0.12341, 3)
    0.124
    """
    return _snap(value, digits, upward=True)


def floor_to(value: float, digits: int) -> float:
    """`value` rounded down at the given number of decimals, for display.

    >>> floor_to(0.1239, 3)
    0.123
    """
    return _snap(value, digits, upward=False)


def _snap(value: float, digits: int, *, upward: bool) -> float:
    if not math.isfinite(value):
        return value
    scale: int = 10**digits
    snapped = math.ceil(value * scale) if upward else math.floor(value * scale)
    return snapped / scale
