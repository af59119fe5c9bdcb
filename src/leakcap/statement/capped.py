"""What caps that were fixed beforehand let all answers together tell, whoever asks, and stops, as they like.

The ledger answers as long as its caps hold, so that everything that is ever seen is a function of one
interaction that the caps end. What is proved of that whole holds of each part of it at which somebody stops:
to stop is to look at no more. Sums that happened are no such caps, since when somebody stops hangs on what
they saw. Sources: §"A cap on all answers together" of `docs/ledger.md` for (ε, δ); Feldman & Zrnic 2021 for
Rényi divergences of every order, and so for ρ; Cuff & Yu 2016, corollary 6, for nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from leakcap.errors import require
from leakcap.ledger.curve import ORDERS
from leakcap.numeric.rounding import up
from leakcap.statement.proving import Proven, proven_pairs, two_steps_of
from leakcap.statement.record import CappedRecord
from leakcap.statement.tally import Tally

__all__ = ["Capped"]


@dataclass(frozen=True)
class Capped:
    """Caps on everything; None: not capped. `delta` is the most that all answers' δ come to.

    `epsilon` with `delta` bounds all answers together, `rho` is that of zero-concentrated privacy beside the
    δ, and `nats` what is told about one person.

    >>> Capped(epsilon=1.0).pairs, Capped(nats=0.0).contents("replace-one")
    (((1.0, 0.0),), ((0.0, 0.0),))
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    nats: float | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "rho", "nats"):
            value = getattr(self, name)
            good = value is None or (value >= 0 and math.isfinite(value))
            require(good, name, "Capped", "be a finite number from 0, or None", value)
        require(0.0 <= self.delta <= 1.0, "delta", "Capped", "be a probability", self.delta)

    @classmethod
    def read(cls, record: CappedRecord) -> Capped:
        """From its record."""
        return cls(record.epsilon, record.delta, record.rho, record.nats)

    def record(self) -> CappedRecord:
        """As a record keeps it."""
        return CappedRecord(epsilon=self.epsilon, delta=self.delta, rho=self.rho, nats=self.nats)

    @cached_property
    def pairs(self) -> Proven:
        """Pairs of an ε and a δ between neighbours, each of which holds; empty where no cap says any."""
        told = () if self.epsilon is None else ((self.epsilon, self.delta),)
        if self.rho is None:
            return told
        curve = tuple(up(order * self.rho, 2) for order in ORDERS)
        return (*told, *proven_pairs(Tally(usable=False, curve=curve, leak=self.delta), False))

    def contents(self, relation: str) -> Proven:
        """The same between two contents of one unit's data; what nats allow is an advantage."""
        pairs = self.pairs if relation == "replace-one" else two_steps_of(self.pairs)
        if self.nats is None:
            return pairs
        from leakcap.statement.risks import informed

        return (*pairs, (0.0, min(up(2.0 * informed(self.nats) - 1.0, 2), 1.0)))
