"""Between which bounds a computed column lies: interval arithmetic on the bounds of what it is from.

Each number is clamped to its bounds before it is computed with. Sums, differences, products and quotients of
doubles, rounded to the nearest, never fall as an operand rises, or never rise (Higham 2002, chapter 2): so
the results at the ends of the bounds, rounded alike, are the ends of all results, to the last bit. One thing
is left out: engines take a factor or a dividend closer to zero than `SMALLEST` for zero. Where the bounds
leave zero out, such a result is beyond them, and is clamped to them like any number. What could overflow is
refused here, from the policy alone, and no row can make an engine stop.
"""

from __future__ import annotations

import datetime
import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from leakcap.policy.column_rules import LARGEST_WHOLE
from leakcap.policy.decimals import (
    MOST_PLACES,
    MOST_STEPS,
    check_decimals,
    decimal_steps,
    places_of,
    rounded_half_away,
)
from leakcap.policy.declared import Column
from leakcap.policy.derived import LARGEST, SMALLEST
from leakcap.sampling.rational import printed

__all__ = [
    "computed_bounds",
    "computed_places",
    "days_of",
    "exact_places",
    "is_dated",
    "is_whole",
    "range_of",
]

_COMPUTED: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def computed_bounds(name: str, column: Column, columns: Mapping[str, Column]) -> tuple[float, float]:
    """The least and the largest number that the column can be. Raises `ValueError` where there are none.

    >>> columns = {"price": Column(bounds=(1.0, 50.0)), "pieces": Column(bounds=(0.0, 9.0))}
    >>> total = Column.model_validate({"from": ["price", "pieces"], "compute": "*"})
    >>> computed_bounds("total", total, columns)
    (0.0, 450.0)
    """
    found = _days_between(name, column, columns) or _between(name, column, columns)
    low, high = (end + 0.0 for end in found)
    if not low < high:
        raise ValueError(f"`columns.{name}` is the same number in every row. Leave it out")
    if max(abs(low), abs(high)) > LARGEST or high - low < SMALLEST:
        raise ValueError(
            f"`columns.{name}` must lie within ±{LARGEST:g}, its bounds at least {SMALLEST:g} apart"
        )
    if column.bounds is not None:
        own = column.bounds
        if not low <= own[0] < own[1] <= high:
            raise ValueError(
                f"`bounds` of `columns.{name}` must lie within those that follow from its columns, "
                f"[{low:g}, {high:g}]"
            )
        low, high = own
    if column.fill is not None and not low <= column.fill <= high:
        raise ValueError(f"`fill` of `columns.{name}` must lie within its bounds, [{low:g}, {high:g}]")
    return low, high


def _between(name: str, column: Column, columns: Mapping[str, Column]) -> tuple[float, float]:
    ranges = [range_of(name, one, columns) for one in column.operands]
    if column.compute == "/" and ranges[1][0] <= 0.0 <= ranges[1][1]:
        raise ValueError(
            f"`columns.{name}` divides by what may be 0. Divide by a column whose bounds leave 0 out"
        )
    if column.compute == "/" and min(map(abs, ranges[1])) < SMALLEST:
        raise ValueError(f"`columns.{name}` divides by what may be closer to 0 than {SMALLEST:g}")
    operation, exact = _COMPUTED[column.compute or "+"], exact_places(column, columns)
    if exact is None:
        ends = [operation(*pair) for pair in itertools.product(*ranges)]
        return min(ends), max(ends)
    places = exact if column.places is None else min(column.places, exact)
    corners = [operation(*map(printed, pair)) for pair in itertools.product(*ranges)]
    low, high = (float(rounded_half_away(end, places)) for end in (min(corners), max(corners)))
    return low, high


def range_of(name: str, operand: str | float, columns: Mapping[str, Column]) -> tuple[float, float]:
    """The range of a number, of a column with bounds, or of a part of a date. Raises `ValueError`."""
    if not isinstance(operand, str):
        return operand, operand
    known = columns[operand]
    if known.bounds is not None:
        return known.bounds
    if known.part is not None:
        keys = [int(key) for key in known.keys or ()]
        return float(min(keys)), float(max(keys))
    if is_dated(known):
        raise ValueError(
            f"`columns.{name}` computes with a date. Only the days between two dates can be computed"
        )
    raise ValueError(
        f"`columns.{name}` computes with `{operand}`, which has no numbers as `bounds`. "
        "Give it such `bounds`, or leave it out"
    )


def _days_between(name: str, column: Column, columns: Mapping[str, Column]) -> tuple[float, float] | None:
    """Of a difference of two dates; None of others."""
    known = [columns[one] if isinstance(one, str) else None for one in column.operands]
    dated = [one for one in known if one is not None and is_dated(one)]
    if column.compute != "-" or len(dated) < 2:
        return None
    (first, last), (since, until) = map(days_of, dated)
    return float((first - until).days), float((last - since).days)


def is_whole(column: Column, columns: Mapping[str, Column]) -> bool:
    """Whether a computed column holds whole numbers, since those that it is from are whole.

    >>> columns = {"n": Column(bounds=(0.0, 9.0), integers=True)}
    >>> [is_whole(Column.model_validate({"from": ["n", 2], "compute": sign}), columns) for sign in "*/"]
    [True, False]
    """
    return column.compute != "/" and all(_holds_whole(one, columns) for one in column.operands)


def _holds_whole(operand: str | float, columns: Mapping[str, Column]) -> bool:
    if not isinstance(operand, str):
        return float(operand).is_integer() and abs(operand) <= LARGEST_WHOLE
    known = columns[operand]
    return known.whole or known.part is not None or is_dated(known)


def exact_places(column: Column, columns: Mapping[str, Column]) -> int | None:
    """With how many decimal places a computed column is exact; None where it is not.

    Sums, differences and products of decimals, of whole numbers and of numbers written in decimals are
    decimals. With at most 10¹⁵ < 2⁵⁰ steps each operand is a double within a ninth of a step of the decimal;
    so is the sum of what an operand, the other one, the operation and the multiplication by 10^places round:
    four times 10¹⁵/2⁵³ < 1/2. The nearest whole number of steps is the exact result. Quotients are not exact.

    >>> columns = {"net": Column(bounds=(0.0, 99.99), places=2)}
    >>> [exact_places(Column.model_validate({"from": ["net", 1.19], "compute": sign}), columns)
    ...     for sign in "+*/"]
    [2, 4, None]
    """
    found = [_places_of(one, columns) for one in column.operands]
    known = [one for one in found if one is not None]
    decimal = column.places is not None or any(columns[one].places is not None for one in column.sources)
    if column.compute == "/" or len(known) < 2 or not decimal:
        return None
    places = sum(known) if column.compute == "*" else max(known)
    ranges = [range_of("", one, columns) for one in column.operands]
    held = [max(map(abs, ends)) for ends in ranges]
    most = [
        printed(one) * 10 ** (own if column.compute == "*" else places)
        for one, own in zip(held, known, strict=True)
    ]
    reach = (
        printed(held[0]) * printed(held[1]) if column.compute == "*" else printed(held[0]) + printed(held[1])
    )
    if places > MOST_PLACES or max(*most, reach * 10**places) > MOST_STEPS:
        return None
    return places


def _places_of(operand: str | float, columns: Mapping[str, Column]) -> int | None:
    if not isinstance(operand, str):
        return places_of(operand)
    return 0 if _holds_whole(operand, columns) else columns[operand].places


def computed_places(
    name: str, column: Column, columns: Mapping[str, Column], bounds: tuple[float, float]
) -> int | None:
    """The decimal places of a computed column within these bounds: those that it was given, to which it is
    rounded, or those with which it is exact; None where it is neither. Raises `ValueError` where it cannot
    have those that it was given.
    """
    exact = exact_places(column, columns)
    held = (*bounds, *(() if column.fill is None else (column.fill,)))
    if column.places is None:
        fits = exact is not None and all(decimal_steps(one, exact) is not None for one in held)
        return exact if fits else None
    if exact is None:
        raise ValueError(
            f'`type = "decimal"` of `columns.{name}` needs a sum, a difference or a product of decimals and '
            f"whole numbers, none of more than {MOST_PLACES} digits. Leave `type` and `places` out: it is "
            "computed in doubles then"
        )
    check_decimals(f"the bounds and the `fill` of `columns.{name}`", column.places, *held)
    return column.places


def is_dated(column: Column) -> bool:
    """Whether it is a column of dates or of moments."""
    return column.moments is not None


def days_of(column: Column) -> tuple[datetime.date, datetime.date]:
    """The first and the last day of a column of dates or of moments, in its own zone."""
    if column.times is not None:
        return column.times[0].date(), column.times[1].date()
    assert column.dates is not None
    return column.dates
