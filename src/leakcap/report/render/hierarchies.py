"""Counts of a tree as CSV: a line for each node, every digit, and nothing that a spreadsheet would run."""

from __future__ import annotations

from pathlib import Path

from leakcap.plain import csv_text
from leakcap.release.numbers.answers import own_heads
from leakcap.release.results.pivot import FLAG, PARTS
from leakcap.report.records.hierarchies import HierarchyRecord

__all__ = ["node_lines", "nodes_text", "write_nodes"]

_NUMBERS = ("level", *PARTS, "estimate", "standard_deviation", "exact", "covers")


def write_nodes(record: HierarchyRecord, path: Path) -> None:
    """Write the file; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nodes_text(record), encoding="utf-8")


def nodes_text(record: HierarchyRecord) -> str:
    """The lines of `node_lines` as CSV."""
    return csv_text(node_lines(record))


def node_lines(record: HierarchyRecord) -> list[list[object]]:
    """The heads and a line for each node, top first: the keys of its path, empty below it, and its numbers.

    `flag` is u where the noise is as large as the count. A name of ours that a level bears gets an
    underscore.
    """
    names = [one.level for one in record.levels]
    lines: list[list[object]] = [[*names, *own_heads(names, _NUMBERS)]]
    above: list[tuple[object, ...]] = []
    for depth, level in enumerate(record.levels):
        drowned, exact = set(level.drowned), set(level.exact)
        paths = [
            (*above[level.parents[place]], key) if depth else (key,) for place, key in enumerate(level.keys)
        ]
        for place, path in enumerate(paths):
            numbers = [level.values[place], level.lower[place], level.upper[place]]
            flag = FLAG if place in drowned else ""
            more = [level.estimates[place], level.standard_deviations[place], place in exact]
            rest = [""] * (len(names) - len(path))
            lines.append([*path, *rest, level.level, *numbers, flag, *more, record.covers])
        above = paths
    return lines
