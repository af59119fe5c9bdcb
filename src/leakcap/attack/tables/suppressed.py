"""Suppressed cells of a table with margins: what whole numbers they can be, by linear programmes.

Every line of a table adds up to its margin, and no count is negative: of each suppressed cell the least and
the largest value are found by HiGHS. HiGHS computes in doubles, so that none of its numbers is believed: a
bound is what its dual solution proves in fractions, and a table that attains it is checked in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakcap.attack.value import Finding
from leakcap.disclosure.known_sums import KnownSum, KnownSums
from leakcap.disclosure.published_files import published_count, published_lines
from leakcap.errors import InvalidInput, require

__all__ = [
    "CellRange",
    "HiddenCount",
    "PublishedTable",
    "Unsuppressed",
    "cell_ranges",
    "read_published_table",
    "suppressed",
]

Place = tuple[int, ...]
_OWNER = "suppressed"
_MOST, _LARGEST = 50_000, 10**12
_GUARD = "noise in every count; suppression leaves what the margins say"


class CellRange(NamedTuple):
    """Which counts a cell can have: every table that fits the published numbers has one from `low` to `high`.

    `attained` says of both ends whether a table of whole numbers was found that has it.
    """

    place: Place
    low: int
    high: int | None
    attained: tuple[bool, bool]


@dataclass(frozen=True, kw_only=True)
class Unsuppressed(Finding):
    """got = the suppressed cells that are told exactly; at_most = those of which it is not shown that two
    counts are possible. `cells` says how many are suppressed, margins too, and `counts` what each can be.
    """

    cells: int
    within_one: int
    counts: tuple[str, ...]


@dataclass(frozen=True)
class HiddenCount:
    """A count that is not published, of which it is known that it lies between these; None for no end above.

    >>> HiddenCount(1, 4)
    HiddenCount(low=1, high=4)
    """

    low: int = 0
    high: int | None = None

    def __post_init__(self) -> None:
        ends = [self.low, self.low if self.high is None else self.high]
        whole = all(isinstance(one, int) and not isinstance(one, bool) for one in ends)
        rule = "be two whole numbers from 0, the smaller one first"
        require(whole and 0 <= ends[0] <= ends[1] <= _LARGEST, "hidden", "HiddenCount", rule, tuple(ends))


class PublishedTable(NamedTuple):
    """Counts, None or a `HiddenCount` for what is not published; the words of dimensions, margins last."""

    cells: Sequence[object]
    labels: tuple[tuple[str, ...], ...]


def read_published_table(
    path: str | Path, total: str = "total", hidden: Mapping[str, HiddenCount] | None = None
) -> PublishedTable:
    """The table in a CSV file: a column for each dimension, the count in the last.

    A line whose word in a dimension is `total` is a margin. What is not published is empty, or one of
    `*`, `x`, `c`, `:`, `..` and `suppressed`; so is what has no line. `hidden` says what is known of a count
    that such a word stands for. Raises `InvalidInput`.
    """
    known = hidden or {}
    head, lines = published_lines(path)
    labels = [dict.fromkeys(row[at] for row in lines if row[at] != total) for at in range(len(head) - 1)]
    for at, own in enumerate(labels):
        if not any(row[at] == total for row in lines):
            raise InvalidInput(
                f"`{path}` must have margins: no line has `{total}` for `{head[at]}`. Name their word."
            )
        own[total] = None
    places = [{word: number for number, word in enumerate(own)} for own in labels]
    require(
        math.prod(map(len, places)) <= _MOST, "table", _OWNER, f"have at most {_MOST:,} cells", len(lines)
    )
    cells = np.full([len(own) for own in places], None, dtype=object)
    met: set[Place] = set()
    for number, row in enumerate(lines, 2):
        place = tuple(own[word] for own, word in zip(places, row, strict=False))
        if place in met:
            raise InvalidInput(f"Line {number} of `{path}` has a cell that stood before.")
        met.add(place)
        shown = published_count(row[-1], number, path)
        cells[place] = known.get(shown) if isinstance(shown, str) else shown
    return PublishedTable(cells.tolist(), tuple(map(tuple, labels)))


def cell_ranges(table: Sequence[object] | NDArray[np.object_]) -> tuple[CellRange, ...]:
    """What each suppressed cell of a table can be, to somebody who knows no person in it.

    `table` has any number of dimensions; the last place along each is the margin, and None stands for what is
    not published, a cell or a margin; `HiddenCount(1, 4)` for one that is known to be from 1 to 4. Raises
    `InvalidInput` where no table of counts fits the numbers.

    >>> ranges = cell_ranges([[None, None, 5], [None, 4, 6], [5, 6, 11]])
    >>> [(one.place, one.low, one.high) for one in ranges]
    [((0, 0), 3, 3), ((0, 1), 2, 2), ((1, 0), 2, 2)]
    >>> small = HiddenCount(1, 4)
    >>> [one.low for one in cell_ranges([[small, small, 8], [small, small, 6], [7, 7, 14]])]
    [4, 4, 3, 3]
    """
    cells = _cells(table)
    places = [tuple(int(one) for one in place) for place in zip(*np.where(_missing(cells)), strict=True)]
    lines = _lines(cells, {place: number for number, place in enumerate(places)})
    hidden = [cells[place] or HiddenCount() for place in places]
    found = KnownSums(lines, [(one.low, one.high) for one in hidden]).ranges()
    return tuple(CellRange(place, *one) for place, one in zip(places, found, strict=True))


def suppressed(table: PublishedTable) -> Unsuppressed:
    """The attack on suppressed cells: how many of them the margins give away. Errors as of `cell_ranges`.

    >>> words = ("N", "S", "all"), ("f", "m", "all")
    >>> found = suppressed(PublishedTable([[None, None, 5], [None, 4, 6], [5, 6, 11]], words))
    >>> found.got, found.at_most, found.counts
    (3.0, 3.0, ('N, f: 3', 'N, m: 2', 'S, f: 2'))
    """
    ranges = cell_ranges(table.cells)
    open_ = sum(one.low != one.high and all(one.attained) for one in ranges)
    sizes = " × ".join(str(len(own) - 1) for own in table.labels)
    return Unsuppressed(
        attack=f"suppressed cells of a table of {sizes}",
        got=float(sum(one.low == one.high for one in ranges)),
        at_most=float(len(ranges) - open_),
        unit="cells",
        stopped_by=_GUARD,
        cells=len(ranges),
        within_one=sum(one.high is not None and one.high - one.low <= 1 for one in ranges),
        counts=tuple(_told(one, table.labels) for one in ranges),
    )


def _told(one: CellRange, labels: Sequence[Sequence[str]]) -> str:
    place = ", ".join(own[at] for own, at in zip(labels, one.place, strict=True))
    if one.high is None:
        return f"{place}: {one.low} or more"
    return f"{place}: {one.low}" if one.low == one.high else f"{place}: {one.low} to {one.high}"


def _cells(table: Sequence[object] | NDArray[np.object_]) -> NDArray[np.object_]:
    cells = np.array(table, dtype=object)
    holds = cells.ndim >= 1 and cells.size <= _MOST and all(size >= 2 for size in cells.shape)
    rule = f"be an array with a margin at the end of each dimension, of at most {_MOST:,} cells"
    require(holds, "table", _OWNER, rule, cells.shape)
    for place in product(*map(range, cells.shape)):
        value = cells[place]
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        rule = f"hold whole numbers from 0 to {_LARGEST:,}, and None where nothing is published"
        holds = value is None or isinstance(value, HiddenCount) or (whole and 0 <= value <= _LARGEST)
        require(holds, "table", _OWNER, rule, value)
    return cells


def _missing(cells: NDArray[np.object_]) -> NDArray[np.bool_]:
    hidden = [one is None or isinstance(one, HiddenCount) for one in cells.ravel()]
    return np.array(hidden, dtype=bool).reshape(cells.shape)


def _lines(cells: NDArray[np.object_], unknown: Mapping[Place, int]) -> list[KnownSum]:
    """Each line of cells with its margin; `InvalidInput` for a published one that does not add up."""
    found = []
    for axis, size in enumerate(cells.shape):
        others = [range(other) for place, other in enumerate(cells.shape) if place != axis]
        for rest in product(*others):
            own, signs, total = list[int](), list[int](), 0
            for at in range(size):
                place = (*rest[:axis], at, *rest[axis:])
                sign = -1 if at == size - 1 else 1
                if place in unknown:
                    own.append(unknown[place])
                    signs.append(sign)
                else:
                    total -= sign * int(cells[place])
            if not own and total:
                raise InvalidInput(
                    f"A line of the table does not add up to its margin: it is off by {abs(total):,}. "
                    "Numbers that were rounded or perturbed are weighed by `leakcap disclosure`."
                )
            if own:
                found.append(KnownSum(own, signs, total, total))
    return found
