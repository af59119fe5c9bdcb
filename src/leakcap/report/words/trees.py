"""The nodes of a tree in the order in which they are read: each before those below it; what is promised of
them beside exact totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from leakcap.policy.document import Policy
from leakcap.report.records.hierarchies import HierarchyRecord
from leakcap.report.words.promises import protects
from leakcap.statement import Statement
from leakcap.statement.restated import restated

__all__ = ["OF_THE_NOISE", "levels_that_fit", "nodes_in_order", "promised", "stated"]

OF_THE_NOISE = (
    "This is said of the noise alone. To the exact totals no line applies: whoever knows all other records "
    "sees from them whether a person is counted there."
)
"""What stands above a statement where totals are exact."""

_PRESENCE = {"presence", "joining"}
"""The lines that compare tables with a person and without: these never agree in an exact total."""


def promised(record: HierarchyRecord, policy: Policy) -> str:
    """Who is hidden, and what is not: an exact total hides nobody's being counted in it."""
    told = protects(policy)
    if not record.exact:
        return told
    told = told.replace("Protected:", "Protected, between tables that agree in the exact totals:")
    told = told.replace(", and whether it is in the table at all.", ".")
    one = "one row" if policy.id_column is None else f"one {policy.id_column}"
    return f"{told} Not hidden: whether {one} is counted in an exact total, and in which."


def stated(record: HierarchyRecord) -> Statement:
    """What everything so far lets an attacker do. Beside exact totals nothing is said of whether somebody is
    in the table: they tell."""
    whole = restated(record.so_far)
    if not record.exact or whole.exposure.relation != "add-remove-one":
        return whole
    return replace(whole, lines=tuple(one for one in whole.lines if one.key not in _PRESENCE))


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
