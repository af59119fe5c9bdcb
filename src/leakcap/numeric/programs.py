"""Linear programs through SciPy's HiGHS, which is an optional extra."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakcap.errors import LeakcapError
from leakcap.numeric.logspace import Floats

__all__ = ["LinearSolution", "diagonal", "kron", "minimise_linear", "stack"]


_TOLERANCES = (1e-10, 1e-9, 1e-8, 1e-7)
"""Tried in turn: the solver gives up on some badly scaled programs at the tightest."""

_STUCK = 4


def kron(left: object, right: object) -> Any:
    """The Kronecker product as a SciPy sparse matrix; raises `LeakcapError` without SciPy.

    >>> kron(np.eye(2), np.ones((1, 2))).shape
    (2, 4)
    """
    return _scipy("scipy.sparse").kron(left, right, format="csr")


def diagonal(values: Floats) -> Any:
    """A diagonal SciPy sparse matrix; raises `LeakcapError` without SciPy.

    >>> diagonal(np.ones(3)).nnz
    3
    """
    return _scipy("scipy.sparse").diags(values, format="csr")


def stack(blocks: list[list[object]]) -> Any:
    """Blocks (None for zeros) as one SciPy sparse matrix; raises `LeakcapError` without SciPy.

    >>> stack([[np.eye(2), None], [None, np.eye(1)]]).shape
    (3, 3)
    """
    sparse = _scipy("scipy.sparse")
    wrapped = [[None if b is None else sparse.csr_matrix(b) for b in row] for row in blocks]
    return sparse.bmat(wrapped, format="csr")


def _scipy(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise LeakcapError(
            "a linear program needs SciPy, which is not installed. Run: pip install 'leakcap[scipy]'"
        ) from None


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

    Matrices are dense or SciPy sparse. Raises `LeakcapError` when SciPy is not installed.

    >>> minimise_linear(np.array([1.0, 2.0]), equal=(np.ones((1, 2)), np.ones(1))).value
    1.0
    """
    linprog = _scipy("scipy.optimize").linprog
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
