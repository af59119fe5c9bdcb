"""Number columns cut at edges of their own: every engine finds what is worked out in Python."""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter
from typing import Any

import numpy as np
import pytest

from leakcap.release import attach
from leakcap.release.engine import Engine
from leakcap.release.engine.postgresql import PostgreSQL
from ledger.server import execute
from release.world import exact, planned, policy_of, table

EDGES = {"x": (-3.0, 0.0, 0.1, 5.0, 10.0), "y": (2.5, 4.0, 8.0)}
CUT = tuple(EDGES.items())
WILD = (
    None,
    math.nan,
    math.inf,
    -math.inf,
    -3.0,
    0.0,
    0.1,
    5.0,
    10.0,
    2.5,
    8.0,
    -0.0,
    1e300,
    0.09999999999999999,
)
POLICY = policy_of()
ASKED: list[dict[str, Any]] = [
    {"statistic": "count", "by": ("x", "d", "y"), "cut": CUT},
    {"statistic": "contingency", "columns": ("x", "d", "y"), "cut": CUT},
]


def random_rows(seed: int, size: int) -> list[dict[str, Any]]:
    chance = np.random.default_rng(seed)
    return [
        {
            "id": i,
            "x": WILD[i % len(WILD)] if i % 3 else float(chance.uniform(-5, 12)),
            "y": WILD[(i // 7) % len(WILD)] if i % 2 else float(chance.uniform(1, 9)),
            "d": "abcz"[int(chance.integers(4))],
            "k": 1,
            "f": True,
        }
        for i in range(size)
    ]


def place(value: float | None, edges: tuple[float, ...], fill: float | None) -> int | None:
    """Its bin: outliers are in the outer ones; what is missing or NaN is the fill, or in none."""
    known = fill if value is None or math.isnan(value) else value
    return None if known is None else bisect(edges, known, 1, len(edges) - 1) - 1


def worked_out(rows: list[dict[str, Any]]) -> list[int]:
    found: Counter[Any] = Counter(
        (place(row["x"], EDGES["x"], None), row["d"], place(row["y"], EDGES["y"], 5.0)) for row in rows
    )
    return [found[x, d, y] for x in range(4) for d in "abc" for y in range(2)]


def check(engine: Engine, rows: list[dict[str, Any]]) -> None:
    for asked in ASKED:
        assert exact(planned(POLICY, **asked), engine) == [worked_out(rows)]
    sums = exact(planned(POLICY, statistic="mean", column="y", by=("x",), cut=CUT[:1]), engine)[1]
    held = Counter(place(row["x"], EDGES["x"], None) for row in rows)
    assert sums == [held[place] for place in range(4)]  # y has a fill: nobody is without a value


@pytest.mark.parametrize("size", [0, 500])
def test_duckdb_finds_what_is_worked_out(size: int) -> None:
    rows = random_rows(size, size)
    check(attach(table(rows)), rows)
    assert not size or sum(worked_out(rows)) > size / 4


def test_a_planted_mistake_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One column's edges for all of them."""
    from leakcap.release.columns import cells

    plain = cells.edges_axis
    monkeypatch.setattr(cells, "edges_axis", lambda name, edges, fill=None: plain(name, EDGES["x"][:3], fill))
    with pytest.raises((AssertionError, ValueError)):
        check(attach(table(random_rows(3, 200))), random_rows(3, 200))


@pytest.mark.parametrize("size", [0, 200])
def test_postgresql_finds_what_is_worked_out(server: str, size: int) -> None:
    rows = random_rows(size + 1, size)
    values = (f"({row['id']}, {_said(row['x'])}, {_said(row['y'])}, '{row['d']}', 1, true)" for row in rows)
    execute(
        server,
        "DROP TABLE IF EXISTS cut",
        "CREATE TABLE cut (id bigint, x float8, y float8, d text, k bigint, f boolean)",
        *(f"INSERT INTO cut VALUES {one}" for one in values),
    )
    check(PostgreSQL(server, table="cut"), rows)


def _said(value: float | None) -> str:
    return "NULL" if value is None else f"'{value!r}'"


@pytest.mark.slow
def test_spark_finds_what_is_worked_out(spark: Any) -> None:
    rows = random_rows(5, 150)
    schema = "id bigint, x double, y double, d string, k bigint, f boolean"
    check(attach(spark.createDataFrame([tuple(row.values()) for row in rows], schema)), rows)
