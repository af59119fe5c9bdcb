"""The noise on integers: its exact law event by event, its independence, and the margins made of it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakcap.tables import ResidualPlan, Workload, residuals
from leakcap.tables.residuals import (
    covariance,
    margin_of,
    margins_counted,
    noisy_residuals,
    residual_integers,
)
from seeded import SeededSource
from tables.dense import WORKLOADS, centred, counted, gram


def exact_vector(workload: Workload, full: Any) -> Any:
    """All residual integers of a full table, one after the other."""
    table = tuple(range(len(workload.sizes)))
    whole = {table: full}
    for part in workload.closure:
        gone = tuple(i for i in table if i not in part)
        whole[part] = np.asarray(full.sum(axis=gone))
    return np.concatenate([residuals.residual_integers(whole[t]).ravel() for t in workload.closure])


def law(variance: float, reach: int) -> Any:
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z**2) / (2 * variance))
    return weights / weights.sum()


def spent(workload: Workload, variances: dict[Any, Fraction], a: Any, b: Any, order: float) -> float:
    """The Rényi divergence between the noisy vectors of two tables, summed over all events in reach."""
    shift = exact_vector(workload, b) - exact_vector(workload, a)
    scales = np.concatenate([np.full(workload.cells_of(t), float(variances[t])) for t in workload.closure])
    moved = np.flatnonzero(shift)
    # The law is a product, of which coordinates that do not move have the factor 1.
    total = 1.0
    for place in moved:
        s, d = scales[place], int(shift[place])
        reach = math.ceil(9 * math.sqrt(s)) + abs(d) * math.ceil(order + 1)
        p = law(s, reach)
        z = np.arange(-reach, reach + 1)
        q = np.exp(-((z - d) ** 2) / (2 * s)) / np.exp(-(z**2) / (2 * s)).sum()
        total *= float((p**order * q ** (1 - order)).sum())
    return math.log(total) / (order - 1)


def tables_of(cells: int, rows: int, shape: tuple[int, ...]) -> list[Any]:
    """All tables with so many rows."""
    found = []
    for chosen in itertools.combinations_with_replacement(range(cells), rows):
        found.append(np.bincount(chosen, minlength=cells).reshape(shape))
    return found


SMALL = [
    Workload.of_ways({"a": 2, "b": 2}, 1),
    Workload.of_ways({"a": 2, "b": 2}, 2),
    Workload.of_ways({"a": 2, "b": 3}, 2),
]


@pytest.mark.parametrize("replace", [False, True])
def test_every_pair_of_neighbours_is_within_the_price(replace: bool) -> None:
    """Both directions, all tables of up to two rows; the farthest pair pays all of it."""
    tested, far = 0, 0.0
    for workload in SMALL:
        plan = ResidualPlan.of(workload, 0.3, replace=replace)
        shape, cells = workload.sizes, math.prod(workload.sizes)
        before = [one for rows in range(3) for one in tables_of(cells, rows, shape)]
        for a, b in itertools.permutations(before, 2):
            apart = np.abs(a - b).sum()
            near = apart == 1 or (replace and apart == 2 and a.sum() == b.sum())
            if near:
                for order in (1.5, 4.0):
                    found = spent(workload, dict(plan.variances), a, b, order) / order
                    assert found <= float(plan.rho) * (1 + 1e-6)
                    far = max(far, found / float(plan.rho))
                    tested += 1
    assert tested > 200
    assert far > 0.999


def test_an_event_of_all_integers_together() -> None:
    """The joint law over a window of all events: orders, and δ at ε, are within what is charged."""
    from mpmath import mp, ncdf

    workload = SMALL[0]
    variances = dict.fromkeys(workload.closure, Fraction(1, 1))
    plan = ResidualPlan(workload, variances, 1, False)
    a, b = np.zeros((2, 2), int), np.array([[1, 0], [0, 0]])
    shift = exact_vector(workload, b) - exact_vector(workload, a)
    axis = np.arange(-5, 7)
    norm = np.exp(-(np.arange(-40, 41) ** 2) / 2.0).sum()
    joint = [np.ones((12,) * 5), np.ones((12,) * 5)]
    for grid, d in zip(np.meshgrid(*[axis] * 5, indexing="ij"), shift, strict=True):
        joint[0] *= np.exp(-(grid**2) / 2.0) / norm
        joint[1] *= np.exp(-((grid - d) ** 2) / 2.0) / norm
    assert joint[0].sum() > 0.999
    mu = math.sqrt(2 * float(plan.rho))
    assert mu == pytest.approx(math.sqrt(1 + 2 + 2))
    for order in (2.0, 3.0):
        inside = (joint[0] ** order * joint[1] ** (1 - order)).sum()
        assert math.log(inside) / (order - 1) <= order * float(plan.rho) * (1 + 1e-9)
    with mp.workdps(20):
        for epsilon in (2.0, 4.0, 6.0):
            # Integers are told apart a little better than reals: the curve that is charged is that of ρ.
            here = np.clip(joint[0] - math.exp(epsilon) * joint[1], 0, None).sum()
            gaussian = ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * ncdf(-mu / 2 - epsilon / mu)
            best = min(
                math.exp((x - 1) * (x * mu**2 / 2 - epsilon)) / (x - 1) * (1 - 1 / x) ** x
                for x in np.linspace(1.05, 9, 200)
            )
            assert here <= best
            assert here == pytest.approx(float(gaussian), abs=0.05)


def _too_large(counts: Any) -> Any:
    for axis, size in enumerate(counts.shape):
        counts = (size + 1) * counts - counts.sum(axis=axis, keepdims=True)
    return counts


def _wrong_sign(counts: Any) -> Any:
    for axis, size in enumerate(counts.shape):
        counts = size * counts + counts.sum(axis=axis, keepdims=True)
    return counts


@pytest.mark.parametrize("wrong", [_too_large, _wrong_sign])
def test_a_wrong_matrix_is_caught_by_the_law(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residuals, "residual_integers", wrong)
    with pytest.raises(AssertionError):
        test_every_pair_of_neighbours_is_within_the_price(False)


def drawn(plan: ResidualPlan, full: Any, times: int, seed: int) -> Any:
    """So many noisy vectors of one table, one a row."""
    source = SeededSource(seed)
    everything = tuple(range(len(plan.workload.sizes)))
    whole = {
        t: np.asarray(full.sum(axis=tuple(i for i in everything if i not in t)))
        for t in plan.workload.closure
    }
    return np.array(
        [
            np.concatenate([one.ravel() for one in residuals.noisy_residuals(plan, whole, source).values()])
            for _ in range(times)
        ]
    )


def check_noise(times: int = 400) -> None:
    """Means, variances and all correlations, each within 5.5 deviations: false alarms below 10⁻⁵."""
    workload = SMALL[2]
    plan = ResidualPlan.of(workload, 0.1)
    full = np.array([[5, 0, 2], [1, 7, 0]])
    noise = drawn(plan, full, times, 31) - exact_vector(workload, full)
    variance = np.concatenate([np.full(workload.cells_of(t), float(v)) for t, v in plan.variances.items()])
    z = noise / np.sqrt(variance)
    assert np.abs(z.mean(axis=0)).max() < 5.5 / math.sqrt(times)
    products = z.T @ z / times
    assert np.abs(np.diag(products) - 1).max() < 5.5 * math.sqrt(2 / times)
    assert np.abs(products - np.diag(np.diag(products))).max() < 5.5 / math.sqrt(times)


def test_the_noise_is_independent_and_as_wide_as_planned() -> None:
    check_noise()


def test_reused_narrow_and_missing_noise_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = residuals.discrete_gaussian
    kept: dict[int, Any] = {}

    def reused(variance: Fraction, size: int, source: Any) -> Any:
        """The first numbers of the last noise again, made as wide as wanted."""
        if size != 6:
            kept[0] = (genuine(variance, size, source), variance)
            return kept[0][0]
        first, old = kept[0]
        own = genuine(variance, size, source)
        own[: len(first)] = np.rint(first * math.sqrt(variance / old))
        return own

    def narrow(variance: Fraction, size: int, source: Any) -> Any:
        return genuine(variance * Fraction(2, 5), size, source)

    def missing(variance: Fraction, size: int, source: Any) -> Any:
        return genuine(variance, size, source) * (size > 1)

    for wrong in (reused, narrow, missing):
        monkeypatch.setattr(residuals, "discrete_gaussian", wrong)
        with pytest.raises(AssertionError):
            check_noise()


def test_the_integers_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(3)
    for workload in WORKLOADS:
        full = rng.integers(0, 50, size=workload.sizes)
        for table in workload.closure:
            counts = counted(workload, table) @ full.ravel()
            shape = tuple(workload.sizes[i] for i in table)
            found = residual_integers(counts.reshape(shape).astype(np.int64))
            assert np.array_equal(found.ravel(), centred(workload, table) @ full.ravel())


def test_integers_that_wrap_are_the_same_modulo_two_to_the_64() -> None:
    huge = np.array([[2**62, 2**61], [7, 2**60]])
    wrapped = residual_integers(huge).astype(object)
    exact = residual_integers(huge.astype(object))
    assert [(int(a) - int(b)) % 2**64 for a, b in zip(wrapped.ravel(), exact.ravel(), strict=True)] == [0] * 4


def test_margins_are_the_best_estimates_and_agree_exactly() -> None:
    """Against weighted least squares on the full table; estimates of shared margins are equal fractions."""
    rng = np.random.default_rng(5)
    for workload in WORKLOADS:
        plan = ResidualPlan.of(workload, 0.5)
        full = rng.integers(0, 9, size=workload.sizes)
        counts = {
            t: (counted(workload, t) @ full.ravel()).reshape([workload.sizes[i] for i in t])
            for t in workload.closure
        }
        released = noisy_residuals(plan, {t: c.astype(np.int64) for t, c in counts.items()}, SeededSource(9))
        left = np.vstack([centred(workload, t) / float(v) ** 0.5 for t, v in plan.variances.items()])
        right = np.concatenate([released[t].ravel() / float(v) ** 0.5 for t, v in plan.variances.items()])
        fitted = np.linalg.lstsq(left, right, rcond=None)[0]
        for table in workload.closure:
            top, bottom = margin_of(workload, released, table)
            assert np.allclose(np.ravel(top / bottom).astype(float), counted(workload, table) @ fitted)
            for axis, place in enumerate(table):
                smaller = tuple(i for i in table if i != place)
                less, under = margin_of(workload, released, smaller)
                assert np.array_equal(np.sum(top, axis=axis) * under, less * bottom)


def test_covariances_are_those_of_the_dense_estimates() -> None:
    for workload in WORKLOADS[:3] + WORKLOADS[4:]:
        plan = ResidualPlan.of(workload, 0.5)
        inverse = np.linalg.pinv(gram(plan), rcond=1e-12)
        for one, other in itertools.product(workload.closure, repeat=2):
            dense = counted(workload, one) @ inverse @ counted(workload, other).T
            cells = [list(np.ndindex(*[workload.sizes[i] for i in t])) for t in (one, other)]
            found = [[float(covariance(plan, (one, a), (other, b))) for b in cells[1]] for a in cells[0]]
            assert np.allclose(found, dense)
        for table in workload.closure:
            cell = (table, (0,) * len(table))
            assert covariance(plan, cell, cell) == plan.variance(table)


def test_margins_are_counted_from_tables_that_contain_them() -> None:
    workload = WORKLOADS[2]
    full = np.arange(12).reshape(2, 3, 2)
    asked = {t: np.asarray(full.sum(axis=tuple(i for i in range(3) if i not in t))) for t in workload.weights}
    for table, found in margins_counted(workload, asked).items():
        assert np.array_equal(found, full.sum(axis=tuple(i for i in range(3) if i not in table)))
