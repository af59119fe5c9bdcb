"""A query of every kind of every statistic, found by trying its own fields: a new statistic is among them."""

from __future__ import annotations

import itertools
from typing import Any

from leakcap.errors import InvalidQuery
from leakcap.release import Query
from leakcap.release.statistics import statistics

__all__ = ["contents"]

# Of the columns in `world.COLUMNS`: x and y have bounds, d and k keys.
_OPTIONS: dict[str, tuple[Any, ...]] = {
    "column": (None, "x", "d"),
    "bins": (None, 4),
    "edges": (None, (2.0, 4.0, 6.0)),
    "quantiles": (None, (0.25, 0.75)),
    "columns": (None, ("d", "k"), ("x", "y"), ("d", "x")),
    "over": (None, "y"),
    "when": (None, "k = 1"),
    "top": (None, 2),
    "up_to": (None, 4),
    "formula": (None, "x * y - 3 * x"),
    "range": (None, (-5.0, 20.0)),
    "design_weight": (None, "y"),
}


def contents() -> list[dict[str, Any]]:
    """Each statistic with all choices of its own fields that a query accepts; some policies may not."""
    found = []
    for name, kind in statistics().items():
        fields = sorted(kind.fields)
        assert set(fields) <= _OPTIONS.keys(), f"a new field of {name}: give it options here"
        mine = []
        for values in itertools.product(*(_OPTIONS[field] for field in fields)):
            content = {"statistic": name, **dict(zip(fields, values, strict=True))}
            try:
                Query(name="q", epsilon=1.0, **content)
            except InvalidQuery:
                continue
            mine.append(content)
        assert mine, name
        found += mine
    return found
