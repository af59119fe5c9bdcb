"""A vector of doubles released on an integer grid: its sensitivity with all rounding, and its noise.

A vector θ known to within t of one that moves by at most Δ (L2) between neighbours is rounded to the grid:
its integers move by at most (Δ + 2t)/step + √k in L2, and by √k times that in L1, since each coordinate's
rounding changes a difference by less than 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from leakcap.models.calibrate import ROUNDED, exact_rho, gaussian_variance
from leakcap.models.values import Floats
from leakcap.sampling import ByteSource, discrete_gaussian, discrete_laplace, rational_scale

__all__ = ["LatticeNoise"]

_FINE = 20


@dataclass(frozen=True)
class LatticeNoise:
    """Noise for k coordinates on a grid of steps 2^−exponent.

    >>> noise = LatticeNoise.plan(1.0, allowance=0.0, size=1, epsilon=0.5, delta=0.0)
    >>> abs(noise.scale - 2.0) < 1e-5
    True
    """

    exponent: int
    size: int
    sensitivity: int
    epsilon: float
    delta: float
    rho: float | None

    @classmethod
    def plan(
        cls, sensitivity: float, *, allowance: float, size: int, epsilon: float, delta: float
    ) -> LatticeNoise:
        """For a vector of `size` numbers, (ε, 0) by Laplace noise or (ε, δ) by Gaussian noise.

        The grid has 2²⁰ steps to the sensitivity; `sensitivity` becomes its square for the Gaussian. On so
        fine a grid Gaussian noise is what (ε, δ) asks of continuous noise (Balle & Wang 2018).
        """
        reach = Fraction(sensitivity) + 2 * Fraction(allowance)
        exponent = _FINE - math.floor(math.log2(sensitivity))
        rho = exact_rho(float(epsilon), float(delta)) if delta > 0 else None
        steps = reach * Fraction(2) ** exponent
        if rho is None:
            whole = math.ceil(steps * _root_up(size)) + size
        else:
            whole = math.ceil((steps + _root_up(size)) ** 2)
        return cls(exponent, size, whole, epsilon, delta, rho)

    @property
    def step(self) -> float:
        """The grid's step."""
        return 2.0**-self.exponent

    def _parameter(self) -> Fraction:
        if self.rho is None:
            return rational_scale(self.sensitivity, Fraction(Decimal(repr(float(self.epsilon)))))
        return gaussian_variance(self.sensitivity, self.rho) + ROUNDED

    @property
    def scale(self) -> float:
        """Laplace scale, or standard deviation, of each coordinate in its own unit."""
        parameter = self._parameter()
        return (float(parameter) if self.rho is None else math.sqrt(parameter)) * self.step

    @property
    def mechanism(self) -> str:
        """The name of the noise."""
        return "discrete Laplace" if self.rho is None else "discrete Gaussian"

    def released(self, theta: Sequence[Fraction] | Floats, source: ByteSource) -> Floats:
        """θ on the grid with its noise, which is drawn here."""
        draw = discrete_laplace if self.rho is None else discrete_gaussian
        noise = draw(self._parameter(), self.size, source)
        up, down = 1 << max(self.exponent, 0), 1 << max(-self.exponent, 0)
        steps = [_nearest(t, up, down) + int(z) for t, z in zip(theta, noise, strict=True)]
        return np.array([s * down / up for s in steps])

    def imitations(self, count: int, seed: int) -> Floats:
        """Noise of the same law to within the grid, for post-processing: (count, k)."""
        generator = np.random.default_rng(seed)
        size = (count, self.size)
        draws = generator.laplace(size=size) if self.rho is None else generator.standard_normal(size)
        return np.asarray(draws * self.scale)


def _nearest(value: Fraction | float, up: int, down: int) -> int:
    """The integer nearest to value·up/down, halves to even; no fraction is put into lowest terms."""
    numerator, denominator = value.as_integer_ratio()
    whole, rest = divmod(numerator * up, denominator * down)
    beyond = 2 * rest - denominator * down
    return whole + (beyond > 0 or (beyond == 0 and whole % 2 == 1))


def _root_up(size: int) -> Fraction:
    """√size, rounded up."""
    return Fraction(math.isqrt((size << 80) - 1) + 1, 1 << 40)
