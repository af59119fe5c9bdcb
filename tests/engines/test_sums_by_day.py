"""Sums, means, variances and products by parts of a date are made by day first: the integers are the same."""

from __future__ import annotations

import datetime
import random
from collections import defaultdict
from typing import Any

import pytest
from sqlglot import exp

from engines.held import held
from leakcap.release import Engine, Query, load_policy
from leakcap.release.columns.typed import SumOfSums
from leakcap.release.engine.duckdb_sql import Integers
from leakcap.release.planning import by_day
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.release.planning.statements import select_of

FIRST, LAST = datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)
COLUMNS = {"id": "bigint", "d": "date", "g": "string", "x": "double", "y": "double"}
Row = tuple[int | None, datetime.date | None, str, float | None, float | None]


def rows_of(seed: int = 3, size: int = 400) -> list[Row]:
    """Days outside the bounds, missing ones and missing numbers, numbers outside theirs."""
    source = random.Random(seed)

    def number() -> float | None:
        return source.choice([None, -5.0, 1e300, *(source.randrange(0, 81) / 2 for _ in range(6))])

    return [
        (
            source.choice([None, *range(90)]),
            None if source.random() < 0.1 else FIRST + datetime.timedelta(source.randrange(-40, 410)),
            source.choice("abz"),
            number(),
            number(),
        )
        for _ in range(size)
    ]


def policy(**unit: Any) -> Any:
    return load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6}, "unit": unit or "row",
        "columns": {
            "d": {"bounds": [FIRST, LAST]}, "weekday": {"from": "d", "part": "weekday"},
            "month": {"from": "d", "truncate": "month"}, "g": {"keys": ["a", "b"]},
            "x": {"bounds": [0.0, 40.0]}, "y": {"bounds": [0.0, 40.0]},
        },
    })  # fmt: skip


def holding(kind: str, rows: list[Row], request: Any) -> Engine:
    """An engine over these rows in this order."""
    return held(kind, COLUMNS, rows, request, "dated")


QUESTIONS: list[dict[str, Any]] = [
    {"statistic": "sum", "column": "x", "by": ("weekday",)},
    {"statistic": "mean", "column": "x", "by": ("month", "g")},
    {"statistic": "variance", "column": "x", "by": ("g", "weekday"), "where": "y > 3"},
    {"statistic": "covariance", "columns": ("x", "y"), "by": ("month",)},
    {"statistic": "ratio", "when": "x > 10", "by": ("weekday",)},
]


def totals(engine: Engine, rules: Any, asked: dict[str, Any]) -> list[list[int]]:
    plan = plan_query(Query(name="q", epsilon=1.0, **asked), rules)
    return [one.tolist() for one in scans_of([plan], engine, "5eed")[0].run(engine)[0].totals]


@pytest.mark.parametrize("kind", ["duckdb", "postgresql", pytest.param("spark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("unit", [{}, {"id": "id", "max_rows": 3}])
def test_integers_made_by_day_first_are_those_of_rows(
    kind: str, unit: dict[str, Any], monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    engine, rules = holding(kind, rows_of(), request), policy(**unit)
    found = [totals(engine, rules, asked) for asked in QUESTIONS]
    monkeypatch.setattr(by_day, "_MOST_GROUPS", 0)
    assert [totals(engine, rules, asked) for asked in QUESTIONS] == found
    assert all(any(one) for own in found for one in own)


def by_hand(rows: list[Row]) -> list[float]:
    """The sums of x by weekday, clamped."""
    sums: defaultdict[int, float] = defaultdict(float)
    for _, day, _, number, _ in rows:
        if day is not None and number is not None and FIRST <= day <= LAST:
            sums[day.isoweekday()] += min(max(number, 0.0), 40.0)
    return [sums[day] for day in range(1, 8)]


def summed(rows: list[Row], request: Any) -> list[float]:
    """The same by DuckDB."""
    plan = plan_query(Query(name="q", epsilon=1.0, **QUESTIONS[0]), policy())
    engine = holding("duckdb", rows, request)
    assert list(select_of([plan]).find_all(SumOfSums))
    (found,) = scans_of([plan], engine)[0].run(engine)[0].totals
    return [float(one * plan.parts[0].unit) for one in found.tolist()]


def test_sums_by_weekday_are_those_of_python(request: Any) -> None:
    rows = rows_of(8)
    assert summed(rows, request) == by_hand(rows)


def unsure_totals(engine: Any) -> list[int | None]:
    """What a quick statement says that is sure of the sums of days with nothing to add up alone."""
    plan = plan_query(Query(name="q", epsilon=1.0, **QUESTIONS[0]), policy())
    quick = engine.write(select_of([plan])).quick or ""
    unsure = quick.replace(f"< {2**53}.0e0", "< 1.0e0")
    assert unsure != quick
    return [total for _, total in engine.aggregate(unsure)]


def test_a_day_whose_sum_is_not_sure_makes_no_total(monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    """Planted: the sum of the days that are left, as if they were all."""
    engine = holding("duckdb", rows_of(8), request)
    assert unsure_totals(engine) == [None] * 7
    monkeypatch.setattr(Integers, "sum_of_sums", lambda own, sums: exp.Sum(this=sums))
    assert None not in unsure_totals(engine)
