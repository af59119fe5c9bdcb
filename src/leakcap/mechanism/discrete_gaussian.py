"""Discrete Gaussian noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.adversary import Adversary, AllPriors, GivenPrior
from leakcap.bound import Bound
from leakcap.capacities.verb import solve
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import require
from leakcap.mechanism.base import Mechanism, Outputs, as_secrets
from leakcap.mechanism.coins import printed
from leakcap.mechanism.orders import bracket, mirrored, two_point_capacity
from leakcap.numeric.logspace import Floats, logsumexp
from leakcap.numeric.rounding import down, up
from leakcap.sampling import ByteSource, discrete_gaussian, system_bytes

__all__ = ["DiscreteGaussian"]

_REACH = 12.5
"""Standard deviations of the window: less than 10^−33 lies beyond."""
_LARGEST = 1 << 22
"""Entries of the largest window."""
_SUMMED = 1e5
"""Hockey-sticks are summed term by term up to this standard deviation."""


@dataclass(frozen=True)
class DiscreteGaussian(Mechanism):
    """Integer secrets plus noise P(z) ∝ e^(−z²/(2σ²)); (Δ²/(2σ²))-zCDP for the sensitivity Δ.

    `sensitivity` is the distance of the farthest secrets. No ε holds with δ = 0.
    Source: Canonne, Kamath & Steinke 2020.

    >>> DiscreteGaussian(2.0).diameter(Renyi(3)).upper
    0.375
    """

    sigma: float | Fraction
    sensitivity: int = 1

    source: ClassVar[str] = "Canonne, Kamath & Steinke 2020"

    def __post_init__(self) -> None:
        owner = "DiscreteGaussian"
        require(1e-3 <= self.sigma <= 1e12, "sigma", owner, "lie between 0.001 and 10^12", self.sigma)
        whole = isinstance(self.sensitivity, int) and self.sensitivity >= 1
        require(whole, "sensitivity", owner, "be an integer of at least 1", self.sensitivity)

    @property
    def rho(self) -> float:
        """Its zero-concentrated privacy, sensitivity²/(2σ²)."""
        return (self.sensitivity / float(self.sigma)) ** 2 / 2

    def channel(self) -> Channel:
        """Raises `InvalidParameter`: every output has its own likelihood ratio. See `window`."""
        self._no_channel("every ruler between neighbours, Rényi orders over priors")

    def window(self) -> Channel | None:
        """Secrets 0, …, sensitivity and outputs up to 12.5σ beyond them; None if that is too large.

        Less than 10^−33 of the mass is left out, so capacities agree to double precision.

        >>> DiscreteGaussian(1.0).window().shape
        (2, 28)
        """
        beyond, n = math.ceil(_REACH * float(self.sigma)), self.sensitivity
        if (n + 1) * (n + 1 + 2 * beyond) > _LARGEST:
            return None
        y, x = np.arange(-beyond, n + beyond + 1), np.arange(n + 1)
        rows = np.exp(-(((y - x[:, None]) / float(self.sigma)) ** 2) / 2)
        return Channel(rows / rows.sum(axis=1, keepdims=True), inputs=x.tolist(), outputs=y.tolist())

    def exact(self, divergence: Divergence, adversary: Adversary) -> Bound | None:
        """Priors through the window, widened by what it may lose."""
        if not isinstance(adversary, (AllPriors, GivenPrior)) or not isinstance(divergence, Renyi):
            return super().exact(divergence, adversary)
        if isinstance(adversary, AllPriors) and math.isinf(divergence.alpha):
            return self._maximal_leakage(divergence)
        window = self.window()
        if window is None:
            return self._bracket(divergence) if isinstance(adversary, AllPriors) else None
        found = solve(adversary, window, divergence)
        low, high = down(found.lower, 64), up(found.upper, 64)
        method = f"{found.method}, outputs beyond 12.5σ left out"
        return replace(found, lower=low, upper=high + 1e-30, method=method)

    def _bracket(self, order: Renyi) -> Bound:
        """Without a window: the best test of the ends from below, noise about the midpoint from above."""
        test = self._hockey_stick(1.0)
        crossover = 0.5 * (1.0 - test.lower)
        low = two_point_capacity(order, mirrored(np.array([1.0 - crossover, crossover])))
        centre = order.alpha * (math.ceil(self.sensitivity / 2) / float(self.sigma)) ** 2 / 2
        return bracket(order, [low], [centre, self._maximal_leakage(Renyi(math.inf)).upper])

    def _maximal_leakage(self, order: Renyi) -> Bound:
        weight = 1.0 / _weight_sum(float(self.sigma))
        return self.closed_form(math.log1p(self.sensitivity * weight), order)

    def diameter(self, divergence: Divergence) -> Bound | None:
        """αρ plus a term that vanishes at whole (α−1)·sensitivity; ρ at order 1; hockey-stick by its sum.

        D_α = αΔ²/(2σ²) + ln(θ((α−1)Δ)/θ(0))/(α−1) with θ(f) = Σ_y e^(−(y−f)²/(2σ²)).
        Source: Canonne, Kamath & Steinke 2020, proposition 5 and theorem 7.
        """
        match divergence:
            case Renyi(alpha):
                return self.closed_form(self._renyi(alpha), divergence, (0, self.sensitivity))
            case HockeyStick(exp_epsilon):
                return self._hockey_stick(exp_epsilon)
            case TotalVariation():
                return self._hockey_stick(1.0)
        return None

    def _renyi(self, alpha: float) -> float:
        t = alpha - 1.0
        whole = alpha * self.rho
        if t == 0.0 or math.isinf(whole):
            return whole
        shift = math.remainder(t * self.sensitivity, 1.0)
        return whole + _log_theta_ratio(shift, float(self.sigma)) / t

    def _hockey_stick(self, gamma: float) -> Bound:
        """Σ_{y ≤ last} P(y)(1 − γ·e^−L(y)), L = Δ(Δ − 2y)/(2σ²): the terms are those above zero."""
        sigma, n = float(self.sigma), self.sensitivity
        ruler, witness = HockeyStick(gamma), (0, n)
        if gamma == 0.0:
            return self.closed_form(1.0, ruler, witness)
        t = math.log(gamma)
        edge = n / 2 - sigma * (sigma * t / n)
        if sigma > _SUMMED:
            return self._by_distribution_function(gamma, edge)
        top = min(edge, 40.0 * sigma + n + 1)
        y = math.ceil(top) - np.arange(0.0, min(40.0 * sigma, top + 40.0 * sigma) + 2.0)
        loss = n * (n - 2.0 * y) / (2.0 * sigma**2)
        gain = -np.expm1(np.minimum(t - loss, 0.0))
        value = float(np.exp(-((y / sigma) ** 2) / 2) @ gain) / _weight_sum(sigma)
        return self.closed_form(value, ruler, witness)

    def _by_distribution_function(self, gamma: float, edge: float) -> Bound:
        """For a wide law: sums up to `last` are Φ((last + ½)/σ) to within 1/(8σ²).

        The midpoint rule errs by ∫|f''|/8 at most, which is 4·max|f'|/8 < 0.31/σ, over Σf > 2.5σ.
        """
        sigma, n = float(self.sigma), self.sensitivity
        cut = math.ceil(edge) - 0.5
        p, q = (0.5 * math.erfc(-z / (sigma * math.sqrt(2.0))) for z in (cut, cut - n))
        value, slack = p - gamma * q, (1.0 + gamma) * (0.125 / sigma**2 + 1e-15)
        method = "normal distribution function, with the error of the midpoint rule"
        low = max(value - slack, 1.0 - gamma, 0.0)
        high = min(max(value + slack, 0.0), p + 0.125 / sigma**2 + 1e-15, 1.0)
        return Bound(min(low, high), high, method, self.source, "probability", (0, n))

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact: secrets of any size plus discrete Gaussian noise for the decimal that sigma prints as."""
        x = as_secrets(secrets, None, None, "DiscreteGaussian.sample")
        return np.asarray(x + discrete_gaussian(printed(self.sigma) ** 2, x.size, source))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Weak to strong, coarse and fine, a longer shift."""
        return cls(1.0), cls(0.4), cls(10.0), cls(Fraction(5, 2), 3), cls(30.0, 1)


def _weight_sum(sigma: float) -> float:
    """Σ e^(−z²/(2σ²)) over the integers; by Poisson's summation where σ is not small."""
    if sigma >= 1.0:
        q = -2.0 * (math.pi * sigma) ** 2
        return sigma * math.sqrt(2 * math.pi) * (1.0 + 2.0 * math.exp(q) + 2.0 * math.exp(4 * q))
    z = np.arange(1.0, 41.0)
    return 1.0 + 2.0 * float(np.sum(np.exp(-((z / sigma) ** 2) / 2)))


def _log_theta_ratio(shift: float, sigma: float) -> float:
    """ln θ(shift)/θ(0) ≤ 0 for |shift| ≤ ½.

    With q = e^(−2π²σ²) it is ln(1 − 4Σ q^(k²) sin²(πk·shift)/θ*), which loses no digits near shift 0.
    """
    k = np.arange(1.0, 2.0 + 7.0 / sigma)
    q: Floats = np.exp(-2.0 * (math.pi * sigma * k) ** 2)
    drop = 4.0 * float(q @ np.sin(math.pi * k * shift) ** 2) / (1.0 + 2.0 * float(q.sum()))
    if drop < 0.9:
        return math.log1p(-drop)
    z = np.arange(-40.0, 41.0)
    return float(logsumexp(-(((z - shift) / sigma) ** 2) / 2) - logsumexp(-((z / sigma) ** 2) / 2))
