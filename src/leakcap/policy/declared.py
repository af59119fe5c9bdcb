"""What a policy says of columns and of other tables: facts that hold for every table that could have been."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, field_validator, model_validator

from leakcap.policy.cases import case_text
from leakcap.policy.column_rules import LARGEST_WHOLE, check_bounds, check_keys, check_moments, check_whole
from leakcap.policy.decimals import MOST_PLACES, check_decimals, decimal_key, decimal_number
from leakcap.policy.derived import Derived, Given, Key, as_dates
from leakcap.policy.nested import KeyPath, with_paths
from leakcap.policy.zones import Offsets, offsets_of

__all__ = ["Column", "Key", "Kind"]

Kind: TypeAlias = Literal["number", "text", "integer", "boolean", "date", "timestamp", "instant"]

_DAY = 86_400


class Column(Derived):
    """What is publicly known of one column: `bounds` of a number or a date, or the `keys` of a category.

    Integers and decimals may have both: they are grouped by their `keys`, and summed within their
    `bounds`. With dates as bounds it is a column of dates (`dates`), with dates and times one of moments
    (`times`). Without an offset a moment is what a clock on the wall showed, as it is stored; with one
    (`2024-01-01T00:00:00+01:00`) the column holds instants, and their day is the one at that offset. With
    `zone = "Europe/Berlin"` beside bounds without an offset it holds instants too, and their day is the
    one on the clocks there, summer time included; `offsets` are then those of the zone, which the policy
    keeps.

    A column `from` another is not stored: it is derived from it, see `Derived`. What is computed has the
    bounds that follow from those of its columns, or narrower `bounds`, to which it is clamped as stored
    numbers are.

    `keys = "private"` says that the keys themselves are not public: groups by such a column need a threshold
    and a δ (`type = "integer"` where they are not text).
    `type = "integer"` beside `bounds` says that the column holds whole numbers: so is a median of them.
    `type = "decimal"` with `places = 2` says that it holds decimals of two places: they are compared and
    added up exactly, and what has more places is rounded to them, halves away from zero. Their `bounds`,
    `fill` and `keys` may be texts, like "0.10"; as a key each is the text with all its places.
    `fill` is the public value that stands in for a missing one; without it missing values are left out of
    sums, means and histograms, so that whether a value is missing is protected like the value itself.
    `bounds = "unknown"` says that no range is publicly known: the query `bounds` looks for one, at a price.
    `within = "region"` says that its keys lie within those of another column: `keys` are then a table, of
    which `paths` are the lines, see `nested.py`.

    >>> Column(bounds=(0.0, 50.0)).kind
    'number'
    >>> Column(keys=("benign", "malignant")).kind
    'text'
    """

    bounds: tuple[float, float] | None = None
    dates: tuple[datetime.date, datetime.date] | None = Given()
    times: tuple[datetime.datetime, datetime.datetime] | None = Given()
    zone: str | None = Given()
    offsets: Offsets | None = Given()
    fill: float | None = None
    keys: tuple[Key, ...] | None = None
    private: Literal["text", "integer"] | None = None
    unknown: bool = False
    integers: bool = False
    places: Annotated[int, Field(ge=1, le=MOST_PLACES)] | None = Given()
    within: Annotated[str, Field(min_length=1)] | None = Given()
    paths: tuple[KeyPath, ...] | None = Given()

    @model_validator(mode="before")
    @classmethod
    def _nested(cls, content: object) -> object:
        """`keys` as a table, within another column's."""
        return with_paths(content) if isinstance(content, Mapping) else content

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, content: object) -> object:
        """`type = "integer"` beside `bounds` of numbers."""
        if isinstance(content, Mapping) and content.get("type") == "integer" and content.get("bounds"):
            return {name: value for name, value in content.items() if name != "type"} | {"integers": True}
        return content

    @model_validator(mode="before")
    @classmethod
    def _decimals(cls, content: object) -> object:
        """`type = "decimal"` beside `places`; `bounds`, `fill` and `keys` of decimals may be texts."""
        if not isinstance(content, Mapping):
            return content
        given = dict(content)
        if given.get("type") == "decimal":
            del given["type"]
            if given.get("places") is None:
                raise ValueError('`type = "decimal"` goes with `places`, how many decimal places there are')
        places = given.get("places")
        if places is not None:
            if isinstance(given.get("bounds"), list | tuple):
                given["bounds"] = tuple(map(decimal_number, given["bounds"]))
            if "fill" in given:
                given["fill"] = decimal_number(given["fill"])
            if (
                isinstance(given.get("keys"), list | tuple)
                and type(places) is int
                and 0 < places <= MOST_PLACES
            ):
                given["keys"] = tuple(decimal_key(one, places) for one in given["keys"])
        return given

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

    @field_validator("offsets", "paths", mode="before")
    @classmethod
    def _as_pairs(cls, value: object) -> object:
        return tuple(map(tuple, value)) if isinstance(value, list) else value

    @field_validator("bounds", "keys", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.within is None) != (self.paths is None):
            raise ValueError("`paths` follow from `within` and `keys`: leave them out")
        if self.within is not None and (self.places is not None or self.bounds is not None):
            raise ValueError("`within` goes with `keys` of text, integers or true/false alone")
        if self.within is not None and self.operations not in ((), ("prefix",)):
            raise ValueError("`within` goes with a column that is stored, or a `prefix` of one")
        if self.source is not None or self.operations:
            self._check_derived()
            return self
        ranges = [one for one in (self.bounds, self.dates, self.times) if one is not None]
        if self.unknown or self.private is not None:
            if (
                ranges
                or self.places is not None
                or self.zone
                or self.keys is not None
                or self.fill is not None
                or self.unknown == bool(self.private)
            ):
                what = '`bounds = "unknown"`' if self.unknown else '`keys = "private"`'
                raise ValueError(f"{what} stands alone: no other `bounds` or `keys`, no `fill`")
            return self
        if not ranges and self.keys is None:
            raise ValueError(
                "a column needs either `bounds = [low, high]` or `keys = [...]`, or is `from` another"
            )
        if self.keys is not None:
            check_keys(self.keys)
        if self.integers and self.bounds is None:
            raise ValueError('`type = "integer"` goes with `bounds` of a number')
        if self.places is not None and self.bounds is None and self.keys is None:
            raise ValueError('`type = "decimal"` goes with `bounds` of a number, or with `keys`')
        if self.bounds is not None:
            check_bounds(self.bounds, self.fill)
            if self.integers:
                check_whole(self.bounds, self.fill)
            if self.places is not None:
                _check_decimal(self)
        elif self.fill is not None:
            raise ValueError("`fill` goes with `bounds` of a number only")
        both = self.bounds is not None and (self.kind == "integer" or self.places is not None)
        if ranges and self.keys is not None and not both:
            raise ValueError(
                "only integers and decimals may have `bounds` and `keys`; other columns have either of them"
            )
        for first, last in (one for one in (self.dates, self.times) if one is not None):
            check_moments(first, last)
        self._find_offsets()
        return self

    def _find_offsets(self) -> None:
        """Those of the zone, unless the policy has kept them."""
        if self.zone is None and self.offsets is None:
            return
        if self.zone is None or self.times is None or self.times[0].tzinfo is not None:
            raise ValueError("`zone` goes with `bounds` that are dates with a time, without an offset")
        if self.offsets is None:
            object.__setattr__(self, "offsets", offsets_of(self.zone, *self.times))
        elif (
            not self.offsets
            or any(abs(offset) >= _DAY for _, offset in self.offsets)
            or any(first >= second for (first, _), (second, _) in itertools.pairwise(self.offsets))
        ):
            raise ValueError("`offsets` follow from `zone`: leave them out")

    def _check_derived(self) -> None:
        if self.source is None and self.case is None:
            raise ValueError(f"`{self.operations[0]}` needs `from`, the column that it is about")
        as_it_is = not self.operations and (self.keys is not None or self.private is not None)
        if not as_it_is or len(self.operands) == 2:
            self.check_operation()
        own = (self.bounds, self.fill) if self.compute is None else ()
        if any(one is not None for one in (*own, self.dates, self.times, self.zone)) or self.unknown:
            what = "that is a `case`" if self.case is not None else "`from` another"
            raise ValueError(f"a column {what} has no `bounds` and no `fill` of its own")
        if self.integers and self.compute is None:
            raise ValueError('`type = "integer"` goes with `bounds` of a number')
        if self.places is not None and self.compute is None:
            raise ValueError('`type = "decimal"` goes with `bounds` of a number, or with `compute`')
        if self.integers and self.places is not None:
            raise ValueError("whole numbers have no decimal places: leave `places` out")
        if self.compute is not None and self.keys is not None:
            raise ValueError("what is computed has no `keys`: cut it into bands by a column `from` it")
        if self.bounds is not None:
            check_bounds(self.bounds, self.fill)
        if self.private and not self.is_prefix and not as_it_is:
            raise ValueError("its `keys` follow from what it is `from`: leave them out")
        if self.is_prefix and (self.keys is None) == (self.private is None):
            raise ValueError('a `prefix` needs `keys`, or `keys = "private"`, or `groups`')
        if self.keys is not None:
            check_keys(self.keys)
        if self.case is not None:
            check_keys(case_text(self.case).keys)
        if self.keys is not None and self.is_prefix and not isinstance(self.keys[0], str):
            raise ValueError("its `keys` must be text")

    def qualified(self, table: str) -> Self:
        """The same of a joined table, whose columns are called `people.sex`."""
        found = super().qualified(table)
        return found if self.within is None else found.model_copy(update={"within": f"{table}.{self.within}"})

    @cached_property
    def moments(self) -> tuple[datetime.date, datetime.date] | None:
        """The first and the last day, or moment, of a column of dates; None of another."""
        return self.dates or self.times

    @cached_property
    def ahead(self) -> int | None:
        """The one offset from UTC, in seconds, at which instants are read; None where there is none."""
        offset = None if self.times is None else self.times[0].utcoffset()
        return None if offset is None else round(offset.total_seconds())

    @cached_property
    def whole(self) -> bool:
        """Whether all numbers of the column are whole, publicly."""
        if self.bounds is None or not (self.integers or self.kind == "integer"):
            return False
        shown = self.bounds if self.fill is None else (*self.bounds, self.fill)
        return all(one.is_integer() and abs(one) <= LARGEST_WHOLE for one in shown)

    @cached_property
    def scale(self) -> int | None:
        """How many decimal places its numbers have, publicly: 0 where they are whole, None where any."""
        return 0 if self.whole else self.places

    @cached_property
    def stored(self) -> bool:
        """Whether the table has the column; a derived one follows from others."""
        return self.source is None and self.case is None

    @cached_property
    def calculated(self) -> bool:
        """Whether it is a number that is made of other columns, in a reading of its own."""
        return self.compute is not None

    @cached_property
    def kind(self) -> Kind:
        """How the engine reads the column, and what its keys are."""
        if self.private is not None:
            return self.private
        if self.dates is not None:
            return "date"
        if self.times is not None:
            return "timestamp" if self.ahead is None and self.zone is None else "instant"
        if self.keys is None or self.places is not None:
            return "number"
        first = self.keys[0]
        if isinstance(first, bool):
            return "boolean"
        return "text" if isinstance(first, str) else "integer"


def _check_decimal(column: Column) -> None:
    if column.integers:
        raise ValueError("whole numbers have no decimal places: leave `places` out")
    ends = (*(column.bounds or ()), *(() if column.fill is None else (column.fill,)))
    check_decimals("`bounds` and `fill`", column.places or 0, *ends)
