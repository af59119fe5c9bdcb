"""The rows of a channel as an operator: all that a capacity solver asks of a matrix.

A sparse channel needs only another class with these few methods.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.logspace import Floats

__all__ = ["FLOOR", "DenseRows", "RowOperator"]

_BLOCK = 1 << 15
"""Entries a block: the logarithms of one block stay in the cache."""
FLOOR = 1e-300
"""The least mass of a column in an output distribution: it keeps every logarithm finite."""


class RowOperator(Protocol):
    """A stochastic matrix W of shape (x, y), by its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""

    @property
    def longest(self) -> int:
        """The largest number of terms in a row's inner product, for error bounds."""

    def negentropies(self) -> tuple[Floats, float, Floats]:
        """Σ_y W_xy ln W_xy for each row, max_x |Σ_y W_xy − 1| as computed, and the average row."""

    def times(self, vector: Floats) -> Floats:
        """W·v: one number a row."""

    def mix(self, weights: Floats) -> Floats:
        """π·W: one number a column."""

    def take(self, index: NDArray[np.intp]) -> Floats:
        """Some rows, dense, of shape (len(index), y)."""


class DenseRows:
    """A dense matrix.

    >>> DenseRows(np.eye(2)).times(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    def __init__(self, matrix: Floats) -> None:
        self.matrix: Floats = np.ascontiguousarray(matrix, dtype=np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def longest(self) -> int:
        """The number of columns."""
        return int(self.matrix.shape[1])

    def negentropies(self) -> tuple[Floats, float, Floats]:
        """Σ_y W ln W for each row, the largest |row sum − 1| and the average row."""
        count, width = self.matrix.shape
        with np.errstate(divide="ignore", invalid="ignore"):
            energies = _energies(self.matrix, 0.0)
        zeros = np.flatnonzero(np.isnan(energies))  # 0·ln 0 is 0, which the logarithm does not know
        if zeros.size:
            energies[zeros] = _energies(self.matrix if zeros.size == count else self.matrix[zeros], FLOOR)
        residue = float(np.max(np.abs(self.matrix @ np.ones(width) - 1.0)))
        return energies, residue, np.full(count, 1.0 / count) @ self.matrix

    def times(self, vector: Floats) -> Floats:
        """W·v."""
        return np.asarray(self.matrix @ vector)

    def mix(self, weights: Floats) -> Floats:
        """π·W; only the rows with weight where they are few."""
        used = np.flatnonzero(weights)
        if 4 * used.size < weights.size:
            return np.asarray(weights[used] @ self.matrix[used])
        return np.asarray(weights @ self.matrix)

    def take(self, index: NDArray[np.intp]) -> Floats:
        """Some rows."""
        return self.matrix[index]


def _energies(matrix: Floats, least: float) -> Floats:
    """Σ_y W ln max(W, least) for each row, block by block."""
    count, width = matrix.shape
    result = np.empty((count, 1, 1))
    step = min(max(1, _BLOCK // width), count)
    logs = np.empty((step, width))
    for start in range(0, count, step):
        block = matrix[start : start + step]
        scratch = logs[: len(block)]
        # What lies below e^{−690} weighs nothing.
        np.log(np.maximum(block, least, out=scratch) if least else block, out=scratch)
        np.matmul(scratch[:, None, :], block[:, :, None], out=result[start : start + step])
    return result[:, 0, 0]
