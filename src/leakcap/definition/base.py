"""What every privacy definition is: a ruler, an adversary, a neighbouring relation and a threshold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from leakcap.bound import Bound
from leakcap.capacities import HasExact
from leakcap.channel import Channel

__all__ = ["Definition", "Neighbourhood", "Relation"]


class Relation(StrEnum):
    """Which tables are neighbours."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE_ONE = "add-remove-one"


@dataclass(frozen=True)
class Neighbourhood:
    """Whose data differ between neighbouring tables: the relation, and the unit (a row, a person).

    Part of every guarantee; guarantees under different neighbourhoods are never combined silently.
    """

    relation: Relation
    unit: str = "row"


@dataclass(frozen=True)
class Definition(ABC):
    """A privacy guarantee. The last field of a subclass is its threshold; smaller is stronger.

    `neighbours` says whose data are protected. None means: between any two of the channel's secrets
    that its user calls neighbours.
    """

    neighbours: Neighbourhood | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def threshold(self) -> float:
        """The number that the guarantee caps."""

    @abstractmethod
    def measure(self, channel: Channel | HasExact) -> Bound:
        """The capacity that this definition caps, of `channel`."""

    @abstractmethod
    def with_threshold(self, threshold: float) -> Self:
        """The same definition with another threshold."""

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """Guarantees on which the laws are tested."""

    def tightest(self, channel: Channel | HasExact) -> Self:
        """The strongest guarantee of this kind that `channel` keeps (the certified upper end)."""
        return self.with_threshold(self.measure(channel).upper)

    def holds(self, channel: Channel | HasExact) -> bool | None:
        """Whether `channel` keeps this guarantee; None when the certified interval straddles it."""
        bound = self.measure(channel)
        if bound.upper <= self.threshold:
            return True
        return False if bound.lower > self.threshold else None

    def __repr__(self) -> str:
        """Fields by name; the neighbourhood only where one is stated."""
        shown = [f"{k}={v!r}" for k, v in vars(self).items() if k != "neighbours"]
        if self.neighbours is not None:
            shown.append(f"neighbours={self.neighbours.relation.value!r} of one {self.neighbours.unit}")
        return f"{type(self).__name__}({', '.join(shown)})"
