"""Plan, fit and rounding of trees, against matrices of rationals, brute force and formulas from elsewhere."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from leakcap.errors import InvalidParameter
from leakcap.sampling import discrete_gaussian
from leakcap.tables.hierarchies import Hierarchy, HierarchyPlan
from leakcap.tables.hierarchies import fit as fitting
from leakcap.tables.hierarchies.fit import SLACK, TreeFit, half_widths
from leakcap.tables.hierarchies.whole import nearest_whole
from seeded import SeededSource
from tables.hierarchies.truth import distance, fitted, members, nearest

UNEVEN = Hierarchy.of(
    ["region", "town"], [("n", "a"), ("n", "b"), ("n", "c"), ("s", "d"), ("w", "e"), ("w", "f")]
)
DEEP = Hierarchy.of(
    ["land", "region", "town", "ward"],
    [("l", f"r{i // 4}", f"t{i // 2}", f"w{i}") for i in range(7)],
)
CASES: tuple[tuple[Hierarchy, Sequence[Mapping[int, int]]], ...] = (
    (UNEVEN, ({}, {}, {})),
    (UNEVEN, ({0: 900}, {}, {})),
    (UNEVEN, ({0: 900}, {0: 500}, {3: 200})),
    (UNEVEN, ({}, {0: 500, 1: 200, 2: 100}, {})),
    (DEEP, ({}, {}, {}, {})),
    (DEEP, ({0: 700}, {0: 400, 1: 300}, {1: 100}, {5: 50})),
)


def noisy_of(tree: Hierarchy, plan: HierarchyPlan, seed: int) -> list[Any]:
    """Noise alone, around the counts 0: the fit is linear."""
    source = SeededSource(seed)
    return [
        None if variance is None else 100 + discrete_gaussian(variance, size, source)
        for variance, size in zip(plan.variances, tree.sizes, strict=True)
    ]


def whole_levels(tree: Hierarchy, exact: Sequence[Mapping[int, int]]) -> list[str]:
    return [name for name, own, size in zip(tree.levels, exact, tree.sizes, strict=True) if len(own) == size]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_the_two_passes_are_the_least_squares_fit_with_its_covariance(case: int) -> None:
    tree, exact = CASES[case]
    weights = {tree.levels[1]: 5, tree.levels[-1]: Fraction(1, 3)}
    plan = HierarchyPlan.of(tree, 0.01, weights, exact=whole_levels(tree, exact))
    noisy = noisy_of(tree, plan, case)
    fit = TreeFit.of(tree, noisy, plan.variances, exact)
    values, spread = fitted(
        tree, [None if one is None else one.tolist() for one in noisy], plan.variances, exact
    )
    rows = {
        (level, place): row
        for level in range(len(tree.levels))
        for place, row in enumerate(members(tree, level))
    }
    assert fit.rounding < 1e-6
    for (level, place), row in rows.items():
        truth = sum((a * x for a, x in zip(row, values, strict=True)), Fraction(0))
        mine = int(fit.base[level][place]) + Fraction(float(fit.shift[level][place]))
        assert abs(mine - truth) <= fit.rounding
    for one, other in itertools.combinations_with_replacement(rows, 2):
        truth = sum(
            a * b * spread[i][j]
            for i, a in enumerate(rows[one])
            for j, b in enumerate(rows[other])
            if a and b
        )
        scale = float(max(v for v in plan.variances if v is not None))
        assert fit.covariance(one, other) == pytest.approx(float(truth), rel=1e-6, abs=1e-6 * scale)
        if one == other:
            assert truth <= Fraction(float(fit.variance[one[0]][one[1]]))
            assert float(fit.variance[one[0]][one[1]]) <= float(truth) + 10 * SLACK * scale


def test_a_fit_with_wrong_weights_is_caught() -> None:
    """Planted: all levels are taken to have one variance. Then it is not what the rationals say."""
    plan = HierarchyPlan.of(UNEVEN, 0.01, {"town": 9})
    noisy = noisy_of(UNEVEN, plan, 1)
    wrong = TreeFit.of(UNEVEN, noisy, [Fraction(16)] * 3, [{}, {}, {}])
    values, _ = fitted(UNEVEN, [one.tolist() for one in noisy], plan.variances, [{}, {}, {}])
    off = max(
        abs(int(wrong.base[2][i]) + float(wrong.shift[2][i]) - float(values[i])) for i in range(len(values))
    )
    assert off > 100 * wrong.rounding


def test_huge_counts_cost_no_digit() -> None:
    """Counts near 2⁶⁰: the fit of what is added to whole numbers is that of small counts, bit for bit."""
    plan = HierarchyPlan.of(UNEVEN, 0.01)
    noisy = noisy_of(UNEVEN, plan, 5)
    far = 2**57
    big = [one + far * np.array([sum(row) for row in members(UNEVEN, i)]) for i, one in enumerate(noisy)]
    small, large = (TreeFit.of(UNEVEN, one, plan.variances, [{}] * 3) for one in (noisy, big))
    for one, other in zip(small.shift, large.shift, strict=True):
        assert np.array_equal(one, other)


def test_the_division_is_the_best_one() -> None:
    """Against the optimum by Cauchy and Schwarz, (Σ√(wn))²/(2ρ), and against other divisions of the same
    ρ."""
    weights = {"total": 3, "region": Fraction(7, 2), "town": 1}
    plan = HierarchyPlan.of(UNEVEN, 0.01, weights)
    assert plan.rho <= Fraction(1, 100)
    error = sum(
        w * n * v for w, n, v in zip(weights.values(), UNEVEN.sizes, plan.variances, strict=True) if v
    )
    best = (
        sum(math.sqrt(float(w) * n) for w, n in zip(weights.values(), UNEVEN.sizes, strict=True)) ** 2 / 0.02
    )
    assert best <= float(error) * (1 + 1e-12) < best * 1.001
    rng = np.random.default_rng(1)
    for _ in range(200):
        shares = rng.dirichlet(np.ones(3))
        other = sum(
            float(w) * n / (0.02 * s) for w, n, s in zip(weights.values(), UNEVEN.sizes, shares, strict=True)
        )
        assert other >= best * (1 - 1e-12)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("tree", [UNEVEN, DEEP])
def test_the_price_is_the_farthest_of_all_neighbours(tree: Hierarchy, rows: int, replace: bool) -> None:
    """By brute force: the rows of a unit stand anywhere, or nowhere, and all are looked at."""
    plan = HierarchyPlan.of(tree, 0.01, rows=rows, replace=replace)
    leaves = list(range(tree.sizes[-1]))
    matrices = [np.array(members(tree, level)) for level in range(len(tree.levels))]
    contents = [
        np.bincount(np.array(chosen, dtype=int), minlength=len(leaves))
        for many in range(rows + 1)
        for chosen in itertools.combinations_with_replacement(leaves, many)
    ]
    others = contents if replace else contents[:1]
    far = max(
        sum(
            (
                Fraction(int(((m @ (a - b)) ** 2).sum())) / v
                for m, v in zip(matrices, plan.variances, strict=True)
                if v
            ),
            Fraction(0),
        )
        for a in contents
        for b in others
    )
    assert far / 2 == plan.rho <= Fraction(1, 100)
    assert float(plan.rho) > 0.01 * 0.999


def test_levels_that_are_known_exactly_cost_nothing() -> None:
    plan = HierarchyPlan.of(DEEP, 0.01, exact=["land", "region"])
    assert plan.variances[:2] == (None, None)
    assert sum(1 / v for v in plan.variances if v) / 2 == plan.rho


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rho": 0.0}, "`rho` of `HierarchyPlan` must be positive and finite"),
        ({"rho": math.nan}, "positive and finite"),
        ({"rho": 1e-300}, "large enough that noise can be drawn"),
        ({"weights": {"village": 1}}, "name levels of the tree. Got 'village'"),
        ({"weights": {"town": -1.0}}, "be positive and finite. Got -1.0"),
        ({"weights": {"town": 1e-300}}, "not be that small"),
        ({"exact": ["total", "region", "town"]}, "leave a level that has noise"),
        ({"rows": 0}, "whole number from 1 on"),
    ],
)
def test_what_cannot_be_planned_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameter, match=says):
        HierarchyPlan.of(UNEVEN, **{"rho": 0.01, **changes})


def test_whole_numbers_are_the_nearest_of_all() -> None:
    """Against every way to divide a total, 300 times: unlike variances, limits, halves and negative
    estimates."""
    rng = np.random.default_rng(7)
    tree = Hierarchy.of(["top", "leaf"], [("t", i) for i in range(4)])
    for _ in range(300):
        estimates = rng.integers(-12, 13, 4) / 2
        variances = np.array([1.0, 2.0, 4.0, 8.0])[rng.integers(0, 4, 4)]
        least = rng.integers(0, 3, 4)
        most = least + rng.integers(0, 7, 4)
        total = int(rng.integers(least.sum(), most.sum() + 1))
        found = nearest_whole(
            tree, 1, np.array([total]), estimates, variances, (least.astype(float), most.astype(float))
        )
        assert found.sum() == total
        assert ((least <= found) & (found <= most)).all()
        exact = [Fraction(x) for x in estimates.tolist()]
        weights = [1 / Fraction(v) for v in variances.tolist()]
        limits = list(zip(least.tolist(), most.tolist(), strict=True))
        assert distance(found.tolist(), exact, weights) == nearest(total, exact, weights, limits)


def test_many_parents_are_divided_as_each_by_itself() -> None:
    rng = np.random.default_rng(3)
    tree = Hierarchy.of(["top", "mid", "leaf"], [("t", i // 5, i) for i in range(43)])
    estimates, variances = rng.normal(3, 6, 43), rng.uniform(0.1, 50, 43)
    totals = rng.integers(0, 60, 9)
    free = np.zeros(43), np.full(43, np.inf)
    together = nearest_whole(tree, 2, totals, estimates, variances, free)
    for i in range(9):
        own = slice(5 * i, min(43, 5 * i + 5))
        alone = Hierarchy.of(["top", "leaf"], [("t", j) for j in range(43)[own]])
        limits = free[0][own], free[1][own]
        assert np.array_equal(
            nearest_whole(alone, 1, totals[i : i + 1], estimates[own], variances[own], limits), together[own]
        )


def test_totals_of_any_size_are_divided() -> None:
    tree = Hierarchy.of(["top", "leaf"], [("t", i) for i in range(3)])
    free, variances = (np.zeros(3), np.full(3, np.inf)), np.array([1e-6, 1.0, 1e9])
    for total in (0, 1, 2, 10**6, 2**50):
        for estimates in ([-1e6, 5.0, 1e6], [0.0, 0.0, 0.0], [2.0**51, -(2.0**51), 0.5]):
            found = nearest_whole(tree, 1, np.array([total]), np.array(estimates), variances, free)
            assert found.sum() == total
            assert found.min() >= 0


def test_the_constants_of_an_interval_are_outward() -> None:
    with mp.workdps(30):
        assert mp.ncdf(-mp.mpf(fitting._NORMAL)) * 2 < mp.mpf("0.049")
        assert 2 * mp.exp(-(mp.mpf(fitting._STEPS) ** 2) / 2) < mp.mpf("0.001")
        assert 2 * mp.exp(-(mp.mpf(fitting._TAIL) ** 2) / 2) < mp.mpf("0.05")
    assert half_widths(np.array([4.0]), 1e6)[0] == pytest.approx(2 * 1.96862, rel=3e-3)
    assert half_widths(np.array([4.0]), 16.0)[0] == pytest.approx(2 * 2.7162, rel=1e-4)


def test_each_noise_is_a_normal_variable_and_a_step_within_one() -> None:
    """What the intervals rest on, at the least variance: quantiles of both laws are within 1."""
    with mp.workdps(40):
        variance = mp.mpf(16)
        weights = [mp.exp(-(mp.mpf(z) ** 2) / (2 * variance)) for z in range(-90, 91)]
        total, below = sum(weights), mp.mpf(0)
        for z, weight in zip(range(-90, 91), weights, strict=True):
            below += weight / total
            if z >= 0 and 1 - below > mp.mpf(10) ** -30:
                # P(Z > z) between the normal tails at z and at z + 1.
                assert mp.ncdf(-(z + 1) / mp.sqrt(variance)) <= 1 - below <= mp.ncdf(-z / mp.sqrt(variance))
