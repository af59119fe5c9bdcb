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
    """n·I − 11ᵀ in each column of the table, or an ordered column's strategy, on its counts."""
    plain = [not hasattr(workload.bases[i], "matrix") for i in table]
    grain = 64 if workload.kinds and all(plain) else 1
    return grain * kron([strategy(workload, i) for i in table]) @ counted(workload, table)


def strategy(workload: Workload, place: int) -> Floats:
    basis, n = workload.bases[place], workload.sizes[place]
    return np.array(getattr(basis, "matrix", n * np.eye(n) - np.ones((n, n))), float)


def sums(size: int, kind: str | None) -> Floats:
    """The cells of a column, or all prefixes, or all ranges, each a row of ones."""
    starts = {"ranges": range(size), "prefixes": range(1)}.get(kind or "", range(0))
    keys = np.arange(size)
    rows = [(keys >= a) & (keys <= b) for a in starts for b in range(a, size)]
    return np.array(rows, dtype=float) if rows else np.eye(size)


def wanted(workload: Workload) -> Floats:
    """All that was asked for, each times the root of its table's weight."""
    kinds = [workload.kinds.get(name) for name in workload.columns]
    return np.vstack(
        [
            kron([sums(workload.sizes[i], kinds[i]) for i in t]) @ counted(workload, t) * float(w) ** 0.5
            for t, w in workload.weights.items()
        ]
    )


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

ORDERED = (
    Workload.of({"week": 5}, [["week"]], kinds={"week": "ranges"}),
    Workload.of({"week": 6}, [["week"]], kinds={"week": "prefixes"}),
    Workload.of({"sex": 2, "week": 4}, [["sex", "week"], ["sex"]], [1, 5], {"week": "ranges"}),
    Workload.of(
        {"sex": 2, "week": 4, "age": 3}, [["sex", "week"], ["week", "age"]], None, {"week": "prefixes"}
    ),
    Workload.of({"week": 4, "age": 3}, [["week", "age"]], [0.5], {"week": "ranges", "age": "prefixes"}),
    Workload.of(
        {"age": 2, "one": 1, "week": 3}, [["age", "one"], ["week"]], None, {"age": "ranges", "one": "ranges"}
    ),
)
"""Columns asked as ranges or prefixes, alone, in products and beside cells."""
