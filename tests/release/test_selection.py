"""A lazy question is the query that the one-line method asks."""

from __future__ import annotations

from typing import Any

import pytest

from leakcap.release import PrivateTable
from release.world import policy_of, table

ASKED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("contingency", (["d", "k"],), {}),
    ("cumulative", ("x",), {"bins": 4}),
    ("top", ("d", 2), {}),
    ("covariance", (["x", "y"],), {}),
    ("correlation", (["x", "y"],), {}),
    ("formula_sum", ("x * 2",), {"range": (0.0, 9.0)}),
    ("ratio", (), {"when": "f"}),
    ("ratio", ("x",), {"over": "y"}),
    ("quantiles", ("x", [0.1, 0.9]), {"bins": 8}),
]


@pytest.mark.parametrize(("statistic", "given", "own"), ASKED, ids=str)
def test_both_ways_ask_the_same(statistic: str, given: tuple[Any, ...], own: dict[str, Any]) -> None:
    rows = [{"x": 1.0 * i, "y": 3.0, "d": "a", "k": 1, "f": True, "id": i} for i in range(9)]
    data = PrivateTable(table(rows), policy=policy_of(), ledger="sqlite://")
    lazy = getattr(data.where("x > 0"), statistic)(*given, **own)
    first = lazy.release(epsilon=1.0)
    second = getattr(data, statistic)(*given, **own, where="x > 0", epsilon=1.0)
    assert second.repeated
    assert (second.text, second.name, second.rows) == (first.text, first.name, first.rows)


def test_bounds_too() -> None:
    data = PrivateTable(
        table([{"x": 2.0}]), policy=policy_of(columns={"x": {"bounds": "unknown"}}), ledger="sqlite://"
    )
    data.all.bounds("x").release(epsilon=1.0)
    assert data.bounds("x", epsilon=1.0).repeated
