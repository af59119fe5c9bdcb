"""The exact discrete Laplace law (two-sided geometric)."""

from __future__ import annotations

from fractions import Fraction

from leakcap.arrays import NDArray, np
from leakcap.errors import require
from leakcap.sampling.bernoulli import bernoulli_exp, whole_nats
from leakcap.sampling.rational import require_scale
from leakcap.sampling.source import ByteSource, fair_bits, system_bytes, uniform_below

__all__ = ["discrete_laplace"]

_BLOCK = 1 << 15  # candidates at a time: the working arrays stay in the processor's cache


def discrete_laplace(scale: Fraction, size: int, source: ByteSource = system_bytes) -> NDArray[np.int64]:
    """Return `size` independent integers z with P(z) ∝ exp(−|z|/scale), exactly.

    `scale` is a `Fraction` (or int) from 2⁻³⁰ to 2⁴⁵; get one from `rational_scale`. For a query of integer
    sensitivity Δ it gives (Δ/scale)-differential privacy. Raises `InvalidParameter` for any other scale.

    Source: Canonne, Kamath & Steinke 2020, algorithm 2.

    >>> noise = discrete_laplace(Fraction(10, 3), 5)
    >>> noise.dtype, noise.shape
    (dtype('int64'), (5,))
    """
    require_scale(scale, "discrete_laplace")
    require(size >= 0, "size", "discrete_laplace", "not be negative", size)
    a, b = scale.numerator, scale.denominator
    out = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        block = _block(a, b, min(_BLOCK, 2 * (size - filled) + 16), source)[: size - filled]
        out[filled : filled + block.size] = block
        filled += block.size
    return out


def _block(a: int, b: int, candidates: int, source: ByteSource) -> NDArray[np.int64]:
    """Return the accepted ones, in order, of so many candidates for scale a/b."""
    remainder = uniform_below(a, candidates, source)
    remainder = remainder[bernoulli_exp(remainder, a, source)]
    magnitude = _magnitude(remainder, whole_nats(remainder.size, source), a, b)
    negative = fair_bits(magnitude.size, source)
    # Zero has no sign: keeping −0 as well as +0 would give 0 twice its weight.
    accepted = (magnitude != 0) | ~negative
    signed: NDArray[np.int64] = np.where(negative, -magnitude, magnitude)[accepted]
    return signed


def _magnitude(remainder: NDArray[np.int64], nats: NDArray[np.int64], a: int, b: int) -> NDArray[np.int64]:
    """⌊(remainder + a·nats)/b⌋ without overflow.

    With a = qb + r it is q·nats + ⌊(r·nats + remainder)/b⌋, and nats < 2¹⁰, q ≤ 2⁴⁵, r < b ≤ 2⁵²,
    remainder < a ≤ 2⁶⁰ keep every term below 2⁶³.
    """
    q, r = divmod(a, b)
    if b == 1:
        return nats * q + remainder
    return nats * q + (nats * r + remainder) // b
