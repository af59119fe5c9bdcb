"""How far one unit can move an answer vector, in L1 and in L2, in integer steps.

A query answers with one integer per cell (group or bin); the cells are disjoint, so a row adds its integer
v ∈ [low, high] to one cell, or to none when `where`, a missing value or an unknown key excludes it. A unit
has at most `rows` = m rows. Write c for the vector that a unit's rows add up to: its cells may be any, and
‖c‖₁ ≤ m·max(|low|, |high|).

- **add/remove-one**: a unit comes or goes, the answer moves by c: Δ = m·max(|low|, |high|), however many
  cells there are. This is the textbook's "disjoint parts cost once".
- **replace-one, one cell**: c and c′ are numbers in m·[min(low, 0), max(high, 0)] (0 because rows can be
  excluded), so Δ = m·(max(high, 0) − min(low, 0)); for a count Δ = m.
- **replace-one, several cells**: c may lie in one cell and c′ in another, ‖c − c′‖₁ = ‖c‖₁ + ‖c′‖₁, so
  Δ = 2m·max(|low|, |high|); for a count 2m. The textbook's maximum over disjoint parts is wrong here: it
  holds for add/remove-one, or where the parts are made by a public row number that the replacement keeps.
- **replace-one, one cell, nobody excluded** (`every`: one row per unit, no `where`, a `fill` for missing
  values): c and c′ lie in [low, high], so Δ = high − low.

**In L2** the largest distance is that of two corners, for it is convex in c and c′: all rows of a unit in one
cell, each low, high or left out.

- **add/remove-one**: m·max(|low|, |high|), as in L1.
- **replace-one, one cell**: as in L1. **Several cells**: that, or the corners are in two cells:
  √2·m·max(|low|, |high|).
- a unit that counts **once in each of its cells**, r of them at most: a difference of zeros and ones, whose
  L2 distance is the root of the L1 distance: √r, where Laplace noise pays r.

Source: Dwork, McSherry, Nissim & Smith 2006, definition 3; McSherry 2009, theorem 4 for disjoint parts.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Contribution", "Presence"]


@dataclass(frozen=True)
class Contribution:
    """What one unit adds to the answer: at most `rows` rows of low..high steps, each to one of `cells`.

    `every` says that each unit adds exactly one row, to the one cell there is.

    >>> count = Contribution(low=1, high=1, rows=1, cells=3)
    >>> count.sensitivity(replace=False), count.sensitivity(replace=True)
    (1, 2)
    """

    low: int
    high: int
    rows: int
    cells: int
    every: bool = False

    @property
    def largest(self) -> int:
        """max(|low|, |high|): the most that a row weighs."""
        return max(abs(self.low), abs(self.high))

    @property
    def reach(self) -> tuple[int, int]:
        """Between which numbers a unit's part of one cell lies."""
        if self.every:
            return self.low, self.high
        return self.rows * min(self.low, 0), self.rows * max(self.high, 0)

    def sensitivity(self, *, replace: bool) -> int:
        """The largest L1 distance between the answers on neighbouring tables."""
        return self.diameter if replace else self.rows * self.largest

    def most(self, *, replace: bool) -> int:
        """The farthest that one cell moves between neighbouring tables: the largest L∞ distance.

        >>> count = Contribution(low=1, high=1, rows=2, cells=3)
        >>> count.most(replace=True), count.sensitivity(replace=True)
        (2, 4)
        """
        low, high = self.reach
        return high - low if replace else max(abs(low), abs(high))

    def squared(self, *, replace: bool) -> int:
        """The square of the largest L2 distance between the answers on neighbouring tables.

        >>> Contribution(low=-1, high=1, rows=2, cells=3).squared(replace=True)
        16
        """
        alone = (self.rows * self.largest) ** 2
        if not replace:
            return alone
        low, high = self.reach
        width = (high - low) ** 2
        return max(width, 2 * alone) if self.cells > 1 else width

    @property
    def diameter(self) -> int:
        """The largest L1 distance between any two possible contents of one unit's data, none included.

        Under `every` there is no such thing as no data: the number of units is public.
        """
        if self.cells > 1:
            return 2 * self.rows * self.largest
        low, high = self.reach
        return high - low

    def total(self, units: int) -> tuple[int, int]:
        """Between which numbers the whole table's total of one cell lies."""
        low, high = self.reach
        return units * low, units * high


@dataclass(frozen=True)
class Presence(Contribution):
    """A unit counts once in each of the cells that it has rows in, which are at most `rows`.

    c is a vector of zeros and ones with at most r = min(rows, cells) ones: Δ = r under add/remove-one. Two of
    them differ in min(2r, cells) places at most, which is Δ under replace-one.

    >>> people = Presence(low=0, high=1, rows=2, cells=3)
    >>> people.sensitivity(replace=False), people.sensitivity(replace=True)
    (2, 3)
    """

    @property
    def reach(self) -> tuple[int, int]:
        """A unit is in a cell or not."""
        return 0, 1

    def sensitivity(self, *, replace: bool) -> int:
        """The largest L1 distance between the answers on neighbouring tables."""
        return self.diameter if replace else min(self.rows, self.cells)

    def squared(self, *, replace: bool) -> int:
        """Places that differ, differ by one.

        >>> Presence(low=0, high=1, rows=16, cells=100).squared(replace=False)
        16
        """
        return self.sensitivity(replace=replace)

    @property
    def diameter(self) -> int:
        """The largest L1 distance between any two possible contents of one unit's data, none included."""
        return min(2 * self.rows, self.cells)
