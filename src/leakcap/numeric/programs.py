"""Linear programs through SciPy's HiGHS; SciPy is loaded when the first is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakcap.numeric.logspace import Floats

__all__ = ["LinearSolution", "diagonal", "kron", "minimise_linear", "stack"]


_TOLERANCES = (1e-10, 1e-9, 1e-8, 1e-7)
"""Tried in turn: the solver gives up on some badly scaled programs at the tightest."""

_STUCK = 4


def kron(left: object, right: object) -> Any:
    """The Kronecker product as a SciPy sparse matrix.

    >>> kron(np.eye(2), np.ones((1, 2))).shape
    (2, 4)
    """
    from scipy import sparse

    return sparse.kron(left, right, format="csr")


def diagonal(values: Floats) -> Any:
    """A diagonal SciPy sparse matrix.

    >>> diagonal(np.ones(3)).nnz
    3
    """
    from scipy import sparse

    return sparse.diags(values, format="csr")


def stack(blocks: list[list[object]]) -> Any:
    """Blocks (None for zeros) as one SciPy sparse matrix.

    >>> stack([[np.eye(2), None], [None, np.eye(1)]]).shape
    (3, 3)
    """
    from scipy import sparse

    wrapped = [[None if b is None else sparse.csr_matrix(b) for b in row] for row in blocks]
    return sparse.bmat(wrapped, format="csr")


@dataclass(frozen=True)
class LinearSolution:
    """Where a linear program is least, and the multipliers of its two kinds of constraints.

    What a solver returns is a proposal: whoever asks repairs it and measures it again.
    """

    point: Floats
    value: float
    inequality_duals: Floats
    equality_duals: Floats


def minimise_linear(
    cost: Floats,
    *,
    at_most: tuple[object, Floats] | None = None,
    equal: tuple[object, Floats] | None = None,
    lowest: float | Floats | None = 0.0,
) -> LinearSolution | None:
    """min c·x with A x ≤ b, E x = f and x ≥ `lowest` (None: free); None where no optimum is found.

    Matrices are dense or SciPy sparse.

    >>> minimise_linear(np.array([1.0, 2.0]), equal=(np.ones((1, 2)), np.ones(1))).value
    1.0
    """
    from scipy.optimize import linprog

    a_ub, b_ub = at_most if at_most is not None else (None, None)
    a_eq, b_eq = equal if equal is not None else (None, None)
    low = np.full(len(cost), -np.inf) if lowest is None else np.broadcast_to(lowest, len(cost))
    bounds = np.column_stack([low, np.full(len(cost), np.inf)])
    for tolerance in _TOLERANCES:
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        found = linprog(cost, a_ub, b_ub, a_eq, b_eq, bounds=bounds, method="highs", options=options)
        if found.status != _STUCK:
            break
    if found.status != 0 or found.x is None:
        return None
    return LinearSolution(
        np.asarray(found.x, dtype=np.float64),
        float(found.fun),
        np.asarray(found.ineqlin.marginals, dtype=np.float64),
        np.asarray(found.eqlin.marginals, dtype=np.float64),
    )
