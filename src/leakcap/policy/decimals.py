"""Decimals with a fixed number of places: whole numbers of steps of 10^−places, as money and rates are.

Within its bounds a decimal has at most 10¹⁵ steps. So many are told apart by doubles, each step by the one
nearest to it, which no other step has; and no sum, difference or product of two such doubles is off by half a
step (`policy/arithmetic.py`). So a double stands for the decimal, exactly, on every engine.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from leakcap.sampling.rational import printed

__all__ = [
    "MOST_PLACES",
    "MOST_STEPS",
    "check_decimals",
    "decimal_key",
    "decimal_number",
    "decimal_steps",
    "places_of",
    "rounded_half_away",
]

MOST_PLACES = 15
MOST_STEPS = 10**15
_WRITTEN = re.compile(r"[+-]?\d{1,40}(\.\d{1,40})?", re.ASCII)


def decimal_number(text: object) -> object:
    """A decimal that is written as text, as the double that stands for it; anything else as it is.

    Raises `ValueError` for a text that is no decimal, or one of more digits than a double tells apart.

    >>> decimal_number("10.10"), decimal_number(3)
    (10.1, 3)
    """
    if not isinstance(text, str):
        return text
    if not _WRITTEN.fullmatch(text):
        raise ValueError(f"a decimal is written in digits with a point, like 10.10. Got {text[:40]!r}")
    if printed(float(text)) != Fraction(text):
        raise ValueError(f"a decimal has at most 15 digits. Got {text[:40]!r}")
    return float(text)


def places_of(value: float) -> int | None:
    """The decimal places that a number is written with; None where these are more than `MOST_PLACES`.

    >>> places_of(1.19), places_of(3.0), places_of(1e-20)
    (2, 0, None)
    """
    exact = printed(value)
    return next((n for n in range(MOST_PLACES + 1) if (exact * 10**n).denominator == 1), None)


def decimal_steps(value: float, places: int) -> int | None:
    """A number in steps of 10^−places; None where it is not a whole number of them.

    >>> decimal_steps(10.1, 2), decimal_steps(0.005, 2)
    (1010, None)
    """
    steps = printed(value) * 10**places
    return int(steps) if steps.denominator == 1 else None


def decimal_key(value: object, places: int) -> str:
    """A key of a column of decimals as it is written, with all of its places: 0.5 and "0.50" are one key.

    Raises `ValueError` for what is no decimal of so many places.

    >>> decimal_key(0.5, 2), decimal_key("-1.2", 2), decimal_key(-0.0, 1)
    ('0.50', '-1.20', '0.0')
    """
    number = decimal_number(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise ValueError("`keys` of decimals must be numbers, or texts of them like 10.10")
    check_decimals("`keys`", places, number)
    whole, rest = divmod(abs(decimal_steps(number, places) or 0), 10**places)
    return f"{'-' if number < 0 else ''}{whole}.{rest:0{places}d}"


def rounded_half_away(value: Fraction, places: int) -> Fraction:
    """The nearest decimal of so many places; of two that are as near the one farther from zero.

    >>> rounded_half_away(Fraction("-0.125"), 2), rounded_half_away(Fraction("0.1249"), 2)
    (Fraction(-13, 100), Fraction(3, 25))
    """
    steps = math.floor(abs(value) * 10**places + Fraction(1, 2))
    return Fraction(steps if value >= 0 else -steps, 10**places)


def check_decimals(name: str, places: int, *values: float) -> None:
    """Raise `ValueError` unless all of them are so many steps, at most `MOST_STEPS` from zero."""
    if any(decimal_steps(value, places) is None for value in values):
        raise ValueError(f"{name} must have at most {places} decimal places, as `places` says")
    if any(abs(printed(value)) * 10**places > MOST_STEPS for value in values):
        raise ValueError(
            f"{name} must have at most {MOST_PLACES} digits, those of {places} decimal places included"
        )
