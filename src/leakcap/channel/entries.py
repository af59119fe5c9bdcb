"""Matrices of three kinds — doubles, fractions, sparse doubles — behind one handful of products.

A kind is carried along where both operands have it: fractions stay fractions (a matrix of zeros and ones
is exact already), a sparse operand keeps the result sparse.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from leakcap.arrays import NDArray, np
from leakcap.numeric.logspace import Floats

__all__ = [
    "beside",
    "both",
    "is_exact",
    "is_sparse",
    "product",
    "scipy_sparse",
    "summed_columns",
    "to_exact",
    "to_floats",
]

Matrix = Any
"""`NDArray[np.float64]`, an object array of `Fraction`, or a SciPy CSR array."""


def is_sparse(matrix: Matrix) -> bool:
    """Whether the matrix is a SciPy sparse one (without importing SciPy)."""
    return hasattr(matrix, "tocsr")


def is_exact(matrix: Matrix) -> bool:
    """Whether the entries are fractions."""
    return isinstance(matrix, np.ndarray) and matrix.dtype == object


def scipy_sparse() -> Any:
    """`scipy.sparse`, loaded when the first sparse channel is met."""
    from scipy import sparse

    return sparse


def to_floats(matrix: Matrix) -> Floats:
    """Doubles, each the nearest to its entry."""
    if is_sparse(matrix):
        return np.asarray(matrix.toarray(), dtype=np.float64)
    return np.asarray(matrix, dtype=np.float64)


def to_exact(matrix: Matrix) -> NDArray[Any] | None:
    """Fractions, where the entries are fractions or zeros and ones; None otherwise."""
    if is_exact(matrix):
        return np.asarray(matrix)
    if is_sparse(matrix) or not np.isin(matrix, (0.0, 1.0)).all():
        return None
    zero, one = Fraction(0), Fraction(1)
    result = np.full(matrix.shape, zero, dtype=object)
    result[matrix == 1.0] = one
    return result


def product(first: Matrix, second: Matrix) -> Matrix:
    """A·B."""
    a, b = _alike(first, second)
    return a @ b


def both(first: Matrix, second: Matrix) -> Matrix:
    """Row by row, every entry of A times every entry of B: shape (x, a·b)."""
    a, b = _alike(first, second)
    if is_sparse(a):
        return _sparse_both(a, b)
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)


def beside(first: Matrix, second: Matrix, weight: float | Fraction) -> Matrix:
    """[w·A | (1 − w)·B]."""
    a, b = _alike(first, second)
    if not is_exact(a):
        weight = float(weight)
    elif not isinstance(weight, Fraction):
        a, b = to_floats(a), to_floats(b)
    if is_sparse(a):
        return scipy_sparse().hstack([weight * a, (1 - weight) * b], format="csr")
    return np.hstack([a * weight, b * (1 - weight)])


def summed_columns(matrix: Matrix, groups: NDArray[np.intp], count: int) -> Matrix:
    """Columns of one group summed; columns of group −1 dropped."""
    kept = np.flatnonzero(groups >= 0)
    if is_sparse(matrix):
        ones = np.ones(kept.size)
        shape = (matrix.shape[1], count)
        return matrix @ scipy_sparse().csr_array((ones, (kept, groups[kept])), shape=shape)
    order = kept[np.argsort(groups[kept], kind="stable")]
    starts = np.searchsorted(groups[order], np.arange(count))
    return np.add.reduceat(matrix[:, order], starts, axis=1)


def _alike(first: Matrix, second: Matrix) -> tuple[Matrix, Matrix]:
    if is_sparse(first) or is_sparse(second):
        csr = scipy_sparse().csr_array
        return tuple(m if is_sparse(m) else csr(to_floats(m)) for m in (first, second))
    if is_exact(first) or is_exact(second):
        a, b = to_exact(first), to_exact(second)
        if a is not None and b is not None:
            return a, b
    return to_floats(first), to_floats(second)


def _sparse_both(a: Matrix, b: Matrix) -> Matrix:
    """Row-wise Kronecker product of two CSR arrays, without a dense row."""
    counts_a, counts_b = np.diff(a.indptr), np.diff(b.indptr)
    sizes = counts_a * counts_b
    row = np.repeat(np.arange(a.shape[0]), sizes)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    left = a.indptr[row] + within // counts_b[row]
    right = b.indptr[row] + within % counts_b[row]
    columns = a.indices[left].astype(np.int64) * b.shape[1] + b.indices[right]
    shape = (a.shape[0], a.shape[1] * b.shape[1])
    return scipy_sparse().csr_array((a.data[left] * b.data[right], (row, columns)), shape=shape)
