"""The nodes of a tree in the order in which they are read, each before those below it, and what is said of
all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from leakcap.report.records.hierarchies import HierarchyRecord
from leakcap.statement import Statement
from leakcap.statement.restated import asked_for, restated
from leakcap.statement.statement import statement_of

__all__ = ["levels_that_fit", "nodes_in_order", "stated"]


def stated(record: HierarchyRecord) -> Statement:
    """What everything so far lets an attacker do, where totals of this tree are exact of the noise alone;
    statements in records of earlier versions do not say that totals are."""
    whole = restated(record.so_far)
    if not record.exact or whole.exposure.exact_totals:
        return whole
    return statement_of(replace(whole.exposure, exact_totals=True), **asked_for(record.so_far))


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
