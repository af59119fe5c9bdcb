"""A query as JSON, as `query_from` reads it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from leakcap.release.planning.queries import Query

__all__ = ["query_on_wire"]


def query_on_wire(query: Query) -> dict[str, Any]:
    """The fields that are not left at their defaults; `cut` by column.

    >>> query_on_wire(Query(name="n", statistic="count", by=("ward",), epsilon=0.5))
    {'name': 'n', 'statistic': 'count', 'epsilon': 0.5, 'by': ['ward']}
    """
    told: dict[str, Any] = {}
    for field in fields(query):
        value = getattr(query, field.name)
        if value == field.default:
            continue
        if field.name == "cut":
            told["cut"] = {column: list(edges) for column, edges in value}
        else:
            told[field.name] = list(value) if isinstance(value, tuple) else value
    return told
