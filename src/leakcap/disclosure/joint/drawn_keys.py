"""Keys of all people drawn at random, and the sums of them that are published cells' keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leakcap.disclosure.joint.published import TableSet

__all__ = ["batches", "drawn_keys", "keys_of_cells"]

_HELD, _FEWEST, _MOST = 1 << 23, 16, 2000

Keys = NDArray[np.int16]


def batches(draws: int, kinds: int) -> list[int]:
    """How many draws are made at once, so that the keys of so many kinds of people can be held.

    >>> batches(4500, 10)
    [2000, 2000, 500]
    """
    size = min(_MOST, max(_FEWEST, _HELD // kinds))
    return [min(size, draws - first) for first in range(0, draws, size)]


def drawn_keys(counts: NDArray[np.int64], keys: int, draws: int, generator: np.random.Generator) -> Keys:
    """For each kind of people and each draw the sum of their keys: uniform, and 0 of nobody."""
    found = generator.integers(0, keys, (len(counts), draws), dtype=np.int16)
    found[counts == 0] = 0
    return found


def keys_of_cells(
    tables: TableSet, cells: Sequence[tuple[int, int]], drawn: Keys, keys: int
) -> NDArray[np.int32]:
    """The keys of these cells, each a table and a number in it: a row for each, a column for each draw.

    >>> tables = TableSet.of_columns([1, 1], {"a": "xy"}, [("a",), ()])
    >>> keys_of_cells(tables, [(0, 1), (1, 0)], np.array([[3, 2], [3, 1]], dtype=np.int16), 4).tolist()
    [[3, 1], [2, 3]]
    """
    found = np.empty((len(cells), drawn.shape[1]), dtype=np.int32)
    wide = np.int32 if len(drawn) * keys < 1 << 31 else np.int64
    for table in {table for table, _ in cells}:
        row = tables.cells[table]
        order = np.argsort(row, kind="stable")
        numbers, starts = np.unique(row[order], return_index=True)
        sums = np.add.reduceat(drawn[order], starts, axis=0, dtype=wide) % keys
        mine = [place for place, (one, _) in enumerate(cells) if one == table]
        found[mine] = sums[np.searchsorted(numbers, [cells[place][1] for place in mine])]
    return found
