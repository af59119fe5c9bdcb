"""The factor: its exact inverse, its error, and that every path of rows is within what is paid for."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from leakcap.errors import InvalidParameter
from leakcap.running import RunningPlan, SquareRootFactor


def matrix(factor: SquareRootFactor) -> list[list[int]]:
    n = factor.steps
    return [[factor.weights[t - s] if s <= t else 0 for s in range(n)] for t in range(n)]


def solved(rows: list[list[int]], wanted: list[int]) -> list[Fraction]:
    """v with Σ_t wanted_t·x_t = v·(C·x), by substitution from the last column on."""
    n = len(wanted)
    found = [Fraction(0)] * n
    for s in reversed(range(n)):
        rest = sum((found[t] * rows[t][s] for t in range(s + 1, n)), Fraction(0))
        found[s] = (wanted[s] - rest) / rows[s][s]
    return found


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 24])
def test_estimates_undo_the_factor_exactly(steps: int) -> None:
    factor = SquareRootFactor(steps)
    rows, draw = matrix(factor), np.random.default_rng(steps)
    for end in range(steps):
        ones = [1] * (end + 1) + [0] * (steps - end - 1)
        assert list(reversed(factor.total_weights[: end + 1])) == solved(rows, ones)[: end + 1]
        alone = [0] * end + [1] + [0] * (steps - end - 1)
        assert list(reversed(factor.count_weights[: end + 1])) == solved(rows, alone)[: end + 1]
    wanted = draw.integers(-5, 6, steps).tolist()
    assert factor.spread(wanted) == solved(rows, wanted)


@pytest.mark.parametrize("steps", [1, 12, 365])
def test_the_worst_step_is_that_of_the_square_root(steps: int) -> None:
    # Fichtenberger, Henzinger & Upadhyay 2023: Σ_{k<n} (binom(2k, k)/4^k)².
    optimum = sum(Fraction(comb(2 * k, k), 4**k) ** 2 for k in range(steps))
    worst = SquareRootFactor(steps).worst
    assert float(optimum) * (1 - 1e-12) <= worst <= float(optimum) * (1 + 1e-6)
    assert steps != 365 or abs(worst - 2.944) < 0.001


def test_weights_never_rise_so_that_late_rows_move_less() -> None:
    weights = SquareRootFactor(1100).weights
    assert all(a >= b > 0 for a, b in itertools.pairwise(weights))


def paths(steps: int, rows: int) -> list[list[tuple[int, int]]]:
    """All ways in which a person's rows come in: each with the step that it is of and that in which it is
    there first."""
    one = [(own, came) for came in range(steps) for own in range(came + 1)]
    return [list(path) for path in itertools.combinations_with_replacement(one, rows)]


def moved(factor: SquareRootFactor, path: list[tuple[int, int]], most: int) -> list[int]:
    """How far the integer of each step is moved by the person's first `most` rows by period, read anew."""
    found = []
    for t in range(factor.steps):
        there = sorted(own for own, came in path if came <= t)[:most]
        found.append(sum(factor.weights[t - own] for own in there))
    return found


@pytest.mark.parametrize("most", [1, 2])
def test_every_way_in_which_rows_come_is_within_the_distance_and_one_is_at_it(most: int) -> None:
    plan = RunningPlan.of(4, 0.1, rows=most)
    apart = [sum(x * x for x in moved(plan.factor, path, most)) for path in paths(4, most + 2)]
    assert max(apart) == plan.squared_distance


def test_contents_that_differ_are_within_twice_and_two_series_are_at_it() -> None:
    plan = RunningPlan.of(3, 0.1, rows=2, replace=True)
    ways = [moved(plan.factor, path, 2) for path in paths(3, 3)]
    nothing = [0] * 3
    farthest = 0
    for here, there in itertools.product([*ways, nothing], repeat=2):
        same = sum((a - b) ** 2 for a, b in zip(here, there, strict=True))
        other = sum(a * a for a in here) + sum(b * b for b in there)
        farthest = max(farthest, same, other)
    assert farthest == plan.squared_distance


def test_rows_taken_in_another_order_than_that_of_their_periods_would_break_it() -> None:
    # What the reading is careful about: the newest row each time, one row of a person at a time.
    plan = RunningPlan.of(4, 0.1)
    newest = [plan.factor.weights[0]] * 4
    assert sum(x * x for x in newest) > plan.squared_distance


def test_the_price_is_that_of_the_noise_and_no_more_than_was_asked() -> None:
    for rho, rows, replace in itertools.product([1e-6, 0.02, 3.0], [1, 5], [False, True]):
        plan = RunningPlan.of(30, rho, rows=rows, replace=replace)
        squares = sum(weight**2 for weight in plan.factor.weights)
        assert plan.rho == Fraction(rows**2 * squares * (1 + replace), 2) / plan.variance
        assert Fraction(999, 1000) * Fraction(str(rho)) < plan.rho <= Fraction(str(rho))


@pytest.mark.parametrize("steps", [0, 1101, True, 2.0])
def test_a_horizon_must_be_a_number_of_steps(steps: object) -> None:
    with pytest.raises(InvalidParameter, match="`steps` of `SquareRootFactor` must be a whole number"):
        SquareRootFactor(steps)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rho", "rows"), [(0.0, 1), (float("nan"), 1), (0.1, 0), (1e-30, 1)])
def test_a_plan_must_have_a_price_and_rows(rho: float, rows: int) -> None:
    with pytest.raises(InvalidParameter, match="of `RunningPlan` must be"):
        RunningPlan.of(3, rho, rows=rows)
