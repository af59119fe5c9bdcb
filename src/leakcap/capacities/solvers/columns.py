"""What one pass over a channel's columns tells: largest and smallest entries, dense or sparse."""

from __future__ import annotations

import math
from typing import Any

from leakcap.arrays import ArrayLike, NDArray, np
from leakcap.channel import Channel
from leakcap.numeric.logspace import Floats

__all__ = ["column_extremes", "column_tops", "log_quotient", "row_residue", "widest_column"]

_BLOCK = 1 << 18
"""Entries a block (2 MiB): it is still in the cache when it is read for the second time."""

_CACHED = 1 << 21
"""Entries (16 MiB) up to which passes over the same matrix are bound by arithmetic, not by memory."""
_ADDED = 1 << 16
"""Entries up to which rows are added up without rounding."""

_PROBE = 8
_SAFE = 1e-290
"""Smallest entries from here on have quotients that cannot overflow."""


def column_tops(channel: Channel) -> Floats:
    """max_x C_xy for every output.

    >>> column_tops(Channel([[0.9, 0.1], [0.2, 0.8]])).tolist()
    [0.9, 0.8]
    """
    if channel.sparse is not None:
        return _sparse_extremes(channel.sparse)[0]
    return np.asarray(channel.matrix.max(axis=0))


def column_extremes(channel: Channel) -> tuple[Floats, Floats]:
    """(max_x C_xy, min_x C_xy) for every output, in one pass over the memory.

    >>> [v.tolist() for v in column_extremes(Channel([[0.9, 0.1], [0.2, 0.8]]))]
    [[0.9, 0.8], [0.2, 0.1]]
    """
    if channel.sparse is not None:
        return _sparse_extremes(channel.sparse)
    rows = channel.matrix
    step = max(1, _BLOCK // rows.shape[1])
    blocks = [rows[start : start + step] for start in range(0, len(rows), step)]
    ends = [(block.max(axis=0), block.min(axis=0)) for block in blocks]
    if len(ends) == 1:
        return ends[0]
    return np.max([top for top, _ in ends], axis=0), np.min([low for _, low in ends], axis=0)


def widest_column(channel: Channel) -> tuple[int, float, float]:
    """The output with the largest max_x C_xy / min_x C_xy, and both; the first of equals.

    >>> widest_column(Channel([[0.9, 0.1], [0.2, 0.8]]))
    (1, 0.8, 0.1)
    """
    if channel.sparse is None and channel.shape[1] > 4 * _PROBE and channel.matrix.size <= _CACHED:
        bottom = channel.matrix.min(axis=0)
        few = _contenders(channel.matrix, bottom)
        bottom = bottom[few]
        # All columns: read them as they lie.
        top = channel.matrix[:, few].max(axis=0) if few.size < channel.shape[1] else column_tops(channel)
    else:
        top, bottom = column_extremes(channel)
        few = np.arange(top.size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = top / bottom
    at = int(np.argmax(np.where(np.isnan(ratio), 0.0, ratio)))
    if np.isinf(ratio[at]):  # no bound, or a ratio beyond the largest double
        at = int(np.argmax(log_quotient(top, bottom)))
    return int(few[at]), float(top[at]), float(bottom[at])


def _contenders(rows: Floats, bottom: Floats) -> NDArray[np.intp]:
    """Columns that can have the largest ratio, from their smallest entries and the matrix's largest.

    A column with max/min ≥ r has min ≤ (largest entry)/r. The largest entry takes half the time of the
    largest of every column; it is only looked up where a few columns promise that it rules most others out.
    """
    probe = np.argpartition(bottom, _PROBE)[:_PROBE]
    if bottom[probe].min() < _SAFE:
        return np.arange(bottom.size)
    tops = rows[:, probe].max(axis=0)
    # Rounding must not rule out an equal: the limit is raised by more than two roundings.
    limit = (1.0 + 1e-12) / float((tops / bottom[probe]).max())
    if 32 * np.count_nonzero(bottom <= limit * tops.max()) > bottom.size:
        return np.arange(bottom.size)
    few = np.flatnonzero(bottom <= limit * rows.max())
    return few if 8 * few.size < bottom.size else np.arange(bottom.size)


def log_quotient(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """ln(top/bottom) for 0 ≤ bottom ≤ top, precise where they nearly agree; 0 where both are zero, else ∞.

    >>> log_quotient(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])).tolist()
    [0.0, inf, 0.0]
    """
    top, bottom = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    low = np.where(bottom > 0, bottom, 1.0)
    high = np.where(bottom > 0, top, 1.0)
    far = np.log(high) - np.log(low)
    near = np.log1p((high - low) / np.maximum(low, 0.5 * high))
    value = np.where(high < 2.0 * low, near, far)
    return np.asarray(np.where((bottom <= 0) & (top > 0), np.inf, value))


def row_residue(channel: Channel) -> float:
    """How far from one the sum of any row is at most: what lies between a table of doubles and a channel.

    >>> row_residue(Channel([[0.5, 0.5], [0.25, 0.75]]))
    0.0
    """
    if channel.exact is not None:
        return 0.0
    if channel.shape[0] * channel.shape[1] <= _ADDED and channel.sparse is None:
        return max(abs(math.fsum([*row, -1.0])) for row in channel.matrix.tolist())
    table = channel.matrix if channel.sparse is None else channel.sparse
    longest = (
        channel.shape[1] if channel.sparse is None else int(np.diff(channel.sparse.indptr).max(initial=0))
    )
    sums = np.asarray(table @ np.ones(channel.shape[1]))
    return float(np.max(np.abs(sums - 1.0))) + longest * 2.0**-53


def _sparse_extremes(csr: Any) -> tuple[Floats, Floats]:
    csc = csr.tocsc()
    counts: NDArray[np.intp] = np.diff(csc.indptr)
    live = np.flatnonzero(counts)
    top, bottom = np.zeros(csc.shape[1]), np.zeros(csc.shape[1])
    top[live] = np.maximum.reduceat(csc.data, csc.indptr[live])
    lowest = np.minimum.reduceat(csc.data, csc.indptr[live])
    # A column without an entry in some row has its minimum there: zero.
    bottom[live] = np.where(counts[live] == csc.shape[0], lowest, 0.0)
    return top, bottom
