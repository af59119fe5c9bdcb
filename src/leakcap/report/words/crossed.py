"""A table by two keys as people read one: the keys of one column down, those of the other across."""

from __future__ import annotations

from dataclasses import dataclass

from leakcap.release.results.record import ReleasedRecord, RowRecord

__all__ = ["CrossedTable", "crossed_table"]


@dataclass(frozen=True)
class CrossedTable:
    """Values in rows and columns; `corner` names the keys that go down and those that go across."""

    corner: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[RowRecord, ...]], ...]


def crossed_table(release: ReleasedRecord, most: int) -> CrossedTable | None:
    """The release as a crossed table; None unless it is by two keys, every pair of them has a value, and from
    2 to `most` of them would go across.

    The column with fewer keys goes across, or the last one where both have as many. Keys keep the order in
    which the release has them.
    """
    keys = [tuple((row.keys or {}).items()) for row in release.values]
    if not keys or {len(one) for one in keys} != {2}:
        return None
    cells = {tuple(value for _, value in one): row for one, row in zip(keys, release.values, strict=True)}
    named = [list(dict.fromkeys(one[place][1] for one in keys)) for place in (0, 1)]
    across = 0 if len(named[0]) < len(named[1]) else 1
    down, over = named[1 - across], named[across]
    if not 2 <= len(over) <= most or len(cells) != len(keys) or len(cells) != len(down) * len(over):
        return None
    first, second = keys[0][1 - across][0], keys[0][across][0]
    rows = tuple(
        (str(one), tuple(cells[(other, one) if across == 0 else (one, other)] for other in over))
        for one in down
    )
    return CrossedTable(f"{first} by {second}", tuple(map(str, over)), rows)
