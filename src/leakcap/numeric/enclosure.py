"""Closed forms enclosed: interval arithmetic on decimals, with digits added until the ends agree.

A formula is written once, for `Interval`s; `enclose` evaluates it with 28 digits, then with more, until its
two ends are doubles that lie next to each other but one. Whatever cancels on the way only costs digits, so
that the formula may be the one that the paper prints. Every operation rounds its lower end down and its
upper end up (the decimal module's exponential, logarithm and root are correctly rounded, and moved by one
unit).

Source: Moore 1966; Rump 2010, sections 1 to 3.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

__all__ = ["INFINITE", "Digits", "Interval", "Number", "enclose", "more_digits", "outward"]

Number = float | int | Fraction
"""What a formula starts from: exact numbers. A double is the number that it is."""

_PRECISIONS = (28, 56, 112, 224, 448, 896, 1792)
_DEEPEST = Decimal(-(10**15))
"""Exponentials below this one lie between zero and 10^(−4·10¹⁴)."""
_HIGHEST = Decimal(10**17)
_ZERO, _ONE, _HALF = Decimal(0), Decimal(1), Decimal("0.5")
_SHORT = 10 ** _PRECISIONS[0]
"""Integers below it have no more digits than the fewest that are worked with."""

INFINITE = Decimal("Infinity")
"""The value of a formula that has none: no operation takes it."""


class Digits:
    """A precision: the three ways of rounding to so many digits, and the numbers that it makes.

    >>> low, high = (Digits(28).of(1) / 3).ends()
    >>> low < Fraction(1, 3) < high
    True
    """

    def __init__(self, count: int) -> None:
        def context(rounding: str) -> Context:
            return Context(prec=count, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])

        self.count = count
        self.down, self.up = context(ROUND_FLOOR), context(ROUND_CEILING)
        self.near = context(ROUND_HALF_EVEN)

    def of(self, value: Number | Interval) -> Interval:
        """A finite number as an interval, exactly where its digits suffice."""
        # Whether something is a fraction is asked last: its class is abstract, and takes five times as long.
        if isinstance(value, int) and -_SHORT < value < _SHORT:
            whole = Decimal(value)
            return Interval(whole, whole, self)
        if isinstance(value, Interval):
            return value
        if not isinstance(value, float) and isinstance(value, Fraction):
            return self.of(value.numerator) / self.of(value.denominator)
        exact = Decimal(value)
        return Interval(self.down.plus(exact), self.up.plus(exact), self)

    def sum(self, terms: Iterable[Interval]) -> Interval:
        """Their sum; zero where there is none."""
        total = Interval(_ZERO, _ZERO, self)
        for term in terms:
            total = total + term
        return total

    def log_sum(self, logs: Iterable[Interval]) -> Interval:
        """ln Σ e^x, however large the exponents are."""
        terms = list(logs)
        top = max(term.high for term in terms)
        shift = Interval(top, top, self)
        return self.sum((term - shift).exp() for term in terms).log() + shift


@lru_cache(maxsize=256)
def _digits(count: int) -> Digits:
    return Digits(count)


def more_digits(digits: Digits, count: int) -> Digits:
    """So many digits more.

    >>> more_digits(Digits(28), 4).count
    32
    """
    return _digits(digits.count + count)


class Interval:
    """All numbers from `low` to `high`; an operation encloses every result that numbers in it can have.

    >>> low, high = (Digits(28).of(2).log() * 2).ends()
    >>> low < Fraction(13862943611198906188, 10**19) < high
    True
    """

    __slots__ = ("digits", "high", "low")

    def __init__(self, low: Decimal, high: Decimal, digits: Digits) -> None:
        self.low, self.high, self.digits = low, high, digits

    def __repr__(self) -> str:
        return f"Interval({self.low}, {self.high})"

    def __add__(self, other: Number | Interval) -> Interval:
        d = self.digits
        y = other if isinstance(other, Interval) else d.of(other)
        return Interval(d.down.add(self.low, y.low), d.up.add(self.high, y.high), d)

    __radd__ = __add__

    def __neg__(self) -> Interval:
        return Interval(self.high.copy_negate(), self.low.copy_negate(), self.digits)

    def __sub__(self, other: Number | Interval) -> Interval:
        d = self.digits
        y = other if isinstance(other, Interval) else d.of(other)
        return Interval(d.down.subtract(self.low, y.high), d.up.subtract(self.high, y.low), d)

    def __rsub__(self, other: Number) -> Interval:
        return self.digits.of(other) - self

    def __mul__(self, other: Number | Interval) -> Interval:
        d = self.digits
        y = other if isinstance(other, Interval) else d.of(other)
        if self.low >= _ZERO and y.low >= _ZERO:
            return Interval(d.down.multiply(self.low, y.low), d.up.multiply(self.high, y.high), d)
        if self.high < _ZERO:
            return -(-self * y)
        if y.high < _ZERO:
            return -(self * -y)
        ends = [(a, b) for a in (self.low, self.high) for b in (y.low, y.high)]
        low = min(d.down.multiply(a, b) for a, b in ends)
        return Interval(low, max(d.up.multiply(a, b) for a, b in ends), d)

    __rmul__ = __mul__

    def __truediv__(self, other: Number | Interval) -> Interval:
        d = self.digits
        y = other if isinstance(other, Interval) else d.of(other)
        if y.low <= _ZERO <= y.high:
            raise _Unsettled
        if self.low >= _ZERO and y.low > _ZERO:
            return Interval(d.down.divide(self.low, y.high), d.up.divide(self.high, y.low), d)
        if self.high < _ZERO:
            return -(-self / y)
        if y.high < _ZERO:
            return -(self / -y)
        ends = [(a, b) for a in (self.low, self.high) for b in (y.low, y.high)]
        low = min(d.down.divide(a, b) for a, b in ends)
        return Interval(low, max(d.up.divide(a, b) for a, b in ends), d)

    def __rtruediv__(self, other: Number) -> Interval:
        return self.digits.of(other) / self

    def exp(self) -> Interval:
        """e^x."""
        d = self.digits
        if not self.low and not self.high:
            return d.of(1)
        if self.high < _DEEPEST:
            return Interval(_ZERO, Decimal((0, (1,), -4 * 10**14)), d)
        if self.high > _HIGHEST:
            raise _Unsettled
        low = d.near.exp(max(self.low, _DEEPEST))
        spread = d.up.subtract(self.high, self.low)
        low = _ZERO if self.low < _DEEPEST else low
        if spread > _HALF or not low:
            return Interval(_below(low, d), _above(d.near.exp(self.high), d), d)
        # e^(x+w) ≤ e^x·(1 + w + w²) for 0 ≤ w ≤ 1.
        rise = d.up.add(_ONE, d.up.multiply(spread, d.up.add(_ONE, spread)))
        return Interval(_below(low, d), d.up.multiply(_above(low, d), rise), d)

    def log(self) -> Interval:
        """ln x, of a positive x."""
        d = self.digits
        if self.low <= 0:
            raise _Unsettled
        if self.low == self.high == 1:
            return d.of(0)
        low = d.near.ln(self.low)
        # ln(x + w) ≤ ln x + w/x.
        rise = d.up.divide(d.up.subtract(self.high, self.low), self.low)
        return Interval(_below(low, d), d.up.add(_above(low, d), rise), d)

    def sqrt(self) -> Interval:
        """√x, of an x that is not negative."""
        d = self.digits
        if self.low < 0:
            raise _Unsettled
        return Interval(max(_below(d.near.sqrt(self.low), d), _ZERO), _above(d.near.sqrt(self.high), d), d)

    def power(self, exponent: Number | Interval) -> Interval:
        """x^exponent, of a positive x."""
        return (self.log() * exponent).exp()

    def positive_part(self) -> Interval:
        """max(x, 0)."""
        return Interval(max(self.low, _ZERO), max(self.high, _ZERO), self.digits)

    def size(self) -> Interval:
        """|x|."""
        if self.low >= 0:
            return self
        flipped = -self
        return flipped if self.high <= 0 else Interval(_ZERO, max(self.high, flipped.high), self.digits)

    def or_more(self, other: Interval) -> Interval:
        """max(x, y)."""
        return Interval(max(self.low, other.low), max(self.high, other.high), self.digits)

    def floor(self) -> int:
        """The largest integer up to its middle; the interval must be shorter than one."""
        if self.digits.up.subtract(self.high, self.low) >= 1:
            raise _Unsettled
        return math.floor(self.digits.near.divide(self.digits.near.add(self.low, self.high), 2))

    def middle(self) -> float:
        """The double nearest to the middle."""
        return float(self.digits.near.divide(self.digits.near.add(self.low, self.high), 2))

    @property
    def is_zero(self) -> bool:
        """Whether it is zero, exactly."""
        return not self.low and not self.high

    def ends(self) -> tuple[float, float]:
        """The nearest doubles that enclose it.

        >>> Digits(28).of(0.5).ends()
        (0.5, 0.5)
        """
        return _double_below(self.low), -_double_below(self.high.copy_negate())


class _Unsettled(ArithmeticError):
    """The digits do not yet show on which side of a pole an interval lies."""


def enclose(formula: Callable[[Digits], Interval]) -> tuple[float, float]:
    """Doubles on both sides of a formula's value, two units of the last place apart at most.

    Where 1,792 digits do not suffice (a value that is zero, but not evidently), the interval is as wide as
    they leave it.

    >>> enclose(lambda d: 1 - (1 - d.of(0.25)))
    (0.25, 0.25)
    >>> low, high = enclose(lambda d: d.of(2).log())
    >>> low < Fraction(6931471805599453094, 10**19) < high
    True
    """
    found = (-math.inf, math.inf)
    for count in _PRECISIONS:
        try:
            low, high = formula(_digits(count)).ends()
        except _Unsettled:
            continue
        found = max(found[0], low), min(found[1], high)
        if found[1] <= math.nextafter(math.nextafter(found[0], math.inf), math.inf):
            break
    return found


def outward(value: Fraction) -> tuple[float, float]:
    """The doubles next to a fraction on both sides: one and the same where it is a double.

    >>> outward(Fraction(1, 4)), outward(Fraction(1, 3))
    ((0.25, 0.25), (0.3333333333333333, 0.33333333333333337))
    """
    near = float(value)
    low = near if near <= value else math.nextafter(near, -math.inf)
    return low, near if near >= value else math.nextafter(near, math.inf)


def _below(value: Decimal, digits: Digits) -> Decimal:
    return value if not value else digits.down.next_minus(value)


def _above(value: Decimal, digits: Digits) -> Decimal:
    return digits.up.next_plus(value)


def _double_below(value: Decimal) -> float:
    near = float(value)
    if math.isinf(near) and value.is_finite():
        return sys.float_info.max if near > 0 else near
    return near if Decimal(near) <= value else math.nextafter(near, -math.inf)
