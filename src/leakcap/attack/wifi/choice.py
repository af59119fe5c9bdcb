"""Which code reads a field: by its length."""

from __future__ import annotations

import math

import numpy as np

from leakcap.attack.codes.code import Code
from leakcap.attack.codes.multi_edge import multi_edge_code, multi_edge_uses
from leakcap.attack.codes.parities import MOST_BITS, ParityCode, parities
from leakcap.attack.codes.polar import MOST_POLAR_BITS, polar_code
from leakcap.attack.codes.use import Use
from leakcap.attack.wifi.finite import least_uses
from leakcap.errors import require

__all__ = ["code_for", "likely_uses"]

_LONGEST = 1_000_000
_POLAR_BITS = 768
_MANY_USES = 20
"""Uses a bit. With fewer the degrees of multi-edge codes do not fit, and polar codes go on to 2048 bits."""
_POLAR_SHARE = 0.88
"""Of the finite-length optimum, at frame error about 1e-2."""


def code_for(bits: int, uses: int, use: Use, generator: np.random.Generator) -> Code:
    """Random parities up to 20 bits, polar codes up to 768 (2048 of few uses a bit), multi-edge codes beyond.

    At capacity 0.02 bit a use and 1024 bits, multi-edge codes lose fewer frames than polar ones with 512
    paths, and decode some ten times as fast; at 512 bits they lose more.

    The generator chooses questions, not noise: any will do.

    >>> [code_for(k, 100 * k, Use(0.336), np.random.default_rng(0)).name.split()[0] for k in (20, 21, 3000)]
    ['parities', 'polar', 'multi-edge,']
    """
    _check(bits, "code_for")
    if bits <= MOST_BITS:
        return ParityCode(bits, parities(bits, uses, generator))
    if _polar(bits, uses):
        return polar_code(bits, uses, use, generator)
    return multi_edge_code(bits, uses, use, generator)


def likely_uses(bits: int, use: Use) -> int:
    """About how many uses the code of this length needs, at frame error 1e-2, or 1e-1 for multi-edge codes.

    The finite-length optimum over the share that is reached; for multi-edge codes see `multi_edge_uses`.

    >>> use = Use(0.336)
    >>> round(least_uses(use, 64, 1e-2) / likely_uses(64, use), 2)
    0.88
    """
    _check(bits, "likely_uses")
    best = least_uses(use, bits, 1e-2)
    if bits <= MOST_BITS:
        return best
    uses = math.ceil(best / _POLAR_SHARE)
    return uses if _polar(bits, uses) else multi_edge_uses(bits, use)


def _polar(bits: int, uses: int) -> bool:
    return bits <= _POLAR_BITS or (bits <= MOST_POLAR_BITS and uses < _MANY_USES * bits)


def _check(bits: int, owner: str) -> None:
    require(1 <= bits <= _LONGEST, "bits", owner, f"be from 1 to {_LONGEST:,}", bits)
