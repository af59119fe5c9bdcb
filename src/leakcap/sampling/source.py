"""Where the random bytes of a release come from; words, fair coins and uniform integers made of them.

A sampler takes a *byte source*: a callable that returns as many fresh random bytes as it is asked for.
The one source of this package is the operating system's. A seeded source on a release path would let whoever
knows the seed subtract the noise, so tests bring their own and none is shipped.
"""

from __future__ import annotations

import os
from typing import Protocol

from leakcap.arrays import NDArray, np
from leakcap.errors import SourceError, require

__all__ = ["MAX_BOUND", "ByteSource", "fair_bits", "system_bytes", "uniform_below", "words"]

_CHUNK = 1 << 20

MAX_BOUND = 1 << 62
"""The largest bound of `uniform_below`."""

_TOP = (1 << 64) - 1


class ByteSource(Protocol):
    """Returns `n` independent, uniformly random bytes, fresh at every call."""

    def __call__(self, n: int, /) -> bytes:
        """Return exactly `n` bytes."""
        ...


def system_bytes(n: int, /) -> bytes:
    """Return `n` bytes from the operating system's cryptographic generator.

    Nothing is kept between calls: a buffer would be copied by `fork`, and two processes would then add the
    same noise to different answers, whose difference is exact.

    >>> len(system_bytes(16))
    16
    """
    if n <= _CHUNK:
        return os.urandom(n)
    return b"".join(os.urandom(min(_CHUNK, n - start)) for start in range(0, n, _CHUNK))


def words(count: int, source: ByteSource) -> NDArray[np.uint64]:
    """Return `count` independent uniform 64-bit words (read-only, little-endian on every machine).

    Raises `SourceError` when the source returns fewer or more bytes than asked.

    >>> words(2, lambda n: bytes(range(n))).tolist() == [0x0706050403020100, 0x0F0E0D0C0B0A0908]
    True
    """
    return np.frombuffer(_take(8 * count, source), dtype="<u8").astype(np.uint64, copy=False)


def fair_bits(count: int, source: ByteSource) -> NDArray[np.bool_]:
    """Return `count` independent fair coins.

    >>> fair_bits(4, lambda n: b"\\xa0" * n).tolist()
    [True, False, True, False]
    """
    octets = np.frombuffer(_take((count + 7) >> 3, source), dtype=np.uint8)
    return np.unpackbits(octets, count=count).view(np.bool_)


def _take(n: int, source: ByteSource) -> bytes:
    data = source(n)
    if len(data) != n:
        raise SourceError(
            f"A byte source must return the {n} bytes it was asked for. Got {len(data)}. Nothing was drawn."
        )
    return data


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
    top, one = np.uint64(_TOP), np.uint64(1)
    last = top - (top % moduli + one) % moduli
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
