"""Generalised values of a published file, and whose value of a register each can stand for."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

__all__ = ["can_stand_for", "stands_for_by_form"]

_NUMBER = r"[+-]?(?:\d{1,15})(?:\.\d{1,15})?"
_RANGE = re.compile(rf"^({_NUMBER})\s*(?:-|–|\.\.|to)\s*({_NUMBER})$")
_BRACKETS = re.compile(rf"^([\[(])\s*({_NUMBER})\s*[,;]\s*({_NUMBER})\s*([\])])$")
_BELOW = re.compile(rf"^(<=|<|≤)\s*({_NUMBER})$")
_ABOVE = re.compile(rf"^(>=|>|≥)\s*({_NUMBER})$|^({_NUMBER})\s*\+$")
_PREFIX = re.compile(r"^([^*]*[^*\s])(\*+)$")
_ANY = ("", "*", "any", "all")
_EITHER = "|"


def can_stand_for(shown: str) -> Callable[[str], bool]:
    """Whether a published value can stand for one of a register.

    A value stands for itself. `20-29`, `[20, 30)`, `<20` and `65+` are ranges of numbers; `12*` is whatever
    begins with 12, `12**` has two characters more; `a|b` is either, and `*`, or nothing, is anything.

    >>> [can_stand_for(one)("25") for one in ("20-29", "[20, 25)", "65+", "2*", "2**", "24|25", "*")]
    [True, False, False, True, False, True, True]
    """
    tests = [
        stands_for_by_form(part.strip()) or partial(_same, part.strip()) for part in shown.split(_EITHER)
    ]
    return lambda value: value == shown or any(test(value) for test in tests)


def stands_for_by_form(part: str) -> Callable[[str], bool] | None:
    """What a published word without `|` can stand for, by its form; None for one that stands for itself."""
    if part.lower() in _ANY:
        return _anything
    if found := _RANGE.match(part):
        return partial(_between, Fraction(found[1]), True, Fraction(found[2]), True)
    if found := _BRACKETS.match(part):
        return partial(_between, Fraction(found[2]), found[1] == "[", Fraction(found[3]), found[4] == "]")
    if found := _BELOW.match(part):
        return partial(_between, None, True, Fraction(found[2]), found[1] != "<")
    if found := _ABOVE.match(part):
        return partial(_between, Fraction(found[2] or found[3]), found[1] != ">", None, True)
    if found := _PREFIX.match(part):
        return partial(_begins, found[1], len(found[2]))
    return None


def _anything(_value: str) -> bool:
    return True


def _same(part: str, value: str) -> bool:
    return value == part


def _between(low: Fraction | None, from_: bool, high: Fraction | None, to: bool, value: str) -> bool:
    number = _number(value)
    if number is None:
        return False
    above = low is None or number > low or (from_ and number == low)
    return above and (high is None or number < high or (to and number == high))


@lru_cache(maxsize=1 << 16)
def _number(value: str) -> Fraction | None:
    return Fraction(value) if re.fullmatch(_NUMBER, value) else None


def _begins(prefix: str, stars: int, value: str) -> bool:
    return value.startswith(prefix) and (stars == 1 or len(value) == len(prefix) + stars)
