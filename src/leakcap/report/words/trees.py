"""The nodes of a tree in the order in which they are read: each before those below it."""

from __future__ import annotations

from collections.abc import Iterator

from leakcap.report.records.hierarchies import HierarchyRecord

__all__ = ["levels_that_fit", "nodes_in_order"]


def levels_that_fit(record: HierarchyRecord, most: int) -> int:
    """How many levels, from the top, have at most `most` nodes together; one at least."""
    total = 0
    for number, level in enumerate(record.levels):
        total += len(level.keys)
        if total > most:
            return max(1, number)
    return len(record.levels)


def nodes_in_order(record: HierarchyRecord, shown: int) -> Iterator[tuple[int, int, str]]:
    """Each node's level and place in it, and the lines that lead to it, for the upper `shown` levels."""
    children: list[dict[int, list[int]]] = [{} for _ in record.levels]
    for depth, level in enumerate(record.levels[1:shown], 1):
        for place, parent in enumerate(level.parents):
            children[depth].setdefault(parent, []).append(place)

    def below(depth: int, place: int, lead: str) -> Iterator[tuple[int, int, str]]:
        if depth + 1 < shown:
            own = children[depth + 1][place]
            for child in own:
                last = child == own[-1]
                yield depth + 1, child, lead + ("└ " if last else "├ ")
                yield from below(depth + 1, child, lead + ("  " if last else "│ "))

    for place in range(len(record.levels[0].keys)):
        yield 0, place, ""
        yield from below(0, place, "")
