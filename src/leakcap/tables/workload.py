"""Which margins are wanted, and what each is worth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import require
from leakcap.sampling.rational import printed
from leakcap.tables.nested.chains import Chains, Within
from leakcap.tables.nested.level import Level
from leakcap.tables.nested.ways import NoiseWay, chain_way, column_way
from leakcap.tables.ordered.basis import basis_of
from leakcap.tables.ordered.design import MOST_ORDERED, Kind
from leakcap.tables.ordered.protocol import Basis

__all__ = ["MOST_CELLS", "MOST_TABLES", "Places", "Within", "Workload", "margins_of_places"]

Places: TypeAlias = tuple[int, ...]
"""A table as the places of its columns among those of the workload, rising; of columns that lie within each
other the innermost alone, whose keys say those of the others."""

MOST_CELLS = 10**7
"""Cells of all tables together, those of their margins included."""
MOST_TABLES = 200_000
_GRAIN = 64
"""Beside ordered columns, whose numbers are large, those of other tables are so many times as large: the
noise that they need may be less than whole numbers can have."""
_FINE, _COARSE, _MANY = 1024, 128, 2
"""Columns of a strategy are so long, in whole numbers; where a table has many ordered columns they are
shorter."""
_MOST_STRETCH = 2**33
"""So many times a count is what a noisy number may be: counts of 2³⁰ rows are still told apart in 64 bits."""


@dataclass(frozen=True)
class Workload:
    """Tables of counts over public keys that are released together: for each its columns and a weight.

    `columns` maps each column to the number of its keys. A table is named by its columns, in any order. The
    weight of a table is what a squared error in one of its cells counts for. Its margins, and their margins,
    are released with it: `closure`.

    Of a column in `kinds` not the cells are wanted but the ranges of its keys, or the prefixes: counts
    from the first key on. A table of two such columns has the products. A weight is then what a squared
    error in one of these counts for. Whatever is wanted, every table, range, prefix and margin can be told.

    Of a column in `within` each key lies within one of another column, which stands right before it: its
    number is then that of pairs that can occur. A table that has it has the other column, too.

    >>> pairs = Workload.of_ways({"sex": 2, "age": 5, "ward": 3}, 2)
    >>> pairs.names, len(pairs.closure), pairs.cells
    ([('sex', 'age'), ('sex', 'ward'), ('age', 'ward')], 7, 42)
    """

    columns: Mapping[str, int]
    weights: Mapping[Places, Fraction]
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    within: Mapping[str, Within] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        columns: Mapping[str, int],
        tables: Sequence[Sequence[str]],
        weights: Sequence[float | Fraction] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        within: Mapping[str, Within] | None = None,
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
        chains = Chains.of(columns, within or {})
        for name in chains.tied.intersection(kinds or {}):
            rule = "be of columns whose keys lie within no other's, and have none within them"
            require(False, (kinds or {})[name], owner, rule, name, "Ask for its cells.")
        places = {name: place for place, name in enumerate(columns)}
        found: dict[Places, Fraction] = {}
        for table, weight in zip(tables, given, strict=True):
            known = not isinstance(table, str) and all(name in places for name in table)
            require(known, "tables", owner, "be lists of the columns", table)
            require(len(set(table)) == len(table), "tables", owner, "name no column of a table twice", table)
            good = isinstance(weight, int | float | Fraction) and not isinstance(weight, bool)
            good = good and 0 < weight < math.inf
            require(good, "weights", owner, "be positive and finite", weight)
            own = chains.innermost(sorted(places[name] for name in table))
            require(own not in found, "tables", owner, "name each table once", list(table))
            found[own] = printed(weight)
        return cls(dict(columns), found, cls._kinds(columns, kinds or {}), dict(within or {}))._few()._fine()

    @staticmethod
    def _kinds(columns: Mapping[str, int], kinds: Mapping[str, Kind]) -> dict[str, Kind]:
        """Checked; of a column with one key there is nothing but its cell."""
        for name, kind in kinds.items():
            require(name in columns, "kinds", "Workload", "be of the columns", name)
            require(kind in ("ranges", "prefixes"), "kinds", "Workload", "be `ranges` or `prefixes`", kind)
            rule = f"be of columns of at most {MOST_ORDERED} keys"
            remedy = "Ask for its cells, or by fewer keys."
            require(columns[name] <= MOST_ORDERED, kind, "Workload", rule, {name: columns[name]}, remedy)
        return {name: kinds[name] for name in columns if name in kinds and columns[name] > 1}

    @classmethod
    def of_ways(cls, columns: Mapping[str, int], ways: int, kinds: Mapping[str, Kind] | None = None) -> Self:
        """All tables of `ways` of the columns. Raises `InvalidParameter`."""
        whole = isinstance(ways, int) and not isinstance(ways, bool) and 0 <= ways <= len(columns)
        rule = f"be a whole number from 0 to the number of columns, {len(columns)}"
        require(whole, "ways", "Workload", rule, ways)
        count = math.comb(len(columns), ways)
        require(count <= MOST_TABLES, "ways", "Workload", f"make no more than {MOST_TABLES:,} tables", ways)
        return cls.of(columns, list(itertools.combinations(columns, ways)), kinds=kinds)

    def _few(self) -> Self:
        """Refuse what does not fit: the tables by themselves first, whose margins may be very many."""
        rule = f"have no more than {MOST_CELLS:,} cells together, margins included"
        remedy = "Ask for fewer columns, fewer ways, or columns with fewer keys."
        own = sum(map(self.cells_of, self.weights))
        require(own <= MOST_CELLS, "tables", "Workload", rule, own, remedy)
        margins = sum(math.prod(1 + len(self.chains.down_to(i)) for i in table) for table in self.weights)
        require(margins <= 8 * MOST_CELLS, "tables", "Workload", "have fewer margins", margins, remedy)
        require(self.cells <= MOST_CELLS, "tables", "Workload", rule, self.cells, remedy)
        return self

    def _fine(self) -> Self:
        """Refuse tables of ordered or nested columns whose noisy numbers have no room in 64 bits."""
        if self.kinds or self.within:
            stretch = max(
                self.grain(table) * math.prod(self.bases[place].stretch for place in table)
                for table in self.weights
            )
            most = f"{_MOST_STRETCH:,} times a count"
            rule = f"have noisy numbers of no more than {most} where columns are ordered or nested"
            remedy = "Ask for fewer columns of a table as ranges or prefixes, or for fewer nested ones."
            require(stretch <= _MOST_STRETCH, "tables", "Workload", rule, stretch, remedy)
        return self

    @cached_property
    def bases(self) -> tuple[Basis | Level, ...]:
        """What each column is released as."""
        kinds = [self.kinds.get(name) for name in self.columns]
        many = max((sum(kinds[place] is not None for place in table) for table in self.weights), default=0)
        scale = _FINE if many <= _MANY else _COARSE
        return tuple(
            self.chains.levels.get(place) or basis_of(kind, size, scale)
            for place, (kind, size) in enumerate(zip(kinds, self.sizes, strict=True))
        )

    @cached_property
    def plain_bases(self) -> tuple[Basis, ...]:
        """The same of a workload without nested columns."""
        found = tuple(one for one in self.bases if not isinstance(one, Level))
        assert len(found) == len(self.columns), "one of the columns is nested"
        return found

    @cached_property
    def chains(self) -> Chains:
        """Which columns lie within each other."""
        return Chains.of(self.columns, self.within)

    def ways(self, table: Places, part: Places) -> tuple[NoiseWay, ...]:
        """How the noise of a margin `part` reaches each column of a table."""
        return tuple(self._way(i, self.chains.met(i, part)) for i in table)

    def _way(self, place: int, source: int | None) -> NoiseWay:
        if (place, source) not in self._ways:
            if place in self.chains.levels:
                line = self.chains.down_to(place)
                levels = tuple(self.chains.levels[one] for one in line)
                way = chain_way(levels, None if source is None else line.index(source))
            else:
                basis = self.bases[place]
                assert not isinstance(basis, Level)
                way = column_way(basis, source is not None)
            self._ways[place, source] = way
        return self._ways[place, source]

    @cached_property
    def _ways(self) -> dict[tuple[int, int | None], NoiseWay]:
        return {}

    def margins(self, table: Places) -> list[Places]:
        """The total, all margins, and the table itself.

        >>> districts = Within("region", (0, 0, 1))
        >>> asked = Workload.of({"region": 2, "district": 3}, [["district"]], within={"district": districts})
        >>> asked.margins((1,)), asked.named((1,))
        ([(), (0,), (1,)], ('region', 'district'))
        """
        if not self.within:
            return margins_of_places(table)
        kept = itertools.product(*((None, *self.chains.down_to(i)) for i in table))
        found = [tuple(one for one in own if one is not None) for own in kept]
        return sorted(found, key=lambda own: (len(own), own))

    def summed(self, table: Places, cells: NDArray[Any], part: Places) -> NDArray[Any]:
        """The counts of a margin, from those of a table."""
        found = cells
        for axis, i in reversed(list(enumerate(table))):
            to = self.chains.met(i, part)
            if to is None:
                found = found.sum(axis=axis)
                continue
            for level in reversed(self.chains.down_to(i)):
                if level == to:
                    break
                found = self.chains.levels[level].added(found, axis)
        return np.asarray(found)

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
        return tuple(names[one] for place in table for one in self.chains.down_to(place))

    def place(self, table: Sequence[str]) -> Places:
        """A table of the closure from its columns, in any order. Raises `InvalidParameter` for another one.

        >>> Workload.of_ways({"sex": 2, "age": 5}, 2).place(["age"])
        (1,)
        """
        names = list(self.columns)
        rule = "be a table that was asked for, or a margin of one"
        require(all(name in names for name in table), "table", "Workload", rule, tuple(table))
        own = self.chains.innermost(sorted(names.index(name) for name in table))
        require(own in self._closed, "table", "Workload", rule, tuple(table))
        return own

    def cells_of(self, table: Places) -> int:
        """How many cells a table has."""
        return math.prod(self.sizes[place] for place in table)

    def answers_of(self, table: Places) -> int:
        """How many numbers are wanted of a table: its cells, unless columns are asked as ranges or prefixes.

        >>> Workload.of({"week": 4}, [["week"]], kinds={"week": "ranges"}).answers_of((0,))
        10
        """
        return math.prod(self.bases[place].answers for place in table)

    @cached_property
    def ordered(self) -> frozenset[int]:
        """The places of the columns that are asked as ranges or prefixes."""
        return frozenset(place for place, name in enumerate(self.columns) if name in self.kinds)

    @cached_property
    def uneven(self) -> frozenset[int]:
        """The places of the columns whose cells may err by more or less: ordered and nested ones."""
        return self.ordered.union(self.chains.levels)

    def grain(self, table: Places) -> int:
        """How many times its residual is released of a table: more than once only beside ordered columns."""
        return _GRAIN if self.kinds and not self.ordered.intersection(table) else 1

    def numbers_of(self, table: Places) -> tuple[int, ...]:
        """The shape of what is released of a table: an axis for each column."""
        return tuple(self.bases[place].rows for place in table)

    @cached_property
    def closure(self) -> tuple[Places, ...]:
        """The tables and all their margins, the total first."""
        found = {part for table in self.weights for part in self.margins(table)}
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
