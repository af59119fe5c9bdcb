"""What everything published tells of one person: intervals, from what tells less and what tells more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from leakcap.bound import Bound
from leakcap.disclosure.joint.evidence import JointEvidence
from leakcap.disclosure.joint.published import CellOf

__all__ = ["DOUBT", "PlaceRisk"]

DOUBT = 1e-6
"""How likely an interval that was found by drawing does not hold, over the draws."""


@dataclass(frozen=True, eq=False)
class PlaceRisk:
    """What a set of tables tells of the presence of a person of one kind, to somebody who knows all others.

    `less` are publications that follow from the real one, `more` such that it follows from: the truth lies
    between them. They are the same where it is known exactly, but for roundings. `cells` are those that
    count the person.
    """

    kind: int
    cells: tuple[CellOf, ...]
    less: tuple[JointEvidence, ...]
    more: tuple[JointEvidence, ...]
    epsilon: Bound
    """The ε of pure differential privacy in nats; ∞ where something published proves presence, or absence."""
    doubt: float = 0.0
    """How likely the interval does not hold, over draws of our own: 0 where nothing was drawn."""

    @property
    def exact(self) -> bool:
        """Whether the joint law itself was computed."""
        return any(one is other for one in self.less for other in self.more)

    def success(self, prior: float = 0.5) -> Bound:
        """How often the best guess is right, where presence has this probability beforehand."""
        low = max((one.success(prior) for one in self.less), key=lambda bound: bound.lower)
        high = min((one.success(prior) for one in self.more), key=lambda bound: bound.upper)
        return Bound(min(low.lower, high.upper), high.upper, self._method, unit="probability")

    def delta(self, epsilon: float) -> Bound:
        """The least δ with which all that is published keeps this ε, in both directions: a probability."""
        low = max(one.delta(epsilon).lower for one in self.less)
        high = min(one.delta(epsilon).upper for one in self.more)
        return Bound(min(low, high), high, self._method, unit="probability")

    @cached_property
    def capacity(self) -> Bound:
        """Shannon's capacity in nats: the most that is told on average, under any prior."""
        ends = {id(one): one.capacity for one in (*self.less, *self.more)}
        low = max(ends[id(one)].lower for one in self.less)
        high = min(ends[id(one)].upper for one in self.more)
        return Bound(min(low, high), high, self._method)

    @property
    def _method(self) -> str:
        if self.exact:
            return "the joint law"
        if self.doubt:
            return f"between a guess and walks, wrong with probability {self.doubt:.0e} over draws"
        return "between some cells alone and all other keys known"
