"""What many noisy steps on random samples cost: a Rényi curve, kept as it is until somebody asks otherwise.

A step samples each person with probability q and releases the sum of integer vectors of length at most S plus
discrete Gaussian noise of variance σ². Given the sample of all others, P (the person in) and Q (out) are the
noise at two integer vectors Δ apart. For whole orders α

    E_Q[((1−q) + q·P/Q)^α] = Σ_j C(α,j)(1−q)^{α−j} q^j E_Q[(P/Q)^j],   E_Q[(P/Q)^j] = e^{j(j−1)‖Δ‖²/(2σ²)},

the last *exactly*, since jΔ is a lattice vector: the continuous Gaussian's formula of Mironov, Talwar & Zhang
holds for the discrete one in any dimension, where rotating to one dimension would not do. The other direction
is never worse: z ↦ Δ − z keeps the lattice and swaps P and Q, so E_Q f(r) = E_Q[r f(1/r)] for r = P/Q. With
a = 1−q+qr and c = 1−q+q/r it is enough that a^α − a^{1−α} ≥ r(c^{1−α} − c^α), that is √a·sinh(β ln a) ≥
r√c·sinh(β ln 1/c), β = α−½: equal at β = ½ because a + rc = 1 + r, and the quotient of the two grows with β
because ac ≥ 1. Both for r ≥ 1, which with the swap is all. Mixing over the others' sample is quasi-convex.

At order 1, with t = q(P/Q − 1), the divergence is E_Q[(1+t)ln(1+t)] ≤ E[t²]/2 − E[t³]/6 + E[t⁴]/3: what
(1+t)ln(1+t) exceeds t + t²/2 − t³/6 by is t⁴ times something that falls from 1/3 at t = −1. The moments are
exact by the same sum, and the bound grows with ‖Δ‖. Where everybody is in every step, αρ is all there is.

Source: Mironov, Talwar & Zhang 2019, theorems 4, 5 and section 3.3; Canonne, Kamath & Steinke 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from leakcap.capacities import gaussian_power_capacity
from leakcap.definition import ApproxDP, LevelCapacity, Neighbourhood, Relation, RenyiDP, convert
from leakcap.definition.information import Centre
from leakcap.errors import InvalidParameter, require
from leakcap.numeric import up

__all__ = ["RenyiCurve", "noise_multiplier_for"]

_LATTICE = 1e-12
"""Discrete Gaussian noise of two steps or more tells at most this part more than Gaussian noise."""

ORDERS: tuple[int, ...] = (*range(2, 65), *range(72, 257, 8), *range(288, 1025, 32))


@dataclass(frozen=True)
class RenyiCurve:
    """The guarantee of `steps` steps at sampling rate q and noise σ = `noise_multiplier`·S, per person.

    `replace` asks about two contents of a person rather than presence: by way of absence, or directly where
    everybody is in every step.

    >>> curve = RenyiCurve(noise_multiplier=1.0, rate=Fraction(1, 100), steps=1000, replace=False)
    >>> curve.at(8.0)
    RenyiDP(alpha=8.0, epsilon=0.8936..., neighbours='add-remove-one' of one row)
    >>> round(curve.epsilon(1e-5), 2)
    2.11
    """

    noise_multiplier: float
    rate: Fraction
    steps: int
    replace: bool

    def __post_init__(self) -> None:
        owner = "RenyiCurve"
        good = 1e-2 <= self.noise_multiplier <= 1e6
        require(good, "noise_multiplier", owner, "lie between 0.01 and 1e6", self.noise_multiplier)
        require(0 < self.rate <= 1, "rate", owner, "be a probability above 0", self.rate)
        require(self.steps >= 1, "steps", owner, "be at least 1", self.steps)

    @cached_property
    def _moments(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """(α−1)·D_α of all steps at each order, against absence, rounded up."""
        return np.array([self.steps * _one_step(k, self.rate, self.noise_multiplier) for k in ORDERS])

    def presence(self, alpha: float) -> float:
        """D_α between a person's presence and absence, in nats; ∞ beyond the largest order.

        Between whole orders by the convexity of (α−1)·D_α.
        """
        require(alpha > 0, "alpha", "RenyiCurve", "be positive", alpha)
        if self.rate == 1:
            return up(max(alpha, 1.0) * self.steps / (2.0 * self.noise_multiplier**2), 8)
        if alpha <= 1.0:
            return min(
                up(self.steps * _first_order(self.rate, self.noise_multiplier), 8), float(self._moments[0])
            )
        if alpha <= 2.0:
            return float(self._moments[0])
        if alpha > ORDERS[-1]:
            return math.inf
        return up(float(np.interp(alpha, ORDERS, self._moments)) / (alpha - 1.0), 16)

    def contents(self, alpha: float) -> float:
        """D_α between two contents of a person, in nats.

        (α−½)/(α−1)·D_{2α} + D_{2α−1}, by way of absence; 4αρ where everybody is in every step.
        Source: Mironov 2017, weak triangle inequality; Bun & Steinke 2016, proposition 1.9.
        """
        if self.rate == 1:
            return up(2.0 * max(alpha, 1.0) * self.steps / self.noise_multiplier**2, 8)
        if alpha <= 1.0:
            return self.contents(1.5)
        first = (alpha - 0.5) / (alpha - 1.0) * self.presence(2.0 * alpha)
        return up(first + self.presence(2.0 * alpha - 1.0), 16)

    def between_neighbours(self, alpha: float) -> float:
        """D_α between neighbours, in nats: two contents under replace-one, else presence and absence."""
        return self.contents(alpha) if self.replace else self.presence(alpha)

    @property
    def neighbours(self) -> Neighbourhood:
        """Which tables are neighbours: one person's contents, or presence."""
        return Neighbourhood(Relation.REPLACE_ONE if self.replace else Relation.ADD_REMOVE_ONE)

    def at(self, alpha: float) -> RenyiDP:
        """(α, ε)-Rényi differential privacy at one order, with its neighbourhood."""
        return RenyiDP(alpha, self.between_neighbours(alpha), neighbours=self.neighbours)

    def level(self, alpha: float) -> LevelCapacity:
        """The level-α capacity from one person's data to everything released, by Sibson's centre: at α = 1
        Shannon's.

        Whatever a person's content, and whichever of two relations counts, its answers are within
        `presence(alpha)` of those without the person. With the output's own marginal as the centre the
        capacity is the same at α = 1, and above it at most the Rényi divergence, `at(alpha)`.
        Source: Csiszár 1995, equation 25.
        """
        return LevelCapacity(alpha, self.presence(alpha), centre=Centre.SIBSON, neighbours=self.neighbours)

    def power_nats(self, dimensions: int) -> float:
        """At most what all steps tell about one person's data at order one, in nats, by Shannon and Hartley.

        In each step a person adds a vector of `dimensions` numbers no longer than the clip C, with
        probability q, so of power qC² at most: steps·d/2·ln(1 + q/(dz²)), z the noise multiplier. It looks at
        the length of what is added alone; `presence(1.0)` looks at how rarely, and is below it where q is
        small. Noise on a lattice tells a rounding more than noise on the reals.
        Source: Shannon 1949.

        >>> curve = RenyiCurve(noise_multiplier=0.5, rate=Fraction(1), steps=1, replace=False)
        >>> round(curve.power_nats(2), 6) == round(math.log(3.0), 6)
        True
        """
        ratio = up(float(self.rate) / self.noise_multiplier**2, 8)
        per_step = gaussian_power_capacity(1.0, ratio, dimensions).upper
        return up(self.steps * per_step, 8) * (1.0 + _LATTICE)

    def epsilon(self, delta: float) -> float:
        """ε at this δ, from the best order. Source: Canonne, Kamath & Steinke 2020, proposition 12."""
        require(0 < delta < 1, "delta", "RenyiCurve.epsilon", "lie in (0, 1)", delta)

        def simple(alpha: float) -> float:
            return (
                self.between_neighbours(alpha)
                + (-math.log(delta * alpha)) / (alpha - 1)
                + math.log1p(-1 / alpha)
            )

        orders = [1.25, 1.5, 1.75, *map(float, ORDERS)]
        best = min(orders, key=simple)
        level = self.between_neighbours(best)
        if math.isinf(level):
            raise InvalidParameter(
                f"`delta` of `RenyiCurve.epsilon` is out of reach of its orders. Got {delta!r}."
            )
        tight = convert(RenyiDP(best, level), ApproxDP, delta=delta).epsilon
        return max(0.0, min(up(simple(best), 16, 1.0), up(tight, 16, 1.0)))


def _first_order(rate: Fraction, noise: float) -> float:
    """A bound on E_Q[r ln r], r = 1 − q + qP/Q, rounded up; ∞ where doubles do not hold it."""
    q, rho = float(rate), 0.5 / noise**2
    if rho > 1.0:
        return math.inf
    two, six, twelve = (math.expm1(k * rho) for k in (2.0, 6.0, 12.0))
    # Σ C(k,j)(−1)^{k−j}(e^{j(j−1)ρ} − 1) for k = 2, 3, 4: ones add up to nothing.
    bound = q**2 * two / 2 - q**3 * (six - 3 * two) / 6 + q**4 * (twelve - 4 * six + 6 * two) / 3
    return bound + 2.0**-46 * (q**2 * two + q**3 * (six + two) + q**4 * (twelve + six + two))


def _one_step(order: int, rate: Fraction, noise: float) -> float:
    """ln E_Q[((1−q) + qP/Q)^α] for a whole order, rounded up."""
    rho = 0.5 / noise**2
    if rate == 1:
        return up(order * (order - 1) * rho, 8)
    j = np.arange(order + 1, dtype=np.float64)
    log_binomial = np.array(
        [math.lgamma(order + 1) - math.lgamma(i + 1) - math.lgamma(order - i + 1) for i in range(order + 1)]
    )
    log_q, log_rest = math.log(rate), math.log1p(-float(rate))
    terms = log_binomial + j * log_q + (order - j) * log_rest
    # Σ of the binomial weights is 1: what exceeds it is Σ weight·(e^{j(j−1)ρ} − 1), which keeps its digits.
    growth = j * (j - 1.0) * rho
    logs = terms[2:] + np.where(growth[2:] > 1e-8, np.log(np.expm1(np.minimum(growth[2:], 700.0))), 0.0)
    logs = np.where(growth[2:] > 700.0, terms[2:] + growth[2:], logs)
    logs = np.where(growth[2:] <= 1e-8, terms[2:] + np.log(growth[2:] * (1.0 + 1e-8)), logs)
    top = float(logs.max())
    excess = math.log(float(np.exp(logs - top).sum())) + top
    total = math.log1p(math.exp(excess)) if excess < 30.0 else excess + math.log1p(math.exp(-excess))
    # lgamma and the exponents carry errors in proportion to the largest logarithm on the way.
    size = float(np.abs(log_binomial).max() + order * abs(log_q) + np.abs(growth).max())
    return total * (1.0 + 1e-12) + min(total, 1.0) * size * 2.0**-48


def noise_multiplier_for(
    *, epsilon: float, delta: float, rate: Fraction, steps: int, replace: bool = False
) -> float:
    """The least noise multiplier, to one part in 10⁴, at which so many steps keep (ε, δ).

    The noise has the standard deviation σ = multiplier·S, S the longest gradient (the clip). Raises
    `InvalidParameter` where ε is not positive, or so small that no multiplier up to 5·10⁵ keeps it.

    >>> z = noise_multiplier_for(epsilon=2.0, delta=1e-5, rate=Fraction(1, 100), steps=1000)
    >>> 0.95 < z < 1.05
    True
    """
    require(0 < epsilon < math.inf, "epsilon", "noise_multiplier_for", "be positive and finite", epsilon)

    def keeps(noise: float) -> bool:
        return RenyiCurve(noise, rate, steps, replace).epsilon(delta) <= epsilon

    low, high = 0.05, 0.1
    while not keeps(high):
        require(high < 5e5, "epsilon", "noise_multiplier_for", "be within reach", epsilon)
        low, high = high, 2.0 * high
    while high > low * 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high
