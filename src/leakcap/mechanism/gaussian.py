"""Gaussian noise on the reals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.capacities.gaussian import gaussian_capacity
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import require
from leakcap.mechanism.base import Mechanism, Outputs, RowPair, as_points
from leakcap.mechanism.floats import open_uniforms
from leakcap.mechanism.orders import bracket, mirrored, two_point_capacity
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["Gaussian"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


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

    def diameter(self, divergence: Divergence) -> Bound | None:
        """αμ²/2 at order α; Φ(μ/2 − t/μ) − e^t Φ(−μ/2 − t/μ) for the hockey-stick of e^t; 2Φ(μ/2) − 1.

        Source: Mironov 2017, proposition 7; Balle & Wang 2018, theorem 8.
        """
        match divergence:
            case Renyi(alpha):
                value = alpha * self.mu**2 / 2
            case HockeyStick(exp_epsilon):
                value = gaussian_hockey_stick(exp_epsilon, self.mu)
            case TotalVariation():
                value = math.erf(self.mu / math.sqrt(8.0))
            case _:
                return None
        return self.closed_form(value, divergence, (0.0, self.sensitivity))

    def radius(self, order: Renyi) -> Bound:
        """Secrets in an interval: Shannon capacity, ln(1 + μ/√(2π)) at order ∞, a bracket between."""
        top = math.log1p(self.mu / math.sqrt(2 * math.pi))
        if math.isinf(order.alpha):
            return self.closed_form(top, order)
        shannon = gaussian_capacity(self.mu)
        if order.alpha == 1.0:
            return shannon
        low = two_point_capacity(order, _two_ends(self.mu))
        uppers = [top, order.alpha * self.mu**2 / 8]
        if order.alpha > 1.0:
            return bracket(order, [low, shannon.lower], uppers)
        return bracket(order, [low], [*uppers, shannon.upper])

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


def _two_ends(mu: float) -> RowPair:
    """The secrets at the two ends, seen through a thousand cells about their middle and two tails."""
    reach = mu / 2 + 9.0
    edges = np.linspace(-reach, reach, 1025)
    upper_tails = [0.5 * math.erfc((edge + mu / 2) / math.sqrt(2.0)) for edge in edges]
    masses = -np.diff(np.array([1.0, *upper_tails, 0.0]))
    return mirrored(np.maximum(masses, 0.0))


def gaussian_hockey_stick(gamma: float, mu: float) -> float:
    """Σ(P − γQ)₊ between unit Gaussians at distance μ. Source: Balle & Wang 2018, theorem 8.

    Relatively precise in the tail: with Mills' ratio M, it is φ(a)(M(a) − M(b)) for a, b = t/μ ∓ μ/2.

    >>> round(gaussian_hockey_stick(math.e, 1.0), 12)
    0.126936737507
    """
    if gamma == 0.0:
        return 1.0
    t = math.log(gamma)
    return _at(t, mu) if t >= 0.0 else -math.expm1(t) + gamma * _at(-t, mu)


def _at(t: float, mu: float) -> float:
    """The hockey-stick of e^t for t ≥ 0."""
    a, b = t / mu - mu / 2, t / mu + mu / 2
    if a < 0.0:
        between = 0.5 * (math.erf(b / math.sqrt(2.0)) - math.erf(a / math.sqrt(2.0)))
        return max(between - 0.5 * math.expm1(t) * math.erfc(b / math.sqrt(2.0)), 0.0)
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    return density * _mills_difference(a, b) if density > 0.0 else 0.0


def _mills_difference(a: float, b: float) -> float:
    """M(a) − M(b) for 0 ≤ a < b and Mills' ratio M(a) = ∫₀^∞ e^(−u²/2 − au) du, without cancellation."""
    if b - a > 1.0 + a:
        return _laplace_transform(a, None) - _laplace_transform(b, None)
    return _laplace_transform(a, b - a)


def _laplace_transform(a: float, gap: float | None) -> float:
    """∫₀^∞ e^(−u²/2 − au)·(1 − e^(−gap·u)) du, piece by piece on the scale 1/(1+a); no factor for None."""
    total, low = 0.0, 0.0
    for end in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0):
        high = end / (1.0 + a)
        u = low + 0.5 * (high - low) * (_NODES + 1.0)
        values = np.exp(-u * u / 2 - a * u)
        values = values if gap is None else values * -np.expm1(-gap * u)
        total += 0.5 * (high - low) * float(_WEIGHTS @ values)
        low = high
    return total
