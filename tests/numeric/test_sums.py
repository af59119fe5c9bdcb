"""Sums and fractions rounded up are what fractions say: the least double that is not below."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from leakcap.numeric import float_up, sum_up

EXPONENTS = (0, 1, -5, 30, -60, 1000, 1024, -1050, -1074)


def least(value: Fraction) -> float:
    """The least double that is not below, by going from one to the next."""
    try:
        found = float(value)
    except OverflowError:
        return math.inf
    while Fraction(found) < value:
        found = math.nextafter(found, math.inf)
        if math.isinf(found):
            return found
    while Fraction(math.nextafter(found, -math.inf)) >= value:
        found = math.nextafter(found, -math.inf)
    return found


def test_sums_of_doubles_of_all_sizes_are_rounded_up_once() -> None:
    chosen, inexact = random.Random(1), 0
    for _ in range(5_000):
        terms = [
            math.ldexp(chosen.uniform(-1, 1), chosen.choice(EXPONENTS)) for _ in range(chosen.randint(0, 6))
        ]
        if chosen.random() < 0.3:
            terms += [-term for term in terms[:2]]
        exact = sum(map(Fraction, terms), start=Fraction(0))
        assert sum_up(terms) == least(exact), terms
        inexact += math.isfinite(sum_up(terms)) and Fraction(sum_up(terms)) != exact
    assert inexact > 1_000


def test_fractions_are_rounded_up_once() -> None:
    chosen = random.Random(2)
    for _ in range(5_000):
        value = Fraction(chosen.getrandbits(80) - 2**79, chosen.getrandbits(70) + 1)
        assert float_up(value) == least(value)
        assert float_up(value.numerator) == least(Fraction(value.numerator))


def test_sums_at_the_ends() -> None:
    """Some of the terms may be too large together, and all of them not; what is no number is no sum."""
    assert sum_up([1e308, 1e308, -1e308]) == 1e308
    assert sum_up([1e308, 1e308]) == math.inf
    assert sum_up([]) == 0.0
    assert math.copysign(1.0, sum_up([-0.0])) == 1.0
    with pytest.raises(ValueError, match="NaN"):
        sum_up([1.0, math.nan])
