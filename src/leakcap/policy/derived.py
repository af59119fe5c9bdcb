"""Columns that follow from others, one row at a time: how a policy declares them, and which keys they have.

    age_band = { from = "age", cuts = [18, 65], keys = ["0-17", "18-64", "65+"] }
    month    = { from = "admitted", truncate = "month" }
    weekday  = { from = "admitted", part = "weekday" }
    chapter  = { from = "diagnosis", prefix = 1, groups = { Neoplasms = ["C"], Injuries = ["S", "T"] } }
    planned  = { from = ["decided", "admitted"], compare = "<" }
    wards    = { from = "ward", keys = ["north", "south"] }
    nights   = { from = ["left", "admitted"], compute = "-" }
    who      = { case = "CASE WHEN age < 18 THEN 'child' WHEN ward = 'north' THEN 'old' END" }
    gross    = { from = ["price", 1.19], compute = "*" }

A derived column is a function of its own row that no row can make fail, so a row is in one group as before
and no sensitivity moves. Its keys and bounds follow from what the policy says, never from the data.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, field_validator

from leakcap.ledger.chain import storable
from leakcap.policy.cases import case_text, qualified_case
from leakcap.policy.validation import Strict

__all__ = [
    "LARGEST",
    "OPERATIONS",
    "SMALLEST",
    "DatePart",
    "Derived",
    "Given",
    "Key",
    "Period",
    "as_dates",
    "periods",
]

Key: TypeAlias = str | int | bool
Period: TypeAlias = Literal["year", "quarter", "month", "week", "day"]
DatePart: TypeAlias = Literal["year", "quarter", "month", "weekday"]

# Bounds outside ±LARGEST, or closer than 1/LARGEST, would leave the range in which x·2^j is exact in doubles.
LARGEST = 1e90
SMALLEST = 1.0 / LARGEST
"""A factor, or a dividend, closer to zero counts as zero: no product is then too small for a double."""

OPERATIONS = ("cuts", "truncate", "part", "prefix", "groups", "compare", "compute", "case")


def Given(**known: Any) -> Any:  # noqa: N802 - a kind of `Field`
    """A field that is left out of the dump unless it is set, so that older policies keep their hash."""
    return Field(default=None, exclude_if=operator.not_, **known)


class Derived(Strict):
    """What a column is derived `from` (`source`), and by which operation.

    `cuts` make bands of a number or a date, each with its lower cut; the outer bands have what lies outside
    the bounds. `truncate` cuts a date down to its year, quarter, month, ISO week or day, and `part` takes its
    year, quarter (1 to 4), month (1 to 12) or weekday (1, Monday, to 7) alone: a date outside its bounds has
    none. `prefix` is the first so many characters of a text; `groups` name the values, or prefixes, of each
    group, and what is in no group is missing. `compare` asks whether one column is =, <>, <, <=, > or >= the
    other. `compute` adds, subtracts, multiplies or divides two columns, or a column and a number; of two
    dates `-` is the number of days between them. With `keys` alone it is the
    column itself under other keys: public ones beside private ones, or the other way round. What is missing
    stays missing.

    `case` stands without `from`: it is the text of an SQL CASE, whose conditions are those that `where` may
    have, and whose constants are the keys. The first condition that is true counts; a row without one has the
    constant after ELSE, and none where there is no ELSE.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    source: str | tuple[str | float, str | float] | None = Given(alias="from")
    cuts: tuple[float | datetime.date, ...] | None = Given()
    truncate: Period | None = Given()
    part: DatePart | None = Given()
    prefix: Annotated[int, Field(ge=1, le=200)] | None = Given()
    groups: dict[str, tuple[str | int, ...]] | None = Given()
    compare: Literal["=", "<>", "<", "<=", ">", ">="] | None = Given()
    compute: Literal["+", "-", "*", "/"] | None = Given()
    case: str | None = Given()

    @field_validator("source", mode="before")
    @classmethod
    def _check_source(cls, value: object) -> object:
        found = tuple(value) if isinstance(value, list) else value
        if found is None:
            return None
        operands = found if isinstance(found, tuple) and len(found) == 2 else (found,)
        numbers = [one for one in operands if isinstance(one, int | float) and not isinstance(one, bool)]
        names = [one for one in operands if isinstance(one, str) and one]
        if not names or len(names) + len(numbers) < len(operands):
            raise ValueError("`from` is the name of a column, or `[left, right]` for `compare` and `compute`")
        if not all(one == 0 or SMALLEST <= abs(one) <= LARGEST for one in numbers):
            raise ValueError(f"the number in `from` must be 0, or of size {SMALLEST:g} to {LARGEST:g}")
        return found

    @field_validator("cuts", mode="before")
    @classmethod
    def _check_cuts(cls, value: object) -> object:
        if value is None:
            return None
        found = tuple(map(as_dates, value)) if isinstance(value, list | tuple) else ()
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in found)
        if not found or not (numbers or all(type(one) is datetime.date for one in found)):
            raise ValueError("`cuts` are rising numbers, or rising dates")
        return found

    @field_validator("groups", mode="before")
    @classmethod
    def _check_members(cls, value: object) -> object:
        if value is None:
            return None
        lists = list(value.values()) if isinstance(value, Mapping) else []
        if not lists or not all(isinstance(one, list | tuple) and one for one in lists):
            raise ValueError("`groups` give each name a list of the values that it stands for")
        kinds = {type(one) for members in lists for one in members}
        if kinds not in ({str}, {int}):
            raise ValueError("`groups` hold all text or all integers")
        assert isinstance(value, Mapping)
        return {name: tuple(one) for name, one in value.items()}

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that it follows from; none where it is stored."""
        if self.case is not None:
            return case_text(self.case).sources
        return tuple(one for one in self.operands if isinstance(one, str))

    @property
    def operands(self) -> tuple[str | float, ...]:
        """The same, with the number that `compute` may take."""
        return (self.source,) if isinstance(self.source, str) else self.source or ()

    @property
    def operations(self) -> tuple[str, ...]:
        """The words of `OPERATIONS` that are given."""
        return tuple(name for name in OPERATIONS if getattr(self, name) is not None)

    @property
    def is_prefix(self) -> bool:
        """Whether it is the beginning of a text, and no group of such."""
        return self.operations == ("prefix",)

    def qualified(self, table: str) -> Self:
        """The same of a joined table, whose columns are called `people.sex`."""
        if self.case is not None:
            return self.model_copy(update={"case": qualified_case(self.case, table)})
        if self.source is None:
            return self
        named = [f"{table}.{one}" if isinstance(one, str) else one for one in self.operands]
        return self.model_copy(update={"source": tuple(named) if len(named) == 2 else named[0]})

    def check_operation(self) -> None:
        """Raise `ValueError` unless it is one operation on as many columns as that takes."""
        given = self.operations
        if self.case is not None:
            if len(given) > 1 or self.source is not None:
                raise ValueError("a `case` names its columns itself: leave `from` and other operations out")
            return
        if len(given) != 1 and given != ("prefix", "groups"):
            raise ValueError(f"a column `from` another takes one of `{'`, `'.join(OPERATIONS)}`")
        if (len(self.operands) == 2) != (self.compare is not None or self.compute is not None):
            raise ValueError("`compare` and `compute` take two, `from = [left, right]`; the others take one")
        if len(self.sources) < len(self.operands) and self.compute is None:
            raise ValueError("`compare` takes two columns; a number stands in a condition (`where`)")
        if self.cuts is not None and any(not a < b for a, b in pairwise(self.cuts)):  # type: ignore[operator]
            raise ValueError("`cuts` must rise")
        if self.groups is not None:
            members = [one for group in self.groups.values() for one in group]
            if len(set(members)) < len(members):
                raise ValueError("`groups` must not name a value twice")
            if any(isinstance(one, str) and not storable(one) for one in (*members, *self.groups)):
                raise ValueError("`groups` must be text that a database can hold")
            if self.prefix is not None and any(
                not isinstance(one, str) or len(one) != self.prefix for one in members
            ):
                raise ValueError("`groups` beside a `prefix` must hold texts of its length")


def as_dates(value: object) -> object:
    """A text like 2024-02-29, or with a time, as the date or the moment that it is; JSON has no dates."""
    if not isinstance(value, str):
        return value
    try:
        is_day = len(value) == len("2024-02-29")
        return datetime.date.fromisoformat(value) if is_day else datetime.datetime.fromisoformat(value)
    except ValueError:
        return value


@lru_cache(maxsize=64)
def periods(unit: Period, low: datetime.date, high: datetime.date) -> Mapping[int, str]:
    """The periods from that of `low` to that of `high`: a rising number for each, and its name.

    Years, quarters and months are numbered from the year 0, weeks and days from 1 January of year 1, which is
    a Monday. There is no gap, so that an engine tests a range of them.

    >>> dict(periods("month", datetime.date(2023, 12, 24), datetime.date(2024, 1, 6)))
    {24288: '2023-12', 24289: '2024-01'}
    >>> list(periods("week", datetime.date(2024, 12, 23), datetime.date(2025, 1, 1)).values())
    ['2024-W52', '2025-W01']
    """
    if unit in ("week", "day"):
        step = 7 if unit == "week" else 1
        codes = range((low.toordinal() - 1) // step, (high.toordinal() - 1) // step + 1)
        return {code: _named(datetime.date.fromordinal(code * step + 1), weekly=step == 7) for code in codes}
    if unit == "year":
        return {year: f"{year:04d}" for year in range(low.year, high.year + 1)}
    if unit == "quarter":
        quarters = range(_number(low, 4), _number(high, 4) + 1)
        return {code: f"{(code - 1) // 4:04d}-Q{(code - 1) % 4 + 1}" for code in quarters}
    months = range(_number(low, 12), _number(high, 12) + 1)
    return {code: f"{(code - 1) // 12:04d}-{(code - 1) % 12 + 1:02d}" for code in months}


def _number(day: datetime.date, each_year: int) -> int:
    return day.year * each_year + (day.month - 1) * each_year // 12 + 1


def _named(day: datetime.date, *, weekly: bool) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}" if weekly else day.isoformat()
