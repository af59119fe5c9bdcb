"""Ridge regression within a ball, with a proof of how near the answer is.

J(θ) = ½θᵀAθ − bᵀθ + (Λ/2)‖θ‖² over ‖θ‖ ≤ P, for A = Σ xxᵀ and b = Σ yx in exact integers. For θ in the ball,
μ ≥ 0 and r = (A + (Λ+μ)I)θ − b, the minimiser θ* satisfies, by strong convexity and its optimality,

    Λe² ≤ ⟨∇J(θ), θ − θ*⟩ = ⟨r, θ − θ*⟩ − μ⟨θ, θ − θ*⟩ ≤ ‖r‖e + μ‖θ‖(P − ‖θ‖),   e = ‖θ − θ*‖,

so that e ≤ ‖r‖/Λ + √(μ‖θ‖(P − ‖θ‖)/Λ). θ comes from floating point; r and the rest are computed in fractions
of integers. Where the bound is not met, the system is solved in fractions, μ by bisection, until it is: the
allowance that the sensitivity pays for is never exceeded, on any table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BallRidge", "solve_exactly"]

Vector = list[Fraction]


@dataclass(frozen=True)
class BallRidge:
    """The problem in exact numbers; `a` and `b` in integers, Λ and P in the same units."""

    a: NDArray[Any]
    b: NDArray[Any]
    penalty: Fraction
    radius: Fraction

    def near(self, allowance: Fraction) -> Vector:
        """A point of the ball that is proved to be within `allowance` of the minimiser.

        >>> problem = BallRidge(np.array([[2]]), np.array([3]), Fraction(1), Fraction(9))
        >>> problem.near(Fraction(1, 10**12)) == [Fraction(1)]
        True
        """
        for theta, multiplier in self._candidates():
            inside = self._inside(theta, on_the_edge=multiplier > 0)
            if self.distance(inside, multiplier) <= allowance:
                return inside
        raise AssertionError("bisection ends")  # pragma: no cover

    def distance(self, theta: Vector, multiplier: Fraction) -> Fraction:
        """An upper bound on the distance of θ, in the ball, from the minimiser."""
        shift = self.penalty + multiplier
        rest = [
            sum((int(x) * t for x, t in zip(row, theta, strict=True)), shift * theta[i]) - int(self.b[i])
            for i, row in enumerate(self.a)
        ]
        size = _root_above(sum((t * t for t in theta), Fraction(0)))
        slack = max(self.radius - _root_below(sum((t * t for t in theta), Fraction(0))), Fraction(0))
        bend = _root_above(multiplier * size * slack / self.penalty)
        return _root_above(sum((r * r for r in rest), Fraction(0))) / self.penalty + bend

    def _inside(self, theta: Vector, *, on_the_edge: bool) -> Vector:
        """θ, shortened where it is outside the ball; stretched to the edge, where the constraint binds."""
        squared = sum((t * t for t in theta), Fraction(0))
        if squared == 0 or (squared <= self.radius**2 and not on_the_edge):
            return theta
        shrink = self.radius / _root_above(squared)
        return [t * shrink for t in theta]

    def _candidates(self) -> Iterator[tuple[Vector, Fraction]]:
        """Floating point first; then fractions, with μ bisected for ever closer."""
        yield from self._floating()
        theta = solve_exactly(self.a, self.b, self.penalty)
        yield theta, Fraction(0)
        size = _root_above(sum((Fraction(int(v)) ** 2 for v in self.b), Fraction(0)))
        low, high = Fraction(0), size / self.radius  # ‖θ(μ)‖ ≤ ‖b‖/μ
        while True:
            middle = (low + high) / 2
            theta = solve_exactly(self.a, self.b, self.penalty + middle)
            outside = sum((t * t for t in theta), Fraction(0)) > self.radius**2
            low, high = (middle, high) if outside else (low, middle)
            yield theta, middle

    def _floating(self) -> Iterator[tuple[Vector, Fraction]]:
        """The secular equation ‖(A + (Λ+μ)I)⁻¹b‖ = P by bisection on eigenvalues, in doubles."""
        scale = float(max(int(np.abs(self.a).max()), 1))
        values, vectors = np.linalg.eigh(self.a.astype(np.float64) / scale)
        turned = vectors.T @ (self.b.astype(np.float64) / scale)
        base, radius = float(self.penalty) / scale, float(self.radius)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            values = np.maximum(values, 0.0)
            low = high = 0.0
            if np.linalg.norm(turned / (values + base)) > radius:
                high = float(np.linalg.norm(turned)) / radius
                for _ in range(200):
                    middle = 0.5 * (low + high)
                    outside = np.linalg.norm(turned / (values + base + middle)) > radius
                    low, high = (middle, high) if outside else (low, middle)
            theta = vectors @ (turned / (values + base + high))
        if np.isfinite(theta).all() and math.isfinite(high):
            yield [Fraction(float(t)) for t in theta], Fraction(high) * Fraction(scale)


def solve_exactly(a: NDArray[Any], b: NDArray[Any], shift: Fraction) -> Vector:
    """(A + shift·I)⁻¹b for a positive definite matrix, by fraction-free elimination.

    Source: Bareiss 1968.

    >>> solve_exactly(np.array([[2, 1], [1, 2]]), np.array([3, 3]), Fraction(0))
    [Fraction(1, 1), Fraction(1, 1)]
    """
    n, q = len(b), shift.denominator
    rows = [
        [int(a[i, j]) * q + (shift.numerator if i == j else 0) for j in range(n)] + [int(b[i]) * q]
        for i in range(n)
    ]
    last = 1
    for k in range(n):
        for i in range(n):
            if i != k:
                factor, pivot = rows[i][k], rows[k][k]
                rows[i] = [(pivot * x - factor * y) // last for x, y in zip(rows[i], rows[k], strict=True)]
        last = rows[k][k]
    return [Fraction(rows[i][n], rows[i][i]) for i in range(n)]


_ROOT_BITS = 256


def _root_below(squared: Fraction) -> Fraction:
    """√ to 256 bits behind the point, rounded down."""
    whole = squared.numerator << (2 * _ROOT_BITS)
    return Fraction(math.isqrt(whole // squared.denominator), 1 << _ROOT_BITS)


def _root_above(squared: Fraction) -> Fraction:
    """√ to 256 bits behind the point, rounded up."""
    whole = -(-(squared.numerator << (2 * _ROOT_BITS)) // squared.denominator)
    root = math.isqrt(whole)
    return Fraction(root if root * root == whole else root + 1, 1 << _ROOT_BITS)
