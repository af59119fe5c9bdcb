"""Tables of values that break sums, casts and comparisons, and the queries that all engines must agree on."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow

from release.world import policy_of

__all__ = ["FLOATS", "POLICIES", "QUERIES", "arrow_table", "doubles", "random_rows"]

_LARGEST = 1.7976931348623157e308
_ENDS = (1e308, -1e308, _LARGEST, -_LARGEST)
FLOATS = [
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, *_ENDS, 2.0**53 + 1, 1 / 3, 2.5, 7.0),
    *(0.1, 0.2, 0.3, 1e-9, -1e-9, 1e16, 1e39, 1e-31, -2.999999999, 10.0, 9.999999999, 2.0**-28, 3 * 2.0**-28),
]
_KEYS = ["a", "A", "b", "c", "ä", "", " a", "a ", "it's", "back\\slash", "100%s", ":x", "a{b}", "\U0001f600"]
_INTEGERS = [0, 1, 2, 3, -1, 2**63 - 1, 1 - 2**63, -(2**63), 2**53 + 1]
_DOMAINS: dict[str, list[Any]] = {
    "id": [1, 2, 3, 4, 5, 2**40],
    "x": FLOATS,
    "y": FLOATS,
    "s": [0.5, 1.5, 2.5, -0.0, math.nan, math.inf, 1e38],
    "d": _KEYS,
    "k": _INTEGERS,
    "f": [True, False],
}
_TYPES = {
    "id": pyarrow.int64(),
    "x": pyarrow.float64(),
    "y": pyarrow.float64(),
    "s": pyarrow.float32(),
    "d": pyarrow.string(),
    "k": pyarrow.int64(),
    "f": pyarrow.bool_(),
}
_COLUMNS: dict[str, Any] = {
    "x": {"bounds": [-3.0, 10.0]},
    "y": {"bounds": [2.0, 8.0], "fill": 5.0},
    "s": {"bounds": [0.0, 2.0]},
    "d": {"keys": [key for key in _KEYS if key != "A"]},
    "k": {"keys": [1, 2, 2**53 + 1, 1 - 2**63]},
    "f": {"keys": [True, False]},
}
_WIDE = {**_COLUMNS, "x": {"bounds": [-1e40, 1e80]}, "y": {"bounds": [0.0, 1e-30]}}
_NARROW = {**_COLUMNS, "x": {"bounds": [0.1, 0.3]}, "y": {"bounds": [1e15, 1e15 + 1], "fill": 1e15}}

# Nobody has more rows than that: which ones are kept of those who have is each engine's own choice.
POLICIES = [
    policy_of(),
    policy_of(columns=_COLUMNS, unit={"id": "id", "max_rows": 60}),
    policy_of(columns=_WIDE),
    policy_of(columns=_NARROW, unit={"id": "id", "max_rows": 61}),
]
QUERIES: list[dict[str, Any]] = [
    {"statistic": "count"},
    {"statistic": "count", "by": ("d", "k")},
    {"statistic": "sum", "column": "x"},
    {"statistic": "sum", "column": "x", "by": ("f",)},
    {"statistic": "mean", "column": "x", "by": ("d",)},
    {"statistic": "mean", "column": "y"},
    {"statistic": "histogram", "column": "x", "bins": 5},
    {
        "statistic": "formula_sum",
        "formula": "CASE WHEN d >= 'a' THEN least(2 * x, x + x) ELSE abs(x) / 3 - x END",
        "range": (-1e300, 1e300),
        "by": ("f",),
    },
    {"statistic": "count", "where": "d >= 'a' AND NOT (x < 0.1) AND x IS NOT NULL"},
    {"statistic": "count", "where": "(bit_count(k & 9223372036854775807) + bit_count(k & 5)) % 2 = 1"},
    {"statistic": "sum", "column": "y", "where": "k IN (1, 2) OR f OR x BETWEEN -0.0 AND 5e-324"},
]


def random_rows(seed: int, size: int) -> list[dict[str, Any]]:
    """Rows drawn from the odd values, one in eight of them missing."""
    source = random.Random(seed)
    return [
        {name: None if source.random() < 0.125 else source.choice(pool) for name, pool in _DOMAINS.items()}
        for _ in range(size)
    ]


def arrow_table(rows: list[dict[str, Any]]) -> pyarrow.Table:
    """The rows as Arrow, for DuckDB."""
    return pyarrow.table(
        {name: pyarrow.array([row[name] for row in rows], type_) for name, type_ in _TYPES.items()}
    )


def doubles(size: int) -> list[float]:
    """Doubles of all sizes, seeded, and those at which reading and writing goes wrong."""
    bits = np.random.default_rng(26).integers(0, 2**64, size, dtype=np.uint64).view(np.float64)
    ends = [0.0, 5e-324, 2.2250738585072014e-308, _LARGEST, 2.0**53 + 2, 0.1, 1e22, 1e23]
    return [float(x) for x in bits if math.isfinite(x)] + ends + [-x for x in ends]
