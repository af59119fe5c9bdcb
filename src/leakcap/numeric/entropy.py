"""Shannon entropies and their inverses, in nats."""

from __future__ import annotations

import math

from leakcap.arrays import ArrayLike, np
from leakcap.numeric.logspace import Floats
from leakcap.numeric.search import bisect


def xlogx(values: ArrayLike) -> Floats:
    """x ln x with 0 ln 0 = 0, elementwise.

    >>> xlogx([0.0, 1.0])
    array([0., 0.])
    """
    array = np.asarray(values, dtype=np.float64)
    return array * np.log(np.where(array > 0, array, 1.0))


def entropy(distribution: ArrayLike, axis: int = -1) -> Floats:
    """Shannon entropy −Σ p ln p along `axis`.

    >>> round(float(entropy([0.5, 0.5])), 12)
    0.69314718056
    """
    value: Floats = -np.sum(xlogx(distribution), axis=axis) + 0.0
    return value


def binary_entropy(p: float) -> float:
    """h(p) = −p ln p − (1−p) ln(1−p), precise for p near 0 and near 1.

    >>> binary_entropy(0.0), round(binary_entropy(0.5), 12)
    (0.0, 0.69314718056)
    """
    if p <= 0.0 or p >= 1.0:
        return 0.0
    return -p * math.log(p) - (1.0 - p) * math.log1p(-p)


def inverse_binary_entropy(nats: float) -> float:
    """The p in [0, ½] with h(p) = `nats`, for 0 ≤ nats ≤ ln 2.

    >>> round(binary_entropy(inverse_binary_entropy(0.3)), 12)
    0.3
    """
    if nats <= 0.0:
        return 0.0
    if nats >= math.log(2.0):
        return 0.5
    return bisect(lambda p: binary_entropy(p) - nats, 0.0, 0.5)
