"""Small workloads of nested columns as matrices over all cells: the second route to what a plan says."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.tables import ResidualPlan, Workload
from leakcap.tables.workload import Within

Floats = NDArray[np.float64]


def under(outer: str, *sizes: int) -> Within:
    """So many keys within each of the outer column's."""
    return Within(outer, tuple(place for place, many in enumerate(sizes) for _ in range(many)))


def lines(workload: Workload) -> list[list[str]]:
    """The columns, those of a chain together."""
    found: list[list[str]] = []
    for name in workload.columns:
        if name in workload.within:
            found[-1].append(name)
        else:
            found.append([name])
    return found


def innermost(workload: Workload, line: Sequence[str], name: str) -> Floats:
    """Which keys of a column each innermost key of its line lies within."""
    here = np.arange(workload.columns[line[-1]])
    for inner in reversed(line[line.index(name) + 1 :]):
        here = np.array(workload.within[inner].parents)[here]
    return np.eye(workload.columns[name])[here].T


def counted(workload: Workload, names: Sequence[str]) -> Floats:
    """The counts of a table, as a matrix on all cells; of each line its innermost column counts."""
    parts = []
    for line in lines(workload):
        own = [name for name in line if name in names]
        cells = workload.columns[line[-1]]
        parts.append(innermost(workload, line, own[-1]) if own else np.ones((1, cells)))
    return reduce(np.kron, parts)


def strategy(workload: Workload, name: str) -> Floats:
    """k(nI − 11ᵀ) for the keys within each one, with the factors that the plan has."""
    size = workload.columns[name]
    place = list(workload.columns).index(name)
    level = workload.chains.levels.get(place)
    if level is None:
        return size * np.eye(size) - np.ones((size, size))
    parents = np.array(workload.within[name].parents) if name in workload.within else np.zeros(size, int)
    same = (parents[:, None] == parents).astype(float)
    many = same.sum(axis=1)
    return np.array(level.scales)[parents][:, None] * (np.diag(many) - same)


def released(workload: Workload, table: tuple[int, ...]) -> Floats:
    """What is released of a table, as a matrix on all cells."""
    names = list(workload.columns)
    xi = reduce(np.kron, [strategy(workload, names[i]) for i in table], np.ones((1, 1)))
    return xi @ counted(workload, workload.named(table))


def gram(plan: ResidualPlan) -> Floats:
    parts = [(released(plan.workload, t), float(v)) for t, v in plan.variances.items()]
    return np.asarray(sum(a.T @ a / v for a, v in parts))


def farthest(plan: ResidualPlan) -> float:
    """The largest squared distance between contents of at most `rows` rows, or from no row to them."""
    g = gram(plan)
    cells = np.eye(len(g))
    vectors = [
        sum((cells[i] for i in chosen), np.zeros(len(g)))
        for rows in range(plan.rows + 1)
        for chosen in itertools.combinations_with_replacement(range(len(g)), rows)
    ]
    others = vectors if plan.replace else vectors[:1]
    return max(float((a - b) @ g @ (a - b)) for a in vectors for b in others)


def wanted(workload: Workload) -> Floats:
    """All cells that were asked for, each times the root of its table's weight."""
    return np.vstack(
        [counted(workload, workload.named(t)) * float(w) ** 0.5 for t, w in workload.weights.items()]
    )


def error(plan: ResidualPlan) -> float:
    """The summed variance of the best linear unbiased estimates of what is wanted."""
    w = wanted(plan.workload)
    return float(np.trace(w @ np.linalg.pinv(gram(plan), rcond=1e-12) @ w.T))


def best_found(workload: Workload, steps: int = 400) -> tuple[float, float]:
    """2ρ times the least squared error of presence: from below by the dual, and of the best strategy seen."""
    g = wanted(workload).T @ wanted(workload) + 1e-12 * np.eye(counted(workload, ()).shape[1])
    weights, low, high = np.full(len(g), 1.0 / len(g)), 0.0, np.inf
    for _ in range(steps):
        scale = np.sqrt(weights)
        values, vectors = np.linalg.eigh(scale[:, None] * g * scale)
        root = (vectors * np.sqrt(np.clip(values, 1e-18, None))) @ vectors.T
        low = max(low, float(np.trace(root)) ** 2)
        x = root / scale[:, None] / scale
        diagonal = np.diag(x)
        high = min(high, float(np.trace(g @ np.linalg.inv(x)) * diagonal.max()))
        weights = weights * diagonal
        weights = weights / weights.sum()
    return low, high


def exact(workload: Workload, full: Any) -> dict[tuple[int, ...], Any]:
    """The counts of every table from those of all cells, by matrices."""
    sizes = workload.sizes
    return {
        table: np.rint(counted(workload, workload.named(table)) @ full)
        .astype(np.int64)
        .reshape([sizes[i] for i in table])
        for table in workload.closure
    }


EVEN = (
    Workload.of({"r": 2, "d": 4}, [["r"], ["d"]], within={"d": under("r", 2, 2)}),
    Workload.of({"s": 2, "r": 2, "d": 6}, [["s", "d"], ["r"]], [1, 3], within={"d": under("r", 3, 3)}),
    Workload.of(
        {"l": 2, "r": 4, "d": 8},
        [["d"], ["r"], ["l"], []],
        within={"r": under("l", 2, 2), "d": under("r", 2, 2, 2, 2)},
    ),
)
UNEVEN = (
    Workload.of({"r": 2, "d": 5}, [["r"], ["d"]], within={"d": under("r", 2, 3)}),
    Workload.of({"r": 3, "d": 7}, [["d"]], within={"d": under("r", 1, 2, 4)}),
    Workload.of(
        {"r": 2, "d": 4, "s": 2}, [["r", "s"], ["d", "s"], []], [2, 1, 0.5], within={"d": under("r", 1, 3)}
    ),
    Workload.of(
        {"l": 2, "r": 3, "d": 6},
        [["d"], ["r"], ["l"]],
        within={"r": under("l", 1, 2), "d": under("r", 2, 3, 1)},
    ),
    Workload.of(
        {"y": 2, "m": 4, "r": 2, "d": 3},
        [["m", "r"], ["y", "d"], ["m", "d"]],
        within={"m": under("y", 1, 3), "d": under("r", 1, 2)},
    ),
)
