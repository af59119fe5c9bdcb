"""Steps of Gaussian noise on Poisson samples: what all of them cost, exactly composed.

A person is in a step with probability q, unseen, and then moves what is released by at most the clip S; the
noise has standard deviation zS. Presence against absence is dominated by (1−q)·N(0,1) + q·N(1/z,1) against
N(0,1), step by step (Zhu, Dong & Wang 2022, theorem 11; Dong, Roth & Su 2022, theorem 3.2 for steps that are
chosen by what was seen), so that (ε, δ) comes from the composed loss and the Rényi curve from its moments.

Two contents of a person are two steps apart by way of absence, unless everybody is in every step: then they
are unit Gaussians at distance 2/z. By way of absence the curve obeys Mironov's (2017) weak triangle
inequality, D_α(P‖R) ≤ (α−½)/(α−1)·D_{2α}(P‖Q) + D_{2α−1}(Q‖R), and (ε, δ) follows from the curve alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from leakcap.accounting.loss import PrivacyLoss
from leakcap.bound import Bound
from leakcap.definition.theorems.renyi import epsilon_of_curve
from leakcap.errors import require
from leakcap.mechanism import Gaussian
from leakcap.numeric.rounding import float_down, float_up, up

__all__ = ["SampledSteps"]

_MOST_STEPS = 10**12
_LOUDEST = Fraction(1, 8)
"""Below this noise a step tells who was in it: that it was a sample is counted for nothing."""
_TOLERANCE = 1e-3
_ORDERS = (1.25, 1.5, 1.75, *range(2, 65), *range(72, 257, 8), *range(288, 1025, 32))
"""Among which (ε, δ) is looked for where the curve is all that is known."""


@dataclass(frozen=True)
class SampledSteps:
    """`steps` steps at sampling rate q with noise z = `noise_multiplier`, between neighbours.

    `replaced` asks about two contents of a person rather than about presence.

    >>> SampledSteps(Fraction(1), Fraction(1, 100), 1000).epsilon(1e-5).upper
    1.8282366...
    """

    noise_multiplier: Fraction
    rate: Fraction
    steps: int
    replaced: bool = False

    def __post_init__(self) -> None:
        owner = "SampledSteps"
        noise, rate, steps = self.noise_multiplier, self.rate, self.steps
        require(noise > 0, "noise_multiplier", owner, "be positive", noise)
        require(0 < rate <= 1, "rate", owner, "be a probability above 0", rate)
        require(1 <= steps <= _MOST_STEPS, "steps", owner, f"lie between 1 and {_MOST_STEPS:,}", steps)

    @cached_property
    def _presence(self) -> PrivacyLoss:
        """Of presence against absence; rounded so that it tells no less."""
        one = PrivacyLoss.of_mechanism(Gaussian(float_down(self.noise_multiplier)))
        if self.noise_multiplier >= _LOUDEST:
            one = one.sampled(float_up(self.rate))
        return one**self.steps

    @cached_property
    def loss(self) -> PrivacyLoss | None:
        """The loss that dominates neighbours'; None where no pair is known that does."""
        if not self.replaced:
            return self._presence
        if self.rate < 1:
            return None
        return PrivacyLoss.of_mechanism(Gaussian(float_down(self.noise_multiplier / 2))) ** self.steps

    @cached_property
    def _advantage(self) -> float:
        """No less than the best test's: steps' 2Φ(μ/2) − 1 < ⅖μ add up, and √(KL/2) bounds all (Pinsker)."""
        added = float_up(self.steps * self.rate / self.noise_multiplier * Fraction(2, 5))
        return (1 + self.replaced) * min(added, up(math.sqrt(self.presence(1.0) / 2.0), 4))

    def presence(self, alpha: float) -> float:
        """D_α between a person's presence and absence, the larger direction, in nats, rounded up; at an order
        below 1 that of order 1."""
        return _larger(self._presence, alpha)

    def contents(self, alpha: float) -> float:
        """D_α between two contents of a person, in nats, rounded up; at an order below 1 that of order 1."""
        if self.rate == 1:
            return up(4.0 * self.presence(alpha))
        if alpha <= 1.0:
            return self.contents(1.5)
        first = up((alpha - 0.5) / (alpha - 1.0), 4) * self.presence(2.0 * alpha)
        return up(first + self.presence(2.0 * alpha - 1.0), 4)

    def renyi(self, alpha: float) -> float:
        """D_α between neighbours, in nats, rounded up."""
        return self.contents(alpha) if self.replaced else self.presence(alpha)

    def epsilon(self, delta: float) -> Bound:
        """The least ε for this δ, in nats; no more than the curve proves where nothing else is known."""
        require(0 < delta < 1, "delta", "SampledSteps.epsilon", "lie in (0, 1)", delta)
        if self._advantage <= delta:
            return Bound.exact(0.0, method="total variation")
        if self.loss is not None:
            return self.loss.epsilon_both(delta, _TOLERANCE)
        curve = {alpha: self.renyi(alpha) for alpha in _ORDERS}
        return Bound(0.0, epsilon_of_curve(curve, delta), "Rényi curve")

    def keeps(self, epsilon: float, delta: float) -> bool:
        """Whether these steps are surely (ε, δ)-DP.

        >>> steps = SampledSteps(Fraction(1), Fraction(1, 100), 1000)
        >>> steps.keeps(1.82824, 1e-5), steps.keeps(1.8282, 1e-5)
        (True, False)
        """
        if self.loss is None or self._advantage <= delta:
            return epsilon >= self.epsilon(delta).upper
        return self.loss.keeps(epsilon, delta, _TOLERANCE)


def _larger(loss: PrivacyLoss, alpha: float) -> float:
    require(alpha > 0, "alpha", "SampledSteps", "be positive", alpha)
    order = max(alpha, 1.0)
    return max(loss.renyi(order).upper, loss.reverse.renyi(order).upper)
