"""Pieces of a large matrix that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["row_blocks"]

_PIECE = 1 << 17
"""Entries in a piece: 1 MiB."""


def row_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Slices of rows that together are all rows, each about 1 MiB of doubles.

    >>> list(row_blocks((3, 2)))
    [slice(0, 65536, None)]
    """
    step = max(1, _PIECE // max(1, shape[1]))
    return (slice(start, start + step) for start in range(0, shape[0], step))
