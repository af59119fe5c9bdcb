"""The laws of slots with Gaussian noise: answers with discrete Gaussian noise, and gradient descents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from leakcap.errors import require
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.lattice_gaussian import narrowed, on_a_fine_grid
from leakcap.ledger.measured import gaussian_distance, steps_of
from leakcap.ledger.slot_laws import SlotLaw, in_steps
from leakcap.ledger.steps import GaussianSteps, accounted, sampling_rate
from leakcap.ledger.ticks import Ticks, decimal, spend_ticks, units
from leakcap.numeric import down, float_up, up

if TYPE_CHECKING:
    from leakcap.accounting import PrivacyLoss

__all__ = ["GaussianNoise", "PlannedDescent"]

_MOST_STEPS = 10**9


@dataclass(frozen=True)
class GaussianNoise(SlotLaw):
    """Discrete Gaussian noise with ρ at most `size` and L2 sensitivity at least `steps` grid steps.

    Up to a negligible δ an answer is a function of continuous Gaussian noise of slightly smaller variance.
    """

    size: float
    steps: int
    nearly: ClassVar[bool] = True

    @cached_property
    def narrow(self) -> Fraction:
        """The ρ of the Gaussian noise that every answer is a function of."""
        steps = Fraction(self.steps) ** 2
        found = narrowed(steps / (2 * Fraction(repr(self.size))), steps)
        assert found is not None
        return found

    @property
    def event(self) -> dict[str, Any]:
        """ρ-zCDP."""
        return {"name": "ZCDpEvent", "rho": Fraction(repr(self.size))}

    @property
    def loss(self) -> PrivacyLoss:
        """Of that Gaussian noise."""
        from leakcap.accounting import PrivacyLoss
        from leakcap.mechanism import Gaussian

        return PrivacyLoss.of_mechanism(Gaussian(down(1 / math.sqrt(2 * float(self.narrow)), 8)))

    @property
    def epsilon(self) -> float:
        """None without a δ."""
        return math.inf

    @cached_property
    def curve(self) -> tuple[float, ...]:
        """αρ."""
        return tuple(float_up(Fraction(str(order)) * self.narrow) for order in ORDERS)

    def level(self, alpha: float) -> float:
        """4αρ."""
        return up(4 * alpha * float_up(self.narrow), 4)

    def admits(self, own: Ticks, event: str) -> bool:
        """Discrete Gaussian noise that hides as much, or an ε so small that such noise tells no less."""
        most = spend_ticks(self.size)
        if own.delta != 0 or own.rho is None or most is None or own.rho > most:
            return False
        found = gaussian_distance(event) if event else None
        return self.hides(own.epsilon) or (found is not None and found <= self.narrow)

    def hides(self, epsilon: int | None) -> bool:
        """Whether Gaussian noise hides no more than any answer of this ε: a coin flip about randomised
        response, whose trade-off curve has one corner, is guessed no more often."""
        if epsilon is None:
            return False
        mu = down(math.sqrt(2 * float(self.narrow)), 4)
        return up(math.tanh(units(epsilon) / 2), 8) <= down(math.erf(mu / math.sqrt(8)), 8)

    @property
    def content(self) -> dict[str, Any]:
        """ρ and steps."""
        return {"rho": self.size, "noise": "gaussian", "steps": self.steps}

    @property
    def offered(self) -> str:
        """ρ."""
        return f"ρ {self.size:g}"

    @property
    def text(self) -> str:
        """ρ and the noise."""
        return f"{self.offered} at most with Gaussian noise of {in_steps(self.steps)}"

    @property
    def limits(self) -> str:
        """Such noise."""
        least = f"over {self.steps:,} steps or more"
        return f"discrete Gaussian noise that has {self.offered} at most and no δ, {least}"

    def asked(self, own: Ticks, event: str) -> str:
        """ε and ρ."""
        said = "what has no ε" if own.epsilon is None else f"ε {decimal(own.epsilon)}"
        said += " and no ρ" if own.rho is None else f" and ρ {decimal(own.rho)}"
        return said + (f" and δ {units(own.delta):g}" if own.delta else "")


@dataclass(frozen=True)
class PlannedDescent(SlotLaw):
    """A gradient descent as `PrivateGradientDescent` runs it: `steps` steps, Gaussian noise, Poisson samples.

    A descent with fewer steps, more noise or a smaller rate is a function of it: leave steps out, add noise,
    and replace some samples by noise without the person. It compares presence with absence. With `replaced`
    it compares two contents of a person, who is then in every step (`sample_rate` 1), since no pair is known
    that dominates samples of two contents.

    >>> PlannedDescent(noise_multiplier=1.1, sample_rate=Fraction(256, 50_000), steps=11_760).offered
    '11,760 steps of noise 1.1 at rate 0.00512'
    """

    noise_multiplier: float
    sample_rate: Fraction | float | str
    steps: int
    replaced: bool = False
    nearly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        owner = "PlannedDescent"
        noise, steps = self.noise_multiplier, self.steps
        good = isinstance(noise, Real) and not isinstance(noise, bool) and 1e-2 <= noise <= 1e6
        require(good, "noise_multiplier", owner, "lie between 0.01 and 1e6", noise)
        object.__setattr__(self, "noise_multiplier", float(noise))
        require(isinstance(self.replaced, bool), "replaced", owner, "be True or False", self.replaced)
        rate, rule = _rate(self.sample_rate), "be a probability of 10⁻⁶ or more, as a float, fraction or text"
        remedy = ""
        if self.replaced:
            rule, remedy = "be 1", "Samples of two contents have no pair that is known to dominate them."
        good = rate is not None and (rate == 1 if self.replaced else 0 < rate <= 1)
        require(good, "sample_rate", owner, rule, self.sample_rate, remedy)
        object.__setattr__(self, "sample_rate", rate)
        whole = isinstance(steps, int) and not isinstance(steps, bool) and 1 <= steps <= _MOST_STEPS
        require(whole, "steps", owner, f"be a whole number from 1 to {_MOST_STEPS:,}", steps)

    @property
    def rate(self) -> Fraction:
        """The sampling rate, as a descent takes it."""
        assert isinstance(self.sample_rate, Fraction)
        return self.sample_rate

    @cached_property
    def dominating(self) -> GaussianSteps:
        """The continuous noise that the integers' noise is a function of: between presence and absence, or,
        with half the multiplier, between two contents of somebody who is in every step."""
        noise = on_a_fine_grid(Fraction(self.noise_multiplier))
        return GaussianSteps(noise / 2 if self.replaced else noise, self.rate, self.steps, False)

    @property
    def event(self) -> dict[str, Any]:
        """Those steps."""
        return self.dominating.event

    @property
    def loss(self) -> PrivacyLoss:
        """All steps composed."""
        found = accounted(self.dominating).loss
        assert found is not None  # the steps are between presence and absence
        return found

    @property
    def epsilon(self) -> float:
        """None without a δ."""
        return math.inf

    @cached_property
    def curve(self) -> tuple[float, ...]:
        """From the moments of a step, both directions."""
        return tuple(map(accounted(self.dominating).renyi, ORDERS))

    def level(self, alpha: float) -> float:
        """By way of absence; two contents of somebody who is in every step directly."""
        known = accounted(self.dominating)
        return known.presence(alpha) if self.replaced else known.contents(alpha)

    def admits(self, own: Ticks, event: str) -> bool:
        """Steps of at least as much noise, at most as many, and as often; whatever δ they are charged at."""
        found = steps_of(event) if event else None
        return (
            found is not None
            and not found.replaced
            and found.noise >= self.dominating.noise
            and found.rate <= self.rate
            and found.count <= self.steps
        )

    @property
    def content(self) -> dict[str, Any]:
        """Noise, rate and steps, and the relation."""
        told: dict[str, Any] = {"noise_multiplier": self.noise_multiplier, "steps": self.steps}
        told |= {"sample_rate": str(self.rate)} | ({"replaced": True} if self.replaced else {})
        return {"descent": told}

    @property
    def offered(self) -> str:
        """Steps, noise and rate."""
        return f"{self.steps:,} steps of noise {self.noise_multiplier:g} at rate {float(self.rate):g}"

    @property
    def limits(self) -> str:
        """Such descents."""
        return (
            f"gradient descents of {self.steps:,} steps at most, with a noise multiplier of "
            f"{self.noise_multiplier:g} or more and a sample rate of {self.rate} or less"
        )

    def asked(self, own: Ticks, event: str) -> str:
        """Steps, noise and rate, where they are known."""
        found = steps_of(event) if event else None
        if found is None:
            return "something else"
        said = f"{found.count:,} steps of noise {float(found.noise):.12g} at rate {found.rate}"
        return f"{said} between two contents of a person" if found.replaced else said


def _rate(value: object) -> Fraction | None:
    try:
        return sampling_rate(value) if isinstance(value, Real | str) and not isinstance(value, bool) else None
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None
