"""What every privacy definition is: a ruler, an adversary, a neighbouring relation and a threshold."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Self

from leakcap.bound import Bound
from leakcap.capacities import HasExact
from leakcap.cards import card
from leakcap.channel import Channel
from leakcap.errors import require, require_number

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


@dataclass(frozen=True, repr=False)
class Definition(ABC):
    """A privacy guarantee. Its last positional field is its threshold; smaller is stronger.

    `neighbours` says whose data are protected. None means: between any two of the channel's secrets
    that its user calls neighbours. Under replace-one the secret is the value of one record; under
    add/remove-one it is whether one given record is there, a secret with two values.
    """

    neighbours: Neighbourhood | None = field(default=None, kw_only=True)

    symbol: ClassVar[str] = ""
    """How the field writes the guarantee, for people."""

    of_a_pair: ClassVar[bool] = True
    """Whether it compares two secrets at a time, so that the number of values does not matter to it."""

    @abstractmethod
    def measure(self, channel: Channel | HasExact) -> Bound:
        """The capacity that this definition caps, of `channel`."""

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """Guarantees on which the laws are tested."""

    @classmethod
    def threshold_name(cls) -> str:
        """The name of the field that the guarantee caps: the last positional one."""
        return [f.name for f in fields(cls) if not f.kw_only][-1]

    @property
    def threshold(self) -> float:
        """The number that the guarantee caps."""
        return float(getattr(self, self.threshold_name()))

    def with_threshold(self, threshold: float) -> Self:
        """The same definition with another threshold."""
        changed: dict[str, Any] = {self.threshold_name(): threshold}
        return replace(self, **changed)

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
        shown = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if not f.kw_only or (f.name != "neighbours" and getattr(self, f.name) != f.default)
        ]
        if self.neighbours is not None:
            shown.append(f"neighbours={self.neighbours.relation.value!r} of one {self.neighbours.unit}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        """The guarantee as a notebook shows it: its fields, and whom it protects."""
        rows = [
            (f.name, f"{value:.10g}" if isinstance(value, float) else str(value))
            for f in fields(self)
            if f.name != "neighbours" and (value := getattr(self, f.name)) is not None
        ]
        whom = "any two secrets that its user calls neighbours"
        if self.neighbours is not None:
            whom = f"{self.neighbours.relation.value} of one {self.neighbours.unit}"
        title = f"{type(self).__name__} {self.symbol}".strip()
        return card(title, [*rows, ("neighbours", whom)], note="smaller is stronger")

    def _number(self, name: str) -> float:
        value: float = getattr(self, name)
        require_number(name, type(self).__name__, value)
        return value

    def _require_level(self, name: str) -> None:
        value = self._number(name)
        ok = value >= 0 and not math.isnan(value)
        require(ok, name, type(self).__name__, "be ≥ 0 (∞ stands for no guarantee)", value)

    def _require_finite(self, name: str) -> None:
        value = self._number(name)
        require(
            value >= 0 and math.isfinite(value), name, type(self).__name__, "be a finite number ≥ 0", value
        )

    def _require_probability(self, name: str) -> None:
        value = self._number(name)
        require(0 <= value <= 1, name, type(self).__name__, "be a probability in [0, 1]", value)

    def _require_order(self, name: str) -> None:
        value = self._number(name)
        require(
            value > 0 and not math.isnan(value), name, type(self).__name__, "be positive, ∞ allowed", value
        )
