"""Rows and a table that the tests of margins share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow

from leakcap.release import PrivateTable
from release.world import policy_of
from seeded import SeededSource

Row = dict[str, Any]


chance = np.random.default_rng(11)


ROWS: list[Row] = [
    {"d": "abc"[int(d)], "k": 1 + int(k), "f": bool(f), "x": float(x), "y": float(y)}
    for d, k, f, x, y in zip(
        chance.integers(0, 3, 240),
        chance.integers(0, 2, 240),
        chance.integers(0, 2, 240),
        chance.uniform(-3, 10, 240).round(3),
        chance.uniform(2, 8, 240).round(3),
        strict=True,
    )
]


FIVE: dict[str, Any] = {
    "d": {"keys": ["a", "b", "c"]},
    "k": {"keys": [1, 2]},
    "f": {"keys": [True, False]},
    "g": {"keys": ["total", "other"]},
    "h": {"keys": [0, 1, 2]},
    "x": {"bounds": [-3.0, 10.0]},
}


def table_of(seed: int = 1, **more: Any) -> PrivateTable:
    more = {"columns": FIVE, **more}
    rows = [{**row, "g": ["total", "other"][i % 2], "h": i % 3} for i, row in enumerate(ROWS)]
    data = pyarrow.table({name: [row[name] for row in rows] for name in more["columns"]})
    policy = policy_of(**more)
    return PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(seed))
