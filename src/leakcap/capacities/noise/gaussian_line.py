"""The divergence D(N(x, 1) ‖ q) and its derivatives in x, by the trapezoidal rule with a stated error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.numeric.logspace import Floats

__all__ = ["Line", "line"]

_REACH = 10.0
"""Nodes go this far beyond the secrets: what is left out is below 1e−20."""
_EXPONENT = 40.0
_UNIT = 2.0**-53
_HALF_LOG = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class Line:
    """Trapezoidal nodes y ≥ 0 for even functions, for secrets in [−half, half].

    `error` bounds quadrature, truncation and rounding of each of D, D' and D''. On the strip |Im y| ≤ a with
    a·half ≤ π/3 no q has a zero, as the phases of its terms stay within 2π/3: |q(y + ia)| ≥ e^{a²/2} q(y)/2.
    So the rule of step h errs by at most 2M/(e^{2πa/h} − 1), M = ∫|integrand(y + ia)|.
    Source: Trefethen & Weideman 2014, theorem 5.1.
    """

    half: float
    nodes: Floats
    weights: Floats
    error: float

    def kernels(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """½[φ(y−x) + φ(y+x)] and its first two derivatives in x; shape (x, y)."""
        right, left = self.nodes - x[:, None], self.nodes + x[:, None]
        near = np.exp(-0.5 * right * right - _HALF_LOG - math.log(2.0))
        far = np.exp(-0.5 * left * left - _HALF_LOG - math.log(2.0))
        return near + far, right * near - left * far, (right**2 - 1.0) * near + (left**2 - 1.0) * far

    def log_output(self, x: Floats, p: Floats) -> Floats:
        """ln q at the nodes for the symmetric prior with weight p_j on ±x_j."""
        # φ(y−x) + φ(y+x) = 2φ(y) e^{−x²/2} cosh(xy), summed relative to its largest term.
        t = np.outer(x, self.nodes)
        exponent = t - 0.5 * (x * x)[:, None] + np.log1p(np.exp(-2.0 * t)) - math.log(2.0)
        top = exponent.max(axis=0)
        total = np.log(p @ np.exp(exponent - top)) + top
        return np.asarray(total - 0.5 * self.nodes**2 - _HALF_LOG)

    def divergence(self, x: Floats, log_q: Floats) -> tuple[Floats, Floats, Floats]:
        """D, D' and D'' at each x."""
        target = self.weights * log_q
        value, slope, bend = self.kernels(x)
        return -_HALF_LOG - 0.5 - value @ target, -(slope @ target), -(bend @ target)


def line(half: float) -> Line:
    """Nodes for secrets in [−half, half]."""
    strip = min(math.pi / (3.0 * half), 3.0)
    step = 2.0 * math.pi * strip / (_EXPONENT + strip * strip)
    count = math.ceil((half + _REACH) / step) + 1
    weights = np.full(count, 2.0 * step)
    weights[0] = step
    # |ln q(y + ia)| ≤ c0 + c1|z| + z²/2 at y = x + z, against |(z + ia)² − 1| ≤ z² + a² + 1.
    c0 = _HALF_LOG + 2.0 * half**2 + strip**2 / 2 + math.log(2.0) + 2.0 * strip * half
    c1, square = 2.0 * half + strip, strip**2
    size = c0 * (2.0 + square) + c1 * (2.4 + 0.8 * square) + 0.5 * (4.0 + square)
    quadrature = 2.0 * math.exp(square / 2) * size / math.expm1(2.0 * math.pi * strip / step)
    rounding = (count + 64) * _UNIT * (c0 + c1 + 0.5)
    nodes = np.asarray(step * np.arange(count), dtype=np.float64)
    return Line(half, nodes, weights, quadrature + rounding)
