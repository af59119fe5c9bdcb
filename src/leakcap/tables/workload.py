"""Which margins are wanted, and what each is worth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self, TypeAlias

from leakcap.errors import require
from leakcap.sampling.rational import printed

__all__ = ["MOST_CELLS", "MOST_TABLES", "Places", "Workload", "margins_of_places"]

Places: TypeAlias = tuple[int, ...]
"""A table as the places of its columns among those of the workload, rising."""

MOST_CELLS = 10**7
"""Cells of all tables together, those of their margins included."""
MOST_TABLES = 200_000


@dataclass(frozen=True)
class Workload:
    """Tables of counts over public keys that are released together: for each its columns and a weight.

    `columns` maps each column to the number of its keys. A table is named by its columns, in any order. The
    weight of a table is what a squared error in one of its cells counts for. Its margins, and their margins,
    are released with it: `closure`.

    >>> pairs = Workload.of_ways({"sex": 2, "age": 5, "ward": 3}, 2)
    >>> pairs.names, len(pairs.closure), pairs.cells
    ([('sex', 'age'), ('sex', 'ward'), ('age', 'ward')], 7, 42)
    """

    columns: Mapping[str, int]
    weights: Mapping[Places, Fraction]

    @classmethod
    def of(
        cls,
        columns: Mapping[str, int],
        tables: Sequence[Sequence[str]],
        weights: Sequence[float | Fraction] | None = None,
    ) -> Self:
        """These tables, all of weight 1 unless `weights` has one for each. Raises `InvalidParameter`.

        >>> Workload.of({"sex": 2, "age": 5}, [["age", "sex"], ["age"]], [1, 0.5]).weights
        {(0, 1): Fraction(1, 1), (1,): Fraction(1, 2)}
        """
        owner = "Workload"
        for name, size in columns.items():
            whole = isinstance(size, int) and not isinstance(size, bool) and size >= 1
            require(
                whole, "columns", owner, "map each name to a whole number of keys from 1 on", {name: size}
            )
        require(len(tables) > 0, "tables", owner, "name one table or more", list(tables))
        given = [1] * len(tables) if weights is None else list(weights)
        require(len(given) == len(tables), "weights", owner, "be one for each table", weights)
        places = {name: place for place, name in enumerate(columns)}
        found: dict[Places, Fraction] = {}
        for table, weight in zip(tables, given, strict=True):
            known = not isinstance(table, str) and all(name in places for name in table)
            require(known, "tables", owner, "be lists of the columns", table)
            require(len(set(table)) == len(table), "tables", owner, "name no column of a table twice", table)
            good = isinstance(weight, int | float | Fraction) and not isinstance(weight, bool)
            good = good and 0 < weight < math.inf
            require(good, "weights", owner, "be positive and finite", weight)
            own = tuple(sorted(places[name] for name in table))
            require(own not in found, "tables", owner, "name each table once", list(table))
            found[own] = printed(weight)
        return cls(dict(columns), found)._few()

    @classmethod
    def of_ways(cls, columns: Mapping[str, int], ways: int) -> Self:
        """All tables of `ways` of the columns. Raises `InvalidParameter`."""
        whole = isinstance(ways, int) and not isinstance(ways, bool) and 0 <= ways <= len(columns)
        rule = f"be a whole number from 0 to the number of columns, {len(columns)}"
        require(whole, "ways", "Workload", rule, ways)
        count = math.comb(len(columns), ways)
        require(count <= MOST_TABLES, "ways", "Workload", f"make no more than {MOST_TABLES:,} tables", ways)
        return cls.of(columns, list(itertools.combinations(columns, ways)))

    def _few(self) -> Self:
        """Refuse what does not fit: the tables by themselves first, whose margins may be very many."""
        rule = f"have no more than {MOST_CELLS:,} cells together, margins included"
        remedy = "Ask for fewer columns, fewer ways, or columns with fewer keys."
        own = sum(map(self.cells_of, self.weights))
        require(own <= MOST_CELLS, "tables", "Workload", rule, own, remedy)
        margins = sum(2 ** len(table) for table in self.weights)
        require(margins <= 8 * MOST_CELLS, "tables", "Workload", "have fewer margins", margins, remedy)
        require(self.cells <= MOST_CELLS, "tables", "Workload", rule, self.cells, remedy)
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of keys of each column."""
        return tuple(self.columns.values())

    @property
    def names(self) -> list[tuple[str, ...]]:
        """The tables that were asked for, by name."""
        return [self.named(table) for table in self.weights]

    def named(self, table: Places) -> tuple[str, ...]:
        """The columns of a table."""
        names = list(self.columns)
        return tuple(names[place] for place in table)

    def place(self, table: Sequence[str]) -> Places:
        """A table of the closure from its columns, in any order. Raises `InvalidParameter` for another one.

        >>> Workload.of_ways({"sex": 2, "age": 5}, 2).place(["age"])
        (1,)
        """
        names = list(self.columns)
        rule = "be a table that was asked for, or a margin of one"
        require(all(name in names for name in table), "table", "Workload", rule, tuple(table))
        own = tuple(sorted(names.index(name) for name in table))
        require(own in self._closed, "table", "Workload", rule, tuple(table))
        return own

    def cells_of(self, table: Places) -> int:
        """How many cells a table has."""
        return math.prod(self.sizes[place] for place in table)

    @cached_property
    def closure(self) -> tuple[Places, ...]:
        """The tables and all their margins, the total first."""
        found = {part for table in self.weights for part in margins_of_places(table)}
        return tuple(sorted(found, key=lambda table: (len(table), table)))

    @cached_property
    def _closed(self) -> frozenset[Places]:
        return frozenset(self.closure)

    @property
    def cells(self) -> int:
        """How many cells the closure has."""
        return sum(map(self.cells_of, self.closure))


def margins_of_places(table: Places) -> list[Places]:
    """The total, all margins, and the table itself.

    >>> margins_of_places((0, 2))
    [(), (0,), (2,), (0, 2)]
    """
    return [part for ways in range(len(table) + 1) for part in itertools.combinations(table, ways)]
