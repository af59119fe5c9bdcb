"""The privacy loss of Gaussian noise: Gaussian again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakcap.accounting.part import UNIT, Ends, LossComponent, Numbers
from leakcap.errors import require
from leakcap.mechanism.gaussian import gaussian_hockey_stick
from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.logspace import Floats

__all__ = ["GaussianLoss", "normal_cells"]

_RULES = {most: np.polynomial.legendre.leggauss(n) for most, n in ((0.03, 3), (0.4, 5), (5.0, 10))}
"""Gauss's rules, and the most that the density's exponent may change in a cell for 5·10⁻¹⁵ of its mass."""
_NARROW = 0.5
_BEYOND = 64.0


@dataclass(frozen=True)
class GaussianLoss(LossComponent):
    """N(μ²/2, μ²) under P and N(−μ²/2, μ²) under Q: unit Gaussians at distance `mu`.

    Source: Balle & Wang 2018; Dong, Roth & Su 2022.

    `exact` is the distance where `mu` is only the double nearest to it.

    >>> GaussianLoss(2.0).renyi(3.0)
    (6.0, 6.0)
    """

    mu: float
    exact: Fraction | None = None

    def __post_init__(self) -> None:
        require(0 < self.mu < math.inf, "mu", "GaussianLoss", "be positive and finite", self.mu)

    def log_transform(self, z: Numbers) -> Numbers:
        """μ²z(z+1)/2."""
        return np.asarray(0.5 * self.mu**2 * z * (z + 1.0))

    def error(self, z: Numbers) -> Floats:
        """A few roundings of the exponent."""
        return np.asarray(8.0 * UNIT * np.abs(self.log_transform(z)))

    def envelope(self, c: float, t: float) -> float:
        """K(c) − μ²t²/2, attained."""
        return 0.5 * self.mu**2 * (c * (c + 1.0) - t * t)

    def support(self) -> tuple[float, float]:
        """The whole line."""
        return -math.inf, math.inf

    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """Φ over each cell, relatively precise."""
        u = edges / self.mu
        return normal_cells(u - self.mu / 2), normal_cells(u + self.mu / 2)

    def hockey_stick(self, epsilon: float) -> Ends:
        """Balle & Wang 2018, theorem 8."""
        return enclose(lambda d: gaussian_hockey_stick(d.of(epsilon).exp(), self._mu(d)))

    def _mu(self, digits: Digits) -> Interval:
        return digits.of(self.mu if self.exact is None else self.exact)

    def renyi(self, alpha: float) -> Ends:
        """αμ²/2."""
        if math.isinf(alpha):
            return math.inf, math.inf
        return enclose(lambda d: self._mu(d) * self._mu(d) * alpha / 2)

    def renyi_back(self, alpha: float) -> Ends:
        """The same."""
        return self.renyi(alpha)

    @property
    def reverse(self) -> LossComponent:
        """Itself."""
        return self


def normal_cells(edges: Floats) -> Floats:
    """Φ(e_{i+1}) − Φ(e_i), relatively precise: quadrature in narrow cells, tails in wide ones.

    >>> float(normal_cells(np.array([-np.inf, np.inf]))[0])
    1.0
    """
    low, high = np.maximum(edges[:-1], -_BEYOND), np.minimum(edges[1:], _BEYOND)
    wide = high - low
    change = np.where(wide < _NARROW, wide * (1.0 + np.maximum(np.abs(low), np.abs(high))), np.inf)
    result, least = np.zeros(low.shape), -1.0
    for most, (nodes, weights) in _RULES.items():
        seen = (change > least) & (change <= most)
        half = 0.5 * wide[seen]
        points = low[seen, None] + half[:, None] * (nodes + 1.0)
        with np.errstate(under="ignore"):
            result[seen] = half * (np.exp(-0.5 * points**2) @ weights) / math.sqrt(2.0 * math.pi)
        least = most
    for index in np.flatnonzero(change > least).tolist():
        result[index] = _between(float(low[index]), float(high[index]))
    return result


def _between(low: float, high: float) -> float:
    if low > 0.0:
        low, high = -high, -low
    return max(0.5 * (math.erfc(-high / math.sqrt(2.0)) - math.erfc(-low / math.sqrt(2.0))), 0.0)
