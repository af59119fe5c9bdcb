"""Planned, then run: what can be refused is refused before the spend, in one line; all else is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alone import alone
from leakcap.release.statistics import statistics
from release.planned import MEGABYTES, SHAPES, USUAL, data, outcome

FINE = {"answered", "refused", "no policy"}


def case(statistic: str, **changes: Any) -> dict[str, Any]:
    mine = [one for one in SHAPES["content"] if one["statistic"] == statistic]
    content = next((one for one in mine if one.get("columns") == ("x", "y")), mine[0])
    plain = {name: options[0] for name, options in SHAPES.items()}
    return plain | USUAL | {"content": content, "rows": 60} | changes


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (case("covariance", by=("w",), delta=1e-6), "refused"),
        (case("covariance", by=("d",)), "answered"),
        (case("count", by=("d",), units=2_000_000), "answered"),
        (case("count", by=("many", "d", "k"), units=2_000_000), "answered"),
        (case("sum", by=("d",), units=10**12), "answered"),
        (case("count", epsilon=1e6), "answered"),
        (case("count", epsilon=1e7), "refused"),
        (case("count", by=("w",), delta=5e-324), "refused"),
        (case("count", by=("w",), delta=1e-100), "answered"),
        (case("mean", by=("n",), delta=1e-6, epsilon=1e6), "answered"),
        (case("count", rows=0), "answered"),
    ],
    ids=lambda one: one if isinstance(one, str) else one["content"]["statistic"],
)
def test_what_failed_after_its_spend(asked: dict[str, Any], expected: str) -> None:
    assert outcome(asked, {rows: data(rows) for rows in SHAPES["rows"]}) == expected


def walked(count: int, seed: int) -> dict[str, Any]:
    """So many cases in a process that may use so much memory and no more."""
    found: dict[str, Any] = json.loads(alone("release.planned", str(count), str(seed), str(MEGABYTES)))
    return found


@pytest.mark.parametrize(
    ("count", "seed"), [(len(SHAPES["content"]) + 30, 1), pytest.param(800, 2, marks=pytest.mark.slow)]
)
def test_every_statistic_is_refused_before_its_spend_or_answered(count: int, seed: int) -> None:
    found = walked(count, seed)
    assert {kind: found["first"][kind] for kind in found["counts"].keys() - FINE} == {}
    assert found["statistics"] == sorted(statistics())
    assert sum(found["counts"].values()) == count
    assert found["counts"]["answered"] > count / 8
    assert found["counts"]["refused"] > count / 20
