"""What the bounds, keys and names of columns must be."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from leakcap.ledger.chain import storable
from leakcap.policy.derived import LARGEST, SMALLEST, Key

__all__ = ["LARGEST_WHOLE", "check_bounds", "check_keys", "check_moments", "check_names", "check_whole"]

# Beyond it doubles, as which numbers are read, leave whole numbers out.
LARGEST_WHOLE = 2**53
_FARTHEST = datetime.timedelta(hours=18)


def check_bounds(bounds: tuple[float, float], fill: float | None) -> None:
    """Raise `ValueError` unless these are bounds of numbers, with the fill within them."""
    low, high = bounds
    if not low < high:
        raise ValueError("`bounds` must be [low, high] with low < high")
    if max(abs(low), abs(high)) > LARGEST or high - low < SMALLEST:
        raise ValueError(f"`bounds` must lie within ±{LARGEST:g} and at least {SMALLEST:g} apart")
    if fill is not None and not low <= fill <= high:
        raise ValueError("`fill` must lie within `bounds`")


def check_whole(bounds: tuple[float, float], fill: float | None) -> None:
    """Raise `ValueError` unless these are whole numbers that a double keeps apart."""
    if not all(float(one).is_integer() for one in (*bounds, fill or 0.0)):
        raise ValueError('`bounds` and `fill` must be whole numbers where `type = "integer"`')
    if max(map(abs, bounds)) > LARGEST_WHOLE:
        raise ValueError(f'`bounds` must lie within ±{LARGEST_WHOLE:,} where `type = "integer"`')


def check_moments(first: datetime.date, last: datetime.date) -> None:
    """Raise `ValueError` unless these are two days, or two moments read on one clock, in their order."""
    if isinstance(first, datetime.datetime) and isinstance(last, datetime.datetime):
        offset = first.utcoffset()
        if offset != last.utcoffset():
            raise ValueError("`bounds` must both be without an offset from UTC, or have the same one")
        if offset is not None and (offset.total_seconds() % 60 or abs(offset) > _FARTHEST):
            raise ValueError("the offset of `bounds` must be whole minutes, 18 hours at most")
    if not first < last:
        raise ValueError("`bounds` must be [first, last] with first < last")


def check_keys(keys: tuple[Key, ...]) -> None:
    """Raise `ValueError` unless these are keys of one kind, each once, that a database can hold."""
    if not keys:
        raise ValueError("`keys` must name at least one key")
    if len(set(map(type, keys))) > 1:
        raise ValueError("`keys` must be all text, all integers or all true/false")
    if len(set(keys)) < len(keys):
        raise ValueError("`keys` must not repeat a key")
    numbers = [key for key in keys if isinstance(key, int)]
    if numbers and max(-min(numbers), max(numbers)) >= 2**63:
        raise ValueError("`keys` that are integers must fit in 64 bits")
    if not storable("".join(key for key in keys if isinstance(key, str))):
        raise ValueError(
            "`keys` must be text that a database can hold: no null characters, no half surrogates"
        )


def check_names(columns: Iterable[str]) -> None:
    """Raise `ValueError` for names of which one is empty, or two are one in an engine.

    >>> check_names(["age", "Age"])
    Traceback (most recent call last):
    ValueError: two `columns` differ only in upper and lower case
    """
    names = [name.lower() for name in columns]
    if len(set(names)) < len(names):
        raise ValueError("two `columns` differ only in upper and lower case")
    if any(not name or "\0" in name for name in names):
        raise ValueError("a name in `columns` is empty or has a null character")
