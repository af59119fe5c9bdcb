"""Suppressed cells of a table with margins: what whole numbers they can be, by linear programmes.

Every line of a table adds up to its margin, and no count is negative: of each suppressed cell the least and
the largest value are found by HiGHS. HiGHS computes in doubles, so that none of its numbers is believed: a
bound is what its dual solution proves in fractions, and a table that attains it is checked in whole numbers.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from leakcap.attack.value import Finding
from leakcap.errors import InvalidInput, require

__all__ = ["CellRange", "PublishedTable", "Unsuppressed", "cell_ranges", "read_published_table", "suppressed"]

Place = tuple[int, ...]
_OWNER = "suppressed"
_MOST, _LARGEST = 50_000, 10**12
_PARTS = (1, 12, 2520, 10**6)
_HIDDEN = ("", "*", "x", "c", ":", "..", "suppressed")
_INFEASIBLE, _NODES = 2, 200
_NONE = "No table of counts fits the published numbers: they contradict each other."
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


class PublishedTable(NamedTuple):
    """Counts, None where nothing is published, and the words of each dimension, that of the margin last."""

    cells: Sequence[object]
    labels: tuple[tuple[str, ...], ...]


def read_published_table(path: str | Path, total: str = "total") -> PublishedTable:
    """The table in a CSV file: a column for each dimension, the count in the last.

    A line whose word in a dimension is `total` is a margin. What is not published is empty, or one of
    `*`, `x`, `c`, `:`, `..` and `suppressed`; so is what has no line. Raises `InvalidInput`.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as stream:
            rows = [[cell.strip() for cell in row] for row in csv.reader(stream) if row]
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"`{path}` must be CSV in UTF-8.") from None
    width = len(rows[0]) if rows else 0
    if width < 2 or len(rows) < 2 or any(len(row) != width for row in rows):
        raise InvalidInput(
            f"`{path}` must have a head, a column for each dimension and one for the count, in every line."
        )
    lines = rows[1:]
    labels = [dict.fromkeys(row[at] for row in lines if row[at] != total) for at in range(width - 1)]
    for at, own in enumerate(labels):
        if not any(row[at] == total for row in lines):
            raise InvalidInput(
                f"`{path}` must have margins: no line has `{total}` for `{rows[0][at]}`. Name their word."
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
        if row[-1].lower() not in _HIDDEN:
            if not (row[-1].isdecimal() and len(row[-1]) < 14):
                raise InvalidInput(
                    f"Line {number} of `{path}` must end with a count, or with a word for none."
                )
            cells[place] = int(row[-1])
    return PublishedTable(cells.tolist(), tuple(map(tuple, labels)))


class _Line(NamedTuple):
    """Σ sign·x over these unknown cells is `total`."""

    cells: list[int]
    signs: list[int]
    total: int


def cell_ranges(table: Sequence[object] | NDArray[np.object_]) -> tuple[CellRange, ...]:
    """What each suppressed cell of a table can be, to somebody who knows no person in it.

    `table` has any number of dimensions; the last place along each is the margin, and None stands for what is
    not published, a cell or a margin. Raises `InvalidInput` where no table of counts fits the numbers.

    >>> ranges = cell_ranges([[None, None, 5], [None, 4, 6], [5, 6, 11]])
    >>> [(one.place, one.low, one.high) for one in ranges]
    [((0, 0), 3, 3), ((0, 1), 2, 2), ((1, 0), 2, 2)]
    """
    cells = _cells(table)
    places = [tuple(int(one) for one in place) for place in zip(*np.where(_missing(cells)), strict=True)]
    lines = _lines(cells, {place: number for number, place in enumerate(places)})
    ends = _ends(lines, len(places))
    seen = _seen(ends, lines)
    return tuple(
        CellRange(place, low, high, (bool(seen[0][number] == low), bool(seen[1][number] == high)))
        for number, (place, (low, high)) in enumerate(zip(places, ends, strict=True))
    )


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
        require(value is None or (whole and 0 <= value <= _LARGEST), "table", _OWNER, rule, value)
    return cells


def _missing(cells: NDArray[np.object_]) -> NDArray[np.bool_]:
    return np.array([one is None for one in cells.ravel()], dtype=bool).reshape(cells.shape)


def _lines(cells: NDArray[np.object_], unknown: Mapping[Place, int]) -> list[_Line]:
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
                found.append(_Line(own, signs, total))
    return found


def _system(lines: Sequence[_Line], size: int) -> csr_array:
    rows = np.repeat(np.arange(len(lines)), [len(line.cells) for line in lines])
    columns = np.array([cell for line in lines for cell in line.cells], dtype=np.int64)
    values = np.array([sign for line in lines for sign in line.signs], dtype=np.float64)
    return csr_array((values, (rows, columns)), shape=(len(lines), size))


def _ends(lines: Sequence[_Line], size: int) -> list[tuple[int, int | None]]:
    """What a table that fits has in each cell, at least and at most, as far as it is proved."""
    system, totals = _system(lines, size), [line.total for line in lines]
    found: list[tuple[int, int | None]] = []
    for number in range(size):
        ends: list[int | None] = []
        for sign in (1, -1):
            cost = np.zeros(size)
            cost[number] = sign
            solved = linprog(cost, A_eq=system, b_eq=totals, method="highs-ds")
            if solved.status == _INFEASIBLE:
                raise InvalidInput(_NONE)
            proved = _proved(solved.eqlin.marginals, number, sign, lines) if solved.status == 0 else None
            ends.append(None if proved is None else sign * math.ceil(proved))
        low, high = max(0, ends[0] or 0), ends[1]
        if high is not None and high < low:
            raise InvalidInput(_NONE)
        found.append((low, high))
    return found


def _seen(ends: Sequence[tuple[int, int | None]], lines: Sequence[_Line]) -> tuple[list[int], list[int]]:
    """The least and the largest count of each cell in tables of whole numbers that were found.

    For each end that no table has yet, one is looked for that has it; all that are found count for all cells.
    """
    size = len(ends)
    least, most = [_LARGEST + 1] * size, [-1] * size
    totals = np.array([line.total for line in lines], dtype=np.float64)
    sums = LinearConstraint(_system(lines, size), totals, totals)
    for number, pair in enumerate(ends):
        for side, end in enumerate(pair):
            if end is None or (least, most)[side][number] == end:
                continue
            lower, upper = np.zeros(size), np.full(size, np.inf)
            lower[number] = upper[number] = end
            found = milp(
                np.zeros(size),
                constraints=sums,
                integrality=np.ones(size),
                bounds=Bounds(lower, upper),
                options={"node_limit": _NODES},
            )
            whole = [] if found.x is None else [round(float(one)) for one in found.x]
            if whole and _fits(whole, lines):
                least, most = list(map(min, least, whole)), list(map(max, most, whole))
    return least, most


def _proved(
    marginals: NDArray[np.float64], number: int, sign: int, lines: Sequence[_Line]
) -> Fraction | None:
    """A number that sign·x cannot be below: Σ y·total for multipliers y with Σ y·line ≤ sign·x in every cell.

    HiGHS' multipliers are made fractions, with ever more digits until they prove something.
    """
    for parts in _PARTS:
        shares = [Fraction(round(float(one) * parts), parts) for one in marginals]
        if all(_slack(shares, number, sign, lines)):
            return sum((y * line.total for y, line in zip(shares, lines, strict=True) if y), Fraction(0))
    return None


def _slack(shares: Sequence[Fraction], number: int, sign: int, lines: Sequence[_Line]) -> Iterator[bool]:
    sums: dict[int, Fraction] = {number: Fraction(-sign)}
    for y, line in zip(shares, lines, strict=True):
        if y:
            for cell, own in zip(line.cells, line.signs, strict=True):
                sums[cell] = sums.get(cell, Fraction(0)) + own * y
    return (total <= 0 for total in sums.values())


def _fits(whole: Sequence[int], lines: Sequence[_Line]) -> bool:
    """Whether these are counts that add up."""
    sums = (sum(s * whole[c] for c, s in zip(line.cells, line.signs, strict=True)) for line in lines)
    return min(whole) >= 0 and all(total == line.total for total, line in zip(sums, lines, strict=True))
