"""Tables to make files from, with noise that is seeded."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow

from leakcap.release import PrivateTable
from leakcap.tables import ReleasedTables, TablesQuestion, release_tables
from seeded import SeededSource

POLICY: dict[str, Any] = {
    "dataset": "people",
    "neighbours": "add-remove-one",
    "caps": {"rho": 20_000.0},
    "columns": {
        "sex": {"keys": ["f", "m"]},
        "ward": {"keys": ["north", "south", "west"]},
        "old": {"keys": [False, True]},
        "rooms": {"keys": [1, 2, 3, 4]},
    },
}


def people(rows: int = 4_000, seed: int = 3) -> pyarrow.Table:
    """Rows with links between columns: wards differ in sex, and the old have few rooms."""
    draw = np.random.default_rng(seed)
    ward = draw.choice(3, rows, p=[0.5, 0.3, 0.2])
    sex = draw.random(rows) < np.array([0.2, 0.5, 0.9])[ward]
    old = draw.random(rows) < 0.3
    rooms = np.where(old, draw.choice(2, rows), draw.choice(4, rows))
    return pyarrow.table(
        {
            "sex": np.array(["f", "m"])[sex.astype(int)],
            "ward": np.array(["north", "south", "west"])[ward],
            "old": old,
            "rooms": rooms + 1,
        }
    )


def released(
    rho: float = 0.5,
    *,
    rows: int = 4_000,
    seed: int = 1,
    asked: dict[str, Any] | None = None,
    policy: dict[str, Any] | None = None,
    data: pyarrow.Table | None = None,
) -> ReleasedTables:
    """All pairs of the four columns, or what is asked; the table is closed before they are handed over.

    What several tests ask of the same rows in the same words is released once.
    """
    if asked is None and policy is None and data is None:
        return _released_once(rho, rows, seed)
    question = asked or {"columns": ("sex", "ward", "old", "rooms"), "ways": 2}
    with PrivateTable(
        people(rows) if data is None else data, policy=policy or POLICY, ledger="sqlite://"
    ) as table:
        return release_tables(table, TablesQuestion(**question, rho=rho), source=SeededSource(seed))


@functools.cache
def _released_once(rho: float, rows: int, seed: int) -> ReleasedTables:
    return released(rho, seed=seed, data=people(rows))
