"""Integers of the embedded engine against Python's own, on hostile bounds, values, types and small limits."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pyarrow
import pytest

from leakcap.release import Query, attach, load_policy
from leakcap.release.engine import doubles
from leakcap.release.measurements.measurement import Measurement
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of

BOUNDS = (
    *((0.0, 1e90), (-1e-90, 1e-90), (-1e90, 1e90), (0.0, 2e-90), (-3e80, 1.0), (0.0, 1.0), (-1.0, 1.0)),
    *((1e15, 1e15 + 4), (0.1, 0.3), (0.0, 2.0**50), (2.0**52, 2.0**53), (1.0, 1 + 2**-50), (-7.0, -2.0)),
)
INF, NAN = math.inf, math.nan
STRANGE = (None, NAN, INF, -INF, -0.0, 0.0, 5e-324, -5e-324, 1e308, -1.7e308, 2.0**52 + 0.5)


def column(dice: random.Random, bounds: tuple[float, float]) -> tuple[list[float | None], pyarrow.Array]:
    low, high = bounds
    edges = (low, high, math.nextafter(low, -INF), math.nextafter(high, INF))
    inside = [low + (high - low) * dice.random() for _ in range(30)]
    values = [dice.choice((*STRANGE, *edges, *inside, *inside)) for _ in range(dice.randrange(60))]
    kind = dice.choice(["double", "float", "text"])
    if kind == "float":
        with np.errstate(over="ignore"):
            values = [None if value is None else float(np.float32(value)) for value in values]
        return values, pyarrow.array(values, pyarrow.float32())
    if kind == "text":
        written = [None if value is None else repr(value) for value in values]
        return values, pyarrow.array(written, pyarrow.string())
    return values, pyarrow.array(values, pyarrow.float64())


def steps(plan: Plan, value: float | None) -> int | None:
    """One row's integer, by exact arithmetic."""
    grid, query = plan.grid, plan.query
    assert grid is not None
    assert query.column is not None
    known = plan.policy.columns[query.column]
    assert known.bounds is not None
    if value is None or math.isnan(value):
        return None if known.fill is None else grid.nearest(known.fill) - plan.centre
    clamped = max(known.bounds[0], min(known.bounds[1], value))
    return round(Fraction(clamped) / grid.step) - plan.centre


def expected(part: Measurement, whole: list[int]) -> int:
    if part.role == "count":
        return len(whole)
    if part.role == "sum":
        return sum(whole)
    return sum(one * one + part.contribution.low for one in whole)


@pytest.mark.parametrize("limit", [2**53, 2**40, 2**20])
def test_every_total_is_the_exact_one(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small limit sends the same rows through the quick sums, the sure ones, and both."""
    monkeypatch.setattr(doubles, "_EXACT", limit)
    dice, quick = random.Random(limit), 0
    for _ in range(40):
        bounds = dice.choice(BOUNDS)
        values, array = column(dice, bounds)
        groups = [dice.choice([0, 1, 2, None]) for _ in values]
        number = {"bounds": list(bounds)} | dice.choice([{}, {"fill": bounds[0]}])
        columns = {"x": number, "g": {"keys": [0, 1]}}
        caps = {"epsilon": 1.0}
        policy = load_policy(
            {"dataset": "t", "neighbours": "add-remove-one", "caps": caps, "columns": columns}
        )
        epsilon, statistic = dice.choice([1e-3, 0.1, 100.0]), dice.choice(["sum", "mean", "variance"])
        plans = [
            plan_query(Query(name="q", statistic=kind, column="x", epsilon=epsilon, by=by), policy)
            for kind, by in ((statistic, ()), (statistic, ("g",)), ("sum", ("g",)))
        ]
        engine = attach(pyarrow.table({"x": array, "g": pyarrow.array(groups, pyarrow.int64())}))
        for scan in scans_of(plans, engine):
            quick += scan.statement.quick is not None
            for place, totals in scan.run(engine).items():
                plan = plans[place]
                for index, cell in enumerate([0, 1] if plan.query.by else [None]):
                    kept = [v for v, g in zip(values, groups, strict=True) if cell is None or g == cell]
                    whole = [one for one in (steps(plan, value) for value in kept) if one is not None]
                    found = [totals.totals[number][index] for number in range(len(plan.parts))]
                    assert found == [expected(part, whole) for part in plan.parts], (bounds, values)
    assert quick > 0 or limit < 2**53
