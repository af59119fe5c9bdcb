"""Covariances and correlations from noisy integers: rows, sums, products.

Each column becomes integers v on a coarse grid, counted from the middle of its bounds, |v| ≤ h. The rows that
have all d columns give n, S_i = Σ v_i, P_ij = Σ v_i·v_j for i < j, and Q_i = Σ (h_i² − v_i²). In units of 1,
h_i, h_i·h_j and h_i² the vector of one row has the L1 norm

    1 + Σ t_i + Σ_{i<j} t_i·t_j + Σ (1 − t_i²),   t_i = |v_i|/h_i between 0 and 1,

which is T + 1 at most with T = d(d+1)/2, for d ≥ 2: **the squares are free**. For 1 − t_i·t_j is at least
((1 − t_i²) + (1 − t_j²))/2, so that Σ_{i<j} (1 − t_i·t_j) ≥ (d−1)/2·Σ (1 − t_i²) ≥ (d−1)·Σ t_i·(1 − t_i),
as 1 + t ≥ 2t; and what the squares and the sums have too much is Σ t_i·(1 − t_i). Squares less half of h_i²,
each part for itself, would need T + 1 + d/2. So the noise of each part has (T + 1)/ε of its units for a unit
of one row. Two rows are T + T apart at most where both count, T + 1 where one does: the count does not move
where both do, which gives m·2T in one cell under replace-one, and 2m(T + 1) in several.

Cov_ij = P_ij/n − S_i·S_j/n², Var_i = h_i² − Q_i/n − (S_i/n)²; the matrix is then moved to the nearest one
without negative eigenvalues. Intervals, in `numbers/moments.py`, are those of the entries before that.

Source: Dwork, McSherry, Nissim & Smith 2006, definition 3; Higham 1988 for the nearest matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakcap.arrays import NDArray, np

__all__ = [
    "as_correlations",
    "joint_diameter",
    "joint_norm",
    "joint_squared",
    "nearest_positive",
]


def joint_norm(columns: int, rows: int, *, counted: bool) -> int:
    """The L1 norm of what `rows` rows add, in units of the parts: rows·(d(d+1)/2 + 1), or without a count.

    >>> joint_norm(2, 1, counted=True), joint_norm(3, 2, counted=False)
    (4, 12)
    """
    return rows * (columns * (columns + 1) // 2 + counted)


def joint_diameter(columns: int, rows: int, cells: int, *, counted: bool) -> int:
    """The largest L1 distance between two contents of `rows` rows, in units of the parts.

    >>> joint_diameter(2, 1, 1, counted=True), joint_diameter(2, 1, 3, counted=True)
    (6, 8)
    """
    return 2 * joint_norm(columns, rows, counted=counted and cells > 1)


def joint_squared(columns: int, rows: int, *, counted: bool) -> int:
    """The square of the L2 norm of what `rows` rows add, in units of the parts, at most.

    Of one row 1 + Σ t_i² + Σ_{i<j} t_i²·t_j² + Σ (1 − t_i²)² ≤ 1 + d + d(d−1)/2, since t² + (1 − t²)² ≤ 1;
    attained where all t are 1.

    >>> joint_squared(2, 1, counted=True), joint_squared(3, 2, counted=False)
    (4, 24)
    """
    return rows**2 * (columns * (columns + 1) // 2 + counted)


def nearest_positive(matrix: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """The nearest matrix, in Frobenius norm, without negative eigenvalues.

    >>> nearest_positive([[1.0, 2.0], [2.0, 1.0]]).round(9).tolist()
    [[1.5, 1.5], [1.5, 1.5]]
    """
    array = np.asarray(matrix, dtype=np.float64)
    size = float(np.abs(array).max())
    if not math.isfinite(size) or size == 0.0:
        return np.zeros_like(array)
    values, vectors = np.linalg.eigh((array + array.T) / 2 / size)
    if values[0] >= 0.0:
        return array
    fixed = (vectors * np.maximum(values, 0.0)) @ vectors.T * size
    result: NDArray[np.float64] = (fixed + fixed.T) / 2
    return result


def as_correlations(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlations of a covariance matrix; 0 beside a column that does not vary.

    >>> as_correlations(np.array([[4.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    deviations = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    sure = np.where(deviations > 0.0, deviations, np.inf)
    found = np.clip(matrix / sure[:, None] / sure[None, :], -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    result: NDArray[np.float64] = found
    return result
