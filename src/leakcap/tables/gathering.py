"""Which groups are counted, so that every table follows from one of them: fewer than tables, and larger.

An engine takes about as long for a group by six columns as for one by two, as long as its cells are few. So
tables are gathered in larger ones, chosen by the public numbers of keys alone: by no row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from leakcap.tables.workload import Places

__all__ = ["gathered"]

_FEW_CELLS = 10_000
_FEW_COLUMNS = 6
_MOST_TABLES = 5_000
_MOST_ASKED = 1_000_000
"""More tables than these, or so many times their columns, are counted as they are: to gather them would take
longer than it saves."""


def gathered(tables: Sequence[Places], sizes: Sequence[int]) -> list[Places]:
    """Groups of which each of the tables is a margin, none with many cells but a table that has them itself.

    `sizes` are the numbers of keys by column.

    >>> gathered([(0, 1), (0, 2), (1, 2), (2, 3)], [2, 5, 3, 9000])
    [(2, 3), (0, 1, 2)]
    """
    columns = {place for table in tables for place in table}
    if len(tables) > _MOST_TABLES or len(tables) * len(columns) > _MOST_ASKED:
        return list(tables)
    left = dict.fromkeys(sorted(tables, key=lambda table: (-_cells(table, sizes), table)))
    found = []
    while left:
        group = _grown(next(iter(left)), left, sizes)
        found.append(group)
        for ways in range(len(group) + 1):
            for part in itertools.combinations(group, ways):
                left.pop(part, None)
    return found


def _cells(table: Places, sizes: Sequence[int]) -> int:
    return math.prod(sizes[place] for place in table)


def _grown(group: Places, left: dict[Places, None], sizes: Sequence[int]) -> Places:
    """The group with column after column, each time the one that brings most tables for its keys."""
    columns = sorted({place for table in left for place in table})
    while len(group) < _FEW_COLUMNS:
        room = _FEW_CELLS // _cells(group, sizes)
        fitting = [place for place in columns if place not in group and sizes[place] <= room]
        worth = [(_brought(place, group, left) / math.log(1 + sizes[place]), -place) for place in fitting]
        best, column = max(worth, default=(0.0, 0))
        if not best:
            break
        group = tuple(sorted((*group, -column)))
    return group


def _brought(column: int, group: Places, left: dict[Places, None]) -> int:
    """How many of the tables that are left become margins of the group with this column."""
    return sum(
        tuple(sorted((*part, column))) in left
        for ways in range(len(group) + 1)
        for part in itertools.combinations(group, ways)
    )
