"""The plan of least noise: its price, its error and that there is no better one, against dense matrices."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakcap.errors import InvalidParameter
from leakcap.tables import ResidualPlan, Workload
from leakcap.tables import plan as planning
from tables.dense import WORKLOADS, error, farthest, gram, kron, least_error, wanted

RHO = 0.02
PLANS = [
    ResidualPlan.of(workload, RHO, rows=rows, replace=replace)
    for workload in WORKLOADS
    for rows in (1, 2)
    for replace in (False, True)
]


def test_the_price_is_that_of_the_farthest_rows() -> None:
    assert len(PLANS) == 24
    for plan in PLANS:
        assert float(plan.rho) == pytest.approx(farthest(plan) / 2, rel=1e-9)
        assert float(plan.rho) > RHO * 0.998
        assert plan.rho <= Fraction(2, 100)


def test_the_error_is_that_of_the_best_estimates() -> None:
    for plan in PLANS:
        assert float(plan.error) == pytest.approx(error(plan), rel=1e-8)


def test_no_linear_mechanism_is_better() -> None:
    """By the singular values of the dense workload."""
    for plan in PLANS:
        if not plan.replace:
            least = least_error(plan.workload, float(plan.rho)) * plan.rows**2
            assert float(plan.optimum) == pytest.approx(least, rel=1e-8)
            assert 1 <= plan.excess < Fraction(1001, 1000)
        else:
            # Two contents are at most two steps apart by way of absence.
            assert 1 <= plan.excess < 4 * Fraction(1001, 1000)


def test_a_search_finds_nothing_better() -> None:
    """Strategies found by descent from random starts, at the ρ of the plan: close to it, and none below."""
    from scipy.optimize import minimize

    for workload in WORKLOADS[:2]:
        w = wanted(workload)
        n = w.shape[1]
        plan = ResidualPlan.of(workload, RHO)

        def cost(flat: Any, n: int = n, w: Any = w) -> float:
            a = flat.reshape(n, n)
            square = (a**2).sum(axis=0).max()
            inverse = np.linalg.pinv(a.T @ a + 1e-9 * np.eye(n))
            return float(square * np.trace(w @ inverse @ w.T))

        rng = np.random.default_rng(8)
        starts = [np.eye(n) + 0.2 * rng.standard_normal((n, n)) for _ in range(2)]
        starts.append(np.linalg.cholesky(gram(plan) + 1e-9 * np.eye(n)).T * 10)
        found = [
            minimize(cost, start.ravel(), method="L-BFGS-B", options={"maxiter": 40}).fun for start in starts
        ]
        best = min(found) / (2 * float(plan.rho))
        assert best >= float(plan.optimum) * (1 - 1e-6)
        assert best <= float(plan.error) * 1.05


def _uncentred(workload: Workload, table: tuple[int, ...]) -> int:
    return int(np.prod([workload.sizes[i] ** 2 for i in table], initial=1))


def _one_factor(workload: Workload, table: tuple[int, ...]) -> int:
    return int(np.prod([workload.sizes[i] - 1 for i in table], initial=1))


@pytest.mark.parametrize("wrong", [_uncentred, _one_factor])
def test_a_wrong_reach_is_caught(wrong: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "reach_squared", wrong)
    plan = ResidualPlan.of(WORKLOADS[2], RHO)
    assert float(plan.rho) != pytest.approx(farthest(plan) / 2, rel=0.05)


def test_of_many_columns_contents_are_never_priced_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all ways to be unlike are looked at."""
    exact = [plan for plan in PLANS if plan.replace]
    monkeypatch.setattr(planning, "_ENUMERATED", 0)
    for plan in exact:
        again = ResidualPlan(plan.workload, plan.variances, plan.rows, True)
        assert again.rho >= plan.rho
        assert float(again.rho) >= farthest(plan) / 2 * (1 - 1e-12)


def test_weights_buy_accuracy() -> None:
    columns = {"a": 4, "b": 5, "c": 6}
    tables = [["a", "b"], ["b", "c"]]
    even, odd = (ResidualPlan.of(Workload.of(columns, tables, w), RHO) for w in ([1, 1], [9, 1]))
    assert odd.variance((0, 1)) < even.variance((0, 1))
    assert odd.variance((1, 2)) > even.variance((1, 2))


def test_the_names_order_and_scale_of_weights_change_nothing() -> None:
    first = Workload.of({"a": 4, "b": 5}, [["a", "b"], ["a"]], [3, 1])
    other = Workload.of({"a": 4, "b": 5}, [["a"], ["b", "a"]], [7, 21])
    assert ResidualPlan.of(first, RHO).variances == ResidualPlan.of(other, RHO).variances


def test_twelve_and_a_hundred_columns_are_planned_quickly() -> None:
    """All pairs; the targets are 2 and 60 seconds, `benchmarks/tables.py` prints what they take."""
    for columns, most in (
        ({f"c{i}": 3 + 7 * i for i in range(12)}, 2.0),
        (dict.fromkeys(map(str, range(100)), 10), 60.0),
    ):
        start = time.process_time()
        plan = ResidualPlan.of(Workload.of_ways(columns, 2), RHO)
        assert plan.excess < Fraction(101, 100)
        assert time.process_time() - start < most


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Workload.of_ways({"a": 2}, 2), "`ways` of `Workload` must be a whole number from 0"),
        (lambda: Workload.of_ways({str(i): 9 for i in range(100)}, 5), "make no more than 200,000 tables"),
        (lambda: Workload.of({"a": 2}, []), "name one table or more"),
        (lambda: Workload.of({"a": 2}, ["a"]), "be lists of the columns"),
        (lambda: Workload.of({"a": 2}, [["b"]]), "be lists of the columns"),
        (lambda: Workload.of({"a": 2}, [["a", "a"]]), "name no column of a table twice"),
        (lambda: Workload.of({"a": 2, "b": 2}, [["a", "b"], ["b", "a"]]), "name each table once"),
        (lambda: Workload.of({"a": 2}, [["a"]], [0]), "`weights` of `Workload` must be positive"),
        (lambda: Workload.of({"a": 2}, [["a"]], [1, 2]), "be one for each table"),
        (lambda: Workload.of({"a": 0}, [["a"]]), "whole number of keys"),
        (lambda: Workload.of({"a": 9999, "b": 9999}, [["a", "b"]]), "no more than 10,000,000 cells"),
        (lambda: Workload.of({str(i): 1 for i in range(60)}, [list(map(str, range(60)))]), "fewer margins"),
        (lambda: ResidualPlan.of(WORKLOADS[0], 0.0), "`rho` of `ResidualPlan` must be positive"),
        (lambda: ResidualPlan.of(WORKLOADS[0], float("nan")), "`rho` of `ResidualPlan` must be positive"),
        (lambda: ResidualPlan.of(WORKLOADS[0], 1e-30), "large enough that noise can be drawn"),
        (lambda: ResidualPlan.of(WORKLOADS[0], 1.0, rows=0), "`rows` of `ResidualPlan`"),
        (lambda: WORKLOADS[0].place(["c"]), "be a table that was asked for, or a margin of one"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(make: Callable[[], object], says: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        make()
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_dense_route_knows_a_kronecker_product() -> None:
    assert kron([np.ones((1, 2)), np.eye(2)]).tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]
