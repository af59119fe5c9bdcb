"""One comparison instead of two: the same integer for every double, at the bounds and a hair beyond them."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakcap.release import attach
from leakcap.release.columns.grid import grid_for
from leakcap.release.engine.within import ball
from leakcap.release.planning.scan import read_totals
from leakcap.release.planning.statements import select_of
from release.world import planned, policy_of

NUMBERS = st.one_of(
    st.integers(-1000, 1000).map(float),
    st.floats(-(2.0**200), 2.0**200),
    st.floats(-1.0, 1.0).map(lambda x: x * 2.0**-60),
    st.sampled_from([0.0, 0.1, 1 / 3, 1e-300, 5e-324, 2.0**53 + 2, 1e15 + 0.5]),
)


def near(number: float) -> list[float]:
    """The doubles around it, from the next one to what is half a millionth away."""
    ups = [number]
    for _ in range(3):
        ups.append(math.nextafter(ups[-1], math.inf))
    downs = [number]
    for _ in range(3):
        downs.append(math.nextafter(downs[-1], -math.inf))
    width = max(abs(number), 1.0)
    return [*ups, *downs, *(number + sign * width * 2.0**-k for k in range(20, 54) for sign in (-1, 1))]


def differ(
    bounds: tuple[float, float], exponent: int, ends: tuple[int, int], m: float, h: float
) -> list[float]:
    """The doubles that |x − m| ≤ h takes in but that are not their clamped selves, or leaves out wrongly."""
    low, high = bounds
    found = []
    for x in (*near(low), *near(high), *near(m), 0.0, -0.0, 5e-324, -5e-324, low / 2 + high / 2):
        rounded = round(Fraction(x) * Fraction(2) ** exponent)
        clamped = max(ends[0], min(ends[1], rounded))
        taken = abs(x - m) <= h
        if (taken and rounded != clamped) or (low <= x <= high and not taken):
            found.append(x)
    return found


@given(NUMBERS, NUMBERS, st.sampled_from([Fraction(1), Fraction(10**6), Fraction(1, 100)]))
def test_what_is_taken_is_what_is_within(one: float, other: float, scale: Fraction) -> None:
    low, high = sorted((one, other))
    if not high - low >= 1e-90:  # closer ones are no bounds of a policy
        return
    grid = grid_for((low, high), scale=scale * (Fraction(high) - Fraction(low)))
    found = ball((low, high), 2.0**grid.exponent, (grid.low, grid.high))
    if found is not None:
        assert differ((low, high), grid.exponent, (grid.low, grid.high), *found) == []


def test_usual_bounds_have_one() -> None:
    for bounds in ((0.0, 100.0), (0.0, 1.0), (-1.0, 1.0), (0.0, 120.0), (18.0, 99.5), (0.1, 0.7), (1e6, 2e6)):
        grid = grid_for(bounds, scale=Fraction(bounds[1]) - Fraction(bounds[0]))
        assert ball(bounds, 2.0**grid.exponent, (grid.low, grid.high)) is not None, bounds


def test_a_tie_at_the_bound_is_refused() -> None:
    """0.5 rounds to 0, a hair more to 1: what lies beyond may not be taken in. The planted bug takes it."""
    bounds, ends = (-3.5, 0.5), (-4, 0)
    assert ball(bounds, 1.0, ends) is None
    assert ball((-3.5, 0.4), 1.0, ends) is not None
    middle, half = -1.5, 2.0
    assert differ(bounds, 0, ends, middle, half * (1 + 2.0**-52)) != []


@pytest.mark.parametrize("low", [0.0, -7.25, 0.1])
@pytest.mark.parametrize("high", [1.0, 100.0, 65536.1])
def test_the_engine_sums_what_fractions_say(low: float, high: float) -> None:
    values = [x for bound in (low, high, low / 2 + high / 2) for x in near(bound)]
    values += [math.inf, -math.inf, -0.0, 1e308, -1e308, 5e-324, math.nan]
    policy = policy_of(columns={"x": {"bounds": [low, high]}})
    plan = planned(policy, statistic="sum", column="x")
    grid = plan.grid
    assert grid is not None
    exact = 0
    for x in values:
        if not math.isnan(x):
            inside = max(Fraction(low), min(Fraction(high), Fraction(x))) if math.isfinite(x) else None
            bound = grid.high if x > 0 else grid.low
            exact += bound if inside is None else round(inside / grid.step)
    engine = attach(pyarrow.table({"x": values}))
    written = engine.write(select_of([plan]))
    assert "ABS" in written.text
    assert read_totals(plan, engine.run(written))[0].tolist() == [exact]
    for text in (written.text, written.quick):
        assert text is not None
        assert engine.aggregate(text) == [(exact,)]  # type: ignore[attr-defined]
