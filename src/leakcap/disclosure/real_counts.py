"""Real counts under a method: what each published cell will tell of the people in it. The owner's act.

What comes out is itself about people, and protected by nothing: it is for the owner, and is not recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leakcap.disclosure.cells import CellMethod, GivenMethod
from leakcap.disclosure.published_files import published_count, published_lines
from leakcap.disclosure.weighing import CellRisk
from leakcap.errors import InvalidInput

__all__ = ["RealCell", "RealKind", "read_real_counts", "weigh_real_counts"]

_MOST = 100_000


@dataclass(frozen=True)
class RealCell:
    """A cell in words, and how many people are in it."""

    words: str
    count: int


@dataclass(frozen=True)
class RealKind:
    """Cells with people in them that tell the same of one of these, to somebody who knows all the others."""

    risk: CellRisk
    cells: tuple[RealCell, ...]

    @property
    def people(self) -> int:
        """How many people are in these cells; in a margin they are counted again."""
        return sum(one.count for one in self.cells)


def read_real_counts(path: str | Path) -> list[RealCell]:
    """The cells of a CSV file: a column for each dimension, the count in the last.

    Raises `InvalidInput`, whose message names lines and no count.
    """
    _, lines = published_lines(path)
    if len(lines) > _MOST:
        raise InvalidInput(f"`{path}` must have at most {_MOST:,} lines. Weigh a part of it.")
    found = []
    for number, row in enumerate(lines, 2):
        count = published_count(row[-1], number, path)
        if isinstance(count, str):
            raise InvalidInput(f"Line {number} of `{path}` must end with a count: real counts have no gaps.")
        found.append(RealCell(", ".join(row[:-1]), count))
    return found


def weigh_real_counts(method: CellMethod, cells: Sequence[RealCell]) -> list[RealKind]:
    """Kinds of cells with somebody in them, the worst first; empty cells have nobody to tell of.

    Raises `InvalidInput` where a count is larger than those that a given matrix has.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> found = weigh_real_counts(RandomRounding(3), [RealCell("N", 1), RealCell("S", 5), RealCell("W", 4)])
    >>> [([one.words for one in kind.cells], round(kind.risk.capacity.upper, 4)) for kind in found]
    [(['N', 'W'], 0.1382), (['S'], 0.0566)]
    """
    same: dict[object, tuple[CellRisk, list[RealCell]]] = {}
    known: dict[int, tuple[object, CellRisk]] = {}
    for cell in cells:
        if not cell.count:
            continue
        others = _like(method, cell.count - 1)
        if others not in known:
            risk = CellRisk(method, others)
            known[others] = risk.told(), risk
        told, risk = known[others]
        same.setdefault(told, (risk, []))[1].append(cell)
    kinds = [RealKind(risk, tuple(own)) for risk, own in same.values()]
    return sorted(kinds, key=lambda one: (-round(one.risk.capacity.upper, 9), one.risk.others))


def _like(method: CellMethod, others: int) -> int:
    """The least number of others whose cell tells the same."""
    if isinstance(method, GivenMethod):
        if others >= method.matrix.shape[0] - 1:
            raise InvalidInput("A count is larger than those of the matrix: of such cells nothing is known.")
        return others
    if others < method.start:
        return others
    return method.start + (others - method.start) % method.period
