"""Which code reads a field: by its length."""

from __future__ import annotations

import numpy as np

from leakcap.attack.code import Code
from leakcap.attack.parities import ParityCode, parities

__all__ = ["code_for"]


def code_for(bits: int, uses: int, generator: np.random.Generator) -> Code:
    """Random parities with exact maximum likelihood, up to 20 bits.

    >>> code_for(12, 1400, np.random.default_rng(0)).name
    'parities'
    """
    return ParityCode(bits, parities(bits, uses, generator))
