"""What a person may want to write next in SQL: all of it from the public policy."""

from __future__ import annotations

from leakcap.policy import Policy
from leakcap.release.conditions.condition import named

__all__ = ["sql_words"]

_KEYWORDS = (
    "SELECT",
    "COUNT(*)",
    "COUNT(DISTINCT",
    "SUM(",
    "AVG(",
    "MEDIAN(",
    "STDDEV(",
    "FROM",
    "WHERE",
    "AND",
    "OR",
    "NOT",
    "IN (",
    "BETWEEN",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "AS",
)
_MOST_KEYS = 50


def sql_words(policy: Policy) -> list[str]:
    """Keywords, the data set, its columns and the first keys of each, as they are written in SQL."""
    names = [named(policy.dataset), *(named(name) for name in policy.columns)]
    keys = [
        "'" + key.replace("'", "''") + "'"
        for column in policy.columns.values()
        if column.keys and not column.private
        for key in column.keys[:_MOST_KEYS]
        if isinstance(key, str)
    ]
    return list(dict.fromkeys([*names, *_KEYWORDS, *keys]))
