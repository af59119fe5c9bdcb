"""Cells that are left out or cut off: thresholds for small cells, and top-coding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from leakcap.disclosure.cells import SUPPRESSED, CellMethod, Law, checked_people
from leakcap.errors import require

__all__ = ["SmallCells", "TopCoding"]


@dataclass(frozen=True)
class SmallCells(CellMethod):
    """Counts from 1 to `below` − 1 are suppressed, and with `zeros` 0 too; others are published as they are.

    This is primary suppression. Which cells of a table are suppressed besides, so that no sum gives the first
    ones away, follows from the whole table; what margins still tell of a cell is no part of this law.

    >>> SmallCells(below=5).law(4), SmallCells(below=5).law(0)
    ({'suppressed': Fraction(1, 1)}, {0: Fraction(1, 1)})
    """

    below: int
    zeros: bool = False

    def __post_init__(self) -> None:
        whole = isinstance(self.below, int) and not isinstance(self.below, bool)
        rule = "be a whole number from 1 to 1000"
        require(whole and 1 <= self.below <= 1000, "below", "SmallCells", rule, self.below)

    def law(self, count: int) -> Law:
        """The count, or the word for it."""
        checked_people("count", count, "law")
        hidden = count < self.below and (count > 0 or self.zeros)
        return {SUPPRESSED if hidden else count: Fraction(1)}

    @property
    def start(self) -> int:  # type: ignore[override]
        """From the threshold on every count is published."""
        return self.below

    reach = None

    @property
    def words(self) -> str:
        """The method in words."""
        first = 0 if self.zeros else 1
        return f"suppression of counts from {first} to {self.below - 1}"


@dataclass(frozen=True)
class TopCoding(CellMethod):
    """Counts from `top` on are published as `top`; all others as they are.

    >>> TopCoding(10).law(12)
    {10: Fraction(1, 1)}
    """

    top: int

    def __post_init__(self) -> None:
        whole = isinstance(self.top, int) and not isinstance(self.top, bool)
        require(whole and 1 <= self.top <= 10_000, "top", "TopCoding", "be from 1 to 10,000", self.top)

    def law(self, count: int) -> Law:
        """One number."""
        return {min(checked_people("count", count, "law"), self.top): Fraction(1)}

    @property
    def start(self) -> int:  # type: ignore[override]
        """From the top on one count is like the next."""
        return self.top

    reach = None

    @property
    def words(self) -> str:
        """The method in words."""
        return f"top-coding at {self.top}"
