"""Interval arithmetic on decimals against balls of 400 bits, which share no code with it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import flint
import pytest
from flint import arb

from leakcap.numeric.enclosure import Digits, Interval, enclose, outward
from leakcap.numeric.special import cosine, erf, erfc, normal_tail, pi

FUNCTIONS: dict[str, tuple[Callable[[Interval], Interval], Callable[[arb], arb], float, float]] = {
    "exp": (lambda x: x.exp(), lambda x: x.exp(), -700.0, 700.0),
    "expm1": (lambda x: x.exp() - 1, lambda x: x.expm1(), -1e-3, 1e-3),
    "log": (lambda x: x.log(), lambda x: x.log(), 0.0, 1e300),
    "log1p": (lambda x: (x + 1).log(), lambda x: x.log1p(), -1e-9, 1e-9),
    "sqrt": (lambda x: x.sqrt(), lambda x: x.sqrt(), 0.0, 1e9),
    "power": (lambda x: x.power(0.3), lambda x: (x.log() * arb(0.3)).exp(), 0.0, 1e9),
    "erf": (erf, lambda x: x.erf(), -8.0, 8.0),
    "erfc": (erfc, lambda x: x.erfc(), -8.0, 26.0),
    "cosine": (cosine, lambda x: x.cos(), -20.0, 20.0),
    "reciprocal": (lambda x: 1 / x, lambda x: 1 / x, -5.0, 5.0),
    "square": (lambda x: x * x - x, lambda x: x * x - x, -2.0, 2.0),
}


def points(low: float, high: float, count: int) -> list[float]:
    """Doubles of every size within the limits."""
    rng = random.Random(18)
    found = []
    while len(found) < count:
        size = 10.0 ** rng.uniform(-12.0, math.log10(max(abs(low), abs(high))))
        value = size if high > 0 and (low >= 0 or rng.random() < 0.5) else -size
        if low < value < high:
            found.append(value)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_enclosed_by_neighbouring_doubles(name: str) -> None:
    formula, truth, low, high = FUNCTIONS[name]
    tested = 0
    with flint.ctx.workprec(400):
        for x in points(low, high, 60):
            below, above = enclose(lambda d, x=x: formula(d.of(x)))  # type: ignore[misc]
            exact = truth(arb(x))
            assert arb(below) <= exact <= arb(above), (x, below, above, exact)
            assert above <= math.nextafter(math.nextafter(below, math.inf), math.inf), x
            tested += 1
    assert tested == 60


def test_one_unit_less_would_not_hold() -> None:
    """The planted bug: an interval moved by one double excludes the truth."""
    with flint.ctx.workprec(400):
        for x in points(0.0, 2.0, 20):
            low, high = enclose(lambda d, x=x: d.of(x).exp())  # type: ignore[misc]
            up = math.nextafter(math.nextafter(low, 3.0), 3.0)
            assert not arb(up) <= arb(x).exp() <= arb(math.nextafter(math.nextafter(high, 9), 9)), x


def test_what_cancels_costs_digits_only() -> None:
    low, high = enclose(lambda d: d.of(1e-200).exp() - 1 - 1e-200)
    assert 0.0 <= low <= high <= 5e-324  # 5e-401 lies below the doubles
    low, high = enclose(lambda d: (d.of(1e-100).exp() - 1 - 1e-100) * 10**200)
    assert low <= 0.5 <= high
    assert high - low < 1e-15


def test_a_result_that_rounds_to_one_is_not_one() -> None:
    for x in (-1e-300, -1e-40, 1e-40):
        low, high = enclose(lambda d, x=x: (d.of(x).exp() - 1) / x)  # type: ignore[misc]
        assert low <= 1.0 <= high
        assert high - low < 1e-15
        at_first = Digits(28).of(x).exp()
        assert at_first.low < 1 < at_first.high


def test_exact_results_have_no_width() -> None:
    assert enclose(lambda d: d.of(0.5) * d.of(3) / 4 - 1) == (-0.625, -0.625)
    assert enclose(lambda d: d.of(1).log() + d.of(0).exp()) == (1.0, 1.0)
    assert enclose(lambda d: normal_tail(d.of(0))) == (0.5, 0.5)


def test_sizes_beyond_the_doubles() -> None:
    assert enclose(lambda d: d.of(1e9).exp()) == (1.7976931348623157e308, math.inf)
    assert enclose(lambda d: d.of(-1e9).exp()) == (0.0, 5e-324)
    assert enclose(lambda d: d.of(-1e300).exp()) == (0.0, 5e-324)
    assert enclose(lambda d: d.of(1) / (d.of(2).sqrt() * d.of(2).sqrt() - 2)) == (-math.inf, math.inf)


def test_signs() -> None:
    digits = Digits(28)
    wide = Interval(digits.of(-2).low, digits.of(3).high, digits)
    assert (wide * wide).ends() == (-6.0, 9.0)
    assert wide.size().ends() == (0.0, 3.0)
    assert wide.positive_part().ends() == (0.0, 3.0)
    assert (-wide).ends() == (-3.0, 2.0)
    assert wide.or_more(digits.of(1)).ends() == (1.0, 3.0)


def test_products_and_quotients_by_every_corner() -> None:
    """Intervals of all signs against fractions: nothing that numbers of both can give lies outside, and the
    ends are those of the corners, rounded to 28 digits.
    """
    ends = [Fraction(n, d) for n in (-7, -1, 0, 1, 5) for d in (1, 3)]
    pairs = sorted({(low, high) for low in ends for high in ends if low <= high})
    digits, seen = Digits(28), 0
    for a, b in pairs:
        x = Interval(digits.of(a).low, digits.of(b).high, digits)
        for e, f in pairs:
            y = Interval(digits.of(e).low, digits.of(f).high, digits)
            corners = [p * q for p in (a, b) for q in (e, f)]
            found = [(x * y, min(corners), max(corners))]
            if not e <= 0 <= f:
                corners = [p / q for p in (a, b) for q in (e, f)]
                found.append((x / y, min(corners), max(corners)))
            for interval, low, high in found:
                here, there = Fraction(interval.low), Fraction(interval.high)
                assert here <= low <= high <= there
                assert low - here <= abs(low) * Fraction(4, 10**27)
                assert there - high <= abs(high) * Fraction(4, 10**27)
                seen += 1
    assert seen == len(pairs) * (len(pairs) + sum(not e <= 0 <= f for e, f in pairs))


def test_integers_of_any_length_are_enclosed() -> None:
    for value in (10**27, 10**28 - 1, 10**28, 10**28 + 1, 3**60, -(10**28) - 1, -(3**60), True, 0):
        found = Digits(28).of(value)
        assert Fraction(found.low) <= value <= Fraction(found.high)
        assert (found.low == found.high) == (len(str(abs(value)).rstrip("0")) <= 28)


@pytest.mark.parametrize("count", [28, 56, 224])
@pytest.mark.parametrize("width", [0.0, 1e-20, 1e-11, 1e-7, 0.5])
def test_erfc_of_an_interval_holds_those_of_its_ends_and_hardly_more(count: int, width: float) -> None:
    """Before any digits are added: on both sides of where series, fraction and slope take over."""
    chance, digits = random.Random(count), Digits(count)
    ends = [0.0, 1e-30, 5.0, math.nextafter(5.0, 0.0), 4.999999, -1e-12, -1e-8]
    with flint.ctx.workprec(2000):
        for low in [*ends, *(chance.uniform(-6.0, 9.0) for _ in range(40))]:
            start = digits.of(low).low
            x = Interval(start, digits.up.add(start, digits.of(width).high), digits)
            found, hair = erfc(x), arb(10) ** (3 - count)
            least, most = (arb(str(end)).erfc() for end in (x.high, x.low))
            assert arb(str(found.low)) <= least, low
            assert most <= arb(str(found.high)), low
            slope = 2 * abs(low) + 3 if width < 1e-10 else 0.0
            assert arb(str(found.low)) > least * (1 - arb(width) * slope - hair), low
            assert arb(str(found.high)) < most * (1 + hair), low


def test_pi_and_fractions() -> None:
    with flint.ctx.workprec(400):
        low, high = enclose(pi)
        assert arb(low) < arb.pi() < arb(high)
    for numerator in range(1, 60):
        value = Fraction(numerator, 37)
        low, high = outward(value)
        assert Fraction(low) <= value <= Fraction(high)
        assert (low == high) == (value == Fraction(low))
        assert enclose(lambda d, value=value: d.of(value)) == (low, high)  # type: ignore[misc]
