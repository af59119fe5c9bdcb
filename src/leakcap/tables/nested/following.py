"""Which key of a column follows from each key of another one, known from the policy alone: a month from a
day, a chapter from a code, ten years of age from five.
"""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections.abc import Callable
from typing import TypeAlias

from leakcap.policy.arithmetic import days_of
from leakcap.policy.declared import Column, Key
from leakcap.policy.derived import periods
from leakcap.policy.document import Policy

__all__ = ["roots_of", "that_follow"]

Followed: TypeAlias = dict[Key, Key]
_Follow: TypeAlias = Callable[[Key], Key | None]

_MOST_DAYS = 200_000
"""Days that are gone through: five hundred years."""


def roots_of(name: str, policy: Policy) -> set[str]:
    """The columns that one is derived from by operations on one column, itself first: those that it can have
    in common with another."""
    found = [name]
    while len(policy.columns[found[-1]].sources) == 1 and not _calculated(policy.columns[found[-1]]):
        found.append(policy.columns[found[-1]].sources[0])
    return set(found)


def that_follow(coarse: str, fine: str, policy: Policy) -> Followed | None:
    """For the keys of `fine` that of `coarse` which each row with it has; keys without one are left out.

    None where `coarse` does not follow from `fine` alone.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0, 100]}, "ten": {"from": "age", "cuts": [50]},
    ...                 "five": {"from": "age", "cuts": [20, 50]}}})
    >>> that_follow("ten", "five", policy)
    {'under 20': 'under 50', '20 to under 50': 'under 50', '50 and over': '50 and over'}
    >>> that_follow("five", "ten", policy) is None
    True
    """
    follow = _following(coarse, fine, policy)
    if follow is None:
        return None
    known = set(policy.columns[coarse].keys or ())
    told = {key: follow(key) for key in policy.columns[fine].keys or ()}
    return {key: own for key, own in told.items() if own is not None and own in known}


def _following(coarse: str, fine: str, policy: Policy) -> _Follow | None:
    if coarse == fine:
        return lambda key: key
    one, other = policy.columns[coarse], policy.columns[fine]
    if one.stored or len(one.sources) != 1 or _calculated(one):
        return None
    source = one.sources[0]
    if one.groups is not None or one.prefix is not None:
        below = _following(source, fine, policy)
        return None if below is None else lambda key: _grouped(one, below(key))
    if other.stored or other.sources != (source,) or _calculated(other):
        return None
    if policy.columns[source].moments is not None:
        days = _days(one, other, policy.columns[source])
        return None if days is None else days.get
    return _of_cuts(one, other)


def _calculated(column: Column) -> bool:
    return column.compute is not None or column.compare is not None or column.case is not None


def _grouped(column: Column, key: Key | None) -> Key | None:
    """The prefix of a key, or its group."""
    if key is None or (column.prefix is not None and not isinstance(key, str)):
        return None
    part = key[: column.prefix] if column.prefix is not None and isinstance(key, str) else key
    if column.groups is None:
        return part
    return next((name for name, members in column.groups.items() if part in members), None)


def _of_cuts(coarse: Column, fine: Column) -> _Follow | None:
    """Bands of one number, where each cut of the wide ones is one of the narrow ones."""
    wide, narrow = coarse.cuts or (), fine.cuts or ()
    if not wide or not set(wide) <= set(narrow):
        return None
    starts = (None, *narrow)
    bands = [0 if start is None else bisect_right(wide, start) for start in starts]
    told = dict(zip(fine.keys or (), ((coarse.keys or ())[band] for band in bands), strict=True))
    return told.get


def _days(coarse: Column, fine: Column, source: Column) -> dict[Key, Key | None] | None:
    """Parts and periods of one day, and bands of it, where no key of the fine ones has two of the others."""
    if coarse.cuts is not None and fine.cuts is not None:
        follow = _of_cuts(coarse, fine)
        return (
            None
            if follow is None
            else {key: own for key in fine.keys or () if (own := follow(key)) is not None}
        )
    if fine.cuts is not None or not {"truncate", "part", "cuts"}.issuperset(
        (*coarse.operations, *fine.operations)
    ):
        return None
    first, last = days_of(source)
    if (last - first).days > _MOST_DAYS:
        return None
    of_coarse, of_fine = _of_day(coarse, first, last), _of_day(fine, first, last)
    found: dict[Key, Key | None] = {}
    for ordinal in range(first.toordinal(), last.toordinal() + 1):
        day = datetime.date.fromordinal(ordinal)
        own = of_coarse(day)
        if found.setdefault(of_fine(day), own) != own:
            return None
    return found


def _of_day(column: Column, first: datetime.date, last: datetime.date) -> Callable[[datetime.date], Key]:
    """A column's key of each day within the bounds."""
    if column.cuts is not None:
        cuts, keys = column.cuts, column.keys or ()
        return lambda day: keys[bisect_right(cuts, day)]
    unit = column.truncate
    if unit is None:
        part = column.part
        return lambda day: {
            "year": day.year,
            "quarter": (day.month + 2) // 3,
            "month": day.month,
            "weekday": day.isoweekday(),
        }[part or "year"]
    named = periods(unit, first, last)

    def code(day: datetime.date) -> int:
        if unit in ("week", "day"):
            return (day.toordinal() - 1) // (7 if unit == "week" else 1)
        each_year = {"year": 1, "quarter": 4, "month": 12}[unit]
        return day.year if each_year == 1 else day.year * each_year + (day.month - 1) * each_year // 12 + 1

    return lambda day: named[code(day)]
