"""Sums and differences of exponentials that neither overflow nor cancel, and logarithms that take zero."""

from __future__ import annotations

import math
from typing import TypeAlias

from leakcap.arrays import ArrayLike, NDArray, np

Floats: TypeAlias = "NDArray[np.float64]"

_NEAR = 0.1


def safe_log(values: ArrayLike) -> Floats:
    """Natural logarithm with ln 0 = −∞ and no warning.

    >>> safe_log([0.0, 1.0])
    array([-inf,   0.])
    """
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(values, dtype=np.float64))


def logsumexp(values: ArrayLike, axis: int | None = None) -> Floats:
    """ln Σ exp(values) along `axis`; −∞ for an empty or all −∞ sum, +∞ if any term is +∞.

    >>> float(logsumexp([1000.0, 1000.0])) - 1000.0
    0.693147180559...
    """
    array = np.asarray(values, dtype=np.float64)
    top = np.max(array, axis=axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        total = np.log(np.sum(np.exp(array - shift), axis=axis, keepdims=True)) + shift
    return np.asarray(np.squeeze(total, axis=axis) if axis is not None else total.reshape(()))


def log1mexp(x: float) -> float:
    """ln(1 − e^x) for x < 0, to full precision at both ends (Mächler 2012).

    >>> log1mexp(-1e-20) < -46
    True
    """
    if x > -math.log(2.0):
        return math.log(-math.expm1(x))
    return math.log1p(-math.exp(x))


def exp_rest(x: Floats) -> Floats:
    """e^x − 1 − x, relatively precise near zero.

    >>> float(exp_rest(np.array(1e-9)))
    5.0000000016666...e-19
    """
    near = np.abs(x) < _NEAR
    if not np.any(near):
        return np.asarray(np.expm1(x) - x)
    small = np.where(near, x, 0.0)
    series = np.full_like(small, 1.0 / 11.0)
    for n in range(10, 2, -1):
        series = (1.0 + small * series) / n
    series = small**2 * (1.0 + small * series) / 2.0
    return np.where(near, series, np.expm1(x) - x)


def logaddexp_signed(a: float, sign_a: float, b: float, sign_b: float) -> tuple[float, float]:
    """ln|s_a e^a + s_b e^b| and its sign.

    >>> logaddexp_signed(0.0, 1.0, 0.0, -1.0)
    (-inf, 0.0)
    """
    if b > a:
        a, sign_a, b, sign_b = b, sign_b, a, sign_a
    if a == -math.inf:
        return -math.inf, 0.0
    rest = sign_a * sign_b * math.exp(b - a)
    if rest <= -1.0:
        return -math.inf, 0.0
    return a + math.log1p(rest), sign_a
