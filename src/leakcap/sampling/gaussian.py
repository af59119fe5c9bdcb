"""The exact discrete Gaussian law."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from leakcap.arrays import NDArray, np
from leakcap.errors import require
from leakcap.sampling.bernoulli import bernoulli_exp
from leakcap.sampling.laplace import discrete_laplace
from leakcap.sampling.source import MAX_BOUND, ByteSource, system_bytes

__all__ = ["discrete_gaussian"]

_BLOCK = 1 << 15
_MAX_ROOT = isqrt(MAX_BOUND)
_MIN_VARIANCE = Fraction(1, 1 << 60)
_MAX_VARIANCE = Fraction(1 << 88)


def discrete_gaussian(
    sigma_squared: Fraction, size: int, source: ByteSource = system_bytes
) -> NDArray[np.int64]:
    """Return `size` independent integers z with P(z) ∝ exp(−z²/(2σ²)), exactly.

    `sigma_squared` is a `Fraction` (or int) from 2⁻⁶⁰ to 2⁸⁸. For a query of integer sensitivity Δ it gives
    Δ²/(2σ²)-zero-concentrated differential privacy. Raises `InvalidParameter` for any other variance.

    Source: Canonne, Kamath & Steinke 2020, algorithm 3.

    >>> noise = discrete_gaussian(Fraction(100), 5)
    >>> noise.dtype, noise.shape
    (dtype('int64'), (5,))
    """
    owner = "discrete_gaussian"
    rational = isinstance(sigma_squared, (int, Fraction)) and not isinstance(sigma_squared, bool)
    require(rational, "sigma_squared", owner, "be a Fraction", sigma_squared)
    within = _MIN_VARIANCE <= sigma_squared <= _MAX_VARIANCE
    require(within, "sigma_squared", owner, "lie between 2**-60 and 2**88", sigma_squared)
    require(size >= 0, "size", owner, "not be negative", size)
    out = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        block = _block(Fraction(sigma_squared), min(_BLOCK, 2 * (size - filled) + 8), source)
        block = block[: size - filled]
        out[filled : filled + block.size] = block
        filled += block.size
    return out


def _block(variance: Fraction, candidates: int, source: ByteSource) -> NDArray[np.int64]:
    """Return the accepted ones, in order, of so many discrete Laplace candidates of scale t = ⌊σ⌋ + 1.

    A candidate y is kept with probability exp(−(|y| − σ²/t)²/(2σ²)), which times exp(−|y|/t) is a multiple of
    exp(−y²/(2σ²)). With σ² = p/q the exponent is (|y|qt − p)²/(2pqt²).
    """
    p, q = variance.numerator, variance.denominator
    t = isqrt(p // q) + 1
    candidate = discrete_laplace(Fraction(t), candidates, source)
    magnitude = np.abs(candidate)
    denominator = 2 * p * q * t * t
    root: NDArray[np.int64] | NDArray[np.object_]
    if denominator <= MAX_BOUND and int(magnitude.max()) * q * t + p <= _MAX_ROOT:
        root = magnitude * (q * t) - p
    else:
        root = magnitude.astype(np.object_) * (q * t) - p
    return candidate[bernoulli_exp(root * root, denominator, source)]
