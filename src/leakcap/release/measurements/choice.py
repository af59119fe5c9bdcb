"""Choices by permute-and-flip: what those of categories and those of bins have in common."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from leakcap.bound import Bound
from leakcap.ledger.implied import tight_mutual_information
from leakcap.mechanism.selection import PermuteAndFlip
from leakcap.numeric import float_up
from leakcap.release.measurements.measurement import Measurement

__all__ = ["ChoiceMeasurement"]


@dataclass(frozen=True, kw_only=True)
class ChoiceMeasurement(Measurement):
    """One choice, or several rounds: what they cost is the sensitivity of all rounds in scales."""

    epsilon: Fraction
    sensitivity: int
    scale: Fraction

    @property
    def mechanism(self) -> str:
        """The draw."""
        return PermuteAndFlip.label

    @property
    def loss(self) -> Fraction:
        """The ε between neighbours over all rounds, exactly."""
        return Fraction(self.sensitivity) / self.scale

    @property
    def loss_contents(self) -> Fraction:
        """The ε between any two possible contents of one unit's data."""
        return Fraction(self.contribution.diameter) / self.scale

    def capacity(self) -> Bound:
        """What no mechanism of this ε exceeds."""
        ceiling = tight_mutual_information(float_up(self.loss_contents))
        return Bound(0.0, ceiling, method="any mechanism of this ε", source="Dong, Durfee & Rogers 2020")
