"""Cell-key perturbation of one cell: what is added to a count follows from its key by a table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from leakcap.disclosure.cells import CellMethod, Law, checked_people
from leakcap.errors import require

__all__ = ["CellKey", "PerturbationTable", "Steps"]

Steps: TypeAlias = tuple[tuple[int, Fraction], ...]
"""What is added, and up to which share of the keys: shares rise to 1, a value may come again."""
_OWNER = "PerturbationTable"
_MOST_KEYS = 1 << 12


@dataclass(frozen=True)
class PerturbationTable:
    """For each count 0, 1, … what is added to it where its key lies in [0, u₁), [u₁, u₂), …, […, 1).

    For counts beyond the last row the last `cycle` rows come again and again; mostly that is the last row
    alone. No row makes a count negative. Keys are shares of their range here; `by_key` gives whole keys.
    Source: Fraser & Wooton 2005; Thompson, Broadfoot & Elazar 2013; Giessing & Tent 2019.

    >>> third = Fraction(1, 3)
    >>> table = PerturbationTable((((0, Fraction(1)),), ((-1, third), (0, 2 * third), (1, Fraction(1)))))
    >>> table.law(7), table.by_key(3)
    ({-1: Fraction(1, 3), 0: Fraction(1, 3), 1: Fraction(1, 3)}, [[0, 0, 0], [-1, 0, 1]])
    """

    rows: tuple[Steps, ...]
    cycle: int = 1

    def __post_init__(self) -> None:
        require(len(self.rows) >= 1, "rows", _OWNER, "have a row for the count 0", len(self.rows))
        whole = isinstance(self.cycle, int) and not isinstance(self.cycle, bool)
        rule = "be a number of rows, from 1 to all but that of 0"
        require(whole and 1 <= self.cycle <= max(1, len(self.rows) - 1), "cycle", _OWNER, rule, self.cycle)
        for count, row in enumerate(self.rows):
            ends = [Fraction(0), *(end for _, end in row)]
            rule = (
                f"have shares that rise from 0 to 1 in the row of {count}: its probabilities must sum to one"
            )
            rising = all(low < high for low, high in pairwise(ends)) and ends[-1] == 1
            require(rising, "rows", _OWNER, rule, float(ends[-1]))
            least = min(value for value, _ in row)
            require(count + least >= 0, "rows", _OWNER, f"not make a count of {count} negative", least)

    def place(self, count: int) -> int:
        """The row of a count."""
        last = len(self.rows) - 1
        if count <= last:
            return count
        return last - self.cycle + 1 + (count - last - 1) % self.cycle

    def law(self, count: int) -> dict[int, Fraction]:
        """How likely each number is to be added where the key is uniform."""
        found: dict[int, Fraction] = {}
        low = Fraction(0)
        for value, high in self.rows[self.place(count)]:
            found[value] = found.get(value, Fraction(0)) + high - low
            low = high
        return found

    def by_key(self, keys: int) -> list[list[int]]:
        """For each row what is added at the keys 0, …, `keys` − 1: as `leakcap.disclosure.joint` takes it.

        Raises `InvalidParameter` where a share is no multiple of 1/`keys`.
        """
        whole = isinstance(keys, int) and 2 <= keys <= _MOST_KEYS
        require(whole, "keys", "by_key", f"be a whole number from 2 to {_MOST_KEYS}", keys)
        found = []
        for row in self.rows:
            own: list[int] = []
            for value, high in row:
                end = high * keys
                rule = "divide the range of keys as the table does: each share a whole number of keys"
                require(end.denominator == 1, "keys", "by_key", rule, keys)
                own += [value] * (int(end) - len(own))
            found.append(own)
        return found

    @property
    def largest(self) -> int:
        """The most that is added or taken away."""
        return max(abs(value) for row in self.rows for value, _ in row)


@dataclass(frozen=True)
class CellKey(CellMethod):
    """A count to which a perturbation table adds what its key says, the keys of records being uniform.

    An empty cell has no records: its key is 0, and what is added to it is no chance. The same cell always
    has the same key, so that publishing it again tells nothing; a cell of other records has another.

    >>> half = Fraction(1, 2)
    >>> CellKey(PerturbationTable((((0, Fraction(1)),), ((-1, half), (1, Fraction(1)))))).law(5)
    {4: Fraction(1, 2), 6: Fraction(1, 2)}
    """

    table: PerturbationTable

    def law(self, count: int) -> Law:
        """The count and what the table adds."""
        if checked_people("count", count, "law") == 0:
            return {self.table.rows[0][0][0]: Fraction(1)}
        return {count + value: chance for value, chance in self.table.law(count).items()}

    @property
    def start(self) -> int:  # type: ignore[override]
        """The first of the rows that come again, and not the count 0, which has no key."""
        return max(1, len(self.table.rows) - self.table.cycle)

    @property
    def period(self) -> int:  # type: ignore[override]
        """How many rows come again."""
        return self.table.cycle

    @property
    def reach(self) -> int:
        """The most that is added or taken away."""
        return self.table.largest

    @property
    def words(self) -> str:
        """The method in words."""
        return f"cell keys, which add or take away {self.table.largest} at most"
