"""Controlled rounding of a two-way table: to multiples of a base, at random, and the sums stay sums."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from leakcap.disclosure.whole.method import Table, WholeMethod, and_margins, two_way
from leakcap.errors import require

__all__ = ["ControlledRounding", "IndependentRounding"]

Place: TypeAlias = tuple[int, int]
_MOST = 1 << 16


@dataclass(frozen=True)
class ControlledRounding(WholeMethod[Table]):
    """Unbiased controlled rounding: every cell and margin to the multiple of `base` below or above.

    Of the cells that are no multiples a cycle along rows and columns is changed, up and down in turn, until
    one of them is a multiple; which of both ways is drawn so that every number stays right on average. The
    first cycle is taken that a walk from the first such cell finds. Every number has the law of random
    rounding, but not independently of the others. Source: Cox 1987.

    >>> ControlledRounding(3).law(((1, 2),))
    {((3, 0, 3), (3, 0, 3)): Fraction(1, 3), ((0, 3, 3), (0, 3, 3)): Fraction(2, 3)}
    """

    base: int

    def __post_init__(self) -> None:
        whole = isinstance(self.base, int) and not isinstance(self.base, bool)
        rule = "be a whole number from 2 to 1000"
        require(whole and 2 <= self.base <= 1000, "base", "ControlledRounding", rule, self.base)

    def law(self, data: Table) -> dict[Hashable, Fraction]:
        """The rounded tables with their margins.

        Raises `InvalidParameter` where more than 65,536 tables are met on the way.
        """
        start = tuple(tuple(row) for row in and_margins(two_way(data, "ControlledRounding")))
        open_, done = {start: Fraction(1)}, dict[Hashable, Fraction]()
        while open_:
            after: dict[Table, Fraction] = {}
            for table, chance in open_.items():
                cycle = self._cycle(table)
                if not cycle:
                    done[table] = done.get(table, Fraction(0)) + chance
                    continue
                up, down = (self._room(table, cycle, way) for way in (1, -1))
                for way, step, share in ((1, up, down), (-1, down, up)):
                    moved = _moved(table, cycle, way * step)
                    after[moved] = after.get(moved, Fraction(0)) + chance * Fraction(share, up + down)
            met = len(after) + len(done)
            require(met <= _MOST, "data", "ControlledRounding", f"leave at most {_MOST:,} tables", met)
            open_ = after
        return done

    def _cycle(self, table: Table) -> list[Place]:
        """Cells that are no multiples, each in one line with the next, rows and columns in turn."""
        cells = [(r, c) for r, row in enumerate(table) for c, one in enumerate(row) if one % self.base]
        if not cells:
            return []
        path, met = [cells[0]], {(0, cells[0][0]): 0}
        along = 1
        while True:
            line = path[-1][along]
            if (along, line) in met:
                return path[met[along, line] :]
            met[along, line] = len(path)
            path.append(next(one for one in cells if one[along] == line and one != path[-1]))
            along = 1 - along

    def _room(self, table: Table, cycle: list[Place], way: int) -> int:
        """How far the cycle can be changed this way, until the first of its cells is a multiple."""
        found = []
        for turn, place in enumerate(cycle):
            rest = table[place[0]][place[1]] % self.base
            found.append(self.base - rest if _sign(table, place, turn) * way > 0 else rest)
        return min(found)


@dataclass(frozen=True)
class IndependentRounding(WholeMethod[Table]):
    """Random rounding of every cell and margin by itself, to compare with: sums are no sums any more.

    >>> len(IndependentRounding(3).law(((1, 2),)))
    16
    """

    base: int

    def law(self, data: Table) -> dict[Hashable, Fraction]:
        """All combinations. Raises `InvalidParameter` for more than 65,536."""
        ControlledRounding(self.base)
        numbers = [one for row in and_margins(two_way(data, "IndependentRounding")) for one in row]
        ways = 1 << sum(number % self.base > 0 for number in numbers)
        require(ways <= _MOST, "data", "IndependentRounding", f"leave at most {_MOST:,} tables", ways)
        found: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
        for number in numbers:
            rest = number % self.base
            ends = [(number - rest, Fraction(self.base - rest, self.base))]
            ends += [(number - rest + self.base, Fraction(rest, self.base))] if rest else []
            found = {(*head, end): p * q for head, p in found.items() for end, q in ends}
        return dict(found.items())


def _sign(table: Table, place: Place, turn: int) -> int:
    """Margins stand on the other side of their sums: they change the other way."""
    margins = (place[0] == len(table) - 1) + (place[1] == len(table[0]) - 1)
    return -1 if (turn + margins) % 2 else 1


def _moved(table: Table, cycle: list[Place], step: int) -> Table:
    rows = [list(row) for row in table]
    for turn, place in enumerate(cycle):
        rows[place[0]][place[1]] += _sign(table, place, turn) * step
    return tuple(map(tuple, rows))
