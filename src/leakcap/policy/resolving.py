"""The keys that derived columns have by construction, worked out from the columns that they are from."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from itertools import pairwise

from leakcap.policy.declared import Column
from leakcap.policy.derived import DatePart, Key, periods
from leakcap.policy.validation import meant

__all__ = ["check_not_derived", "days_of", "resolved"]

_MOST_KEYS = 100_000
_LENGTHS = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}
_OF_DATES = ("date", "timestamp", "instant")


def resolved(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The columns, derived ones with the keys that they have by construction. Raises `ValueError`."""
    found = dict(columns)
    for name, one in columns.items():
        if one.source is not None:
            keys = _keys(name, one, columns)
            if one.keys not in (None, keys):
                raise ValueError(f"`keys` of `columns.{name}` follow from what it is `from`: leave them out")
            found[name] = one.model_copy(update={"keys": keys})
            found[name].__dict__.pop("kind", None)  # a copy has what was cached without keys
    return found


def _keys(name: str, column: Column, columns: Mapping[str, Column]) -> tuple[Key, ...] | None:
    for source in column.sources:
        if source not in columns:
            raise ValueError(
                f"`columns.{name}` is from `{source}`, which is no column. {meant(source, columns)}"
            )
        if columns[source].source is not None:
            raise ValueError(f"`columns.{name}` is from `{source}`, which is derived itself")
    first = columns[column.sources[0]]
    if column.compare is not None:
        _check_compared(name, column, columns)
        return (True, False)
    if column.cuts is not None:
        return _bands(name, column, first)
    if column.truncate is not None or column.part is not None:
        return _of_dates(name, column, first)
    wanted = "integer" if column.groups is not None and _of_integers(column) else "text"
    if first.kind != wanted:
        raise ValueError(f"`columns.{name}` needs a column with {wanted} keys; `{column.source}` has none")
    if column.groups is None:
        return _prefixes(name, column)
    # As a policy's text says them, where it is read again: in the order that they had.
    given = column.keys
    again = given is not None and len(given) == len(column.groups) and set(given) == set(column.groups)
    return given if again else tuple(column.groups)


def _prefixes(name: str, column: Column) -> tuple[Key, ...] | None:
    """The keys that a prefix was given: a longer one would be a group that nobody is in."""
    long = [key for key in column.keys or () if isinstance(key, str) and len(key) > (column.prefix or 0)]
    if long:
        raise ValueError(
            f"`keys` of `columns.{name}` must have {column.prefix} characters at most. Got `{long[0]}`"
        )
    return column.keys


def _of_integers(column: Column) -> bool:
    return all(isinstance(one, int) for group in (column.groups or {}).values() for one in group)


def _check_compared(name: str, column: Column, columns: Mapping[str, Column]) -> None:
    one, other = (columns[source] for source in column.sources)
    if one.kind != other.kind or one.zone != other.zone:
        raise ValueError(f"`columns.{name}` compares columns of two kinds")
    if one.kind == "boolean" and column.compare not in ("=", "<>"):
        raise ValueError(f"`columns.{name}` compares true and false by order. Use = or <>")


def _bands(name: str, column: Column, source: Column) -> tuple[Key, ...]:
    """The labels of the bands, or what they hold."""
    cuts = column.cuts or ()
    dated = isinstance(cuts[0], datetime.date)
    if dated != (source.kind in _OF_DATES) or (not dated and source.bounds is None):
        raise ValueError(f"`columns.{name}` cuts `{column.source}`, which needs `bounds` of the same kind")
    low, high = days_of(source) if dated else source.bounds or (0.0, 0.0)
    # The last day may be a band of its own; a number at its upper bound is no interval.
    if not low < cuts[0] or cuts[-1] > high or (not dated and cuts[-1] == high):  # type: ignore[operator]
        raise ValueError(f"`cuts` of `columns.{name}` must lie within the bounds of `{column.source}`")
    if column.keys is None:
        shown = [one.isoformat() if isinstance(one, datetime.date) else _shown(one) for one in cuts]
        between = [f"{a} to under {b}" for a, b in pairwise(shown)]
        return (f"under {shown[0]}", *between, f"{shown[-1]} and over")
    if len(column.keys) != len(cuts) + 1 or not all(isinstance(key, str) for key in column.keys):
        raise ValueError(f"`keys` of `columns.{name}` must be texts, one more than `cuts`")
    return column.keys


def _shown(cut: float) -> str:
    """As people write it, where that is the number; else all digits, so that no two bands share a name."""
    short = f"{cut:.15g}"
    return short if float(short) == cut else repr(float(cut))


def _of_dates(name: str, column: Column, source: Column) -> tuple[Key, ...]:
    if source.kind not in _OF_DATES:
        raise ValueError(
            f"`columns.{name}` needs a column with dates as `bounds`; `{column.source}` has none"
        )
    low, high = days_of(source)
    if column.truncate is not None:
        if (high - low).days // _LENGTHS[column.truncate] > _MOST_KEYS:
            raise ValueError(
                f"`columns.{name}` has more than {_MOST_KEYS:,} keys. Narrow the bounds of `{column.source}`"
            )
        found: tuple[Key, ...] = tuple(periods(column.truncate, low, high).values())
    else:
        found = tuple(sorted(set(_parts(column.part or "year", low, high))))
    return found


def days_of(column: Column) -> tuple[datetime.date, datetime.date]:
    """The first and the last day of a column of dates or of moments, in its own zone."""
    if column.times is not None:
        return column.times[0].date(), column.times[1].date()
    assert column.dates is not None
    return column.dates


def _parts(part: DatePart, low: datetime.date, high: datetime.date) -> Iterator[int]:
    """The parts that the days have; those of a year and a day are all that there are."""
    if part == "year":
        yield from range(low.year, high.year + 1)
        return
    for ordinal in range(low.toordinal(), min(high.toordinal(), low.toordinal() + 366) + 1):
        day = datetime.date.fromordinal(ordinal)
        yield {"quarter": (day.month + 2) // 3, "month": day.month, "weekday": day.isoweekday()}[part]


def check_not_derived(columns: Mapping[str, Column], named: Mapping[str, str | None]) -> None:
    """Raise `ValueError` where the id, row key or caps column has the name of a derived column."""
    for role, name in named.items():
        if name is not None and name in columns and not columns[name].stored:
            raise ValueError(f"{role} names `{name}`, which is derived. Name a column that the table has")
