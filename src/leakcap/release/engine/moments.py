"""How DuckDB reads dates and moments from text and from instants, so that no row can make it stop.

Text is a date where it is written like 2024-03-01, or like 2024-03-01 12:00:00 with up to nine digits of a
second; all else is missing. DuckDB by itself also reads 2024-3-1, infinity, (BC) and more.
"""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp

from leakcap.release.columns.typed import tree_nodes

__all__ = ["date", "instant", "timestamp", "with_zone"]

_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?"
_ZONE = "([+-](0[0-9]|1[0-8]):?[0-5][0-9]|Z)"
# Microseconds from 1970 to the years 2 and 9999: whatever the zone, a clock then shows a year from 1 to 9999.
_FIRST, _LAST = -62_104_060_800_000_000, 253_370_764_800_000_000


def date(text: exp.Expression) -> exp.Expression:
    """The day of a text that is a day, or a day with a time; NULL of another."""
    return _said(
        f"CASE WHEN regexp_full_match(x, '{_DAY}([ T]{_TIME})?') THEN TRY_CAST(LEFT(x, 10) AS DATE) END", text
    )


def timestamp(text: exp.Expression) -> exp.Expression:
    """The moment of a text that is a day, or a day with a time; NULL of another."""
    pattern = f"{_DAY}([ T]{_TIME})?"
    return _said(
        f"CASE WHEN regexp_full_match(x, '{pattern}') THEN TRY_CAST(LEFT(x, 26) AS TIMESTAMP) END", text
    )


def with_zone(text: exp.Expression) -> exp.Expression:
    """The instant of a text that is a day with a time and an offset from UTC; NULL of another."""
    pattern = f"{_DAY}[ T]{_TIME}{_ZONE}"
    return _said(f"CASE WHEN regexp_full_match(x, '{pattern}') THEN TRY_CAST(x AS TIMESTAMPTZ) END", text)


def instant(value: exp.Expression, zone: int) -> exp.Expression:
    """What a clock shows, `zone` seconds ahead of UTC, at the instants of the years 2 to 9998."""
    shifted = f"make_timestamp(epoch_us(x) + CAST({zone * 10**6} AS BIGINT))"
    return _said(f"CASE WHEN epoch_us(x) BETWEEN {_FIRST} AND {_LAST} THEN {shifted} END", value)


def _said(words: str, value: exp.Expression) -> exp.Expression:
    """The expression of DuckDB's with the value in place of x."""
    tree = _template(words).copy()
    for place in tree_nodes(tree, exp.Column):
        place.replace(value.copy())
    return tree


@cache
def _template(words: str) -> exp.Expression:
    """What the words parse to: few are said, and each many times, in every statement about a moment."""
    tree = sqlglot.parse_one(words, dialect="duckdb")
    assert isinstance(tree, exp.Expression)
    return tree
