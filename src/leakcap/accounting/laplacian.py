"""The privacy loss of Laplace noise: two atoms and a density between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from leakcap.accounting.part import UNIT, Atoms, Ends, LossComponent, Numbers, relative_error
from leakcap.errors import require
from leakcap.mechanism.laplace import laplace_hockey_stick, laplace_renyi
from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.logspace import Floats

__all__ = ["LaplaceLoss"]

_CHUNK = 1 << 19


@dataclass(frozen=True)
class LaplaceLoss(LossComponent):
    """Laplace noise at distance ε in units of its scale: P(L=ε) = ½, P(L=−ε) = e^{−ε}/2, a density between.

    M(z) = ½(e^{zε} + e^{−(1+z)ε}) + ½(e^{zε} − e^{−(1+z)ε})/(1+2z).
    `exact` is the distance where `epsilon` is only the double above it.
    Source: Dwork, McSherry, Nissim & Smith 2006; the transform follows from the density.

    >>> round(float(LaplaceLoss(1.0).log_transform(np.array(1.0))), 8)
    0.61912363
    """

    epsilon: float
    exact: Fraction | None = None

    def __post_init__(self) -> None:
        ok = 0 < self.epsilon <= math.nextafter(700.0, math.inf)  # 1/scale may have been rounded up
        require(ok, "epsilon", "LaplaceLoss", "be positive and at most 700 nats", self.epsilon)

    def log_transform(self, z: Numbers) -> Numbers:
        """The closed form, in logarithms."""
        return _log_transform(np.float64(self.epsilon), np.asarray(z))

    def error(self, z: Numbers) -> Floats:
        """Roundings of the exponent and of a sum of order one."""
        return np.asarray(UNIT * (24.0 + 8.0 * np.abs(z) * self.epsilon))

    def envelope(self, c: float, t: float) -> float:
        """Both atoms in phase, and a density whose transform falls as 1/|1+2z|."""
        trivial = float(self.log_transform(np.array(c)))
        size = abs(complex(1.0 + 2.0 * c, 2.0 * t))
        top = max(c, -1.0 - c) * self.epsilon
        atoms = top + math.log(0.5) + math.log1p(math.exp(-abs(1.0 + 2.0 * c) * self.epsilon))
        return min(trivial, atoms + math.log1p(1.0 / size)) if size > 0.0 else trivial

    def support(self) -> tuple[float, float]:
        """[−ε, ε]."""
        return -self.epsilon, self.epsilon

    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """Of the density alone: P has e^{−(ε−ℓ)/2}/4 at ℓ, Q has e^{−(ε+ℓ)/2}/4."""
        e = np.clip(edges, -self.epsilon, self.epsilon)
        fall = -np.expm1(-0.5 * np.diff(e))
        return 0.5 * np.exp(0.5 * (e[1:] - self.epsilon)) * fall, 0.5 * np.exp(
            -0.5 * (e[:-1] + self.epsilon)
        ) * fall

    def atoms(self) -> Atoms:
        """±ε."""
        masses = np.array([0.5 * math.exp(-self.epsilon), 0.5])
        return Atoms(np.array([-self.epsilon, self.epsilon]), masses, masses[::-1])

    def hockey_stick(self, epsilon: float) -> Ends:
        """1 − e^{(ε' − ε)/2} within the support."""
        return enclose(lambda d: laplace_hockey_stick(d.of(epsilon).exp(), self._distance(d)))

    def _distance(self, digits: Digits) -> Interval:
        return digits.of(self.epsilon if self.exact is None else self.exact)

    def renyi(self, alpha: float) -> Ends:
        """Mironov 2017, proposition 6."""
        if math.isinf(alpha):
            return enclose(self._distance)
        return enclose(lambda d: laplace_renyi(alpha, self._distance(d)))

    def renyi_back(self, alpha: float) -> Ends:
        """The same."""
        return self.renyi(alpha)

    @property
    def reverse(self) -> LossComponent:
        """Itself: the mirror image of Laplace noise is Laplace noise."""
        return self

    @classmethod
    def add_up(cls, parts: Sequence[Self], counts: Floats, z: Numbers) -> tuple[Numbers, Floats]:
        """All scales in one pass."""
        epsilons = np.array([part.epsilon for part in parts])[:, None]
        total, error = np.zeros_like(z), np.zeros(z.shape)
        stride = max(1, _CHUNK // len(parts))
        straight = z.size > 1 and float(np.ptp(z.real)) == 0.0
        for start in range(0, z.size, stride):
            piece = slice(start, start + stride)
            values = _log_transform(epsilons, z[piece])
            peaks = _log_transform(epsilons, z[:1].real if straight else z[piece].real)
            errors = UNIT * (24.0 + 8.0 * np.abs(z[piece]) * epsilons)
            total[piece] = counts @ values
            error[piece] = counts @ relative_error(errors, values, peaks)
        return total, error


def _log_transform(epsilon: Floats | np.float64, z: Numbers) -> Numbers:
    """The larger exponential is taken out; M(z) = M(−1−z)."""
    z = np.where(z.real < -0.5, -1.0 - z, z)
    w = 1.0 + 2.0 * z
    rest = np.expm1(-w * epsilon)
    safe = np.where(w == 0.0, 1.0, w)
    between = np.where(w == 0.0, epsilon, -rest / safe)
    return np.asarray(z * epsilon + np.log1p(0.5 * (rest + between)))
