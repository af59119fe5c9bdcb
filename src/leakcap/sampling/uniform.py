"""Exact uniform integers from random words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import require
from leakcap.sampling.source import ByteSource, words

__all__ = ["MAX_BOUND", "uniform_below"]

MAX_BOUND = 1 << 62
"""The largest bound of `uniform_below`."""

_TOP = np.uint64((1 << 64) - 1)
_ONE = np.uint64(1)


def uniform_below(bounds: int | NDArray[np.int64], size: int, source: ByteSource) -> NDArray[np.int64]:
    """Return `size` independent integers, each exactly uniform on {0, …, bound−1}.

    `bounds` is one bound from 1 to 2⁶² for all of them, or an array of `size` bounds.
    A 64-bit word is reduced modulo the bound after the incomplete last run of residues, the top
    2⁶⁴ mod bound words, has been rejected: what is left holds every residue equally often. Each rejected
    word is replaced by a fresh one; at 2⁶² or below fewer than a quarter are.

    >>> uniform_below(1, 3, lambda n: bytes(n)).tolist()
    [0, 0, 0]
    >>> int(uniform_below(6, 1000, __import__("os").urandom).max()) < 6
    True
    """
    if isinstance(bounds, int):
        require(1 <= bounds <= MAX_BOUND, "bounds", "uniform_below", "lie between 1 and 2**62", bounds)
        if bounds == 1:
            return np.zeros(size, dtype=np.int64)
    else:
        _check(bounds, size)
    moduli = np.asarray(bounds, dtype=np.uint64)
    last = _TOP - (_TOP % moduli + _ONE) % moduli
    draws = words(size, source)
    rejected = np.flatnonzero(draws > last)
    if rejected.size:
        draws = draws.copy()
        limits = np.broadcast_to(last, (size,))
        while rejected.size:
            fresh = words(rejected.size, source)
            draws[rejected] = fresh
            rejected = rejected[fresh > limits[rejected]]
    return (draws % moduli).view(np.int64)


def _check(bounds: NDArray[np.int64], size: int) -> None:
    owner = "uniform_below"
    require(bounds.shape == (size,), "bounds", owner, "have one entry for each draw", bounds.shape)
    require(bounds.dtype == np.int64, "bounds", owner, "hold 64-bit integers", bounds.dtype)
    if size:
        low, high = int(bounds.min()), int(bounds.max())
        require(low >= 1 and high <= MAX_BOUND, "bounds", owner, "lie between 1 and 2**62", (low, high))
