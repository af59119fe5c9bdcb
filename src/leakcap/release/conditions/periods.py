"""Years and periods of dates in a condition, as the comparisons of dates that they stand for."""

from __future__ import annotations

import datetime
from typing import get_args

from leakcap.errors import InvalidQuery
from leakcap.policy.derived import Period
from leakcap.release.conditions.condition import (
    Between,
    Compare,
    Condition,
    Junction,
    Negation,
    Operator,
    Scalar,
)

__all__ = ["period_condition", "year_condition"]

_MIDNIGHT = datetime.time()


def year_condition(column: str, operator: Operator, year: Scalar, *, timed: bool) -> Condition:
    """EXTRACT(YEAR FROM column) operator year, of a column of dates, or where `timed` of moments.

    Raises `InvalidQuery` for what is no year from 1 to 9998.

    >>> from leakcap.release.conditions.condition import to_text
    >>> to_text(year_condition("admitted", "=", 2024, timed=False))
    "admitted BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'"
    >>> to_text(year_condition("admitted", ">", 2024, timed=False))
    "admitted >= DATE '2025-01-01'"
    """
    if type(year) is not int or not 1 <= year <= 9998:
        raise InvalidQuery(f"`where` must compare the year of `{column}` with a whole number from 1 to 9998.")
    return _within(column, operator, _start(year, timed=timed), _start(year + 1, timed=timed), timed=timed)


def period_condition(
    column: str, unit: str, operator: Operator, start: datetime.date, *, timed: bool
) -> Condition:
    """DATE_TRUNC(unit, column) operator start, which is compared with the start of a period.

    Raises `InvalidQuery` for another unit than the policy's, and for what is no start of a period.

    >>> import datetime
    >>> from leakcap.release.conditions.condition import to_text
    >>> to_text(period_condition("admitted", "month", "=", datetime.date(2024, 2, 1), timed=False))
    "admitted BETWEEN DATE '2024-02-01' AND DATE '2024-02-29'"
    >>> to_text(period_condition("admitted", "week", "<=", datetime.date(2024, 12, 30), timed=False))
    "admitted < DATE '2025-01-06'"
    """
    if unit not in get_args(Period):
        allowed = ", ".join(get_args(Period))
        raise InvalidQuery(f"`{unit}` is no period of a date that can be asked for. Allowed are {allowed}.")
    day = start.date() if isinstance(start, datetime.datetime) else start
    after = _after(day, unit)
    whole = not isinstance(start, datetime.datetime) or start == datetime.datetime.combine(day, _MIDNIGHT)
    if after is None or not whole:
        raise InvalidQuery(
            f"`where` must compare the {unit} of `{column}` with the first day of a {unit}, in a year from 1 "
            "to 9998."
        )
    return _within(column, operator, _as(day, timed=timed), _as(after, timed=timed), timed=timed)


def _after(day: datetime.date, unit: str) -> datetime.date | None:
    """The first day of the next period; None where this day is not the first of one."""
    if day.year > 9998:
        return None
    if unit == "week":
        return day + datetime.timedelta(days=7) if day.isoweekday() == 1 else None
    if unit == "day":
        return day + datetime.timedelta(days=1)
    months = {"year": 12, "quarter": 3, "month": 1}[unit]
    if day.day != 1 or (day.month - 1) % months:
        return None
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return datetime.date(year, month + 1, 1)


def _within(
    column: str, operator: Operator, first: datetime.date, after: datetime.date, *, timed: bool
) -> Condition:
    """The comparison with the period from `first` to before `after`."""
    if not timed and after - first == datetime.timedelta(days=1):
        return Compare(column, operator, first)
    if operator in ("<", ">="):
        return Compare(column, operator, first)
    if operator in ("<=", ">"):
        return Compare(column, "<" if operator == "<=" else ">=", after)
    within: Condition = Between(column, first, after - datetime.timedelta(days=1))
    if timed:
        within = Junction("AND", (Compare(column, ">=", first), Compare(column, "<", after)))
    return within if operator == "=" else Negation(within)


def _start(year: int, *, timed: bool) -> datetime.date:
    return _as(datetime.date(year, 1, 1), timed=timed)


def _as(day: datetime.date, *, timed: bool) -> datetime.date:
    """The day, or where columns of moments are compared its midnight."""
    return datetime.datetime.combine(day, _MIDNIGHT) if timed else day
