"""The plan for columns within columns: price, error and the bound below it, against dense matrices."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakcap.errors import InvalidParameter
from leakcap.tables import ResidualPlan, Workload
from leakcap.tables.nested.bound import least_error
from leakcap.tables.nested.level import Level, scales_of
from leakcap.tables.residuals import covariance, margin_of, margins_counted, residual_integers
from leakcap.tables.widths import variance_of, widths_of
from tables.nested import trees
from tables.nested.trees import EVEN, UNEVEN, under

RHO = 0.02
PLANS = [
    ResidualPlan.of(workload, RHO, rows=rows, replace=replace)
    for workload in (*EVEN, *UNEVEN)
    for rows in (1, 2)
    for replace in (False, True)
]


def below(plan: ResidualPlan) -> float:
    """How far the farthest contents are apart, over what is charged for."""
    return trees.farthest(plan) / (2 * float(plan.rho))


def test_no_contents_are_farther_apart_than_is_charged_for() -> None:
    assert len(PLANS) == 32
    for plan in PLANS:
        even = plan.workload in EVEN
        assert below(plan) <= 1 + 1e-9
        assert below(plan) > (1 - 1e-9 if even else 0.995 if not plan.replace else 0.88)
        assert plan.rho <= Fraction(2, 100)


def test_a_reach_without_its_factors_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: as if k were 1 under each parent."""

    def bare(level: Level) -> int:
        return max(n * (n - 1) for n in level.children.tolist())

    monkeypatch.setattr(Level, "reach", property(bare))
    assert max(below(ResidualPlan.of(one, RHO)) for one in UNEVEN) > 1.5


def test_the_error_is_that_of_the_best_estimates() -> None:
    for plan in PLANS:
        assert float(plan.error) == pytest.approx(trees.error(plan), rel=1e-8)


@pytest.mark.parametrize("workload", [*EVEN, *UNEVEN])
def test_the_bound_is_below_every_strategy(workload: Workload) -> None:
    low, high = trees.best_found(workload)
    assert high < low * 1.001
    bound = float(least_error(workload, replace=False))
    assert bound <= low * (1 + 1e-7)
    plan = ResidualPlan.of(workload, RHO)
    if workload in EVEN:
        assert bound == pytest.approx(low, rel=1e-6)
        assert 1 <= plan.excess < Fraction(1001, 1000)
    else:
        assert bound > 0.98 * low
        assert 1 <= plan.excess < Fraction(3, 2)
        assert float(plan.error) * 2 * float(plan.rho) >= low * (1 - 1e-7)


def test_between_contents_the_bound_holds_for_the_plan() -> None:
    for plan in PLANS:
        if plan.replace and plan.rows == 1:
            assert 1 <= plan.excess < 4


def estimates(workload: Workload, table: Any) -> Any:
    """The estimates of a table as a matrix on what is released, one column for each number."""
    columns = []
    for part in workload.closure:
        shape = workload.numbers_of(part)
        for place in np.ndindex(*shape):
            integers = np.zeros(shape, dtype=np.int64)
            integers[place] = 1
            top, bottom = margin_of(workload, {part: integers}, table)
            columns.append(np.array([int(one) / bottom for one in np.ravel(top)]))
    return np.array(columns).T


@pytest.mark.parametrize("workload", [EVEN[1], *UNEVEN])
def test_every_covariance_is_that_of_the_estimates_as_a_matrix(workload: Workload) -> None:
    plan = ResidualPlan.of(workload, RHO)
    noise = np.concatenate(
        [
            np.full(int(np.prod(workload.numbers_of(part), initial=1)), float(plan.variances.get(part, 0)))
            for part in workload.closure
        ]
    )
    maps = {table: estimates(workload, table) for table in workload.closure}
    shapes = {table: [workload.sizes[i] for i in table] for table in workload.closure}
    for one, other in itertools.combinations_with_replacement(workload.closure, 2):
        dense = (maps[one] * noise) @ maps[other].T
        for (i, here), (j, there) in itertools.product(
            enumerate(np.ndindex(*shapes[one])), enumerate(np.ndindex(*shapes[other]))
        ):
            told = float(covariance(plan, (one, here), (other, there)))
            assert told == pytest.approx(dense[i, j], rel=1e-9, abs=1e-9)
    rng = np.random.default_rng(3)
    for table in workload.closure:
        variances = ((maps[table] ** 2) * noise).sum(axis=1)
        assert float(plan.variance(table)) >= variances.max() * (1 - 1e-9)
        assert widths_of(plan, table, ())[1] == pytest.approx(variances.max() ** 0.5, rel=1e-6)
        weights = {i: rng.integers(-2, 3, workload.sizes[i]).tolist() for i in table}
        vector = np.ones(1)
        for i in table:
            vector = np.kron(vector, np.array(weights[i], float))
        summed = vector @ maps[table]
        variance, steps = variance_of(plan, table, weights)
        assert float(variance) == pytest.approx(float((summed**2 * noise).sum()), rel=1e-9, abs=1e-9)
        assert float(steps) == pytest.approx(float(np.abs(summed)[noise > 0].sum()), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("workload", [*EVEN, *UNEVEN])
def test_what_is_released_without_noise_is_the_counts(workload: Workload) -> None:
    """Nothing is lost, and children add up to their parents, as fractions and with any noise."""
    full = np.random.default_rng(5).integers(0, 50, trees.counted(workload, ()).shape[1])
    truth = trees.exact(workload, full)
    maximal = {
        t: truth[t]
        for t in workload.closure
        if not any(set(workload.margins(o)) > set(workload.margins(t)) for o in workload.closure)
    }
    counts = margins_counted(workload, maximal)
    bases = workload.bases
    exact = {t: residual_integers(one, [bases[i] for i in t]) for t, one in counts.items()}
    noisy = {t: one + np.random.default_rng(7).integers(-900, 900, one.shape) for t, one in exact.items()}
    for table in workload.closure:
        assert (counts[table] == truth[table]).all()
        top, bottom = margin_of(workload, exact, table)
        assert (top == truth[table].astype(object) * bottom).all()
        own, under_ = margin_of(workload, noisy, table)
        for part in workload.margins(table):
            small, above = margin_of(workload, noisy, part)
            assert np.all(workload.summed(table, own, part) * above == small * under_)


def test_factors_even_out_how_far_a_row_moves_its_numbers() -> None:
    for sizes in ([2, 3], [28, 29, 30, 31], [1, 2, 26, 15, 44, 18, 96], [2, 400]):
        found = scales_of(sizes)
        moved = [k * k * n * (n - 1) for n, k in found.items()]
        assert set(found) == {n for n in sizes if n > 1}
        assert max(moved) <= 1.05 * min(moved)
    assert scales_of([1, 1]) == {}


@pytest.mark.parametrize(
    ("within", "words"),
    [
        ({"d": under("r", 2, 1)}, "`d` of `Workload` must have a parent for each of its keys"),
        ({"d": under("r", 4, 0)}, "`d` of `Workload` must have a parent for each of its keys"),
        ({"d": trees.Within("r", (0, 1, 0, 1))}, "children of each of those together"),
        ({"d": under("s", 2, 2)}, "`d` of `Workload` must lie within the column that stands right before it"),
        ({"x": under("r", 2, 2)}, "`within` of `Workload` must be of the columns"),
    ],
)
def test_what_is_no_tree_is_refused_in_one_line(within: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words) as caught:
        Workload.of({"s": 2, "r": 2, "d": 4}, [["d"]], within=within)
    assert "\n" not in str(caught.value)


def test_nested_columns_are_asked_by_cells_and_each_table_once() -> None:
    columns, within = {"r": 2, "d": 4}, {"d": under("r", 2, 2)}
    for name in columns:
        with pytest.raises(InvalidParameter, match="whose keys lie within no other's"):
            Workload.of(columns, [["d"]], kinds={name: "ranges"}, within=within)
    with pytest.raises(InvalidParameter, match="name each table once"):
        Workload.of(columns, [["d"], ["r", "d"]], within=within)
