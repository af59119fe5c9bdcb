"""Visits by day and ward, and the policy and question that tests ask about them."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pyarrow

from leakcap.release import Policy, load_policy
from leakcap.running import RunningQuestion

FIRST = datetime.date(2026, 1, 1)
CAPS = {"epsilon": 50.0, "delta": 1e-6}
COLUMNS: dict[str, Any] = {
    "day": {"dates": ["2025-12-01", "2026-03-31"]},
    "date": {"from": "day", "truncate": "day"},
    "week": {"from": "day", "truncate": "week"},
    "month": {"from": "day", "truncate": "month"},
    "ward": {"keys": ["north", "south"]},
    "age": {"bounds": [0.0, 100.0]},
}
SCHEMA = pyarrow.schema([("id", "int64"), ("day", "date32"), ("ward", "string"), ("age", "double")])
DAYS = RunningQuestion(name="visits", period="date", first="2026-01-01", steps=6, rho=0.5, rows_stay=True)


def policy_of(**changes: Any) -> Policy:
    plain = {"dataset": "d", "neighbours": "add-remove-one", "caps": CAPS, "columns": COLUMNS}
    return load_policy({**plain, **changes})


def day(number: int) -> str:
    return (FIRST + datetime.timedelta(days=number)).isoformat()


def visits(size: int, days: int = 8, seed: int = 3) -> list[dict[str, Any]]:
    """Rows of which some are outside the horizon, or have a key that is missing or none of the policy's."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(size):
        when = FIRST + datetime.timedelta(days=int(rng.integers(-2, days)))
        found.append(
            {
                "id": None if rng.random() < 0.05 else int(rng.integers(0, max(1, size // 5))),
                "day": None if rng.random() < 0.05 else when,
                "ward": ["north", "south", "x", None][rng.choice(4, p=[0.6, 0.3, 0.05, 0.05])],
                "age": math.nan if rng.random() < 0.05 else float(rng.integers(0, 120)),
            }
        )
    return found


def table_of(rows: list[dict[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(rows, schema=SCHEMA)
