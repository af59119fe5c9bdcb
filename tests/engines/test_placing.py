"""A row's integer, by DuckDB and by fractions; and values that are taken together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow
import pytest

from leakcap.release import attach
from leakcap.release.columns.typed import Quantize, column
from leakcap.release.engine import Doubles, Integers
from leakcap.release.engine.duckdb_sql import ROUNDED
from leakcap.release.planning.statements import select_of
from release.world import planned, policy_of

# Exponent, ends and centre: usual grids, odd centres, none, wide ones, and those that only integers hold.
GRIDS = [
    (26, 0, 100 * 2**26, 50 * 2**26),
    (26, 0, 100 * 2**26, 0),
    (3, -17, 30, 7),
    (0, -5, 5, -1),
    (-4, -1000, 1001, 1),
    (0, 2**49 - 8, 2**49 + 9, 2**49 + 1),
    (0, -ROUNDED, ROUNDED, -1),
    (0, ROUNDED + 1, ROUNDED + 10, ROUNDED + 5),
    (0, 2**53 - 31, 2**53, 2**53 - 16),
]


def values(exponent: int, low: int, high: int) -> list[float]:
    """Ties, their neighbours, the ends and far beyond them."""
    rng = np.random.default_rng(1)
    steps = [low, high, (low + high) // 2, *(int(low + (high - low) * share) for share in rng.random(300))]
    near = [math.ldexp(float(step + half), -exponent) for step in steps for half in (-0.5, 0.0, 0.5, 1.0)]
    beside = [math.nextafter(one, way) for one in near for way in (-math.inf, math.inf)]
    return [*near, *beside, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, math.inf, -math.inf]


# Beyond what doubles round no sum is made of them.
QUICK = [grid for grid in GRIDS if max(abs(grid[1]), abs(grid[2])) <= ROUNDED]


@pytest.mark.parametrize(
    ("lowering", "grid"), [*((Integers, grid) for grid in GRIDS), *((Doubles, grid) for grid in QUICK)]
)
def test_a_row_is_the_integer_that_fractions_say(
    lowering: type[Integers], grid: tuple[int, int, int, int]
) -> None:
    exponent, low, high, centre = grid
    given, step = values(exponent, low, high), Fraction(2) ** -exponent
    bounds = (float(low * step), float(high * step))
    node = Quantize(
        this=column("x"),
        low=bounds[0],
        high=bounds[1],
        scale=2.0**exponent,
        least=low,
        most=high,
        centre=centre,
        missing=None,
    )
    text = lowering({"x": "DOUBLE"}).lower(node).sql("duckdb")
    connection = duckdb.connect()
    connection.register("t", pyarrow.table({"x": [*given, math.nan, None]}))
    found = [one for (one,) in connection.execute(f"SELECT {text} FROM t").fetchall()]
    assert found[-2:] == [None, None]
    tried = 0
    for x, one in zip(given, found[:-2], strict=True):
        clamped = Fraction(max(bounds[0], min(bounds[1], x)))
        assert one == round(clamped / step) - centre, x
        tried += 1
    assert tried > 3000


def test_an_integer_less_its_centre_is_not_a_difference_of_integers() -> None:
    """Which DuckDB checks row by row: a bare mean took a quarter longer."""
    policy = policy_of(columns={"x": {"bounds": [0.0, 100.0]}})
    engine = attach(pyarrow.table({"x": [1.0]}))
    text = engine.write(select_of([planned(policy, statistic="mean", column="x")])).text
    assert "CAST(" in text
    assert "AS BIGINT) - " not in text


def test_values_that_are_taken_together_are_asked_for_once() -> None:
    """Each of a row's values in one place, and NULL where another one is, so that no total asks again."""
    policy = policy_of(columns={name: {"bounds": [0.0, 100.0]} for name in "xyz"})
    engine = attach(pyarrow.table({name: [1.0] for name in "xyz"}))
    query = {"statistic": "covariance", "columns": ("x", "y", "z")}
    text = engine.write(select_of([planned(policy, **query)])).text
    assert text.upper().count(" IS NULL") == 6  # each of three beside two others


@pytest.mark.parametrize("statistic", ["covariance", "correlation"])
def test_totals_are_of_rows_that_have_all_values(statistic: str) -> None:
    """By plain Python, over every way in which three values can be missing."""
    ends = (0.0, 8.0)
    policy = policy_of(columns={name: {"bounds": list(ends)} for name in "xyz"} | {"k": {"keys": [0, 1]}})
    rng = np.random.default_rng(7)
    columns: dict[str, list[float | None]] = {}
    for place, name in enumerate("xyz"):
        known = rng.uniform(-2.0, 10.0, 64)
        columns[name] = [None if row >> place & 1 else float(x) for row, x in enumerate(known)]
    columns["y"][8] = math.nan
    keys = [row // 32 for row in range(64)]
    engine = attach(pyarrow.table({**columns, "k": pyarrow.array(keys)}))
    plan = planned(policy, statistic=statistic, columns=("x", "y", "z"), by=("k",))
    statement = engine.write(select_of([plan]))
    texts = [text for text in (statement.quick, statement.text) if text is not None]
    assert len(texts) == 2
    exponents = [math.frexp(value.args["scale"])[1] - 1 for value in plan.values]
    centres = [int(value.args["centre"] or 0) for value in plan.values]

    def steps(row: int) -> Sequence[int] | None:
        own = [columns[name][row] for name in "xyz"]
        if any(x is None or math.isnan(x) for x in own):
            return None
        clamped = [Fraction(min(max(float(x or 0.0), ends[0]), ends[1])) for x in own]
        return [round(x * 2**e) - c for x, e, c in zip(clamped, exponents, centres, strict=True)]

    for key in (0, 1):
        rows = [known for row in range(64) if keys[row] == key and (known := steps(row)) is not None]
        assert rows
        expected = []
        for part in plan.parts:
            less, sign, places = part.aggregate.less, part.aggregate.sign, part.aggregate.places
            products = [math.prod(known[place] for place in places) for known in rows]
            expected.append(sum((less if sign < 0 else 0) + sign * one for one in products))
        for text in texts:
            (found,) = (row[1:] for row in engine.aggregate(text) if row[0] == key)
            assert list(map(int, found)) == expected
