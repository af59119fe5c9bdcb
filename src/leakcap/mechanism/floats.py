"""Floating-point randomness for mechanisms that are studied and never released with (Mironov 2012)."""

from __future__ import annotations

import numpy as np

from leakcap.numeric.logspace import Floats
from leakcap.sampling.source import ByteSource, words

__all__ = ["open_uniforms"]


def open_uniforms(size: int, source: ByteSource) -> Floats:
    """Uniforms strictly between 0 and 1: odd multiples of 2⁻⁵³.

    >>> open_uniforms(1, lambda n: bytes(n)).item() == 2.0**-53
    True
    """
    top = words(size, source) >> np.uint64(12)
    return np.asarray((2.0 * top.astype(np.float64) + 1.0) * 2.0**-53)
