"""One pass over the rows of a large matrix, in pieces that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from leakcap.numeric.logspace import Floats

__all__ = ["largest_and_least", "row_blocks"]

_PIECE = 1 << 17
"""Entries in a piece: 1 MiB."""


def row_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Slices of rows that together are all rows, each about 1 MiB of doubles.

    >>> list(row_blocks((3, 2)))
    [slice(0, 65536, None)]
    """
    step = max(1, _PIECE // max(1, shape[1]))
    return (slice(start, start + step) for start in range(0, shape[0], step))


def largest_and_least(rows: Floats) -> tuple[Floats, Floats]:
    """The largest and the least entry of each column.

    >>> largest_and_least(np.array([[1.0, 4.0], [2.0, 3.0]]))
    (array([2., 4.]), array([1., 3.]))
    """
    if rows.size <= 16 * _PIECE:
        return np.asarray(rows.max(axis=0)), np.asarray(rows.min(axis=0))
    top, bottom = rows[0].copy(), rows[0].copy()
    for piece in row_blocks((rows.shape[0], rows.shape[1])):
        np.maximum(top, rows[piece].max(axis=0), out=top)
        np.minimum(bottom, rows[piece].min(axis=0), out=bottom)
    return top, bottom
