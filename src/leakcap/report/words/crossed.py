"""A table in rows and columns as people read one: the keys of some columns down, those of others across."""

from __future__ import annotations

from dataclasses import dataclass

from leakcap.release.results.pivot import pivot_shown
from leakcap.release.results.record import ReleasedRecord, RowRecord

__all__ = ["CrossedTable", "crossed_table"]


@dataclass(frozen=True)
class CrossedTable:
    """Values in rows and columns; `corner` names the keys that go down, and last those that go across.

    Each row has its keys and its values, None in an empty cell.
    """

    corner: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[RowRecord | None, ...]], ...]


def crossed_table(release: ReleasedRecord, most: int) -> CrossedTable | None:
    """The release in rows and columns: as it is laid out; or by two keys or with margins, from 2 to `most`
    keys across (`pivot_shown`). None where it is a list.
    """
    labels = release.rows().labels if release.values and release.values[0].keys else {}
    pivot = pivot_shown(labels, release.layout, totals=bool(release.totals), most=most)
    if pivot is None:
        return None
    rows = tuple(
        (
            tuple(map(str, keys)),
            tuple(None if place is None else release.values[place] for place in places),
        )
        for keys, places in zip(pivot.lines, pivot.places, strict=True)
    )
    return CrossedTable(pivot.corner, pivot.heads, rows)
