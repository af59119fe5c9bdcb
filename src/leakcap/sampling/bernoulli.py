"""Exact coins whose probability is e^−γ for a rational γ, and whole nats: the geometric law P(V ≥ k) = e⁻ᵏ.

V = ⌊−ln U⌋ for a uniform real U in (0, 1), of which only as many binary digits are drawn as the answer needs:
64 settle it but for about 45 of the 2⁶⁴ words, and for those more digits are drawn.

They are compared with the binary digits of e^−γ for rational γ ≥ 0: thirty for many at once, any number of
them for one. Both come from integers with a bound on their error, so that no digit is assumed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

from leakcap.arrays import NDArray, np
from leakcap.errors import SourceError, require
from leakcap.sampling.source import MAX_BOUND, ByteSource, words

__all__ = ["HEAD", "MARGIN", "MAX_NATS", "bernoulli_exp", "exp_minus_digits", "exp_minus_heads", "whole_nats"]

MAX_NATS = 1024
"""`whole_nats` stays below this. To reach it, 1,477 bits in a row would have to be zero."""

_WORD = 64
_MOST_WORDS = 24
"""A coin that 24 words leave undecided has probability 2⁻¹⁵³⁶ unless the source is broken."""

Integers: TypeAlias = "NDArray[np.int64] | NDArray[np.object_]"


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


HEAD = 30
"""How many binary digits `exp_minus_heads` works with."""
MARGIN = 8
"""How far `exp_minus_heads` may be off, in units of its last digit."""

_FINE = 20  # γ's first ten digits are looked up, the other twenty go through the series
_NATS = 31  # 2³⁰·e⁻³¹ is below one unit


def exp_minus_heads(
    whole: NDArray[np.int64], part: NDArray[np.int64] | NDArray[np.object_], denominator: int
) -> NDArray[np.int64]:
    """Integers h with |h − 2³⁰·e^−γ| ≤ 8, where γ = whole + part/denominator and part < denominator.

    γ's fraction y, in 30 digits, is at most 2 units off. With its first ten digits v and the rest x < 2⁻¹⁰,
    e^−y = e^−v·(1 − x + x²/2 − …): the table is less than 1 unit off, the series less than 1 + 1/6 (the
    shift, and x³/6), their product less than 1 more, and so is the product with e^−whole, which shrinks all
    of the others: less than 7 in all. Every product is below 2⁶².

    >>> exp_minus_heads(np.array([0, 1]), np.array([0, 1]), 2).tolist()
    [1073741824, 239584184]
    >>> 2**30 * 0.22313016014843  # e^−1.5
    239584185.14...
    """
    fraction = _digits(part, denominator)
    x = fraction & ((1 << _FINE) - 1)
    series = (1 << HEAD) - x + (x * x >> (HEAD + 1))
    fine = _table()[fraction >> _FINE] * series >> HEAD
    product: NDArray[np.int64] = fine * _nats()[np.minimum(whole, _NATS)] >> HEAD
    return product


def _digits(part: NDArray[np.int64] | NDArray[np.object_], denominator: int) -> NDArray[np.int64]:
    """⌊2³⁰·part/denominator⌋ or up to 2 units beside it: only the first 32 digits of both are looked at."""
    if part.dtype == np.object_:
        return ((part << HEAD) // denominator).astype(np.int64)
    shift = max(0, denominator.bit_length() - 32)
    return ((part >> shift) << HEAD) // (denominator >> shift)


@lru_cache(maxsize=1)
def _table() -> NDArray[np.int64]:
    """⌊2³⁰·e^−(i/1024)⌋, also for i = 1024, to which a fraction just below 1 may be rounded."""
    size = 1 << (HEAD - _FINE)
    return _frozen([exp_minus_digits(i, HEAD, size) for i in range(size + 1)])


@lru_cache(maxsize=1)
def _nats() -> NDArray[np.int64]:
    return _frozen([exp_minus_digits(k, HEAD) for k in range(_NATS + 1)])


def _frozen(values: list[int]) -> NDArray[Any]:
    table = np.array(values, dtype=np.int64)
    table.flags.writeable = False
    return table


def exp_minus_digits(numerator: int, bits: int, denominator: int = 1) -> int:
    """Return ⌊2^bits · e^−γ⌋, exactly, for γ = numerator/denominator ≥ 0.

    e^−γ = (e⁻¹)^⌊γ⌋ · e^−(the rest), each bracketed between two integers, and the precision grows until both
    ends agree. They do in the end: e^−γ is irrational for every rational γ > 0.

    >>> exp_minus_digits(1, 10), 2**10 * 0.36787944117
    (376, 376.708547...)
    >>> exp_minus_digits(1, 10, 2), 2**10 * 0.60653065971
    (621, 621.087395...)
    """
    whole, part = divmod(numerator, denominator)
    guard = 32 + 2 * whole.bit_length()
    while True:
        precision = bits + guard
        low, high = _power(*_series(1, 1, precision), whole, precision)
        if part:
            below, above = _series(part, denominator, precision)
            low, high = (low * below) >> precision, -((-high * above) >> precision)
        if low >> guard == high >> guard:
            return low >> guard
        guard *= 2


def _series(part: int, denominator: int, precision: int) -> tuple[int, int]:
    """Bracket 2^precision·e^−(part/denominator) for part ≤ denominator.

    A truncated term is off by e_i ≤ e_{i−1}/i + 1 ≤ 2 units, the alternating tail by less than one.
    """
    term, total, i = 1 << precision, 0, 0
    while term:
        total += -term if i & 1 else term
        i += 1
        term = term * part // (denominator * i)
    return max(total - 2 * i - 1, 0), total + 2 * i + 1


def _power(low: int, high: int, k: int, precision: int) -> tuple[int, int]:
    """Raise a bracket to the k-th power by squaring, rounding its ends outwards."""
    out_low = out_high = 1 << precision
    while k:
        if k & 1:
            out_low = (out_low * low) >> precision
            out_high = -((-out_high * high) >> precision)
        low = (low * low) >> precision
        high = -((-high * high) >> precision)
        k >>= 1
    return out_low, out_high
