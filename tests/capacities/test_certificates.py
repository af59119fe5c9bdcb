"""Every certificate recomputed at fifty digits by a checker that shares nothing with the solver.

For a prior π and a distribution Q, both taken as the exact numbers that the solver handed over:
I_α(π) ≤ capacity ≤ max_x D_α(row_x ‖ Q). The lower end must not pass the left side, the upper end must
not fall below the right side.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from mpmath import exp, inf, log, mp, mpf

from leakcap.capacities.solvers.newton import Certified
from leakcap.capacities.solvers.rows import DenseRows
from leakcap.capacities.solvers.shannon import certified_shannon
from leakcap.capacities.solvers.sibson import certified_sibson

mp.dps = 50
ORDERS = (0.1, 0.5, 0.9, 1 - 1e-9, 1.0, 1 + 1e-12, 1.003, 1.5, 2.0, 8.0, 1e6)


def information(rows, prior, alpha):
    if alpha == 1.0:
        centre = [sum(p * row[y] for p, row in zip(prior, rows, strict=True)) for y in range(len(rows[0]))]
        terms = [
            p * c * log(c / q)
            for p, row in zip(prior, rows, strict=True)
            for c, q in zip(row, centre, strict=True)
            if p > 0 and c > 0
        ]
        return sum(terms)
    a = mpf(alpha)
    columns = range(len(rows[0]))
    powers = [sum(p * row[y] ** a for p, row in zip(prior, rows, strict=True) if row[y] > 0) for y in columns]
    return a / (a - 1) * log(sum(s ** (1 / a) for s in powers if s > 0))


def divergence(row, centre, alpha):
    pairs = [(c, q) for c, q in zip(row, centre, strict=True) if c > 0]
    if any(q == 0 for _, q in pairs) and alpha >= 1:
        return inf
    if alpha == 1.0:
        return sum(c * log(c / q) for c, q in pairs)
    a = mpf(alpha)
    return log(sum(c**a * q ** (1 - a) for c, q in pairs)) / (a - 1)


def normalised(values):
    total = sum(values)
    return [v / total for v in values]


def violations(matrix, certified: Certified, alpha: float) -> list[str]:
    rows = [normalised([mpf(float(v)) for v in row]) for row in matrix]
    prior = normalised([mpf(float(v)) for v in certified.prior])
    centre = normalised([exp(mpf(float(v))) for v in certified.log_centre])
    found = []
    attained = information(rows, prior, alpha)
    farthest = max(divergence(row, centre, alpha) for row in rows)
    if mpf(certified.bound.lower) > max(attained, 0):
        found.append(f"lower {certified.bound.lower!r} > I = {attained}")
    if mpf(certified.bound.upper) < farthest:
        found.append(f"upper {certified.bound.upper!r} < max D = {farthest}")
    return found


def solved(matrix, alpha: float) -> Certified:
    return certified_shannon(DenseRows(matrix)) if alpha == 1.0 else certified_sibson(matrix, alpha)


def channel(seed: int) -> np.ndarray:
    """A random channel of one of eight kinds, by seed; no column is zero."""
    rng = np.random.default_rng(seed)
    count, width = (int(v) for v in rng.integers(1, 9, size=2))
    rows = rng.dirichlet(np.full(width, rng.choice([0.02, 0.3, 1.0, 10.0])), size=count)
    rows = np.where(np.isfinite(rows), rows, 1.0 / width)
    sharp = np.eye(width)[rng.integers(0, width, size=count)]
    kind = seed % 8
    if kind == 1:
        rows = sharp
    elif kind == 2:
        amount = 10.0 ** -rng.integers(1, 15)
        rows = (1 - amount) * sharp + amount * rows
    elif kind == 3:
        rows = rows[0] * (1 + 10.0 ** -rng.integers(2, 15) * rng.random((count, width)))
    elif kind == 4:
        rows = np.repeat(rows, 2, axis=0)
    elif kind == 5:
        rows = rows * (rng.random((count, width)) < 0.6) + 1e-3 * sharp
    elif kind == 6:
        rows = rows ** float(rng.integers(1, 60))
    elif kind == 7:
        rows = np.maximum(rows, 1e-300)
    rows = rows[:, rows.any(axis=0)]
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(44))
def test_both_ends_are_proven_at_fifty_digits(seed):
    rows = channel(seed)
    for alpha in (1.0, ORDERS[seed % len(ORDERS)]):
        certified = solved(rows, alpha)
        assert violations(rows, certified, alpha) == []
        assert certified.bound.width <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ORDERS)
def test_both_ends_are_proven_on_hundreds_of_channels(alpha):
    for seed in range(1000, 1240):
        rows = channel(seed)
        certified = solved(rows, alpha)
        assert violations(rows, certified, alpha) == [], seed
        assert certified.bound.width <= 1e-9, seed


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_a_wrong_interval_is_caught(alpha):
    rows = channel(8)
    certified = solved(rows, alpha)
    assert violations(rows, certified, alpha) == []
    low, high = certified.bound.lower, certified.bound.upper
    high_lower = replace(certified, bound=replace(certified.bound, lower=high + 1e-9, upper=high + 1e-9))
    low_upper = replace(certified, bound=replace(certified.bound, lower=low - 1e-9, upper=low - 1e-9))
    assert len(violations(rows, high_lower, alpha)) == 1
    assert len(violations(rows, low_upper, alpha)) == 1


def test_a_wrong_centre_is_caught():
    rows = channel(8)
    certified = solved(rows, 1.0)
    tilted = certified.log_centre.copy()
    tilted[0] -= 1.0
    assert violations(rows, replace(certified, log_centre=tilted), 1.0) != []
    other = np.zeros_like(certified.prior)
    other[0] = 1.0
    assert violations(rows, replace(certified, prior=other), 1.0) != []


def test_the_checker_knows_the_binary_symmetric_channel():
    rows = [[mpf(3) / 4, mpf(1) / 4], [mpf(1) / 4, mpf(3) / 4]]
    half = [mpf(1) / 2, mpf(1) / 2]
    expected = log(2) + mpf(3) / 4 * log(mpf(3) / 4) + mpf(1) / 4 * log(mpf(1) / 4)
    assert math.isclose(information(rows, half, 1.0), expected, rel_tol=1e-40)
    assert math.isclose(divergence(rows[0], half, 1.0), expected, rel_tol=1e-40)
