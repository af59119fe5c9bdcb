"""Consistency: sums are exact, nothing changes twice, no number gets worse on average, raw values stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, consistent
from leakcap.release.results.consistent import _fit, _rounded
from release.world import policy_of, table
from seeded import SeededSource

ROWS: list[dict[str, Any]] = [
    {"d": d, "k": k, "x": x}
    for i, (d, k) in enumerate((("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1), ("c", 2)))
    for x in [float(i)] * (3 * i)
]
TRUTH = {("a", 1): 0, ("a", 2): 3, ("b", 1): 6, ("b", 2): 9, ("c", 1): 12, ("c", 2): 15}


def private(seed: int) -> PrivateTable:
    return PrivateTable(
        table(ROWS), policy=policy_of(caps={"epsilon": 1e6}), ledger="sqlite://", source=SeededSource(seed)
    )


def three(seed: int, epsilon: float = 0.5) -> list[Any]:
    data = private(seed)
    return [
        data.count(epsilon=epsilon),
        data.count(by="d", epsilon=epsilon),
        data.count(by=["d", "k"], epsilon=epsilon),
    ]


@pytest.mark.parametrize("seed", range(8))
def test_sums_are_exact_whole_and_not_negative_and_nothing_changes_twice(seed: int) -> None:
    releases = three(seed)
    total, wards, cells = fitted = consistent(releases)
    assert total.value == sum(row.value for row in wards.rows) == sum(row.value for row in cells.rows)
    for row in wards.rows:
        assert row.value == sum(c.value for c in cells.rows if c.keys["d"] == row.keys["d"])
    assert all(isinstance(row.value, int) and row.value >= 0 for one in fitted for row in one.rows)
    again = consistent(fitted)
    assert [one.rows for one in again] == [one.rows for one in fitted]
    assert [one.raw for one in again] == [one.rows for one in releases] == [one.raw for one in fitted]
    assert all(
        one.post_processing and one.price == old.price for one, old in zip(fitted, releases, strict=True)
    )
    for one, old in zip(fitted, releases, strict=True):
        for new, before in zip(one.rows, old.rows, strict=True):
            assert (
                new.interval[0]
                <= min(before.interval[0], new.value)
                <= max(before.interval[1], new.value)
                <= new.interval[1]
            )


@pytest.mark.slow
def test_no_number_gets_worse_on_average() -> None:
    """400 seeded releases: squared errors after against before, each number by itself."""
    before, after = [], []
    truth = [45, 3, 15, 27, *TRUTH.values()]
    for seed in range(400):
        releases = three(seed)
        before.append([row.value for one in releases for row in one.rows])
        after.append([row.value for one in consistent(releases) for row in one.rows])
    squared = [((np.array(values) - truth) ** 2).mean(axis=0) for values in (before, after)]
    assert (squared[1] < squared[0]).all()
    assert squared[1].sum() < 0.8 * squared[0].sum()
    # The planted bug: totals copied into nothing, parts left as they are.
    assert abs(np.array(before)[:, 0] - np.array(before)[:, 1:4].sum(axis=1)).mean() > 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_fit_is_that_of_a_solver(data: Any) -> None:
    size = data.draw(st.integers(1, 6))
    groups = [[i] for i in range(size)] + data.draw(
        st.lists(st.lists(st.integers(0, size - 1), min_size=1, max_size=size, unique=True), max_size=4)
    )
    values = [data.draw(st.integers(-20, 40)) for _ in groups]
    variances = [data.draw(st.sampled_from([1.0, 4.0, 0.5])) for _ in groups]
    seen = [(np.array(g), float(v), w) for g, v, w in zip(groups, values, variances, strict=True)]
    matrix = np.array([[i in g for i in range(size)] for g in groups], float) / np.sqrt(variances)[:, None]
    target = np.array(values) / np.sqrt(variances)
    assert _fit(seen, size, False) == pytest.approx(np.linalg.lstsq(matrix, target, rcond=None)[0], abs=1e-6)
    assert _fit(seen, size, True) == pytest.approx(nnls(matrix, target)[0], abs=1e-6)


@given(st.lists(st.floats(0, 50), min_size=1, max_size=20))
def test_rounding_keeps_the_total_and_moves_no_cell_by_one(cells: list[float]) -> None:
    found = _rounded(np.array(cells))
    assert abs(sum(found) - sum(cells)) <= 0.5 + 1e-4
    assert all(abs(a - b) < 1 + 1e-5 for a, b in zip(found, cells, strict=True))


def test_contingency_tables_histograms_and_sums() -> None:
    data = private(3)
    square, wards = consistent([data.contingency(["d", "k"], epsilon=0.5), data.histogram("d", epsilon=5.0)])
    margins = {
        row.keys["d"]: row.value
        for row in square.rows
        if row.keys["k"] == "total" and row.keys["d"] != "total"
    }
    assert margins == {row.keys["d"]: row.value for row in wards.rows}
    assert square.rows[-1].value == sum(margins.values())
    total, parts = consistent([data.sum("x", epsilon=1.0), data.sum("x", by="k", epsilon=1.0)])
    assert total.value == sum(row.value for row in parts.rows)


def test_what_does_not_add_up_is_refused() -> None:
    data = private(4)
    count, mean = data.count(epsilon=1.0), data.mean("x", epsilon=1.0)
    others = [mean, data.count(where="k = 1", epsilon=1.0), data.sum("x", epsilon=1.0)]
    for other in others:
        with pytest.raises(InvalidQuery):
            consistent([count, other])
    with pytest.raises(InvalidQuery, match="split those of all others"):
        consistent([data.count(by="d", epsilon=1.0), data.count(by="k", epsilon=1.0)])
    with pytest.raises(InvalidQuery):
        consistent([])
