"""A year compared with a number, as the comparison of dates that it stands for: one text for both."""

from __future__ import annotations

import datetime

from leakcap.errors import InvalidQuery
from leakcap.release.conditions.condition import (
    Between,
    Compare,
    Condition,
    Junction,
    Negation,
    Operator,
    Scalar,
)

__all__ = ["year_condition"]


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
    first, after = _start(year, timed=timed), _start(year + 1, timed=timed)
    if operator in ("<", ">="):
        return Compare(column, operator, first)
    if operator in ("<=", ">"):
        return Compare(column, "<" if operator == "<=" else ">=", after)
    within: Condition = Between(column, first, after - datetime.timedelta(days=1))
    if timed:
        within = Junction("AND", (Compare(column, ">=", first), Compare(column, "<", after)))
    return within if operator == "=" else Negation(within)


def _start(year: int, *, timed: bool) -> datetime.date:
    return datetime.datetime(year, 1, 1) if timed else datetime.date(year, 1, 1)
