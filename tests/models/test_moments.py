"""Sensitivities by brute force, the engine against plain sums, the noise's law, and ε on neighbours."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.models import moments as module
from leakcap.models.linear import _totals
from leakcap.models.moment_query import MomentQuery
from leakcap.models.moments import Moments, sensitivity_l1, sensitivity_l2_squared
from leakcap.release import Policy, attach
from leakcap.sampling import discrete_laplace
from models.world import ALARM, broken, policy_of
from seeded import SeededSource, discrete_gaussian_chi_square, discrete_laplace_chi_square

LEVELS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def triangle(row: tuple[float, ...]) -> np.ndarray[Any, Any]:
    return np.array([row[i] * row[j] for i in range(len(row)) for j in range(i, len(row))])


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_sensitivities_against_every_pair_of_rows(columns: int) -> None:
    """All rows on a grid of fifths, and no row at all; K = columns + 1 factors with the constant."""
    rows = [triangle((1.0, *row)) for row in itertools.product(LEVELS, repeat=columns)]
    nothing = np.zeros_like(rows[0])
    everything = np.array([nothing, *rows])
    factors = columns + 1
    apart = everything[:, None, :] - everything[None, :, :]
    assert np.abs(everything).sum(axis=1).max() == sensitivity_l1(factors, 1)
    assert np.abs(apart).sum(axis=2).max() == sensitivity_l1(factors, 1)
    assert (everything**2).sum(axis=1).max() == sensitivity_l2_squared(factors, 1, replace=False)
    found = (apart**2).sum(axis=2).max()
    bound = sensitivity_l2_squared(factors, 1, replace=True)
    assert found == bound if factors % 2 == 0 else bound - 1 <= found <= bound


def test_several_rows_of_a_unit_add_up() -> None:
    assert sensitivity_l1(4, 3) == 3 * sensitivity_l1(4, 1)
    assert sensitivity_l2_squared(4, 3, replace=True) == 9 * 16


numbers = st.none() | st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([-1.0, 1.0, 0.3, -0.0])
tables = st.lists(st.tuples(st.integers(1, 3) | st.none(), numbers, numbers, numbers), max_size=8)


@settings(max_examples=25, deadline=None)
@given(tables)
def test_the_engine_adds_up_what_python_adds_up(rows: list[tuple[Any, ...]]) -> None:
    policy = policy_of()
    query = MomentQuery(policy, ["x", "z", "y"], "x > -0.5")
    plan = Moments.plan(query.bounds, policy, epsilon=1.0, delta=0.0)
    names = ("id", "x", "z", "y")
    types = (pyarrow.int64(), *[pyarrow.float64()] * 3)
    columns = {
        name: pyarrow.array([row[n] for row in rows], type_)
        for n, (name, type_) in enumerate(zip(names, types, strict=True))
    }
    found = totals(query, plan, attach(pyarrow.table(columns)))
    expected = [0] * len(plan.pairs)
    for row in rows:
        if any(value is None or value != value for value in row[1:]) or not row[1] > -0.5:
            continue
        steps = [1, *(by_hand(value, axis) for value, axis in zip(row[1:], plan.axes, strict=True))]
        for place, (i, j) in enumerate(plan.pairs):
            expected[place] += steps[i] * steps[j]
    assert found == expected


def totals(query: MomentQuery, plan: Moments, engine: Any) -> list[int]:
    return query.run(query.statement(plan, engine), engine)


def by_hand(value: float, axis: Any) -> int:
    """round(clamp(x)·2^e) − centre in fractions."""
    clamped = min(max(value, axis.bounds[0]), axis.bounds[1])
    return round(Fraction(clamped) * Fraction(2) ** axis.exponent) - axis.centre


def test_arrays_and_tables_give_the_same_integers() -> None:
    policy = policy_of()
    data = np.random.default_rng(1).normal(0, 1.5, (500, 3))
    query = MomentQuery(policy, ["x", "z", "y"], None)
    plan = Moments.plan(query.bounds, policy, epsilon=0.3, delta=1e-6)
    table = pyarrow.table({name: data[:, n] for n, name in enumerate(("x", "z", "y"))})
    assert totals(query, plan, attach(table)) == _totals(plan, data)


def test_a_unit_counts_with_no_more_rows_than_the_policy_says() -> None:
    policy = policy_of(unit={"id": "id", "max_rows": 2})
    query = MomentQuery(policy, ["x", "y"], None)
    plan = Moments.plan(query.bounds, policy, epsilon=1.0, delta=0.0)
    table = pyarrow.table({"id": [1] * 5 + [2], "x": [1.0] * 6, "y": [3.0] * 6, "z": [0.0] * 6})
    assert totals(query, plan, attach(table))[0] == 3
    assert plan.relative_scale == 2 * 6


def test_columns_without_bounds_and_twice_the_same_are_refused() -> None:
    with pytest.raises(InvalidQuery, match="`w` is not a column"):
        MomentQuery(policy_of(), ["x", "w"], None)
    with pytest.raises(InvalidQuery, match="twice"):
        MomentQuery(policy_of(), ["x", "x"], None)
    with pytest.raises(InvalidParameter, match="must be larger"):
        Moments.plan([(0.0, 1.0)] * 2, policy_of(), epsilon=1e-12, delta=0.0)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_total_has_noise_of_the_claimed_law(delta: float) -> None:
    plan = Moments.plan([(-1.0, 1.0), (-3.0, 3.0)], policy_of(), epsilon=1.0, delta=delta)
    drawn = plan.releases([0] * 6, 3000, SeededSource(2))
    for i, j in plan.pairs:
        size = plan.largest[i] * plan.largest[j] * plan._finer(i, j)
        steps = np.rint(drawn[:, i, j] * size).astype(np.int64)
        if delta:
            variance = Fraction(size**2 * 6) / (2 * Fraction(plan.rho or 0.0)) + 16
            assert variance >= 2**30
            assert discrete_gaussian_chi_square(steps, variance) > ALARM
        else:
            assert discrete_laplace_chi_square(steps, 6 * size) > ALARM


def extreme(epsilon: float, seed: int, policy: Policy, rows: int = 1) -> tuple[Any, Any]:
    """The event with the largest ratio: every total of a unit of corner rows is reached; with it, without."""
    plan = Moments.plan([(-1.0, 1.0), (-3.0, 3.0)], policy, epsilon=epsilon, delta=0.0)
    row = _totals(plan, np.array([[1.0, 3.0]] * rows))
    size = np.array([[plan.largest[i] * plan.largest[j] for j in range(3)] for i in range(3)])
    goal = np.array([[1.0, *(a.integers(np.array([a.bounds[1]]))[0] for a in plan.axes)]])
    goal = rows * (goal.T @ goal / size) - 1e-12
    runs = 60_000
    present = plan.releases(row, runs, SeededSource(seed))
    absent = plan.releases([0] * 6, runs, SeededSource(seed + 1))
    return (present >= goal).all(axis=(1, 2)), (absent >= goal).all(axis=(1, 2))


PEOPLE = {"unit": {"id": "id", "max_rows": 3}}


@pytest.mark.parametrize("changes", [{}, {"neighbours": "replace-one", "rows": 9}, PEOPLE], ids=str)
def test_neighbours_keep_epsilon_and_half_the_noise_does_not(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At ε = 1 the event's ratio is e^ε exactly, for a row replaced by one that is left out and for a person
    of three rows too; with half the noise it is e^2ε, which samples prove."""
    policy, rows = policy_of(**changes), 3 if changes == PEOPLE else 1
    assert not broken(*extreme(1.0, 3, policy, rows), 1.0)
    assert broken(*extreme(1.0, 3, policy, rows), 0.3), "the test has power close to the truth"
    monkeypatch.setattr(module, "discrete_laplace", lambda s, n, source: discrete_laplace(s / 2, n, source))
    assert broken(*extreme(1.0, 5, policy, rows), 1.0)
