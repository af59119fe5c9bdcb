"""Where the random bytes of a release come from.

A sampler takes a *byte source*: a callable that returns as many fresh random bytes as it is asked for.
The one source of this package is the operating system's. A seeded source on a release path would let whoever
knows the seed subtract the noise, so tests bring their own and none is shipped.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import SourceError

__all__ = ["ByteSource", "fair_bits", "system_bytes", "words"]

_CHUNK = 1 << 20


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
