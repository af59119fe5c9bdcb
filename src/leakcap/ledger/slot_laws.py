"""The laws that a slot of a plan may have: what each of its answers is a function of, and what that tells.

Another law is a class, and a way to say it in `Slot`. A plan is composed, charged and verified from what its
laws say of themselves. Those of Gaussian noise stand in `gaussian_laws`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.ledger.implied import implied_person, renyi_of_pure
from leakcap.ledger.measured import laplace_distance, rho_of
from leakcap.ledger.ticks import Ticks, decimal, spend_ticks, units
from leakcap.ledger.values import event_text, pure_event
from leakcap.numeric import float_up, up

if TYPE_CHECKING:
    from leakcap.accounting import PrivacyLoss

__all__ = ["AnyPure", "LaplaceNoise", "SlotLaw", "in_steps"]


@dataclass(frozen=True)
class SlotLaw(ABC):
    """What every answer of a slot is a function of, and of nothing else about the unit."""

    nearly: ClassVar[bool] = False
    """Whether that holds only up to a negligible δ, as it does for Gaussian noise on integers."""

    @property
    @abstractmethod
    def event(self) -> dict[str, Any]:
        """What dominates an answer, as an event."""

    @property
    @abstractmethod
    def loss(self) -> PrivacyLoss:
        """The pair of laws that every answer is a function of."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The ε of an answer; ∞ where it has none without a δ."""

    @property
    @abstractmethod
    def curve(self) -> tuple[float, ...]:
        """The Rényi divergence of an answer at the ledger's orders, in nats, rounded up."""

    @property
    def person(self) -> float:
        """At most what an answer tells about one person, in nats."""
        return min(implied_person(self.epsilon, 0.0), self.curve[0])

    @abstractmethod
    def level(self, alpha: float) -> float:
        """D_α between any two contents of a unit, which may be two steps apart."""

    @property
    def rho(self) -> float:
        """ρ of zero-concentrated privacy, rounded up."""
        return float_up(rho_of(event_text(self.event)))

    @abstractmethod
    def admits(self, own: Ticks, event: str) -> bool:
        """Whether an answer at this price, with this event, is a function of what the slot has."""

    @property
    @abstractmethod
    def content(self) -> dict[str, Any]:
        """What tells it from other laws, as the chain keeps it."""

    @property
    @abstractmethod
    def offered(self) -> str:
        """What each answer has at most, as a phrase."""

    @property
    def text(self) -> str:
        """What each answer is, as a phrase."""
        return f"{self.offered} at most"

    @property
    @abstractmethod
    def limits(self) -> str:
        """What is admitted, as a phrase."""

    def asked(self, own: Ticks, event: str) -> str:
        """What an answer asks for, in the words of this law."""
        said = "what has no ε" if own.epsilon is None else f"ε {decimal(own.epsilon)}"
        return said + (f" and δ {units(own.delta):g}" if own.delta else "")


@dataclass(frozen=True)
class AnyPure(SlotLaw):
    """Any ε-DP answer: a function of randomised response (Kairouz, Oh & Viswanath 2015, theorem 3.4)."""

    size: float

    @property
    def event(self) -> dict[str, Any]:
        """Of ε alone."""
        return pure_event(Fraction(repr(self.size)))

    @property
    def loss(self) -> PrivacyLoss:
        """Randomised response."""
        from leakcap.accounting import dominating_loss
        from leakcap.definition import PureDP

        return dominating_loss(PureDP(up(self.size, 4)))

    @property
    def epsilon(self) -> float:
        """As it was given."""
        return self.size

    @cached_property
    def curve(self) -> tuple[float, ...]:
        """Of randomised response."""
        return curve_of_pure(self.size)

    def level(self, alpha: float) -> float:
        """Two contents are at most 2ε apart."""
        return renyi_of_pure(2 * self.size, alpha)

    def admits(self, own: Ticks, event: str) -> bool:
        """Every answer without a δ whose ε is no larger."""
        most = spend_ticks(self.size)
        return own.delta == 0 and own.epsilon is not None and most is not None and own.epsilon <= most

    @property
    def content(self) -> dict[str, Any]:
        """ε."""
        return {"epsilon": self.size}

    @property
    def offered(self) -> str:
        """ε."""
        return f"ε {self.size:g}"

    @property
    def limits(self) -> str:
        """Anything of that ε."""
        return f"what has {self.offered} at most and no δ"


@dataclass(frozen=True)
class LaplaceNoise(AnyPure):
    """Discrete Laplace noise with ε at most `size` and sensitivity at least `steps` grid steps: a function of
    Laplace noise at a distance of ε + ε²/(4·steps) scales."""

    steps: int

    @property
    def distance(self) -> Fraction:
        """That of the law which dominates an answer, in scales."""
        epsilon = Fraction(repr(self.size))
        return epsilon + epsilon**2 / (4 * self.steps)

    @property
    def event(self) -> dict[str, Any]:
        """Laplace noise at that distance."""
        return {"name": "LaplaceDpEvent", "noise_multiplier": 1 / self.distance}

    @property
    def loss(self) -> PrivacyLoss:
        """Of Laplace noise at that distance."""
        from leakcap.accounting import PrivacyLoss
        from leakcap.mechanism import Laplace

        return PrivacyLoss.of_mechanism(Laplace(1 / up(float_up(self.distance), 2)))

    @cached_property
    def curve(self) -> tuple[float, ...]:
        """Of Laplace noise, no more than ε allows."""
        pure = curve_of_pure(self.size)
        return tuple(min(self.loss.renyi(at).upper, most) for at, most in zip(ORDERS, pure, strict=True))

    def admits(self, own: Ticks, event: str) -> bool:
        """Discrete Laplace noise of no larger ε, with as many steps or more."""
        far = laplace_distance(event) if event else None
        return super().admits(own, event) and far is not None and far <= self.distance

    @property
    def content(self) -> dict[str, Any]:
        """ε and steps."""
        return {"epsilon": self.size, "noise": "laplace", "steps": self.steps}

    @property
    def text(self) -> str:
        """ε and the noise."""
        return f"{self.offered} at most with Laplace noise of {in_steps(self.steps)}"

    @property
    def limits(self) -> str:
        """Such noise."""
        least = f"over {self.steps:,} steps or more"
        return f"discrete Laplace noise that has {self.offered} at most and no δ, {least}"


def in_steps(count: int) -> str:
    """So many steps of a grid, as a phrase.

    >>> in_steps(1), in_steps(1000)
    ('1 step', '1,000 steps')
    """
    return f"{count:,} step{'s' * (count != 1)}"
