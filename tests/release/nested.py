"""Keys within keys, as their tests share them: policies, rows, and exact counts of the listed pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow

from leakcap.release import PrivateTable, Query
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of

LAND = {"North": ["Ashby", "Newton"], "South": ["Newton", "Overton", "Poole"], "West": ["Ryde"]}


POLICY: dict[str, Any] = {
    "dataset": "stays",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 1e6, "delta": 1e-6},
    "columns": {
        "region": {"keys": list(LAND)},
        "district": {"within": "region", "keys": LAND},
        "sex": {"keys": ["f", "m"]},
        "age": {"bounds": [0, 100]},
        "day": {"bounds": ["2026-01-01", "2026-12-31"]},
        "month": {"from": "day", "truncate": "month"},
    },
}


PAIRS = [(region, one) for region, own in LAND.items() for one in own]


CHAIN: dict[str, Any] = {
    **POLICY,
    "columns": {
        "state": {"keys": [1, 2]},
        "region": {"within": "state", "keys": {"1": ["north", "south"], "2": ["north"]}},
        "town": {
            "within": "region",
            "keys": {"1": {"north": ["a", "b"], "south": ["a"]}, "2": {"north": ["c", "a"]}},
        },
        "sex": {"keys": ["f", "m"]},
    },
}


def hostile_rows(seed: int = 0) -> dict[str, list[Any]]:
    """Listed pairs, pairs that are not, strange words and missing values."""
    draw = np.random.default_rng(seed)
    regions = [*LAND, None, "north", "", "North "]
    districts = ["Ashby", "Newton", "Overton", "Poole", "Ryde", None, "ashby", "'; --"]
    size = 400
    return {
        "region": [regions[one] for one in draw.integers(len(regions), size=size)],
        "district": [districts[one] for one in draw.integers(len(districts), size=size)],
        "sex": [["f", "m", None][one] for one in draw.integers(3, size=size)],
        "age": [float(one) for one in draw.integers(100, size=size)],
        "day": [f"2026-{one:02d}-03" for one in draw.integers(1, 13, size=size)],
    }


def exact(query: Query, policy: dict[str, Any], rows: dict[str, list[Any]]) -> dict[tuple[Any, ...], int]:
    """The exact count of each cell, as the engine is asked for it."""
    with PrivateTable(pyarrow.table(rows), policy=policy, ledger="sqlite://") as table:
        plan = plan_query(query, table.policy)
        (scan,) = scans_of([plan], table._engine)
        (total,) = scan.run(table._engine)[0].totals
    labels = plan.cells.labels()
    keys = list(zip(*(words.tolist() for words in labels.values()), strict=True))
    assert len(keys) == plan.cells.size == len(set(keys))
    return dict(zip(keys, total.tolist(), strict=True))


def plan_pairs(plan: Any) -> list[tuple[Any, ...]]:
    """The keys of each cell."""
    return list(zip(*(words.tolist() for words in plan.cells.labels().values()), strict=True))
