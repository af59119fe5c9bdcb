"""Planar Laplace noise: geo-indistinguishability, with its privacy loss in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import require
from leakcap.mechanism.base import MAX_EPSILON, Laws, Mechanism, Outputs, as_points
from leakcap.mechanism.floats import open_uniforms
from leakcap.mechanism.levels import level_of_noise
from leakcap.mechanism.orders import best_of, bounded_range_capacity, two_point_capacity
from leakcap.numeric.enclosure import Digits, Interval, outward
from leakcap.numeric.logspace import Floats, logsumexp
from leakcap.numeric.rounding import down, up
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["PlanarLaplace"]

_ROUNDINGS = 256
"""Charged to a quadrature of positive terms: exponents, Bessel functions, weights and the sum."""
_STEEPEST = 1e7


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
        total = self.epsilon * self.sensitivity
        require(total <= MAX_EPSILON, "epsilon·sensitivity", "PlanarLaplace", "be at most 700", total)

    def channel(self) -> Channel:
        """Raises `InvalidParameter`: the output is a point of the plane."""
        self._no_channel("every ruler between neighbours, and Rényi orders over all priors")

    def claim(self) -> float:
        """epsilon·sensitivity, attained; rounded up where it is no double."""
        return self.promised()[1]

    def promised(self) -> tuple[float, float]:
        """The product, enclosed."""
        return outward(Fraction(self.epsilon) * Fraction(self.sensitivity))

    def diameter(self, divergence: Divergence) -> Bound | None:
        """Two secrets at the full distance: the noise is log-concave, so they dominate nearer ones."""
        secrets = (0.0, 0.0), (self.sensitivity, 0.0)
        match divergence:
            case Renyi(alpha) if math.isinf(alpha):
                return self._told(self.promised(), divergence, secrets)
            case Renyi(alpha):
                return self._told(planar_renyi(alpha, self.claim()), divergence, secrets)
            case HockeyStick(exp_epsilon):
                return self._told(planar_hockey_stick(exp_epsilon, self.claim()), divergence, secrets)
            case TotalVariation():
                return self._told(planar_hockey_stick(1.0, self.claim()), divergence, secrets)
        return None

    def radius(self, order: Renyi) -> Bound:
        """Secrets anywhere in a disc of radius r: ln(1 + εr + ε²r²/2) at order ∞, else a bracket."""

        def formula(digits: Digits) -> Interval:
            reach = digits.of(self.epsilon) * self.sensitivity / 2
            return (1 + reach + reach * reach / 2).log()

        top = self.closed_form(formula, order)
        if math.isinf(order.alpha):
            return top
        low = two_point_capacity(order, self._two_sides)
        middle = planar_renyi(order.alpha, self.claim() / 2)[1]
        return best_of(order, [low], [top.upper, middle, bounded_range_capacity(order, self.claim())])

    def _two_sides(self, digits: Digits) -> Laws:
        """The secrets at two ends, by whether an output lies nearer to the one or the other."""
        test = digits.of(planar_hockey_stick(1.0, self.promised()[0])[0])
        right, wrong = (1 + test) / 2, (1 - test) / 2
        return Laws((right, wrong), (wrong, right))

    def level(self, order: Renyi) -> Bound:
        """Between the radius of the same order and the least of the general bounds; ε at order ∞."""
        return level_of_noise(self, order)

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


def planar_renyi(alpha: float, epsilon: float) -> tuple[float, float]:
    """D_α between planar Laplace laws of rate 1 at distance ε, α < ∞, with the error of its quadrature.

    >>> low, high = planar_renyi(1.0, 1.0)
    >>> round(low, 9), high - low < 1e-12
    (0.228340692, True)
    """
    if alpha * epsilon > _STEEPEST:  # D_α increases in α, to ε
        return planar_renyi(_STEEPEST / epsilon, epsilon)[0], epsilon
    if alpha < 0.5:  # both directions are equal, so that (1−α)·D_α = α·D_{1−α}
        low, high = (alpha / (1.0 - alpha) * end for end in planar_renyi(1.0 - alpha, epsilon))
        return down(low, 4), up(high, 4)
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
        value = math.log1p(t * total) / t if t else total
    else:
        logs = np.log(mass) + np.logaddexp(t * loss, -alpha * loss)
        value = float(logsumexp(logs)) / t
    return down(value, _ROUNDINGS), min(up(value, _ROUNDINGS), epsilon)


def _exp_rest(x: Floats) -> Floats:
    """e^x − 1 − x for |x| ≤ ½, precise near zero."""
    total = np.zeros_like(x)
    for n in range(16, 2, -1):
        total = (total + 1.0) * x / n
    return np.asarray((total + 1.0) * x * x / 2)


def planar_hockey_stick(gamma: float, epsilon: float) -> tuple[float, float]:
    """Σ(P − γQ)₊ between planar Laplace laws of rate 1 at distance ε, with the error of its quadrature.

    >>> planar_hockey_stick(3.0, 1.0)
    (0.0, 0.0)
    """
    if gamma == 0.0:
        return 1.0, 1.0
    t, c = math.log(gamma), epsilon / 2
    if t > epsilon * (1.0 + 1e-15):
        return 0.0, 0.0
    if t < -epsilon * (1.0 + 1e-15):
        return outward(1 - Fraction(gamma))
    end = math.acos(min(max(t / epsilon, -1.0), 1.0))
    nodes, weights = np.polynomial.legendre.leggauss(64 + int(8 * math.sqrt(c)))
    theta = 0.5 * end * (nodes + 1.0)
    masses = 0.5 * end * weights * _density(theta, c)
    value = float(masses @ -np.expm1(t - 2.0 * c * np.cos(theta)))
    # The gain of an output errs by the roundings of its loss and of t, however small it is.
    error = 2.0**-53 * (2 * _ROUNDINGS * value + 16.0 * (abs(t) + epsilon) * float(masses.sum())) + 5e-324
    least = max(outward(1 - Fraction(gamma))[0], 0.0)
    return max(value - error, least), min(max(value + error, least), 1.0)
