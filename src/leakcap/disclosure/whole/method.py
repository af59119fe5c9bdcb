"""A method of disclosure control for a whole table or file: from the data to everything that is published."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Generic, TypeAlias, TypeVar

from leakcap.channel import Channel
from leakcap.errors import require

__all__ = ["Table", "WholeMethod", "and_margins", "every_table", "two_way"]

Data = TypeVar("Data", bound=Hashable)
Table: TypeAlias = tuple[tuple[int, ...], ...]
"""Rows of counts, without margins."""
_LONGEST, _MOST_TABLES = 1 << 20, 1 << 16


class WholeMethod(ABC, Generic[Data]):
    """A method whose law is exact: what is published of the data, and how likely."""

    @abstractmethod
    def law(self, data: Data) -> dict[Hashable, Fraction]:
        """Everything that can be published of these data, with probabilities that add up to one."""

    def channel(self, among: Sequence[Data]) -> Channel:
        """The channel from these data to what is published, in fractions.

        Raises `InvalidParameter` for a matrix of more than a million entries.
        """
        require(len(among) >= 1, "among", "channel", "hold a table or a file at least", len(among))
        laws = [self.law(one) for one in among]
        outputs = list(dict.fromkeys(shown for law in laws for shown in law))
        size = len(laws) * len(outputs)
        require(size <= _LONGEST, "among", "channel", f"leave at most {_LONGEST:,} entries", size)
        rows = [[law.get(shown, Fraction(0)) for shown in outputs] for law in laws]
        return Channel(rows, inputs=tuple(among), outputs=tuple(outputs))


def every_table(rows: int, columns: int, people: int) -> list[Table]:
    """Every two-way table of so many people.

    >>> len(every_table(2, 2, 3)), every_table(1, 2, 1)
    (20, [((1, 0),), ((0, 1),)])
    """
    for name, value, most in (("rows", rows, 20), ("columns", columns, 20), ("people", people, 60)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        least = 0 if name == "people" else 1
        require(whole and least <= value <= most, name, "every_table", f"be from {least} to {most}", value)
    found = list[Table]()
    for places in combinations_with_replacement(range(rows * columns), people):
        require(len(found) < _MOST_TABLES, "people", "every_table", f"leave {_MOST_TABLES:,} tables", people)
        counts = [0] * (rows * columns)
        for place in places:
            counts[place] += 1
        found.append(tuple(tuple(counts[row * columns : (row + 1) * columns]) for row in range(rows)))
    return found


def two_way(table: Table, owner: str) -> Table:
    """The table, if it is one. Raises `InvalidParameter`; the message holds no count."""
    rule = "be rows of equal length, of whole numbers from 0 to 1,000,000"
    rows = isinstance(table, tuple) and len(table) >= 1 and all(isinstance(row, tuple) for row in table)
    even = rows and len(table[0]) >= 1 and all(len(row) == len(table[0]) for row in table)
    holds = even and all(
        isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= 10**6
        for row in table
        for one in row
    )
    require(holds, "table", owner, rule, "another table")
    return table


def and_margins(table: Table) -> list[list[int]]:
    """The table with the sums of its rows and columns, and that of all.

    >>> and_margins(((1, 2), (0, 4)))
    [[1, 2, 3], [0, 4, 4], [1, 6, 7]]
    """
    rows = [[*row, sum(row)] for row in table]
    return [*rows, [sum(column) for column in zip(*rows, strict=True)]]
