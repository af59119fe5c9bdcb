"""Rényi and zero-concentrated differential privacy: caps on the moments of the privacy loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from leakcap.adversary import Neighbours
from leakcap.bound import Bound
from leakcap.capacities import HasExact, capacity
from leakcap.channel import Channel
from leakcap.definition.base import Definition
from leakcap.definition.slope import largest_slope
from leakcap.divergence import Renyi

__all__ = ["RenyiDP", "ZeroConcentratedDP"]


@dataclass(frozen=True, repr=False)
class RenyiDP(Definition):
    """(α, ε)-Rényi differential privacy: D_α(P_{Y|x} ‖ P_{Y|x'}) ≤ ε nats between neighbours.

    Source: Mironov 2017, definition 4.

    >>> round(RenyiDP(2.0, 0.0).tightest(Channel([[0.75, 0.25], [0.25, 0.75]])).epsilon, 12)
    0.847297860387
    """

    alpha: float
    epsilon: float

    symbol: ClassVar[str] = "(α, ε)-RDP"

    def __post_init__(self) -> None:
        self._require_order("alpha")
        self._require_level("epsilon")

    def measure(self, channel: Channel | HasExact) -> Bound:
        """sup D_α(P_x ‖ P_x') over neighbours, in nats."""
        return capacity(channel, Renyi(self.alpha), Neighbours())

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Orders below, at and above one."""
        pairs = ((0.3, 0.1), (1.0, 0.1), (1.5, 0.5), (2.0, 0.1), (16.0, 1.0), (math.inf, 1.0))
        return tuple(cls(a, e) for a, e in pairs)


@dataclass(frozen=True, repr=False)
class ZeroConcentratedDP(Definition):
    """ρ-zero-concentrated differential privacy: D_α(P_x ‖ P_x') ≤ ρα for every α > 1; ρ in nats.

    Source: Bun & Steinke 2016, definition 1.1.

    >>> round(ZeroConcentratedDP(0.0).tightest(Channel([[0.75, 0.25], [0.25, 0.75]])).rho, 9)
    0.549306144
    """

    rho: float

    symbol: ClassVar[str] = "ρ-zCDP"

    def __post_init__(self) -> None:
        self._require_level("rho")

    def measure(self, channel: Channel | HasExact) -> Bound:
        """sup over α > 1 of D_α/α, enclosed by the convexity of (α−1)·D_α."""

        def diameter(alpha: float) -> tuple[float, float]:
            found = capacity(channel, Renyi(alpha), Neighbours())
            return found.lower, found.upper

        return largest_slope(diameter)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """From nearly nothing to much."""
        return tuple(cls(r) for r in (1e-9, 0.01, 0.1, 1.0))
