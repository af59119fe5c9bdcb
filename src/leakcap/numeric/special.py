"""Functions that the decimal module lacks, enclosed: π, the error function, the cosine."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from leakcap.numeric.enclosure import Digits, Interval, more_digits

__all__ = ["cosine", "erf", "erfc", "normal_tail", "pi"]

_FRACTION_FROM = Decimal(5)
"""From here on erfc is a continued fraction, before it a series."""
_SHORT = Decimal("1e-9")


def pi(digits: Digits) -> Interval:
    """π.

    >>> import math
    >>> low, high = pi(Digits(28)).ends()
    >>> low <= math.pi <= high
    True
    """
    return digits.of(16) * _inverse_tangent(5, digits) - digits.of(4) * _inverse_tangent(239, digits)


@lru_cache(maxsize=256)
def _inverse_tangent(denominator: int, digits: Digits) -> Interval:
    """arctan(1/n) by its alternating series (Machin 1706)."""
    total, power, k = digits.of(0), digits.of(1) / denominator, 0
    least = Decimal((0, (1,), -digits.count - 4))
    while power.high > least:
        term = power / (2 * k + 1)
        total = total + (term if k % 2 == 0 else -term)
        power, k = power / (denominator * denominator), k + 1
    return total + Interval(power.high.copy_negate(), power.high, digits)


def erf(x: Interval) -> Interval:
    """(2/√π) ∫₀ˣ e^(−t²) dt, relatively precise near zero.

    >>> import math
    >>> low, high = erf(Digits(28).of(0.5)).ends()
    >>> low <= math.erf(0.5) <= high
    True
    """
    return Interval(_erf(x.low, x.digits).low, _erf(x.high, x.digits).high, x.digits)


def erfc(x: Interval) -> Interval:
    """1 − erf x, relatively precise far out.

    Of a short interval one end is computed: −erfc′(t) ≤ erfc(t)·(t + √(t² + 2)) for t ≥ 0
    (Abramowitz & Stegun 1964, 7.1.13), where erfc is convex, and −erfc′ ≤ 2/√π ≤ 2·erfc(t) for t ≤ 0.

    >>> low, high = erfc(Digits(28).of(20)).ends()
    >>> 5.39586561e-176 < low < high < 5.39586562e-176
    True
    """
    d, found = x.digits, _erfc(x.low, x.digits)
    steep = d.up.fma(max(x.low, Decimal(0)), 2, 2)
    fall = d.up.multiply(d.up.subtract(x.high, x.low), steep)
    if fall > _SHORT:
        return Interval(_erfc(x.high, d).low, found.high, d)
    return Interval(d.down.multiply(found.low, d.down.subtract(1, fall)), found.high, d)


def normal_tail(x: Interval) -> Interval:
    """P(Z > x) for a standard normal Z: erfc(x/√2)/2.

    >>> normal_tail(Digits(28).of(0)).ends()
    (0.5, 0.5)
    """
    return erfc(x / x.digits.of(2).sqrt()) / 2


def _erf(x: Decimal, digits: Digits) -> Interval:
    if x < 0:
        return -_erf(x.copy_negate(), digits)
    return _series(x, digits) if x < _FRACTION_FROM else digits.of(1) - _fraction(x, digits)


@lru_cache(maxsize=4096)
def _erfc(x: Decimal, digits: Digits) -> Interval:
    if x >= _FRACTION_FROM:
        return _fraction(x, digits)
    if x <= 0:
        return digits.of(1) - _erf(x, digits)
    # erfc x is about 10^(−x²/2.3): so many digits are lost where it is taken from 1.
    wider = more_digits(digits, 2 + int(x * x / 2))
    found = wider.of(1) - _series(x, wider)
    return Interval(digits.down.plus(found.low), digits.up.plus(found.high), digits)


def _point(x: Decimal, digits: Digits) -> Interval:
    return Interval(digits.down.plus(x), digits.up.plus(x), digits)


def _series(x: Decimal, digits: Digits) -> Interval:
    """erf x = (2/√π) x e^(−x²) Σ (2x²)ⁿ/(2n+1)!! for 0 ≤ x < 5: terms of one sign.

    They are added up as whole numbers of units u = 2^(−bits), each rounded down, with a q that is less than
    2x² by 2u at most. Of N terms, whose sum is S and the largest of which is M ≥ 1, one is short by less than
    2u for its own roundings and (2/3)·M·u for q's, 3S·u in all. What it is short of is handed on: the terms
    from it on are together at most S times as large as it where it is 1 or more, else N times, for they fall.
    So all are short by less than 3N(N + S)S·u. The last is no more than that, since it was rounded to zero,
    and those after it are together no more than the last, for each is at most half of the one before.
    """
    if not x:
        return digits.of(0)
    bits = 10 * digits.count // 3 + 128
    down = more_digits(digits, 48).down
    twice = int(down.multiply(down.multiply(x, x), Decimal(2 << bits)))
    term = total = 1 << bits
    n, least = 0, (twice >> bits) + 1
    while term or n < least:
        n += 1
        term = (term * twice >> bits) // (2 * n + 1)
        total += term
    size = (total >> bits) + 2
    unit = Decimal(1 << bits)
    low = digits.down.divide(Decimal(total), unit)
    high = digits.up.divide(Decimal(total + 6 * n * (n + size) * size), unit)
    point = _point(x, digits)
    return (-(point * point)).exp() * Interval(low, high, digits) * point * 2 / _root_of_pi(digits)


def _fraction(x: Decimal, digits: Digits) -> Interval:
    """e^(−x²)/√π · 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …)))) for x ≥ 5.

    All its elements are positive, so that its value lies between any convergent and the next.
    Source: Abramowitz & Stegun 1964, 7.1.14.
    """
    point = _point(x, digits)
    near, guard = more_digits(digits, 8).near, Decimal((0, (1,), -digits.count - 3))
    top, bottom, next_top, next_bottom = Decimal(0), Decimal(1), Decimal(1), x
    k, last, here = 0, Decimal(0), near.divide(1, x)
    while near.subtract(here, last).copy_abs() > near.multiply(here, guard):
        k += 1
        half = near.divide(Decimal(k), 2)
        top, next_top = next_top, near.fma(half, top, near.multiply(x, next_top))
        bottom, next_bottom = next_bottom, near.fma(half, bottom, near.multiply(x, next_bottom))
        last, here = here, near.divide(next_top, next_bottom)
    # Sums of positive terms: k steps err by fewer than 8(k + 4) units of eight digits more.
    unit = Decimal((0, (1,), 1 - digits.count - 8))
    slack = near.multiply(here, near.multiply(Decimal(8 * (k + 4)), unit))
    low, high = digits.down.subtract(min(last, here), slack), digits.up.add(max(last, here), slack)
    return (-(point * point)).exp() / _root_of_pi(digits) * Interval(low, high, digits)


@lru_cache(maxsize=256)
def _root_of_pi(digits: Digits) -> Interval:
    return pi(digits).sqrt()


def cosine(x: Interval) -> Interval:
    """cos x, by its series: for an x of moderate size.

    >>> import math
    >>> low, high = cosine(Digits(28).of(1)).ends()
    >>> low <= math.cos(1.0) <= high
    True
    """
    digits = x.digits
    square = x * x
    total, term, n = digits.of(1), digits.of(1), 0
    least = Decimal((0, (1,), -digits.count - 4))
    while term.high > least or (2 * n + 1) * (2 * n + 2) < digits.up.multiply(square.high, 2):
        term = term * square / ((2 * n + 1) * (2 * n + 2))
        n += 1
        total = total + (term if n % 2 == 0 else -term)
    # Alternating, and falling from here on.
    return total + Interval(term.high.copy_negate(), term.high, digits)
