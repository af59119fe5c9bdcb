"""Tables that are published of the same people: which cells count whom, whose keys are independent."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import require

__all__ = ["CellOf", "TableSet", "all_margins", "keys_are_independent"]

_MOST_ATOMS, _MOST_TABLES, _MOST_PEOPLE = 1 << 20, 62, 1 << 53
_OWNER = "TableSet"
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class CellOf(NamedTuple):
    """The cell of a table that counts a person; `people` are the kinds of which others are in it."""

    table: int
    others: int
    people: Mask


@dataclass(frozen=True, eq=False)
class TableSet:
    """Tables of counts of the same people, each of whom is of one kind: cross tables, hierarchies, versions.

    `counts` says how many people are of each kind; `cells[table, kind]` in which cell of a table the kind is
    counted, −1 where the table leaves it out. Kinds are told apart as finely as any table tells them.

    >>> tables = TableSet.of_columns([5, 0, 2], {"a": "xyy", "b": "uuv"}, [("a", "b"), ("a",), ()])
    >>> [(cell.table, cell.others) for cell in tables.counting(1)]
    [(0, 0), (1, 2), (2, 7)]
    """

    counts: Numbers
    cells: Numbers
    _nested: dict[tuple[int, int], bool] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        sized = self.counts.ndim == 1 and 1 <= len(self.counts) <= _MOST_ATOMS
        rule = f"be one number for each kind of people, at most {_MOST_ATOMS:,} of them"
        require(sized, "counts", _OWNER, rule, self.counts.shape)
        rule = "be whole numbers from 0, of at most 2^53 people together"
        whole = np.issubdtype(self.counts.dtype, np.integer) and self.counts.min() >= 0
        require(whole and sum(self.counts.tolist()) <= _MOST_PEOPLE, "counts", _OWNER, rule, "others")
        fits = self.cells.ndim == 2 and self.cells.shape[1] == len(self.counts)
        rule = f"have a row for each table, at most {_MOST_TABLES}, and a column for each kind of people"
        require(fits and 1 <= len(self.cells) <= _MOST_TABLES, "cells", _OWNER, rule, self.cells.shape)

    @classmethod
    def of_columns(
        cls,
        counts: Sequence[int],
        columns: Mapping[str, Sequence[Hashable]],
        tables: Sequence[Sequence[str]],
    ) -> TableSet:
        """Tables by columns: each table crosses some, none for the total; None or "" is in no cell.

        A column that follows from another makes a hierarchy; columns for one question at two dates make
        versions. Raises `InvalidParameter` for a column that there is not.
        """
        numbered: dict[str, Numbers] = {}
        for name, values in columns.items():
            rule = f"have {len(counts)} values, one for each kind of people"
            require(len(values) == len(counts), name, _OWNER, rule, len(values))
            places: dict[Hashable, int] = {}
            numbered[name] = np.array([
                -1 if value is None or value == "" else places.setdefault(value, len(places))
                for value in values
            ])  # fmt: skip
        cells = []
        for by in tables:
            for name in by:
                require(name in numbered, "tables", _OWNER, f"cross columns among {sorted(numbered)}", name)
            chosen = np.array([numbered[name] for name in by] or [np.zeros(len(counts), dtype=np.int64)])
            found = np.unique(chosen, axis=1, return_inverse=True)[1].ravel()
            cells.append(np.where((chosen < 0).any(axis=0), -1, found))
        return cls(np.array(counts, dtype=np.int64), np.array(cells, dtype=np.int64))

    @cached_property
    def cells_counted(self) -> int:
        """How many cells are published."""
        return sum(len(np.unique(row[row >= 0])) for row in self.cells)

    def nests(self, first: int, second: int) -> bool:
        """Whether each cell of the first table lies within one of the second, which holds nobody else."""
        if (first, second) not in self._nested:
            within, around = self.cells[first], self.cells[second]
            pairs = np.unique(np.array([within, around])[:, within >= 0], axis=1)
            alone = len(np.unique(pairs[0])) == pairs.shape[1]
            covered = not (within[around >= 0] < 0).any()
            self._nested[first, second] = bool(first != second and covered and alone)
        return self._nested[first, second]

    def counting(self, kind: int, once: bool = True) -> list[CellOf]:
        """The cells that count a person of this kind; those that count the same people are one if `once`."""
        where = np.flatnonzero(self.cells[:, kind] >= 0)
        same = self.cells[where] == self.cells[where, kind][:, None]
        full = self.counts > 0
        full[kind] = False
        found: dict[bytes, CellOf] = {}
        for table, row in zip(where.tolist(), same, strict=True):
            others = int(self.counts[row].sum())
            name = np.packbits(row & full).tobytes() if once else bytes([table])
            found.setdefault(name, CellOf(table, others, row & (self.counts > 0)))
        return list(found.values())

    def siblings(self, kind: int, cell: CellOf, margin: CellOf) -> Numbers | None:
        """The other cells of the cell's table that the margin holds; None where it is no margin of them."""
        if not self.nests(cell.table, margin.table):
            return None
        own = self.cells[cell.table, kind]
        inside = self.cells[cell.table][self.cells[margin.table] == self.cells[margin.table, kind]]
        return np.setdiff1d(inside, [own])

    @cached_property
    def different(self) -> list[Mask]:
        """Who is in each cell that is not empty; cells that count the same people are one."""
        found: dict[bytes, Mask] = {}
        full = self.counts > 0
        for row in self.cells:
            for cell in np.unique(row[full & (row >= 0)]):
                people = (row == cell) & full
                found.setdefault(np.packbits(people).tobytes(), people)
        return list(found.values())

    def apart(self, kind: int, cells: Sequence[CellOf]) -> bool:
        """Whether no cell that leaves this kind out counts the same people as one of `cells`, which count it.

        Only where nobody else is of the kind may there be such a cell: its key is the other's, without the
        person, and tells the person's own.
        """
        if self.counts[kind]:
            return True
        for cell in cells:
            where = np.flatnonzero(cell.people)
            for row in self.cells if len(where) else ():
                own = row[where[0]]
                left_out = own >= 0 and own != row[kind] and bool((row[where] == own).all())
                if left_out and int(self.counts[row == own].sum()) == cell.others:
                    return False
        return True

    def counted(self, table: int, cells: Numbers) -> list[int]:
        """How many people are in cells of a table."""
        sums = np.bincount(np.maximum(self.cells[table], 0), self.counts * (self.cells[table] >= 0))
        return [int(sums[cell]) for cell in cells]


def all_margins(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The table that crosses all columns, and all its margins down to the total.

    >>> all_margins(["a", "b"])
    [('a', 'b'), ('a',), ('b',), ()]
    """
    names = tuple(columns)
    require(len(names) <= 5, "columns", "all_margins", "be at most 5", len(names))
    return [some for size in range(len(names), -1, -1) for some in combinations(names, size)]


def keys_are_independent(people: Sequence[Mask], keys: int) -> bool:
    """Whether the keys of cells that count these kinds of people are independent and uniform.

    They are where, for each prime factor of the number of keys, no cell is a sum of others modulo it.

    >>> one, two, both = np.array([1, 0]) > 0, np.array([0, 1]) > 0, np.array([1, 1]) > 0
    >>> keys_are_independent([one, both], 256), keys_are_independent([one, two, both], 256)
    (True, False)
    """
    if not people:
        return True
    if len(people) < _MOST_TABLES:
        marks = sum(row.astype(np.int64) << place for place, row in enumerate(people))
        matrix = np.unique(marks)[None, :] >> np.arange(len(people))[:, None] & 1
    else:
        matrix = np.unique(np.array(people, dtype=np.int64), axis=1)
    return all(_rank(matrix, prime) == len(matrix) for prime in _prime_factors(keys))


def _rank(matrix: Numbers, prime: int) -> int:
    left, rank = matrix % prime, 0
    for column in range(left.shape[1]):
        below = np.flatnonzero(left[rank:, column])
        if not len(below):
            continue
        pivot = rank + int(below[0])
        left[[rank, pivot]] = left[[pivot, rank]]
        left[rank] = left[rank] * pow(int(left[rank, column]), -1, prime) % prime
        others = [row for row in np.flatnonzero(left[:, column]) if row != rank]
        left[others] = (left[others] - left[others, column][:, None] * left[rank]) % prime
        rank += 1
        if rank == len(left):
            break
    return rank


def _prime_factors(number: int) -> list[int]:
    found, factor = [], 2
    while factor * factor <= number:
        if number % factor == 0:
            found.append(factor)
            while number % factor == 0:
                number //= factor
        factor += 1
    return found + ([number] if number > 1 else [])
