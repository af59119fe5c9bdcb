"""Pure differential privacy: a cap on the likelihood ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from leakcap.adversary import Neighbours
from leakcap.bound import Bound
from leakcap.capacities import HasExact, capacity
from leakcap.channel import Channel
from leakcap.definition.base import Definition
from leakcap.divergence import Renyi

__all__ = ["PureDP"]


@dataclass(frozen=True, repr=False)
class PureDP(Definition):
    """ε-differential privacy: P(y|x) ≤ e^ε P(y|x') for neighbours x, x' and every y; ε in nats.

    The max-divergence diameter of the channel; the local model (ε-LDP) when every two secrets are
    neighbours. Source: Dwork, McSherry, Nissim & Smith 2006.

    >>> round(PureDP(1.0).tightest(Channel([[0.75, 0.25], [0.25, 0.75]])).epsilon, 12)
    1.098612288668
    """

    epsilon: float

    symbol: ClassVar[str] = "ε-DP"

    def __post_init__(self) -> None:
        self._require_level("epsilon")

    def measure(self, channel: Channel | HasExact) -> Bound:
        """sup D_∞(P_{Y|x} ‖ P_{Y|x'}) over neighbours, in nats."""
        return capacity(channel, Renyi(math.inf), Neighbours())

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """From nearly nothing to nearly everything."""
        return tuple(cls(e) for e in (1e-9, 0.1, 1.0, 4.0, 30.0))
