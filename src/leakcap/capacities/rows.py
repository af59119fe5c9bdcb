"""The rows of a channel as an operator: all that a capacity solver asks of a matrix.

A sparse channel needs only another class with these few methods.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.logspace import Floats

__all__ = ["DenseRows", "RowOperator"]

_BLOCK = 1 << 15
"""Entries a block: the logarithms of one block stay in the cache."""
_LEAST = 1e-300


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
        """Σ_y W ln W for each row, the largest |row sum − 1| and the average row, block by block."""
        count, width = self.matrix.shape
        energies, sums, total = np.empty((count, 1, 1)), np.empty(count), np.zeros(width)
        step = min(max(1, _BLOCK // width), count)
        logs, ones, zeros = np.empty((step, width)), np.ones(max(width, step)), False
        with np.errstate(divide="ignore", invalid="ignore"):
            for start in range(0, count, step):
                block = self.matrix[start : start + step]
                scratch, part = logs[: len(block)], energies[start : start + step]
                if not zeros:
                    _row_products(block, np.log(block, out=scratch), part)
                    zeros = bool(np.isnan(part).any())
                if zeros:  # 0·ln 0 is 0; what lies below e^{−690} weighs nothing
                    np.log(np.maximum(block, _LEAST, out=scratch), out=scratch)
                    _row_products(block, scratch, part)
                np.matmul(block, ones[:width], out=sums[start : start + step])
                total += ones[: len(block)] @ block
        return energies[:, 0, 0], float(np.max(np.abs(sums - 1.0))), total / count

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


def _row_products(left: Floats, right: Floats, out: Floats) -> None:
    """The inner product of each row with its like."""
    np.matmul(right[:, None, :], left[:, :, None], out=out)
