"""The objective of a linear classifier, a minimiser for it, and a gradient that is known with its error.

The loss of a margin m is width·ln(1 + e^{(shift − m)/width}): the logistic loss for (0, 1), and for (1, h)
the hinge max(0, 1 − m) with its corner rounded, above it by h·ln 2 at most. Its slope lies between −1 and 0,
its curvature is at most 1/(4·width).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from leakcap.models.values import Floats

__all__ = ["MarginObjective", "grid_point"]

_HALF = 26
_BLOCK = 64
_COLUMNS = 128
_POLISHED = 4
_REFINED = 2**160


@dataclass(frozen=True)
class MarginObjective:
    """J(θ) = Σ ℓ(⟨v,θ⟩) + (Λ/2)‖θ‖² + ⟨b,θ⟩ over rows v = z/steps of integers z, |zᵢ| ≤ steps.

    ℓ(m) = `width`·ln(1 + e^{(`shift` − m)/`width`}).
    """

    z: Floats
    steps: int
    penalty: float
    linear: Floats
    shift: float = 0.0
    width: float = 1.0

    def value(self, theta: Floats) -> float:
        """J, in doubles."""
        beyond = self._scaled(self.z @ (theta / self.steps))
        return float(
            self.width * np.logaddexp(0.0, -beyond).sum()
            + 0.5 * self.penalty * (theta @ theta)
            + self.linear @ theta
        )

    def _weights(self, theta: Floats) -> Floats:
        """w = 1/(1 + e^{(⟨v,θ⟩ − shift)/width}), accurate at both ends."""
        return _weights(self._scaled(self.z @ (theta / self.steps)))

    def _scaled(self, margins: Floats) -> Floats:
        """(m − shift)/width."""
        return np.asarray((margins - self.shift) / self.width)

    def gradient(self, theta: Floats) -> Floats:
        """∇J, in doubles."""
        weights = self._weights(theta)
        return np.asarray(-(weights @ self.z) / self.steps + self.penalty * theta + self.linear)

    def hessian(self, theta: Floats) -> Floats:
        """∇²J, in doubles."""
        weights = self._weights(theta)
        curved = self.z * (weights * (1.0 - weights) / self.width)[:, None]
        return np.asarray(curved.T @ self.z / self.steps**2 + self.penalty * np.eye(theta.size))

    def exact_gradient(self, theta: Floats) -> tuple[Floats, float]:
        """∇J at a `grid_point`, and a bound on the error of what is returned, in L2.

        Margins are sums of integer products that doubles hold, rounded once or twice: off by 2⁻⁵²|m|, which
        at the weight's slope is 2⁻⁵³ at most, since |m|·w(1−w) < ½; (m − shift)/width has two roundings more,
        and what m is off by counts shift/width times as much. The exponential and the quotient are
        taken as off by 2⁻⁵⁰. Weights are cut to 52 binary digits in two halves, whose products with z are
        exact again, block by block.
        """
        whole, exponent = _on_grid(theta)
        upper = np.floor(whole * 2.0**-_HALF)
        lower = whole - upper * 2.0**_HALF
        margins = np.zeros(self.z.shape[0])
        for start in range(0, theta.size, _COLUMNS):
            part = slice(start, start + _COLUMNS)
            margins += (self.z[:, part] @ upper[part]) * 2.0**_HALF + self.z[:, part] @ lower[part]
        scaled = self._scaled(margins * 2.0**-exponent / self.steps)
        weights = np.floor(_weights(scaled) * 2.0 ** (2 * _HALF))
        first = np.floor(weights * 2.0**-_HALF)
        total = self._products(first) * (1 << _HALF) + self._products(weights - first * 2.0**_HALF)
        scale = Fraction(1, self.steps << (2 * _HALF))
        found = [
            float(Fraction(self.penalty) * Fraction(t) + Fraction(b) - int(s) * scale)
            for t, b, s in zip(theta.tolist(), self.linear.tolist(), total, strict=True)
        ]
        squares = (self.z**2).sum(axis=1) / self.steps**2
        each = 2.0**-49 + 2.0**-53 * self.shift / self.width
        error = each * float(np.sqrt(squares).sum())
        if theta.size > _COLUMNS:  # several sums of columns, each as large as ‖v‖·‖θ‖ at most
            blocks = -(-theta.size // _COLUMNS)
            steep = max(1.0, 1.0 / self.width)
            error += steep * blocks * 2.0**-53 * float(squares.sum()) * float(np.linalg.norm(theta))
        return np.array(found), 1.001 * error + 2.0**-52 * float(np.linalg.norm(found))

    def _products(self, whole: Floats) -> Floats:
        """Σ whole·z in Python integers."""
        rows = -(-whole.size // _BLOCK) * _BLOCK
        padded, z = np.zeros(rows), np.zeros((rows, self.z.shape[1]))
        padded[: whole.size], z[: whole.size] = whole, self.z
        parts = padded.reshape(-1, 1, _BLOCK) @ z.reshape(-1, _BLOCK, z.shape[1])
        return np.asarray(parts[:, 0, :].astype(np.int64).astype(object).sum(axis=0) + 0)

    def minimise(self, gradient: float) -> list[Fraction]:
        """A point where ‖∇J‖ ≤ `gradient`, proved.

        Newton's method in doubles; where those do not suffice, its steps on gradients of fifty digits.

        >>> objective = MarginObjective(np.array([[4.0], [-4.0]]), 4, 1.0, np.zeros(1))
        >>> abs(float(objective.minimise(1e-9)[0])) < 1e-9
        True
        """
        theta = grid_point(self._newton(np.zeros(self.linear.size), gradient))
        for _ in range(_POLISHED):
            found, error = self.exact_gradient(theta)
            if float(np.linalg.norm(found)) * (1 + 2.0**-40) + error <= gradient:
                return [Fraction(t) for t in theta.tolist()]
            theta = grid_point(theta - np.linalg.solve(self.hessian(theta), found))
        point = [Fraction(t) for t in theta.tolist()]
        slope = self.careful_gradient(point)
        while _norm(slope) * (1 + 2.0**-40) > gradient:
            around = self.hessian(np.array([float(p) for p in point]))
            step = np.linalg.solve(around, np.array([float(g) for g in slope])).tolist()
            length = Fraction(1)
            while True:  # the gradient's norm falls along Newton's direction, from some length on
                fresh = [
                    Fraction(round((p - length * Fraction(s)) * _REFINED), _REFINED)
                    for p, s in zip(point, step, strict=True)
                ]
                ahead = self.careful_gradient(fresh)
                if _norm(ahead) < _norm(slope):
                    break
                length /= 2
            point, slope = fresh, ahead
        return point

    def _newton(self, theta: Floats, gradient: float) -> Floats:
        """Damped Newton steps until the gradient is small or nothing improves."""
        value = self.value(theta)
        for _ in range(200):
            slope = self.gradient(theta)
            if float(np.linalg.norm(slope)) <= gradient / 16.0:
                break
            step = np.linalg.solve(self.hessian(theta), slope)
            length = 1.0
            while (fresh := self.value(theta - length * step)) > value - 0.25 * length * float(slope @ step):
                length /= 2.0
                if length < 2.0**-30:
                    break
            if length < 2.0**-30:  # only rounding is left: one full step, if it lowers the gradient
                last = theta - step
                shorter = np.linalg.norm(self.gradient(last)) < np.linalg.norm(slope)
                theta = last if shorter else theta
                break
            theta, value = theta - length * step, fresh
        return theta

    def careful_gradient(self, point: list[Fraction]) -> list[Fraction]:
        """∇J in fractions, its exponentials to fifty digits: slow, and right for any table that fits."""
        total = [
            Fraction(self.penalty) * t + Fraction(b) for t, b in zip(point, self.linear.tolist(), strict=True)
        ]
        with localcontext() as context:
            context.prec = 60
            for row in self.z.astype(np.int64).tolist():
                margin = sum((x * t for x, t in zip(row, point, strict=True)), Fraction(0)) / self.steps
                beyond = (margin - Fraction(self.shift)) / Fraction(self.width)
                small = (-abs(Decimal(beyond.numerator) / Decimal(beyond.denominator))).exp()
                weight = Fraction((small if beyond > 0 else 1) / (1 + small))
                total = [
                    Fraction(round((g - weight * x / self.steps) * _REFINED), _REFINED)
                    for g, x in zip(total, row, strict=True)
                ]
        return total


def grid_point(theta: Floats) -> Floats:
    """θ to 51 binary digits of its largest entry, where `exact_gradient` has no rounding of θ itself.

    >>> grid_point(np.array([1.0, 2.0**-60])).tolist()
    [1.0, 0.0]
    """
    whole, exponent = _on_grid(theta)
    return np.asarray(whole * 2.0**-exponent)


def _on_grid(theta: Floats) -> tuple[Floats, int]:
    largest = float(np.abs(theta).max(initial=0.0))
    exponent = 2 * _HALF - 1 - math.frexp(largest)[1] if largest > 0.0 else 0
    if float(np.abs(np.rint(theta * 2.0**exponent)).max(initial=0.0)) >= 2.0 ** (2 * _HALF - 1):
        exponent -= 1  # rounded up to a power of two, which has its own grid
    return np.asarray(np.rint(theta * 2.0**exponent)), exponent


def _weights(margins: Floats) -> Floats:
    small = np.exp(-np.abs(margins))
    return np.asarray(np.where(margins > 0, small, 1.0) / (1.0 + small))


def _norm(vector: list[Fraction]) -> float:
    return math.sqrt(math.fsum(float(v) ** 2 for v in vector))
