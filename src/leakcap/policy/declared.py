"""What a policy says of columns and of other tables: facts that hold for every table that could have been."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal, Self, TypeAlias

from pydantic import field_validator, model_validator

from leakcap.ledger.chain import storable
from leakcap.policy.derived import Derived, Given, Key, as_dates

__all__ = ["Column", "Key", "Kind", "check_names"]

Kind: TypeAlias = Literal["number", "text", "integer", "boolean", "date", "timestamp", "instant"]

# Bounds outside ±LARGEST, or closer than 1/LARGEST, would leave the range in which x·2^j is exact in doubles.
LARGEST = 1e90
_FARTHEST = datetime.timedelta(hours=18)


class Column(Derived):
    """What is publicly known of one column: `bounds` of a number or a date, or the `keys` of a category.

    Integers may have both: they are grouped by their `keys`, and summed within their `bounds`. With dates as
    bounds it is a column of dates (`dates`), with dates and times one of moments (`times`). Without an offset
    a moment is what a clock on the wall showed, as it is stored; with one (`2024-01-01T00:00:00+01:00`) the
    column holds instants, and their day is the one at that offset.

    A column `from` another is not stored: it is derived from it, see `Derived`.

    `keys = "private"` says that the keys themselves are not public: groups by such a column need a threshold
    and a δ (`type = "integer"` where they are not text).
    `fill` is the public value that stands in for a missing one; without it missing values are left out of
    sums, means and histograms, so that whether a value is missing is protected like the value itself.
    `bounds = "unknown"` says that no range is publicly known: the query `bounds` looks for one, at a price.

    >>> Column(bounds=(0.0, 50.0)).kind
    'number'
    >>> Column(keys=("benign", "malignant")).kind
    'text'
    """

    bounds: tuple[float, float] | None = None
    dates: tuple[datetime.date, datetime.date] | None = Given()
    times: tuple[datetime.datetime, datetime.datetime] | None = Given()
    fill: float | None = None
    keys: tuple[Key, ...] | None = None
    private: Literal["text", "integer"] | None = None
    unknown: bool = False

    @model_validator(mode="before")
    @classmethod
    def _private_keys(cls, content: object) -> object:
        """`keys = "private"`, with `type = "integer"` where they are no text; `bounds = "unknown"`."""
        if isinstance(content, Mapping) and content.get("bounds") == "unknown":
            return {**{name: value for name, value in content.items() if name != "bounds"}, "unknown": True}
        if not isinstance(content, Mapping) or content.get("keys") != "private":
            return content
        rest = {name: value for name, value in content.items() if name not in ("keys", "type")}
        return {**rest, "private": content.get("type", "text")}

    @model_validator(mode="before")
    @classmethod
    def _dated(cls, content: object) -> object:
        """`bounds` that are dates, or dates with a time."""
        if not isinstance(content, Mapping):
            return content
        given = dict(content)
        for name in ("bounds", "dates", "times"):
            if isinstance(given.get(name), list | tuple):
                given[name] = tuple(map(as_dates, given[name]))
        bounds = given.get("bounds")
        kinds = {type(one) for one in bounds} if isinstance(bounds, tuple) else set()
        if not kinds & {datetime.date, datetime.datetime}:
            return given
        if len(kinds) > 1 or len(given["bounds"]) != 2:
            raise ValueError("`bounds` must be [first, last], both dates, or both dates with a time")
        return given | {"dates" if kinds == {datetime.date} else "times": given.pop("bounds")}

    @field_validator("bounds", "keys", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.source is not None or self.operations:
            self._check_derived()
            return self
        ranges = [one for one in (self.bounds, self.dates, self.times) if one is not None]
        if self.unknown or self.private is not None:
            if ranges or self.keys is not None or self.fill is not None or self.unknown == bool(self.private):
                what = '`bounds = "unknown"`' if self.unknown else '`keys = "private"`'
                raise ValueError(f"{what} stands alone: no other `bounds` or `keys`, no `fill`")
            return self
        if not ranges and self.keys is None:
            raise ValueError(
                "a column needs either `bounds = [low, high]` or `keys = [...]`, or is `from` another"
            )
        if self.keys is not None:
            _check_keys(self.keys)
        if self.bounds is not None:
            _check_bounds(self.bounds, self.fill)
        elif self.fill is not None:
            raise ValueError("`fill` goes with `bounds` of a number only")
        if ranges and self.keys is not None and (self.bounds is None or self.kind != "integer"):
            raise ValueError("only integers may have `bounds` and `keys`; other columns have either of them")
        for first, last in (one for one in (self.dates, self.times) if one is not None):
            _check_moments(first, last)
        return self

    def _check_derived(self) -> None:
        if self.source is None:
            raise ValueError(f"`{self.operations[0]}` needs `from`, the column that it is about")
        self.check_operation()
        known = (self.bounds, self.dates, self.times, self.fill)
        if any(one is not None for one in known) or self.unknown:
            raise ValueError("a column `from` another has no `bounds` and no `fill` of its own")
        if self.private and self.operations != ("prefix",):
            raise ValueError("its `keys` follow from what it is `from`: leave them out")
        if self.operations == ("prefix",) and (self.keys is None) == (self.private is None):
            raise ValueError('a `prefix` needs `keys`, or `keys = "private"`, or `groups`')
        if self.keys is not None:
            _check_keys(self.keys)
            if self.operations == ("prefix",) and not isinstance(self.keys[0], str):
                raise ValueError("its `keys` must be text")

    @cached_property
    def moments(self) -> tuple[datetime.date, datetime.date] | None:
        """The first and the last day, or moment, of a column of dates; None of another."""
        return self.dates or self.times

    @cached_property
    def zone(self) -> int | None:
        """The offset from UTC, in seconds, at which instants are read; None for what has no zone."""
        offset = None if self.times is None else self.times[0].utcoffset()
        return None if offset is None else round(offset.total_seconds())

    @cached_property
    def stored(self) -> bool:
        """Whether the table has the column; a derived one follows from others."""
        return self.source is None

    @cached_property
    def kind(self) -> Kind:
        """How the engine reads the column, and what its keys are."""
        if self.private is not None:
            return self.private
        if self.dates is not None:
            return "date"
        if self.times is not None:
            return "timestamp" if self.zone is None else "instant"
        if self.keys is None:
            return "number"
        first = self.keys[0]
        if isinstance(first, bool):
            return "boolean"
        return "text" if isinstance(first, str) else "integer"


def _check_bounds(bounds: tuple[float, float], fill: float | None) -> None:
    low, high = bounds
    if not low < high:
        raise ValueError("`bounds` must be [low, high] with low < high")
    if max(abs(low), abs(high)) > LARGEST or high - low < 1.0 / LARGEST:
        raise ValueError(f"`bounds` must lie within ±{LARGEST:g} and at least {1.0 / LARGEST:g} apart")
    if fill is not None and not low <= fill <= high:
        raise ValueError("`fill` must lie within `bounds`")


def _check_moments(first: datetime.date, last: datetime.date) -> None:
    if isinstance(first, datetime.datetime) and isinstance(last, datetime.datetime):
        offset = first.utcoffset()
        if offset != last.utcoffset():
            raise ValueError("`bounds` must both be without an offset from UTC, or have the same one")
        if offset is not None and (offset.total_seconds() % 60 or abs(offset) > _FARTHEST):
            raise ValueError("the offset of `bounds` must be whole minutes, 18 hours at most")
    if not first < last:
        raise ValueError("`bounds` must be [first, last] with first < last")


def _check_keys(keys: tuple[Key, ...]) -> None:
    if not keys:
        raise ValueError("`keys` must name at least one key")
    if len({type(key) for key in keys}) > 1:
        raise ValueError("`keys` must be all text, all integers or all true/false")
    if len(set(keys)) < len(keys):
        raise ValueError("`keys` must not repeat a key")
    if any(isinstance(key, int) and abs(key) >= 2**63 for key in keys):
        raise ValueError("`keys` that are integers must fit in 64 bits")
    if any(isinstance(key, str) and not storable(key) for key in keys):
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
