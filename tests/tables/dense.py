"""Small workloads as matrices over the full table: the second route to everything that a plan says."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from leakcap.tables import ResidualPlan, Workload

Floats = NDArray[np.float64]


def kron(parts: Sequence[Floats]) -> Floats:
    return reduce(np.kron, parts, np.ones((1, 1)))


def counted(workload: Workload, table: tuple[int, ...]) -> Floats:
    """The counts of a table, as a matrix on the full table."""
    return kron([np.eye(n) if i in table else np.ones((1, n)) for i, n in enumerate(workload.sizes)])


def centred(workload: Workload, table: tuple[int, ...]) -> Floats:
    """n·I − 11ᵀ in each column of the table, on its counts."""
    sizes = [workload.sizes[i] for i in table]
    return kron([n * np.eye(n) - np.ones((n, n)) for n in sizes]) @ counted(workload, table)


def wanted(workload: Workload) -> Floats:
    """All cells that were asked for, each times the root of its table's weight."""
    return np.vstack([counted(workload, t) * float(w) ** 0.5 for t, w in workload.weights.items()])


def gram(plan: ResidualPlan) -> Floats:
    """Σ AᵀA/variance of what is released."""
    parts = [(centred(plan.workload, t), float(v)) for t, v in plan.variances.items()]
    return np.asarray(sum(a.T @ a / v for a, v in parts))


def farthest(plan: ResidualPlan) -> float:
    """The largest squared distance between contents of at most `rows` rows, or from no row to them."""
    g, cells = gram(plan), np.eye(int(np.prod(plan.workload.sizes)))
    vectors = [
        sum((cells[i] for i in chosen), np.zeros(len(cells)))
        for rows in range(plan.rows + 1)
        for chosen in itertools.combinations_with_replacement(range(len(cells)), rows)
    ]
    others = vectors if plan.replace else vectors[:1]
    return max(float((a - b) @ g @ (a - b)) for a in vectors for b in others)


def error(plan: ResidualPlan) -> float:
    """The summed variance of the best linear unbiased estimates of what is wanted."""
    w = wanted(plan.workload)
    return float(np.trace(w @ np.linalg.pinv(gram(plan), rcond=1e-12) @ w.T))


def least_error(workload: Workload, rho: float) -> float:
    """(Σ singular values)²/cells/(2ρ): Li & Miklau's bound, from the matrix."""
    w = wanted(workload)
    return float(np.linalg.svd(w, compute_uv=False).sum() ** 2 / w.shape[1] / (2 * rho))


WORKLOADS = (
    Workload.of_ways({"a": 2, "b": 2}, 2),
    Workload.of_ways({"a": 2, "b": 3}, 1),
    Workload.of_ways({"a": 2, "b": 3, "c": 2}, 2),
    Workload.of_ways({"a": 3, "b": 4}, 0),
    Workload.of({"a": 2, "b": 3, "c": 2}, [["a", "b", "c"], ["b"], []], [1, Fraction(7, 2), 0.25]),
    Workload.of({"a": 2, "b": 1, "c": 4}, [["b", "c"], ["a"]], [2, 1]),
)
