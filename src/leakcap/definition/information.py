"""Guarantees in information: capacities of a channel as a communication engineer knows them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Self

from leakcap.adversary import AllPriors, AllPriorsJoint, Centre, Neighbours
from leakcap.bound import Bound
from leakcap.capacities import HasExact, capacity
from leakcap.channel import Channel
from leakcap.definition.base import Definition
from leakcap.divergence import Renyi

__all__ = ["KLDP", "MIDP", "Centre", "LevelCapacity", "MaximalLeakage"]


@dataclass(frozen=True, repr=False)
class KLDP(Definition):
    """κ-KL-DP: KL(P_{Y|x} ‖ P_{Y|x'}) ≤ κ nats between neighbours, both directions.

    Source: Cuff & Yu 2016.

    >>> round(KLDP(0.0).tightest(Channel([[0.75, 0.25], [0.25, 0.75]])).nats, 12)
    0.549306144334
    """

    nats: float

    symbol: ClassVar[str] = "KL-DP"

    def __post_init__(self) -> None:
        self._require_level("nats")

    def measure(self, channel: Channel | HasExact) -> Bound:
        """sup KL(P_x ‖ P_x') over neighbours, in nats."""
        return capacity(channel, Renyi(1.0), Neighbours())

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """From nearly nothing to much."""
        return tuple(cls(k) for k in (1e-9, 0.01, 0.3, 1.0, 5.0))


@dataclass(frozen=True, repr=False)
class MIDP(Definition):
    """κ-MI-DP: I(X_i; Y | X^{-i}) ≤ κ nats for every person i and every distribution of the table.

    With the other records known, it is the Shannon capacity of the channel from one record.
    Source: Cuff & Yu 2016.

    >>> round(MIDP(0.0).tightest(Channel([[1.0, 0.0], [0.0, 1.0]])).nats, 9)
    0.693147181
    """

    nats: float

    symbol: ClassVar[str] = "MI-DP"
    of_a_pair: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._require_level("nats")

    def measure(self, channel: Channel | HasExact) -> Bound:
        """Shannon capacity of the channel from the record, in nats."""
        return capacity(channel, Renyi(1.0), AllPriors())

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Small, middling, beyond one bit."""
        return tuple(cls(k) for k in (1e-9, 0.01, 0.1, 0.5, 1.0))


@dataclass(frozen=True, repr=False)
class LevelCapacity(Definition):
    """Capacity at level α at most `nats`: sup over priors of D_α(P_XY ‖ P_X × Q).

    `centre` says which Q: the output's own marginal (the stronger guarantee, the default), or the best
    one (Sibson). Shannon capacity, and thus MI-DP, at α = 1.

    >>> LevelCapacity(2.0, 0.25)
    LevelCapacity(alpha=2.0, nats=0.25)
    """

    alpha: float
    nats: float
    centre: Centre = field(default=Centre.MARGINAL, kw_only=True)

    symbol: ClassVar[str] = "capacity at level α"
    of_a_pair: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._require_order("alpha")
        self._require_level("nats")
        object.__setattr__(self, "centre", Centre(self.centre))

    def measure(self, channel: Channel | HasExact) -> Bound:
        """The capacity in nats; a bracket for the marginal centre of three secrets or more, 1 ≠ α < ∞."""
        joint = self.centre is Centre.MARGINAL
        return capacity(channel, Renyi(self.alpha), AllPriorsJoint() if joint else AllPriors())

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Both centres, orders on both sides of one."""
        pairs = ((0.5, 0.1), (1.0, 0.1), (2.0, 0.3), (math.inf, 1.0))
        return tuple(cls(a, n, centre=c) for a, n in pairs for c in Centre)


@dataclass(frozen=True, repr=False)
class MaximalLeakage(Definition):
    """Maximal leakage at most `nats`: ln Σ_y max_x P(y|x), the logarithm of the Bayes capacity.

    The most that any gain function and any prior gain on average, as a factor: e^nats.
    Source: Issa, Wagner & Kamath 2020, theorem 1; Braun, Chatzikokolakis & Palamidessi 2009.

    >>> round(MaximalLeakage(0.0).tightest(Channel([[1.0, 0.0], [0.0, 1.0]])).nats, 12)
    0.69314718056
    """

    nats: float

    symbol: ClassVar[str] = "maximal leakage"
    of_a_pair: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._require_level("nats")

    def measure(self, channel: Channel | HasExact) -> Bound:
        """Sibson's capacity of order ∞, in nats."""
        return capacity(channel, Renyi(math.inf), AllPriors())

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Below and above one bit."""
        return tuple(cls(n) for n in (1e-9, 0.05, 0.5, 2.0))
