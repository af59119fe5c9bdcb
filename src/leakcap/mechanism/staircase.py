"""Staircase noise on the reals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.mechanism.base import Laws, Mechanism, Outputs, as_points, require_epsilon
from leakcap.mechanism.floats import open_uniforms
from leakcap.mechanism.levels import level_of_noise
from leakcap.mechanism.orders import best_of, bounded_range_capacity, two_point_capacity
from leakcap.numeric.enclosure import Digits, Interval
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["Staircase"]


@dataclass(frozen=True)
class Staircase(Mechanism):
    """Real secrets plus noise whose density falls by e^−ε once in each sensitivity, at gamma·sensitivity.

    With d the sensitivity the density is e^(−kε)·a on kd ≤ |z| < (k+γ)d and e^(−(k+1)ε)·a on the rest of the
    step, a = (1−e^−ε)/(2d(γ+e^−ε(1−γ))). Left out, gamma is 1/(1+e^(ε/2)), the least expected |noise| of all
    ε-private mechanisms. Source: Geng & Viswanath 2014.

    >>> round(Staircase(1.0).step, 6)
    0.377541
    """

    epsilon: float
    sensitivity: float = 1.0
    gamma: float | None = None

    source: ClassVar[str] = "Geng & Viswanath 2014"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon, "Staircase")
        ok = 0 < self.sensitivity < math.inf
        require(ok, "sensitivity", "Staircase", "be positive and finite", self.sensitivity)
        inside = self.gamma is None or 0 <= self.gamma <= 1
        require(inside, "gamma", "Staircase", "lie between 0 and 1", self.gamma)

    @property
    def step(self) -> float:
        """gamma, or the optimal one."""
        return 1.0 / (1.0 + math.exp(self.epsilon / 2)) if self.gamma is None else self.gamma

    @property
    def peak(self) -> float:
        """a·sensitivity, the largest density in units of the sensitivity."""
        s = math.exp(-self.epsilon)
        return -math.expm1(-self.epsilon) / (2.0 * (self.step + s * (1.0 - self.step)))

    def channel(self) -> Channel:
        """Raises `InvalidParameter`: the output is real."""
        self._no_channel("every ruler between neighbours, and Rényi orders over all priors")

    def claim(self) -> float:
        """ε, attained."""
        return self.epsilon

    def farthest(self, digits: Digits) -> Laws:
        """Two secrets at the full distance: likelihood ratios are e^ε, e^−ε or, between them, one.

        Nearer secrets have the same ratios with more mass on one.
        """
        s, step, peak = self._shape(digits)
        # The level of the noise between the two secrets is the peak's where the step is longer than half.
        same = (1 - step * 2).size() * peak * (1 if self.step > 0.5 else s)
        apart = (1 - same) / (1 + s)
        return Laws((apart, apart * s, same), (apart * s, apart, same))

    def farthest_secrets(self) -> tuple[float, float]:
        """The two ends."""
        return 0.0, self.sensitivity

    def _shape(self, digits: Digits) -> tuple[Interval, Interval, Interval]:
        """e^−ε, gamma and the peak."""
        s = digits.of(-self.epsilon).exp()
        step = 1 / (1 + 1 / s.sqrt()) if self.gamma is None else digits.of(self.gamma)
        return s, step, (1 - s) / (step + s * (1 - step)) / 2

    def radius(self, order: Renyi) -> Bound:
        """Secrets anywhere in an interval: ln(1 + peak) at order ∞, else a bracket."""
        top = self.closed_form(lambda d: (1 + self._shape(d)[2]).log(), order)
        if math.isinf(order.alpha):
            return top
        low = two_point_capacity(order, self.farthest)
        return best_of(order, [low], [top.upper, bounded_range_capacity(order, self.epsilon)])

    def level(self, order: Renyi) -> Bound:
        """Between the radius of the same order and the least of the general bounds; ε at order ∞."""
        return level_of_noise(self, order)

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """For research, not for release: floats leak (Mironov 2012). Release with `TwoSidedGeometric`.

        A sign, a geometric number of whole steps, the part of the step and a uniform place in it.
        """
        x = as_points(secrets, 1, "Staircase.sample")
        sign, whole, part, place = open_uniforms(4 * x.size, source).reshape(4, x.size)
        steps = np.floor(np.log(whole) / -self.epsilon)
        high = self.step / (self.step + math.exp(-self.epsilon) * (1.0 - self.step))
        within = np.where(part < high, self.step * place, self.step + (1.0 - self.step) * place)
        return np.asarray(x + np.where(sign < 0.5, -1.0, 1.0) * self.sensitivity * (steps + within))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Optimal steps from weak to strong, and steps of the user's."""
        return cls(1.0), cls(4.0, 2.0), cls(0.2), cls(1.0, 1.0, 0.8), cls(0.7, 1.0, 0.5)
