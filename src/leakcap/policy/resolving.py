"""The keys and bounds that derived columns have by construction, worked out from what they are from."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from leakcap.policy.arithmetic import computed_bounds, computed_places, days_of, is_dated, is_whole
from leakcap.policy.cases import case_text
from leakcap.policy.declared import Column
from leakcap.policy.derived import DatePart, Key, periods
from leakcap.policy.nested import key_word
from leakcap.policy.nesting import paths_of_keys
from leakcap.policy.validation import meant

__all__ = ["check_not_derived", "resolved"]

_MOST_KEYS = 100_000
_LONGEST_CHAIN = 10
_LENGTHS = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}


def resolved(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The columns, derived ones with the keys or bounds that follow. Raises `ValueError` where none do."""
    found: dict[str, Column] = {}
    steps: dict[str, int] = {}
    for name in columns:
        _resolve(name, columns, found, steps, ())
    found = {name: found[name] for name in columns}
    for name in columns:
        _check_told_apart(name, found)
    return {name: _nested(name, found) for name in columns}


def _check_told_apart(name: str, columns: Mapping[str, Column]) -> None:
    """Refuse keys taken from a nested column where one of them is a name of two: they would be merged."""
    one = columns[name]
    if not isinstance(one.source, str) or one.prefix is not None or (one.operations and one.groups is None):
        return
    source = columns[one.source]
    if source.within is None:
        return
    _, paths = paths_of_keys(one.source, columns)
    times = Counter(key_word(path[-1]) for path in paths)
    asked = one.keys or () if one.groups is None else [key for own in one.groups.values() for key in own]
    for key in asked:
        if times[key_word(key)] > 1:
            raise ValueError(
                f"`columns.{name}` names `{key_word(key)}`, which lies within {times[key_word(key)]} keys of "
                f"`{source.within}` and would be one group. Leave it out, and count by `{one.source}` and "
                f"`{source.within}` together"
            )


def _nested(name: str, columns: Mapping[str, Column]) -> Column:
    """A column within another with the whole paths of its keys, in their order; any other as it is."""
    one = columns[name]
    if one.within is None:
        return one
    _, paths = paths_of_keys(name, columns)
    return _copied(one, {"paths": paths, "keys": tuple(dict.fromkeys(path[-1] for path in paths))})


def _resolve(
    name: str,
    columns: Mapping[str, Column],
    found: dict[str, Column],
    steps: dict[str, int],
    above: tuple[str, ...],
) -> None:
    """Put a column into `found`, after those that it follows from, and into `steps` how far it is from stored
    ones. `above` are those that follow from it.
    """
    one = columns[name]
    if name in above:
        chain = " from ".join(f"`{each}`" for each in (*above[above.index(name) :], name))
        raise ValueError(f"`columns.{name}` follows from itself: {chain}")
    if name in found:
        return
    if len(above) > _LONGEST_CHAIN:
        raise ValueError(_too_long(above[0]))
    for source in one.sources:
        if source not in columns:
            raise ValueError(
                f"`columns.{name}` is from `{source}`, which is no column. {meant(source, columns)}"
            )
        _resolve(source, columns, found, steps, (*above, name))
    steps[name] = 1 + max((steps[source] for source in one.sources), default=-1)
    if steps[name] > _LONGEST_CHAIN:
        raise ValueError(_too_long(name))
    found[name] = one if one.stored else _completed(name, one, found)


def _too_long(name: str) -> str:
    return f"`columns.{name}` is more than {_LONGEST_CHAIN} columns away from a stored one"


def _completed(name: str, one: Column, columns: Mapping[str, Column]) -> Column:
    if one.compute is not None:
        bounds, whole = computed_bounds(name, one, columns), is_whole(one, columns)
        if one.integers and not whole:
            raise ValueError(
                f"`type` of `columns.{name}` follows from its columns, which need not be whole numbers"
            )
        if one.places is not None and whole:
            raise ValueError(f"`columns.{name}` holds whole numbers: leave `type` and `places` out")
        places = None if whole else computed_places(name, one, columns, bounds)
        return _copied(one, {"bounds": bounds, "integers": whole, "places": places})
    keys = _keys(name, one, columns)
    if one.keys not in (None, keys):
        raise ValueError(f"`keys` of `columns.{name}` follow from what it is `from`: leave them out")
    return _copied(one, {"keys": keys})


def _copied(one: Column, known: Mapping[str, object]) -> Column:
    found = one.model_copy(update=known)
    for cached in ("kind", "whole", "scale"):
        found.__dict__.pop(cached, None)  # a copy has what was cached before
    return found


def _keys(name: str, column: Column, columns: Mapping[str, Column]) -> tuple[Key, ...] | None:
    if column.case is not None:
        return case_text(column.case).keys
    first = columns[column.sources[0]]
    if column.compare is not None:
        _check_compared(name, column, columns)
        return (True, False)
    if column.cuts is not None:
        return _bands(name, column, first)
    if column.truncate is not None or column.part is not None:
        return _of_dates(name, column, first)
    if not column.operations:
        return _own_keys(name, column, first)
    wanted = "integer" if column.groups is not None and _of_integers(column) else "text"
    if first.kind != wanted:
        raise ValueError(f"`columns.{name}` needs a column with {wanted} keys; `{column.source}` has none")
    if column.prefix is not None and not (first.stored or first.is_prefix):
        raise ValueError(f"`columns.{name}` needs text that is stored, or a `prefix` of it")
    if column.groups is None:
        return _prefixes(name, column)
    _check_members(name, column, first)
    # As a policy's text says them, where it is read again: in the order that they had.
    given = column.keys
    again = given is not None and len(given) == len(column.groups) and set(given) == set(column.groups)
    return given if again else tuple(column.groups)


def _own_keys(name: str, column: Column, source: Column) -> tuple[Key, ...] | None:
    """Other keys of the same column: a list of them, or none where they are private."""
    if source.kind != column.kind or source.kind not in ("text", "integer"):
        raise ValueError(
            f"`keys` of `columns.{name}` must be of the kind of `{column.source}`, text or whole numbers"
        )
    if not (source.stored or source.is_prefix):
        raise ValueError(
            f"`columns.{name}` needs a column that is stored, or a `prefix` of it, or an operation"
        )
    return column.keys


def _check_members(name: str, column: Column, source: Column) -> None:
    """What a derived column is, is known: a group of anything else would be one that nobody is in."""
    if source.stored or column.prefix is not None or source.keys is None or source.is_prefix:
        return
    strange = [one for group in (column.groups or {}).values() for one in group if one not in source.keys]
    if strange:
        raise ValueError(
            f"`groups` of `columns.{name}` name `{strange[0]}`, which is no key of `{column.source}`"
        )


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
    if (
        one.kind != other.kind
        or (one.ahead, one.zone) != (other.ahead, other.zone)
        or _order(one) != _order(other)
    ):
        raise ValueError(f"`columns.{name}` compares columns of two kinds")
    what = "groups" if one.groups is not None else "keys of a `case`"
    if (one.groups is not None or one.case is not None) and column.compare not in ("=", "<>"):
        raise ValueError(f"`columns.{name}` compares {what}, which have no order, by order. Use = or <>")
    if one.kind == "boolean" and column.compare not in ("=", "<>"):
        raise ValueError(f"`columns.{name}` compares true and false by order. Use = or <>")


def _order(column: Column) -> tuple[object, ...]:
    """What the codes of two columns must have in common, so that they mean the same keys."""
    coded = column.cuts is not None or column.groups is not None or column.case is not None
    return column.truncate, coded and column.keys


def _bands(name: str, column: Column, source: Column) -> tuple[Key, ...]:
    """The labels of the bands, or what they hold."""
    cuts = column.cuts or ()
    dated = isinstance(cuts[0], datetime.date)
    if dated != is_dated(source) or (not dated and source.bounds is None):
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
    if not is_dated(source):
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
        if name is not None and name in columns and columns[name].places is not None:
            raise ValueError(
                f"{role} names `{name}`, whose decimals are rounded: two of them could become one. Leave its "
                "`type` and `places` out"
            )
