"""Binary digits of e^−γ for rational γ ≥ 0: thirty for many at once, any number of them for one.

Both come from integers with a bound on their error, so that no digit is assumed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HEAD", "MARGIN", "exp_minus_digits", "exp_minus_heads"]

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
