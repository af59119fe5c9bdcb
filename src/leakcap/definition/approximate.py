"""Approximate differential privacy: caps on the hockey-stick divergence and on total variation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from leakcap.adversary import Neighbours
from leakcap.bound import Bound
from leakcap.capacities import HasExact, capacity
from leakcap.channel import Channel
from leakcap.definition.base import Definition
from leakcap.divergence import HockeyStick, TotalVariation

__all__ = ["ApproxDP", "DeltaDP"]


@dataclass(frozen=True, repr=False)
class ApproxDP(Definition):
    """(ε, δ)-differential privacy: P(S|x) ≤ e^ε P(S|x') + δ for every event S; ε in nats.

    The diameter by the hockey-stick divergence at e^ε, both directions.
    Source: Dwork, Kenthapadi, McSherry, Mironov & Naor 2006.

    >>> round(ApproxDP(0.0, 0.1).tightest(Channel([[0.75, 0.25], [0.25, 0.75]])).delta, 12)
    0.5
    """

    epsilon: float
    delta: float

    symbol: ClassVar[str] = "(ε, δ)-DP"

    def __post_init__(self) -> None:
        self._require_finite("epsilon")
        self._require_probability("delta")

    def measure(self, channel: Channel | HasExact) -> Bound:
        """sup Σ (P_x − e^ε P_x')₊ over neighbours, a probability."""
        return capacity(channel, HockeyStick(math.exp(self.epsilon)), Neighbours())

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Small and large ε and δ."""
        return tuple(cls(e, d) for e, d in ((0.0, 0.1), (0.1, 1e-6), (1.0, 1e-3), (1.0, 0.2), (4.0, 0.5)))


@dataclass(frozen=True, repr=False)
class DeltaDP(Definition):
    """δ-DP, that is (0, δ)-DP: total variation between neighbours at most δ.

    >>> round(DeltaDP(1.0).tightest(Channel([[0.75, 0.25], [0.25, 0.75]])).delta, 12)
    0.5
    """

    delta: float

    symbol: ClassVar[str] = "(0, δ)-DP"

    def __post_init__(self) -> None:
        self._require_probability("delta")

    def measure(self, channel: Channel | HasExact) -> Bound:
        """sup ½ Σ |P_x − P_x'| over neighbours, a probability."""
        return capacity(channel, TotalVariation(), Neighbours())

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """From nearly nothing to nearly everything."""
        return tuple(cls(d) for d in (1e-9, 1e-3, 0.1, 0.5, 0.99))
