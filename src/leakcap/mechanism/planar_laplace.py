"""Planar Laplace noise: geo-indistinguishability, with its privacy loss in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import require
from leakcap.mechanism.base import MAX_EPSILON, Mechanism, Outputs, RowPair, as_points
from leakcap.mechanism.floats import open_uniforms
from leakcap.mechanism.orders import bounded_range_capacity, bracket, mirrored, two_point_capacity
from leakcap.numeric.logspace import Floats, logsumexp
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["PlanarLaplace"]


@dataclass(frozen=True)
class PlanarLaplace(Mechanism):
    """Points of the plane plus noise of density ε²/(2π)·e^(−ε|z|): ε-geo-indistinguishable per unit distance.

    `sensitivity` is the distance of the farthest secrets, the diameter of a disc for `AllPriors`.

    In elliptic coordinates about two secrets at distance d, with c = εd/2, the privacy loss is 2c·cos θ and
    θ ∈ [0, π] has density e^(c cos θ)(c·K₁(c) + c²·K₀(c) sin² θ)/π. Every ruler follows: Σ P^α Q^(1−α) is
    c·K₁(c)·I₀(κ) + c²·K₀(c)·I₁(κ)/κ with κ = (2α−1)c. (Derived for leakcap, docs/theory/mechanisms.md.)
    Source: Andrés, Bordenabe, Chatzikokolakis & Palamidessi 2013.

    >>> round(PlanarLaplace(1.0).diameter(Renyi(1)).upper, 9)
    0.228340692
    """

    epsilon: float
    sensitivity: float = 1.0

    source: ClassVar[str] = "Andrés, Bordenabe, Chatzikokolakis & Palamidessi 2013"

    def __post_init__(self) -> None:
        for name in ("epsilon", "sensitivity"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, "PlanarLaplace", "be positive and finite", value)
        total = self.claim()
        require(total <= MAX_EPSILON, "epsilon·sensitivity", "PlanarLaplace", "be at most 700", total)

    def channel(self) -> Channel:
        """Raises `InvalidParameter`: the output is a point of the plane."""
        self._no_channel("every ruler between neighbours, and Rényi orders over all priors")

    def claim(self) -> float:
        """epsilon·sensitivity, attained."""
        return self.epsilon * self.sensitivity

    def diameter(self, divergence: Divergence) -> Bound | None:
        """Two secrets at the full distance: the noise is log-concave, so they dominate nearer ones."""
        match divergence:
            case Renyi(alpha):
                value = planar_renyi(alpha, self.claim())
            case HockeyStick(exp_epsilon):
                value = planar_hockey_stick(exp_epsilon, self.claim())
            case TotalVariation():
                value = planar_hockey_stick(1.0, self.claim())
            case _:
                return None
        return self.closed_form(value, divergence, ((0.0, 0.0), (self.sensitivity, 0.0)))

    def radius(self, order: Renyi) -> Bound:
        """Secrets anywhere in a disc of radius r: ln(1 + εr + ε²r²/2) at order ∞, else a bracket."""
        reach = self.claim() / 2
        top = math.log1p(reach + reach**2 / 2)
        if math.isinf(order.alpha):
            return self.closed_form(top, order)
        low = two_point_capacity(order, _two_ends(self.claim()))
        uppers = [top, planar_renyi(order.alpha, reach), bounded_range_capacity(order, self.claim())]
        return bracket(order, [low], uppers)

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """For research, not for release: floats leak (Mironov 2012). Release with `PlanarGeometric`.

        A uniform angle and a radius of law Gamma(2, 1/ε); secrets and outputs have shape (n, 2).
        """
        x = as_points(secrets, 2, "PlanarLaplace.sample")
        angle, first, second = open_uniforms(3 * len(x), source).reshape(3, len(x))
        radius = -(np.log(first) + np.log(second)) / self.epsilon
        turn = 2.0 * np.pi * angle
        return np.asarray(x + radius[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Weak to strong, and one in other units."""
        return cls(1.0), cls(0.1), cls(math.log(4) / 200.0, 1000.0), cls(8.0)


def _scaled_bessel_k(c: float) -> tuple[float, float]:
    """e^c·K₀(c) and e^c·K₁(c): ∫₀^∞ e^(−c(cosh t − 1)) cosh(nt) dt by the trapezoid rule."""
    t = np.linspace(0.0, math.acosh(1.0 + 745.0 / c), 601)
    values = np.exp(-c * 2.0 * np.sinh(t / 2) ** 2) * t[1]
    values[0] *= 0.5
    return float(values.sum()), float((values * np.cosh(t)).sum())


def _density(theta: Floats, c: float) -> Floats:
    """The density of θ, whose privacy loss is 2c·cos θ."""
    k0, k1 = _scaled_bessel_k(c)
    weight = c * k1 + c * c * k0 * np.sin(theta) ** 2
    return np.asarray(np.exp(-2.0 * c * np.sin(theta / 2) ** 2) * weight / np.pi)


def planar_renyi(alpha: float, epsilon: float) -> float:
    """D_α between planar Laplace laws of rate 1 at distance ε.

    >>> planar_renyi(math.inf, 1.0)
    1.0
    """
    if math.isinf(alpha):
        return epsilon
    c, t = epsilon / 2, alpha - 1.0
    count = 128 + int(24 * math.sqrt(c * (1.0 + abs(2 * alpha - 1))))
    theta = np.linspace(0.0, np.pi / 2, count + 1)
    weights = np.full(count + 1, theta[1])
    weights[[0, -1]] *= 0.5
    # θ and π − θ together: their losses are L and −L, their masses p and p·e^−L.
    loss, mass = 2.0 * c * np.cos(theta), _density(theta, c) * weights
    if abs(t) * epsilon < 0.5:
        second = _exp_rest(t * loss) + np.exp(-loss) * _exp_rest(-t * loss)
        excess = (second / t if t else 0.0) - loss * np.expm1(-loss)
        total = float(mass @ excess)
        return math.log1p(t * total) / t if t else total
    logs = np.log(mass) + np.logaddexp(t * loss, -alpha * loss)
    return float(logsumexp(logs)) / t


def _exp_rest(x: Floats) -> Floats:
    """e^x − 1 − x for |x| ≤ ½, precise near zero."""
    total = np.zeros_like(x)
    for n in range(16, 2, -1):
        total = (total + 1.0) * x / n
    return np.asarray((total + 1.0) * x * x / 2)


def planar_hockey_stick(gamma: float, epsilon: float) -> float:
    """Σ(P − γQ)₊ between planar Laplace laws of rate 1 at distance ε.

    >>> planar_hockey_stick(math.e, 1.0)
    0.0
    """
    if gamma == 0.0:
        return 1.0
    t, c = math.log(gamma), epsilon / 2
    if t >= epsilon:
        return 0.0
    if t <= -epsilon:
        return 1.0 - gamma
    end = math.acos(t / epsilon)
    nodes, weights = np.polynomial.legendre.leggauss(64 + int(8 * math.sqrt(c)))
    theta = 0.5 * end * (nodes + 1.0)
    gain = -np.expm1(t - 2.0 * c * np.cos(theta))
    return float(0.5 * end * (weights @ (_density(theta, c) * gain)))


def _two_ends(epsilon: float) -> RowPair:
    """The secrets at two ends, their privacy loss seen through cells symmetric about zero."""
    c, cells = epsilon / 2, 256 + int(16 * math.sqrt(epsilon))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    width = np.pi / cells
    theta = width * (np.arange(cells)[:, None] + 0.5 * (nodes + 1.0))
    return mirrored(_density(theta, c) @ weights)
