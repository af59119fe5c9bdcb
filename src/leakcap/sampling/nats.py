"""Whole nats: the geometric law P(V ≥ k) = e⁻ᵏ, exactly.

V = ⌊−ln U⌋ for a uniform real U in (0, 1), of which only as many binary digits are drawn as the answer needs:
64 settle it but for about 45 of the 2⁶⁴ words, and for those more digits are drawn.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import SourceError
from leakcap.sampling.exponentials import exp_minus_digits
from leakcap.sampling.source import ByteSource, words

__all__ = ["MAX_NATS", "whole_nats"]

MAX_NATS = 1024
"""`whole_nats` stays below this. To reach it, 1,477 bits in a row would have to be zero."""

_WORD = 64


@lru_cache(maxsize=1)
def _table() -> NDArray[np.uint64]:
    """⌊2⁶⁴ e⁻ᵏ⌋ in ascending order, from the first k at which it is 0 down to k = 1."""
    digits: list[int] = []
    while not digits or digits[-1]:
        digits.append(exp_minus_digits(len(digits) + 1, _WORD))
    table = np.array(digits[::-1], dtype=np.uint64)
    table.flags.writeable = False
    return table


def whole_nats(size: int, source: ByteSource) -> NDArray[np.int64]:
    """Return `size` independent draws of V with P(V ≥ k) = e⁻ᵏ, k = 0, 1, 2, …

    One word each, compared with the first 64 binary digits of every e⁻ᵏ. A word equal to the digits of some
    e⁻ᵏ is undecided and gets more. Raises `SourceError` rather than return 1024 or more, which has
    probability e⁻¹⁰²⁴ unless the source is broken.

    >>> whole_nats(2, lambda n: b"\\xff" * n).tolist()
    [0, 0]
    """
    table = _table()
    draws = words(size, source)
    not_above = np.searchsorted(table, draws, side="right")  # at least 1: the table starts at 0
    nats = (table.size - not_above).astype(np.int64, copy=False)
    for i in np.flatnonzero(table[not_above - 1] == draws):
        nats[i] = _settle(int(draws[i]), source)
    return nats


def _settle(prefix: int, source: ByteSource) -> int:
    """Draw further binary digits of U, which starts with the 64 of `prefix`, until ⌊−ln U⌋ is known."""
    bits, k = _WORD, 1
    while k <= MAX_NATS:
        bits += _WORD
        prefix = prefix << _WORD | int(words(1, source)[0])
        # e⁻ᵏ already passed stays passed: more digits of U only confirm U < e⁻ᵏ.
        while k <= MAX_NATS and prefix < (digits := exp_minus_digits(k, bits)):
            k += 1
        if k <= MAX_NATS and prefix > digits:
            return k - 1
    raise SourceError(
        "A byte source must return random bytes. Got an event of probability e**-1024. Nothing was drawn."
    )
