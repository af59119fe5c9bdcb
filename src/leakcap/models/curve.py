"""What many noisy steps on random samples cost: kept as curves, until somebody asks otherwise.

A step samples each person with probability q and releases the sum of integer vectors of length at most S plus
discrete Gaussian noise of variance z²S². On a grid so fine (S is 64,513 steps or more) that noise is all but
exactly what somebody makes of *continuous* Gaussian noise of variance z'²S², z'² = z² − 2⁻²⁸, who knows no
data: the likelihoods of all steps together differ by a factor of 1 ± 10⁻¹⁰⁰ at most. So a run costs what
`SampledSteps` of noise z' cost. The proof is in `docs/theory/accounting.md`, "Noise on a grid".

Source: Peikert 2010, theorem 3.1 (noise on a grid by rounding at random); Mironov, Talwar & Zhang 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from leakcap.accounting import SampledSteps
from leakcap.capacities import gaussian_power_capacity
from leakcap.definition import LevelCapacity, Neighbourhood, Relation, RenyiDP
from leakcap.definition.information import Centre
from leakcap.errors import require
from leakcap.ledger.lattice_gaussian import on_a_fine_grid
from leakcap.ledger.steps import GaussianSteps
from leakcap.ledger.values import event_text
from leakcap.numeric import short_up, up
from leakcap.numeric.search import doubled_until, last_where

__all__ = ["RenyiCurve", "noise_multiplier_for"]

_LATTICE = 1e-12
"""Discrete Gaussian noise of two steps or more tells at most this part more than Gaussian noise."""
_NARROWER = 1 - 2.0**-50
"""Of δ: what the factor 1 + 10⁻¹⁰⁰ may take, and far more."""
_EPSILON_DIGITS = 6
_LEAST, _MOST = 0.05, 5e5
"""The range in which a noise multiplier is searched for."""


@dataclass(frozen=True)
class RenyiCurve:
    """The guarantee of `steps` steps at sampling rate q and noise σ = `noise_multiplier`·S, per person.

    `replace` asks about two contents of a person rather than presence: by way of absence, or directly where
    everybody is in every step.

    >>> curve = RenyiCurve(noise_multiplier=1.0, rate=Fraction(1, 100), steps=1000, replace=False)
    >>> curve.at(8.0)
    RenyiDP(alpha=8.0, epsilon=0.8936..., neighbours='add-remove-one' of one row)
    >>> round(curve.epsilon(1e-5), 4)
    1.8282
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
    def _steps(self) -> SampledSteps:
        """Steps of continuous noise that tell no less."""
        noise = on_a_fine_grid(Fraction(self.noise_multiplier))
        return SampledSteps(noise, self.rate, self.steps, self.replace)

    @property
    def event(self) -> str:
        """What an auditor computes the guarantee from, see `docs/ledger.md`; its noise is z', rounded down.

        >>> RenyiCurve(2.0, Fraction(1), 1, replace=False).event
        '{"name":"GaussianDpEvent","noise_multiplier":"499999999767/250000000000"}'
        """
        noise = self._steps.noise_multiplier
        return event_text(GaussianSteps(noise, self.rate, self.steps, self.replace).event)

    def presence(self, alpha: float) -> float:
        """D_α between a person's presence and absence, in nats; below order 1 that of order 1."""
        return short_up(self._steps.presence(alpha))

    def contents(self, alpha: float) -> float:
        """D_α between two contents of a person, in nats, by way of absence; directly where everybody is in
        every step."""
        return short_up(self._steps.contents(alpha))

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
        """The least ε for this δ, of all steps composed exactly; under replace-one what the curve proves,
        unless everybody is in every step."""
        require(0 < delta < 1, "delta", "RenyiCurve.epsilon", "lie in (0, 1)", delta)
        return short_up(up(self._steps.epsilon(delta * _NARROWER).upper), _EPSILON_DIGITS)


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

    low, high = doubled_until(keeps, 2.0 * _LEAST, _MOST)
    require(high <= _MOST, "epsilon", "noise_multiplier_for", "be within reach", epsilon)
    return last_where(keeps, high, max(low, _LEAST), width=1e-4)[0]
