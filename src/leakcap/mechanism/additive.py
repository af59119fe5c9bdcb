"""What noise on integers has in common: one law, whatever the integers are."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

from leakcap.arrays import NDArray
from leakcap.bound import Bound
from leakcap.mechanism.base import Mechanism
from leakcap.sampling import ByteSource

__all__ = ["AdditiveNoise"]


class AdditiveNoise(Mechanism):
    """Integers plus noise of a symmetric law on the integers, of its own for each.

    Everything that is said of it is about the noise alone: how it is drawn, how far it goes, and what it
    shows of vectors that lie so far apart.
    """

    label: ClassVar[str]
    """The law's name."""

    @property
    @abstractmethod
    def width(self) -> Fraction:
        """The scale of a Laplace law, or the standard deviation that a Gaussian law is made of, exactly."""

    @abstractmethod
    def noise(self, size: int, source: ByteSource) -> NDArray[Any]:
        """So many independent noises, drawn by integers."""

    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise, or no less."""

    @abstractmethod
    def error(self, beyond: float) -> int:
        """The smallest integer a with P(|Z| > a) ≤ `beyond`."""

    @abstractmethod
    def error_of_sum(self, count: int, beyond: float) -> int:
        """The smallest integer a with P(|S| > a) ≤ `beyond` for the sum S of `count` noises."""

    @abstractmethod
    def apart(self, order: float, *, steps: int, squared: Fraction, most: int | None = None) -> float:
        """At most the Rényi divergence of this order, in nats, between noisy vectors whose exact ones differ
        by `steps` in L1, by `squared` in L2, squared, and in no integer by more than `most`, where that is
        known. ∞ where there is no bound at that order.
        """

    def loss(self, *, steps: int, squared: Fraction, most: int | None = None) -> Fraction | None:
        """The ε of vectors so far apart, exactly or rounded up; None where none holds without a δ."""
        found = self.apart(math.inf, steps=steps, squared=squared, most=most)
        return Fraction(found) if math.isfinite(found) else None

    def event(self, *, steps: int, squared: Fraction, most: int | None = None) -> dict[str, Any] | None:
        """The event from which an auditor computes what vectors so far apart show, in the words of
        `leakcap.ledger.measured`; None of a law that has no name there, for which all that ε allows is
        charged.
        """
        return None

    @abstractmethod
    def tells(self, reach: int) -> Bound:
        """The Shannon capacity from an integer in 0, …, `reach` to its noisy value, in nats."""
