"""Noise of differential privacy that is as large as the error of a method, and what it tells instead."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from scipy.optimize import brentq

from leakcap.accounting import PrivacyLoss
from leakcap.adversary import AllPriors
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.disclosure.weighing import RepeatedRisk
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.mechanism import DiscreteGaussian, TwoSidedGeometric

__all__ = ["NoiseRisk", "noise_of_error"]

_LEAST = Fraction(1, 100)


@dataclass(frozen=True)
class NoiseRisk(RepeatedRisk):
    """What a count with discrete noise tells of one person's presence, in whatever cell.

    >>> laplace, gaussian = noise_of_error(Fraction(3))
    >>> round(laplace.epsilon.upper, 3), round(laplace.capacity.upper, 4), round(gaussian.capacity.upper, 4)
    (0.795, 0.0732, 0.04)
    """

    mechanism: TwoSidedGeometric | DiscreteGaussian

    @property
    def name(self) -> str:
        """What it is called."""
        return self.mechanism.label

    @cached_property
    def capacity(self) -> Bound:
        """Shannon's capacity in nats."""
        return capacity(self.mechanism, Renyi(1.0), AllPriors())

    @cached_property
    def epsilon(self) -> Bound:
        """The ε of pure differential privacy; Gaussian noise has none."""
        return capacity(self.mechanism, Renyi(math.inf))

    @cached_property
    def loss(self) -> PrivacyLoss:
        """The privacy loss of presence against absence."""
        return PrivacyLoss.of_mechanism(self.mechanism)


def noise_of_error(squared: Fraction) -> tuple[NoiseRisk, NoiseRisk]:
    """Discrete Laplace and discrete Gaussian noise of this variance, to a double's last digits.

    Noise of scale b has variance 1/(cosh(1/b) − 1). Raises `InvalidParameter` unless the variance lies
    between 1/100 and 10¹².
    """
    number = isinstance(squared, int | float | Fraction) and not isinstance(squared, bool)
    holds = number and _LEAST <= squared <= 10**12
    require(holds, "squared", "noise_of_error", "lie between 0.01 and 10^12", squared)
    decay = 2 * math.asinh(math.sqrt(1 / (2 * float(squared))))
    return NoiseRisk(TwoSidedGeometric(1 / decay)), NoiseRisk(DiscreteGaussian(_sigma(float(squared))))


def _sigma(variance: float) -> float:
    """σ of the discrete Gaussian law with this variance, which is less than σ² where σ is small."""
    if variance > 9.0:
        return math.sqrt(variance)  # but for 10⁻⁷⁰

    def off(sigma: float) -> float:
        weights = [math.exp(-0.5 * (k / sigma) ** 2) for k in range(64)]
        return 2 * sum(k * k * w for k, w in enumerate(weights)) / (2 * sum(weights) - 1) - variance

    return float(brentq(off, 0.05, 4.0, xtol=1e-14))
