"""When DuckDB's sums of doubles say of themselves that they are exact: by what comes out, or by counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest
from sqlglot import exp

from leakcap.release import Query, attach, load_policy
from leakcap.release.engine.duckdb_sql import Doubles
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.release.planning.statements import select_of

POLICY = load_policy({
    "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
    "columns": {"x": {"bounds": [0.0, 10_000.0]}, "k": {"keys": [0, 1, 2]}},
})  # fmt: skip
STEP = 2.0**-19
MANY = 1_800_001
"""So many numbers of almost 10,000 are more than 2⁵³ steps together, and an odd number: no double is."""


def rows_of(many: int) -> tuple[pyarrow.Table, list[int]]:
    """One key with many large odd numbers of steps, one with few numbers and missing ones, one with nobody;
    and the exact sums."""
    steps = 5_242_880_000 - 1 - 2 * np.arange(many, dtype=np.int64) % 1000
    values = [steps * STEP, np.array([1.5, 2.0**-19, -7.0, 1e300])]
    whole = pyarrow.array(np.concatenate(values), mask=None)
    missing = pyarrow.array([None, float("nan")], pyarrow.float64())
    x = pyarrow.concat_arrays([whole, missing])
    table = pyarrow.table({"x": x, "k": np.repeat([0, 1], [many, 6])})
    return table, [int(steps.sum()), 786_432 + 1 + 5_242_880_000, 0]


def sums(table: pyarrow.Table, statistic: str) -> tuple[list[int], list[Any]]:
    """The sums by key as they are released from, and what the quick statement says."""
    plan = plan_query(Query(name="q", statistic=statistic, column="x", by=("k",), epsilon=1.0), POLICY)
    engine = attach(table)
    total = scans_of([plan], engine)[0].run(engine)[0].totals[0].tolist()
    quick = engine.write(select_of([plan])).quick
    return total, [own for _, own, *_ in sorted(engine.aggregate(quick or ""))]


@pytest.mark.parametrize("many", [1000, MANY])
def test_a_sum_beyond_what_doubles_hold_is_made_of_integers(many: int) -> None:
    table, exact = rows_of(many)
    totals, quick = sums(table, "sum")
    assert totals == exact
    assert quick == [exact[0] if many == 1000 else None, exact[1]]


def test_without_the_guard_a_sum_would_be_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a sum of doubles that is taken as it comes out."""

    def taken(own: Doubles, node: exp.Expression) -> exp.Expression:
        return exp.Cast(this=exp.Sum(this=node.this), to=exp.DataType.build("BIGINT"))

    monkeypatch.setattr(Doubles, "total", taken)
    table, exact = rows_of(MANY)
    _, quick = sums(table, "sum")
    assert quick[0] != exact[0]


def test_a_mean_counts_the_numbers_that_it_adds_up() -> None:
    """Centred at 5,000, so that its sums may cancel: rows without a number are none of the many."""
    table, exact = rows_of(1000)
    totals, quick = sums(table, "mean")
    centre = 2_621_440_000
    assert totals == [exact[0] - 1000 * centre, exact[1] - 4 * centre, 0]
    assert quick == totals[:2]
    large, _ = rows_of(MANY)
    plan = plan_query(Query(name="q", statistic="mean", column="x", by=("k",), epsilon=1.0), POLICY)
    text = attach(large).write(select_of([plan])).quick or ""
    assert 'COUNT("v0") <= 1717986' in text
    assert sums(large, "mean")[1][0] is None
