"""Chains of columns of a workload, each within the one before it: land, region, district."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from leakcap.errors import require
from leakcap.tables.nested.level import Level

__all__ = ["Chains", "Within"]


@dataclass(frozen=True)
class Within:
    """That each key of a column lies within one of the column `outer`: the place of that key, for each.

    Keys within one key stand together, in the order of those they lie within.
    """

    outer: str
    parents: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Chains:
    """By place of a column that lies within another the place of that one, and of each chain its levels.

    >>> chains = Chains.of({"sex": 2, "region": 2, "district": 3}, {"district": Within("region", (0, 0, 1))})
    >>> chains.down_to(2), chains.innermost((0, 1, 2)), chains.met(2, (0, 1)), chains.met(0, (1,))
    ((1, 2), (0, 2), 1, None)
    """

    outer: Mapping[int, int]
    levels: Mapping[int, Level]
    tied: frozenset[str]

    @classmethod
    def of(cls, columns: Mapping[str, int], within: Mapping[str, Within]) -> Chains:
        """Checked. Raises `InvalidParameter`."""
        names, owner = list(columns), "Workload"
        outer: dict[int, int] = {}
        levels: dict[int, Level] = {}
        for name, own in within.items():
            require(name in columns, "within", owner, "be of the columns", name)
            place = names.index(name)
            before = names[place - 1] if place else None
            rule = "lie within the column that stands right before it"
            require(own.outer == before, name, owner, rule, own.outer)
            parents, above = list(own.parents), columns[own.outer]
            rule = "have a parent for each of its keys, and children of each of those together and in order"
            sound = len(parents) == columns[name] and list(dict.fromkeys(parents)) == list(range(above))
            require(sound and parents == sorted(parents), name, owner, rule, f"{len(parents)} parents")
            outer[place] = place - 1
            levels[place] = Level.of(parents)
        for place in set(outer.values()).difference(outer):
            levels[place] = Level.of([0] * columns[names[place]])
        return cls(outer, levels, frozenset(names[place] for place in levels))

    @cached_property
    def _lines(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, tuple[int, ...]] = {}
        for place in sorted(self.levels):
            found[place] = (*found.get(self.outer.get(place, -1), ()), place)
        return found

    def down_to(self, place: int) -> tuple[int, ...]:
        """The columns that a column lies within, the outermost first, and itself."""
        return self._lines.get(place, (place,))

    def innermost(self, table: Sequence[int]) -> tuple[int, ...]:
        """Places, rising, without those that another of them lies within."""
        above = {one for place in table for one in self.down_to(place)[:-1]}
        return tuple(place for place in table if place not in above)

    def met(self, place: int, part: Sequence[int]) -> int | None:
        """The column of `part` that is this one, or that it lies within; None without one."""
        return next((one for one in self.down_to(place) if one in part), None)
