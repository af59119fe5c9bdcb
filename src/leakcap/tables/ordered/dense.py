"""Dense matrices by single operations on whole arrays, each of which IEEE 754 fixes to the last bit.

A library's product adds up in an order that depends on the processor. A plan has to be the same on every
machine that reads a ledger, so that here sums are made term by term, in one order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matrix", "inverted", "multiplied", "root", "trace"]

Matrix = NDArray[np.float64]

_MOST_STEPS = 60
_SCALED = 6
"""Steps of the root that are scaled, which brings large and small eigenvalues together."""


def multiplied(a: Matrix, b: Matrix) -> Matrix:
    """A·B, added up term by term.

    >>> multiplied(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    found = np.zeros((a.shape[0], b.shape[1]))
    for k in range(a.shape[1]):
        found += a[:, k : k + 1] * b[k : k + 1]
    return found


def trace(a: Matrix) -> float:
    """The sum of the diagonal, rounded once."""
    return math.fsum(a.diagonal().tolist())


def inverted(a: Matrix) -> Matrix:
    """The inverse of a symmetric positive definite matrix (Gauss and Jordan, without pivots).

    >>> inverted(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, -0.0], [-0.0, 0.25]]
    """
    found = np.array(a, dtype=np.float64)
    for k in range(len(found)):
        pivot = found[k, k]
        row, column = found[k] / pivot, found[:, k].copy()
        found -= column[:, None] * row
        found[k], found[:, k] = row, -column / pivot
        found[k, k] = 1.0 / pivot
    return (found + found.T) * 0.5


def root(a: Matrix) -> Matrix:
    """The square root of a symmetric positive definite matrix.

    Source: Denman & Beavers 1976, in the product form of Cheng, Higham, Kenney & Laub 2001.

    >>> np.rint(root(np.array([[5.0, 4.0], [4.0, 5.0]]))).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    size = len(a)
    one = np.eye(size)
    found, ratio = np.array(a, dtype=np.float64), np.array(a, dtype=np.float64)
    for step in range(_MOST_STEPS):
        turned = inverted(ratio)
        scale = math.sqrt(math.sqrt(trace(turned) / trace(ratio))) if step < _SCALED else 1.0
        square = scale * scale
        found = multiplied(found, one + turned / square) * (0.5 * scale)
        ratio = (one + (ratio * square + turned / square) * 0.5) * 0.5
        ratio = (ratio + ratio.T) * 0.5
        if float(np.abs(ratio - one).max()) < 1e-12:
            break
    return (found + found.T) * 0.5
