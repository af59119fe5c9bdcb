"""Exact coins whose probability is e^−γ for a rational γ, and whole nats: the geometric law P(V ≥ k) = e⁻ᵏ.

V = ⌊−ln U⌋ for a uniform real U in (0, 1), of which only as many binary digits are drawn as the answer needs:
64 settle it but for about 45 of the 2⁶⁴ words, and for those more digits are drawn.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import SourceError, require
from leakcap.sampling.exponentials import HEAD, MARGIN, exp_minus_digits, exp_minus_heads
from leakcap.sampling.source import MAX_BOUND, ByteSource, words

__all__ = ["MAX_NATS", "bernoulli_exp", "whole_nats"]

MAX_NATS = 1024
"""`whole_nats` stays below this. To reach it, 1,477 bits in a row would have to be zero."""

_WORD = 64
_MOST_WORDS = 24
"""A coin that 24 words leave undecided has probability 2⁻¹⁵³⁶ unless the source is broken."""

Integers = NDArray[np.int64] | NDArray[np.object_]


def bernoulli_exp(numerators: Integers, denominator: int, source: ByteSource) -> NDArray[np.bool_]:
    """Return independent coins, the i-th true with probability exp(−numerators[i]/denominator), exactly.

    A coin is true when a uniform real U, of which one word is drawn, lies below e^−γ. Thirty digits decide it
    but for 17 words in 2³⁰, where 64 are computed; a word that equals them asks for another. So a coin takes
    one word whatever γ is and however it falls, but once in 2⁶⁴: nothing about a draw shows in how much
    randomness it took.

    Numerators are non-negative: 64-bit integers when the denominator is at most 2⁶², Python integers of any
    size (dtype object) beside any denominator, which is slower. Raises `SourceError` for a stuck source.

    >>> bernoulli_exp(np.array([0, 0]), 7, lambda n: bytes(n)).tolist()
    [True, True]
    """
    require(denominator >= 1, "denominator", "bernoulli_exp", "be at least 1", denominator)
    if numerators.size == 0:
        return np.zeros(0, dtype=np.bool_)
    require(bool(numerators.min() >= 0), "numerators", "bernoulli_exp", "not be negative", "a negative one")
    require(
        numerators.dtype == np.object_ or denominator <= MAX_BOUND,
        "denominator",
        "bernoulli_exp",
        "be at most 2**62 beside 64-bit numerators",
        denominator,
        "Give the numerators as Python integers (dtype object).",
    )
    draws = words(numerators.size, source)
    success, open_ = _sift(draws, numerators, denominator)
    for i in open_:
        success[i] = _settle(int(draws[i]), int(numerators[i]), denominator, source)
    return success


def _sift(
    draws: NDArray[np.uint64], numerators: Integers, denominator: int
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Which coins are true as far as thirty digits tell, and which ones they leave open."""
    whole: Any = numerators // denominator
    part = numerators - whole * denominator
    heads = exp_minus_heads(np.minimum(whole, _WORD).astype(np.int64), part, denominator)
    first = (draws >> np.uint64(_WORD - HEAD)).astype(np.int64)
    # U lies between first and first + 1, e^−γ within MARGIN of heads.
    return first < heads, np.flatnonzero(np.abs(first - heads) <= MARGIN)


def _settle(prefix: int, numerator: int, denominator: int, source: ByteSource) -> bool:
    """Whether U, which starts with the digits of `prefix`, lies below e^−γ; more digits where they agree."""
    if numerator == 0:
        return True
    for count in range(1, _MOST_WORDS + 1):
        digits = exp_minus_digits(numerator, count * _WORD, denominator)
        if prefix != digits:
            return prefix < digits
        prefix = prefix << _WORD | int(words(1, source)[0])
    raise SourceError(
        "A byte source must return random bytes. Got an event of probability 2**-1536. Nothing was drawn."
    )


@lru_cache(maxsize=1)
def _powers() -> NDArray[np.uint64]:
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
    table = _powers()
    draws = words(size, source)
    not_above = np.searchsorted(table, draws, side="right")  # at least 1: the table starts at 0
    nats = (table.size - not_above).astype(np.int64, copy=False)
    for i in np.flatnonzero(table[not_above - 1] == draws):
        nats[i] = _settled_nats(int(draws[i]), source)
    return nats


def _settled_nats(prefix: int, source: ByteSource) -> int:
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
