"""Gaussian noise on the reals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.adversary import Adversary, PowerConstraint
from leakcap.bound import Bound
from leakcap.capacities.noise.gaussian import gaussian_capacity
from leakcap.capacities.power import gaussian_power_capacity, require_order
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import require
from leakcap.mechanism.base import Laws, Mechanism, Outputs, as_points
from leakcap.mechanism.floats import open_uniforms
from leakcap.mechanism.levels import gaussian_ranges, gaussian_rows, level_of_noise
from leakcap.mechanism.orders import best_of, two_point_capacity
from leakcap.numeric.enclosure import Digits, Interval, enclose, outward
from leakcap.numeric.special import erf, normal_tail, pi
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["Gaussian", "gaussian_hockey_stick"]

_EDGES = (-3.0, -2.0, -1.25, -0.6, 0.0, 0.6, 1.25, 2.0, 3.0)
"""Edges of the cells through which two ends are seen: enough for a bound from below."""


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """Real secrets plus Gaussian noise of standard deviation `sigma`; μ = sensitivity/sigma is its GDP.

    `sensitivity` is the distance of the farthest secrets, an interval of that length for `AllPriors`. For
    vectors it is the L2 sensitivity. No ε holds with δ = 0.
    Source: Dwork, Kenthapadi, McSherry, Mironov & Naor 2006; Dong, Roth & Su 2022.

    >>> Gaussian(2.0).diameter(Renyi(4)).upper
    0.5
    """

    sigma: float
    sensitivity: float = 1.0

    source: ClassVar[str] = "Dwork et al. 2006; Dong, Roth & Su 2022"

    def __post_init__(self) -> None:
        for name in ("sigma", "sensitivity"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, "Gaussian", "be positive and finite", value)

    @property
    def mu(self) -> float:
        """sensitivity/sigma."""
        return self.sensitivity / self.sigma

    def channel(self) -> Channel:
        """Raises `InvalidParameter`: the output is real."""
        self._no_channel("every ruler between neighbours, and Rényi orders over all priors")

    def _mu(self, digits: Digits) -> Interval:
        return digits.of(self.sensitivity) / digits.of(self.sigma)

    def diameter(self, divergence: Divergence) -> Bound | None:
        """αμ²/2 at order α; Φ(μ/2 − t/μ) − e^t Φ(−μ/2 − t/μ) for the hockey-stick of e^t; 2Φ(μ/2) − 1.

        Source: Mironov 2017, proposition 7; Balle & Wang 2018, theorem 8.
        """
        secrets = 0.0, self.sensitivity
        match divergence:
            case Renyi(alpha) if math.isinf(alpha):
                return self._told((math.inf, math.inf), divergence, secrets)
            case Renyi(alpha):
                return self.closed_form(lambda d: self._squared(d) * alpha / 2, divergence, secrets)
            case HockeyStick(gamma):
                return self.closed_form(
                    lambda d: gaussian_hockey_stick(d.of(gamma), self._mu(d)), divergence, secrets
                )
            case TotalVariation():
                return self.closed_form(lambda d: erf(self._mu(d) / d.of(8).sqrt()), divergence, secrets)
        return None

    def _squared(self, digits: Digits) -> Interval:
        """μ², squared before it is divided: 0.5² is exact."""
        return digits.of(self.sensitivity) * self.sensitivity / (digits.of(self.sigma) * self.sigma)

    def radius(self, order: Renyi) -> Bound:
        """Secrets in an interval: Shannon capacity, ln(1 + μ/√(2π)) at order ∞, a bracket between."""
        top = self.closed_form(lambda d: (1 + self._mu(d) / (pi(d) * 2).sqrt()).log(), order)
        if math.isinf(order.alpha):
            return top
        least, most = outward(Fraction(self.sensitivity) / Fraction(self.sigma))
        shannon = gaussian_capacity(most)
        shannon = replace(shannon, lower=min(gaussian_capacity(least).lower, shannon.upper))
        if order.alpha == 1.0:
            return shannon
        low = two_point_capacity(order, self._two_ends)
        uppers = [top.upper, enclose(lambda d: self._squared(d) * order.alpha / 8)[1]]
        if order.alpha > 1.0:
            return best_of(order, [low, shannon.lower], uppers)
        return best_of(order, [low], [*uppers, shannon.upper])

    def level(self, order: Renyi) -> Bound:
        """Secrets in an interval: Shannon capacity, ∞ at order ∞, a bracket between."""
        most = outward(Fraction(self.sensitivity) / Fraction(self.sigma))[1]
        finite = math.isfinite(order.alpha) and order.alpha != 1.0
        ranges = gaussian_ranges(order.alpha, most) if finite else math.inf
        found = level_of_noise(self, order, gaussian_rows(self._least_mu()), ranges)
        if order.alpha <= 2.0 or math.isinf(order.alpha):
            return found
        # A rare secret, p = e^{−αμ² + μ²/2}: q ≤ 2w where its own likelihood is likely.
        rare = enclose(lambda d: _rare_secret(self._squared(d), order.alpha))[0]
        return replace(found, lower=min(max(found.lower, rare), found.upper)) if rare > found.lower else found

    def exact(self, divergence: Divergence, adversary: Adversary) -> Bound | None:
        """Under a power constraint too: Shannon and Hartley's formula and its relatives of order α."""
        if isinstance(adversary, PowerConstraint):
            order = require_order(divergence)
            low, high = outward(Fraction(adversary.power) / Fraction(self.sigma) ** 2)
            most = gaussian_power_capacity(order, high, adversary.dimensions)
            least = gaussian_power_capacity(order, low, adversary.dimensions)
            return replace(most, lower=least.lower)
        return super().exact(divergence, adversary)

    def _least_mu(self) -> float:
        """μ, not rounded up."""
        return outward(Fraction(self.sensitivity) / Fraction(self.sigma))[0]

    def _two_ends(self, digits: Digits) -> Laws:
        """The secrets at the two ends, seen through cells about their middle."""
        half = self._mu(digits) / 2
        edges = [digits.of(edge) for edge in _EDGES]
        tails = [(normal_tail(edge + half), normal_tail(edge - half)) for edge in edges]
        tails = [(digits.of(1), digits.of(1)), *tails, (digits.of(0), digits.of(0))]
        cells = [(a[0] - b[0], a[1] - b[1]) for a, b in pairwise(tails)]
        return Laws([p for p, _ in cells], [q for _, q in cells])

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """For research, not for release: floats leak (Mironov 2012). Release with `DiscreteGaussian`.

        Box–Muller on 53-bit uniforms.
        """
        x = as_points(secrets, 1, "Gaussian.sample")
        u = open_uniforms(2 * x.size, source)
        radius = np.sqrt(-2.0 * np.log(u[: x.size]))
        return np.asarray(x + self.sigma * radius * np.cos(2.0 * np.pi * u[x.size :]))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Weak to strong, and one in other units."""
        return cls(1.0), cls(5.0), cls(0.5, 2.0), cls(100.0, 1.0)


def _rare_secret(squared: Interval, alpha: float) -> Interval:
    """αμ²/2 − (αμ² − μ²/2 + ln 2)/(α−1) − ln 2: at most the level-α capacity, by one rare secret."""
    two = (squared * 0 + 2).log()
    return squared * alpha / 2 - (squared * alpha - squared / 2 + two) / (squared * 0 + alpha - 1) - two


def gaussian_hockey_stick(gamma: Interval, mu: Interval) -> Interval:
    """Σ(P − γQ)₊ between unit Gaussians at distance μ. Source: Balle & Wang 2018, theorem 8.

    >>> low, high = enclose(lambda d: gaussian_hockey_stick(d.of(1).exp(), d.of(1)))
    >>> round(low, 12), high - low < 1e-16
    (0.126936737507, True)
    """
    if gamma.is_zero:
        return gamma.digits.of(1)
    middle, half = gamma.log() / mu, mu / 2
    return normal_tail(middle - half) - gamma * normal_tail(middle + half)
