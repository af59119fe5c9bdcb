"""Sums on the grid: exact, order-free, and unmoved by values that break float sums."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakcap.errors import InvalidQuery
from leakcap.release.columns.grid import grid_for
from release.world import answers, planned, policy_of

NASTY = [
    1e308,
    -1e308,
    5e-324,
    -5e-324,
    -0.0,
    0.0,
    math.inf,
    -math.inf,
    2.0**53 + 1,
    1 / 3,
    2.5,
    -2.5,
    1e-9,
    1e16,
]


def by_hand(values: list[float | None], bounds: tuple[float, float], exponent: int) -> int:
    """The definition, in exact rationals: drop missing, clamp, scale, round halves to even."""
    low, high = (Fraction(bound) for bound in bounds)
    scale = Fraction(2) ** exponent
    total = 0
    for value in values:
        if value is None or math.isnan(value):
            continue
        inside = (
            high if value == math.inf else low if value == -math.inf else min(max(Fraction(value), low), high)
        )
        total += round(inside * scale)
    return total


def sum_of(values: list[float | None], bounds: tuple[float, float]) -> tuple[int, int]:
    policy = policy_of(columns={"x": {"bounds": list(bounds)}})
    plan = planned(policy, statistic="sum", column="x")
    assert plan.grid is not None
    data = pyarrow.table({"x": pyarrow.array(values, pyarrow.float64())})
    return answers(plan, data)[0][0], plan.grid.exponent


@pytest.mark.parametrize("bounds", [(-3.0, 10.0), (0.0, 1e-30), (-1e40, 1e40), (1e15, 1e15 + 1), (0.1, 0.3)])
def test_adversarial_values_sum_exactly(bounds: tuple[float, float]) -> None:
    values = [*NASTY, None, math.nan, *bounds]
    total, exponent = sum_of(values, bounds)
    assert total == by_hand(values, bounds, exponent)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats()), max_size=30), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_random_values_sum_exactly(values: list[float | None], low: float, width: float) -> None:
    bounds = (low, low + width)
    total, exponent = sum_of(values, bounds)
    assert total == by_hand(values, bounds, exponent)


def test_the_order_of_rows_does_not_matter() -> None:
    values = [1e16, 1.0, -1e16, 1e-9, 0.1, 0.2, 0.3] * 400
    bounds = (-1e16, 1e16)
    shuffled = random.Random(1).sample(values, len(values))
    assert math.fsum(values) != sum(values) or sum(values) != sum(shuffled)  # floats do depend on it
    assert sum_of(values, bounds) == sum_of(shuffled, bounds) == sum_of(sorted(values), bounds)


def test_totals_beyond_64_bits_do_not_wrap() -> None:
    rows = 3 * 2**20
    plan = planned(policy_of(), statistic="sum", column="x", epsilon=100.0)
    assert plan.grid is not None
    assert answers(plan, pyarrow.table({"x": [10.0] * rows})) == [[plan.grid.high * rows]]
    assert plan.grid.high * rows > 2**53


def test_the_grid_is_fine_and_public() -> None:
    for low, high in itertools.product((-50.0, 0.0, 3.0), (7.5, 1000.0)):
        grid = grid_for((low, high), scale=Fraction(1000))
        assert 2**32 <= grid.high - grid.low <= 2**33
        assert abs(grid.step * grid.high - Fraction(high)) <= grid.step / 2
    # the samplers draw scales up to 2^45: a tiny ε makes the grid coarser, never the noise smaller
    coarse = grid_for((0.0, 50.0), scale=Fraction(10**11))
    assert 2**42 <= Fraction(10**11) / coarse.step <= 2**45


def test_an_epsilon_that_no_grid_can_serve_is_refused() -> None:
    policy = policy_of(neighbours="replace-one", rows=3)
    for query in (
        {"statistic": "sum", "column": "y"},
        {"statistic": "mean", "column": "x"},
        {"statistic": "count"},
    ):
        with pytest.raises(InvalidQuery, match="out of the range"):
            planned(policy, **query, epsilon=1e-15)


def test_missing_values_are_left_out_or_filled() -> None:
    data = pyarrow.table({"y": pyarrow.array([None, math.nan, 3.0], pyarrow.float64())})
    for fill, expected in ((None, 3), (8.0, 19)):
        known = {"bounds": [2.0, 8.0]} | ({} if fill is None else {"fill": fill})
        plan = planned(policy_of(columns={"y": known}), statistic="sum", column="y")
        assert plan.grid is not None
        assert plan.grid.step * answers(plan, data)[0][0] == expected


@pytest.mark.parametrize("bounds", [[-3.0, 10.0], [-100.0, 7.0], [0.5, 6.0]])
def test_the_centred_sum_of_a_mean_gives_back_the_mean(bounds: list[float]) -> None:
    data = pyarrow.table({"x": [1.0, 2.0, 6.0]})
    plan = planned(policy_of(columns={"x": {"bounds": bounds}}), statistic="mean", column="x")
    assert plan.grid is not None
    total, count = (part[0] for part in answers(plan, data))
    assert count == 3
    assert plan.grid.step * (plan.centre + Fraction(total, count)) == 3
