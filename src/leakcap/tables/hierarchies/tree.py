"""A public tree: levels, their nodes, and which node each stands under.

Nodes are kept in one order, that of their paths from the top, so that the children of a node stand together,
and two files that say the same in another order are the same tree.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key

__all__ = ["MOST_NODES", "TOTAL", "Hierarchy"]

MOST_NODES = 4_000_000
"""Nodes of all levels together."""
TOTAL = "total"
"""The level that is put above a tree with several nodes at its top."""
_MOST_LEVELS = 20

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree: the names of its levels, top first, and for each level its nodes and their parents.

    `labels[l]` are the nodes of level l, `parents[l]` the place of each one's parent in the level above; the
    one node of the top has none. All leaves are at the last level.

    >>> land = Hierarchy.of(["region", "town"], [("south", "c"), ("north", "b"), ("north", "a")])
    >>> land.levels, land.labels[1:], land.parents[2].tolist()
    (('total', 'region', 'town'), (('north', 'south'), ('a', 'b', 'c')), [0, 0, 1])
    """

    levels: tuple[str, ...]
    labels: tuple[tuple[Key, ...], ...]
    parents: tuple[Places, ...]

    def __post_init__(self) -> None:
        """Raise `InvalidQuery` unless each node stands in one place below one parent, and keep it so.

        The price takes this for granted: a row is counted once at each level.
        """
        owner = "A hierarchy's levels, labels and parents"
        same = len(self.levels) == len(self.labels) == len(self.parents) > 0
        if not same or len(self.labels[0]) != 1 or len(self.parents[0]):
            raise InvalidQuery(f"{owner} must be one for each level, and the top have one node.")
        for name, own in zip(self.levels, self.labels, strict=True):
            if len(set(map(str, own))) < len(own):
                raise InvalidQuery(f"{owner} must name each node once. A label of `{name}` stands in two.")
        for level, up in enumerate(self.parents[1:], 1):
            above, whole = len(self.labels[level - 1]), up.ndim == 1 and up.dtype == np.int64
            if whole and 0 < len(up) == len(self.labels[level]):
                steps = np.diff(up)
                if up[0] == 0 and up[-1] == above - 1 and bool(((steps == 0) | (steps == 1)).all()):
                    continue
            raise InvalidQuery(
                f"{owner} must give each node one parent, every parent a child, and have siblings together."
            )
        kept = tuple(up.copy() for up in self.parents)
        for up in kept:
            up.flags.writeable = False
        object.__setattr__(self, "parents", kept)

    @classmethod
    def of(cls, levels: Sequence[str], leaves: Iterable[Sequence[Key]], owner: str = "hierarchy") -> Self:
        """The tree with these levels, top first, from the path of each leaf, a label for each level.

        Where there are several nodes at the top, the level `total` is put above them. Raises `InvalidQuery`
        for paths of unlike lengths, missing labels, a node under two parents and a leaf that stands twice.
        """
        names, paths = tuple(levels), list(map(tuple, leaves))
        _check(names, paths, owner)
        try:
            paths.sort()
        except TypeError:
            raise InvalidQuery(
                f"The labels of a level of `{owner}` must be all text or all whole numbers."
            ) from None
        if len({path[0] for path in paths}) > 1:
            if TOTAL in names:
                raise InvalidQuery(
                    f"The level `{TOTAL}` of `{owner}` has several nodes, and is the name of the one above "
                    "all of them. Give it another name."
                )
            names, paths = (TOTAL, *names), [("all", *path) for path in paths]
        labels: list[tuple[Key, ...]] = []
        parents: list[Places] = []
        above = [0] * len(paths)
        for level, name in enumerate(names):
            own: list[Key] = []
            up: list[int] = []
            places: list[int] = []
            for path, parent in zip(paths, above, strict=True):
                if not own or own[-1] != path[level] or up[-1] != parent:
                    own.append(path[level])
                    up.append(parent)
                places.append(len(own) - 1)
            _check_level(owner, name, own, leaves=level + 1 == len(names), paths=len(paths))
            labels.append(tuple(own))
            parents.append(np.array(up if level else [], dtype=np.int64))
            above = places
        found = cls(names, tuple(labels), tuple(parents))
        if found.nodes > MOST_NODES:
            raise InvalidQuery(
                f"`{owner}` must have no more than {MOST_NODES:,} nodes, all levels together. "
                f"Got {found.nodes:,}."
            )
        return found

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The tree of a file with a column for each level, top first, and a row for each leaf.

        A CSV file in UTF-8, all of whose labels are text, or Parquet. Raises `InvalidQuery`.
        """
        path = Path(path)
        if path.suffix.lower() not in (".csv", ".parquet"):
            raise InvalidQuery(f"A tree must be a file that ends in .csv or .parquet. Got `{path.name}`.")
        if not path.is_file():
            raise InvalidQuery(f"The tree `{path.name}` is no file that can be read.")
        head, *rows = _csv(path) if path.suffix.lower() == ".csv" else _parquet(path)
        return cls.of([str(name) for name in head], rows, path.name)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level."""
        return tuple(map(len, self.labels))

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return sum(self.sizes)

    def starts(self, level: int) -> Places:
        """Where the children of each node of the level above begin in this one, which every node has."""
        return np.searchsorted(self.parents[level], np.arange(self.sizes[level - 1]))

    def added(self, level: int, numbers: NDArray[np.generic]) -> NDArray[np.generic]:
        """The sums of a level's numbers over the children of each node of the level above.

        >>> land = Hierarchy.of(["region", "town"], [("north", "a"), ("north", "b"), ("south", "c")])
        >>> land.added(2, np.array([1, 2, 4])).tolist()
        [3, 4]
        """
        return np.asarray(np.add.reduceat(numbers, self.starts(level)))

    def paths(self, level: int) -> list[tuple[Key, ...]]:
        """The labels of each node of a level and of the nodes above it, top first.

        >>> Hierarchy.of(["land", "town"], [("l", "a"), ("l", "b")]).paths(1)
        [('l', 'a'), ('l', 'b')]
        """
        found: list[tuple[Key, ...]] = [(label,) for label in self.labels[0]]
        for own, up in zip(self.labels[1 : level + 1], self.parents[1 : level + 1], strict=True):
            found = [(*found[parent], label) for parent, label in zip(up.tolist(), own, strict=True)]
        return found

    def number(self, level: str) -> int:
        """Which level has this name, 0 for the top. Raises `InvalidQuery` for one that is not."""
        if level not in self.levels:
            raise InvalidQuery(f"`{level}` is no level of the tree, which has {', '.join(self.levels)}.")
        return self.levels.index(level)

    def place(self, level: str, label: Key) -> tuple[int, int]:
        """The number of a level and the place of a node in it. Raises `InvalidQuery` for one that is not."""
        number = self.number(level)
        place = self._found[number].get(label)
        if place is None or type(self.labels[number][place]) is not type(label):
            raise InvalidQuery(f"The level `{level}` of the tree has no node {label!r}.")
        return number, place

    @cached_property
    def _found(self) -> tuple[dict[Key, int], ...]:
        return tuple({label: place for place, label in enumerate(own)} for own in self.labels)

    @cached_property
    def digest(self) -> str:
        """What names the tree in the ledger: the same for the same levels, nodes and parents only."""
        found = hashlib.sha256(json.dumps(self.levels).encode())
        for own, up in zip(self.labels, self.parents, strict=True):
            found.update(json.dumps(own).encode())
            found.update(up.astype("<i8").tobytes())
        return found.hexdigest()


def _check(names: tuple[str, ...], paths: list[tuple[Key, ...]], owner: str) -> None:
    """Levels that are named once each, and a whole path for each leaf."""
    if not 1 <= len(names) <= _MOST_LEVELS or not all(names):
        raise InvalidQuery(f"`{owner}` must have from 1 to {_MOST_LEVELS} levels, each with a name.")
    for name in names:
        if names.count(name) > 1:
            raise InvalidQuery(f"`{owner}` must name each level once. Got `{name}` twice.")
    if not paths:
        raise InvalidQuery(f"`{owner}` must have one leaf or more.")
    if len(paths) > MOST_NODES:
        raise InvalidQuery(f"`{owner}` must have no more than {MOST_NODES:,} nodes. Got {len(paths):,} rows.")
    for number, path in enumerate(paths, 1):
        if len(path) != len(names):
            raise InvalidQuery(
                f"Each row of `{owner}` must have a label for each of the {len(names)} levels: all leaves "
                f"are "
                f"at one depth. Row {number} has {len(path)}."
            )
        for name, label in zip(names, path, strict=True):
            if label is not None and not isinstance(label, str | int):
                raise InvalidQuery(
                    f"The labels of `{owner}` must be text or whole numbers. `{name}` has another kind."
                )
            if label is None or label == "":
                raise InvalidQuery(
                    f"Each row of `{owner}` must have a label for each level: all "
                    f"leaves are at one depth. `{name}` is missing in row {number}."
                )
    for name, one in zip(names, zip(*paths, strict=True), strict=True):
        if len(set(map(type, one))) > 1:
            raise InvalidQuery(f"The labels of `{name}` of `{owner}` must be all text or all whole numbers.")


def _check_level(owner: str, name: str, own: list[Key], *, leaves: bool, paths: int) -> None:
    """Each node stands once: under one parent, and of the leaves each in one row."""
    if leaves and len(own) < paths:
        raise InvalidQuery(f"`{owner}` must have each leaf in one row. A `{name}` stands in two.")
    if len(set(own)) < len(own):
        seen: set[Key] = set()
        twice = next(label for label in own if label in seen or seen.add(label))  # type: ignore[func-returns-value]
        raise InvalidQuery(
            f"Each node of `{owner}` must have one parent. {twice!r} of the level `{name}` has two: give "
            f"nodes "
            "of one name labels that differ."
        )


def _csv(path: Path) -> list[Sequence[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [row for row in csv.reader(file, strict=True) if row] or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidQuery(f"The tree `{path.name}` must be CSV in UTF-8: {error}.") from None


def _parquet(path: Path) -> list[Sequence[Key]]:
    import duckdb

    try:
        found = duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(path)])
        head = [str(one[0]) for one in found.description]
        return list(itertools.chain([head], found.fetchall()))
    except duckdb.Error:
        raise InvalidQuery(f"The tree `{path.name}` must be a Parquet file.") from None
