"""How small the error of any strategy could be, from below, by numbers that are proved in doubles.

Let R be a diagonal matrix of whole numbers with Σr² = s, and H = RGR/s. No strategy whose columns are of
length 1 or less answers W with a squared error below (tr√H)², G = WᵀW (Li & Miklau 2013, with weights;
weak duality).

For margins that are asked together with a column's ranges the two parts of H are needed by themselves:
with r̂ = r/√s, the part of the total a = r̂ᵀHr̂, and tr√D of what is left, D = H − Hr̂r̂ᵀH/a, where Dr̂ =
0. `docs/theory/ranges.md` has the bound that is made of them.

tr√D from below: for any symmetric M with MDM + r̂r̂ᵀ ⪯ (1 + η)I it is no less than tr(MD)/√(1 + η). M is
near to D^(−1/2); MDM is computed in doubles, and each rounding is counted: |fl(AB) − AB| ≤ γ|A||B|.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leakcap.tables.ordered.dense import Matrix, inverted, multiplied, root, trace
from leakcap.tables.ordered.design import Kind, gram_of

__all__ = ["least_alone", "least_parts"]


def least_alone(kind: Kind, weights: NDArray[np.int64]) -> Fraction:
    """(tr√H)² from below: no strategy for this column alone has a squared error below, in units of σ² at
    length 1.

    >>> round(float(least_alone("prefixes", np.array([1, 1]))), 3)        # uniform weights: the SVD bound
    2.5
    """
    whole, size = _weighted(kind, weights)
    numbers = np.array(whole, dtype=np.float64)
    found = _least_nuclear(numbers, np.zeros((size, size)))
    return found**2 / _square(weights)


def least_parts(kind: Kind, weights: NDArray[np.int64]) -> tuple[Fraction, Fraction]:
    """a exactly, and (tr√D)² from below.

    >>> total, rest = least_parts("prefixes", np.array([1, 1]))
    >>> total, round(float(rest), 3)
    (Fraction(5, 4), 0.2)
    """
    whole, _ = _weighted(kind, weights)
    ints, square = [int(one) for one in weights], _square(weights)
    toward = whole.dot(np.array(ints, dtype=object))
    alpha = sum(one * own for one, own in zip(ints, toward.tolist(), strict=True))
    rest = alpha * whole - np.multiply.outer(toward, toward)
    numbers = np.array([[one / alpha for one in row] for row in rest.tolist()], dtype=np.float64)
    unit = np.array([one / math.sqrt(square) for one in ints])
    found = _least_nuclear(numbers, np.multiply.outer(unit, unit))
    return Fraction(alpha, square**2), found**2 / square


def _square(weights: NDArray[np.int64]) -> int:
    return sum(int(one) ** 2 for one in weights)


def _weighted(kind: Kind, weights: NDArray[np.int64]) -> tuple[NDArray[np.object_], int]:
    """RGR in whole numbers."""
    size = len(weights)
    ints = np.array([int(one) for one in weights], dtype=object)
    gram = np.array(gram_of(kind, size).tolist(), dtype=object)
    return np.asarray(ints[:, None] * gram * ints, dtype=object), size


def _least_nuclear(numbers: Matrix, beside: Matrix) -> Fraction:
    """tr√D from below, D the true matrix of which `numbers` are the nearest doubles, `beside` the
    projection on what it takes to 0, to within 2⁻⁴⁰ in each row."""
    size = len(numbers)
    slight = (size + 8) * 2.0**-52
    middle = trace(numbers) / size
    inner = inverted(root(numbers + middle * beside))
    once = multiplied(inner, numbers)
    off = multiplied(np.abs(inner), np.abs(numbers)) * (2.0 * slight)
    twice = multiplied(once, inner) + beside
    away = multiplied(np.abs(once), np.abs(inner)) * slight + multiplied(off, np.abs(inner)) * (1.0 + slight)
    apart = np.abs(twice - np.eye(size)) + away
    excess = Fraction(max(math.fsum(row) for row in apart.tolist()) * (1.0 + slight) + 2.0**-40)
    shown = Fraction(trace(once)) - Fraction(trace(off) * (1.0 + slight))
    # 1/√(1 + η) ≥ 1 − η/2
    return max(Fraction(0), shown * (1 - excess / 2))
