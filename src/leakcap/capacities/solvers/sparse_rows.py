"""The rows of a sparse channel as an operator for the capacity solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.logspace import Floats

__all__ = ["SparseRows"]


class SparseRows:
    """A SciPy CSR array without zero columns; its transpose beside it makes both products quick.

    >>> from scipy import sparse
    >>> SparseRows(sparse.eye_array(2, format="csr")).mix(np.array([0.25, 0.75])).tolist()
    [0.25, 0.75]
    """

    def __init__(self, csr: Any) -> None:
        seen = np.bincount(csr.indices, minlength=csr.shape[1]) > 0
        self.table = csr if seen.all() else csr[:, np.flatnonzero(seen)]
        self.transposed = self.table.T.tocsr()
        self.squared = self.table.copy()
        self.squared.data = self.table.data**2

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return int(self.table.shape[0]), int(self.table.shape[1])

    @property
    def longest(self) -> int:
        """The largest number of entries in a row."""
        return int(np.diff(self.table.indptr).max())

    def negentropies(self) -> tuple[Floats, float, Floats]:
        """Σ_y W ln W for each row, the largest |row sum − 1| and the average row."""
        sums = self.table.sum(axis=1)
        terms = self.table.copy()
        terms.data = terms.data * np.log(terms.data)
        average = self.mix(np.full(self.shape[0], 1.0 / self.shape[0]))
        return np.asarray(terms.sum(axis=1)), float(np.max(np.abs(sums - 1.0))), average

    def times(self, vector: Floats) -> Floats:
        """W·v."""
        return np.asarray(self.table @ vector)

    def mix(self, weights: Floats) -> Floats:
        """π·W."""
        return np.asarray(self.transposed @ weights)

    def squares(self, vector: Floats) -> Floats:
        """W²·v, the squares taken entry by entry."""
        return np.asarray(self.squared @ vector)

    def take(self, index: NDArray[np.intp]) -> Floats:
        """Some rows, dense."""
        return np.asarray(self.table[index].toarray())
