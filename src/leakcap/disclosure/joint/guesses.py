"""A guess of somebody's presence from what is published near them, and how often it is right when tried."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakcap.disclosure.joint.drawn_keys import batches, drawn_keys, keys_of_cells
from leakcap.disclosure.joint.evidence import JointEvidence
from leakcap.disclosure.joint.keyed import RowsByKey
from leakcap.disclosure.joint.published import CellOf, TableSet
from leakcap.numeric.logspace import Floats
from leakcap.numeric.means import least_mean

__all__ = ["TriedGuess", "told_by_guessing"]

_NODES, _WIDEST = 4, 4
_MOST_SIBLINGS = 24
_WAVES, _CIRCLE = 64, 256
_NOTHING = 1e-12

Name = tuple[int, int]
Scope = tuple[int, ...]


class _Line(NamedTuple):
    """A cell and its margin, by their numbers among the person's cells, and the cell's siblings."""

    cell: int
    margin: int
    siblings: list[Name]


class TriedGuess:
    """Whether presence or absence explains better what some cells near a person show.

    The keys of the person's cells are taken to be at four places of those that show what is published; each
    cell and its margin differ by the sum of the siblings' keys, whose law given what they show is a
    convolution. The likelihood of both worlds is the sum over all places of the products of these laws. What
    is published further away is not looked at.
    """

    def __init__(self, tables: TableSet, kind: int, rows: RowsByKey, size: int) -> None:
        """For `size` people of this kind."""
        self.tables, self.kind, self.rows, self.size = tables, kind, rows, size
        self.cells = tables.counting(kind)
        self.own = [(cell.table, int(tables.cells[cell.table, kind])) for cell in self.cells]
        self.lines, self.order = _few_enough(_lines(tables, kind, self.cells), len(self.cells))

    def says_present(self, world: int, draws: int, generator: np.random.Generator) -> NDArray[np.bool_]:
        """What it says of so many publications, drawn without the person (0) or with them (1)."""
        counts = self.tables.counts.copy()
        counts[self.kind] += world * self.size
        drawn = drawn_keys(counts, self.rows.keys, draws, generator)
        places = sorted({*self.own, *(one for line in self.lines for one in line.siblings)})
        keys = dict(zip(places, keys_of_cells(self.tables, places, drawn, self.rows.keys), strict=True))
        sums = [self._sums(line, keys) for line in self.lines]
        found = []
        for asked in (0, 1):
            seen = [
                self._seen(cell, keys[own], world, asked)
                for cell, own in zip(self.cells, self.own, strict=True)
            ]
            found.append(self._likelihood(seen, sums))
        return np.asarray(found[1] > found[0])

    def _seen(self, cell: CellOf, keys: NDArray[np.int32], world: int, asked: int) -> tuple[Floats, Floats]:
        """Keys that would show in the world asked about what a cell shows, and how likely it is there."""
        total = self.rows.keys
        shown = self.rows.row(cell.others + world * self.size)[keys]
        row = self.rows.row(cell.others + asked * self.size)
        nobody = cell.others + asked * self.size == 0
        values, numbers = np.unique(shown, return_inverse=True)
        nodes, likely = np.zeros((len(values), _NODES)), np.zeros(len(values))
        for number, value in enumerate(values):
            like = np.flatnonzero(row[:1] == value) if nobody else np.flatnonzero(row == value)
            if len(like):
                nodes[number] = like[((np.arange(_NODES) + 0.5) / _NODES * len(like)).astype(int)]
                likely[number] = 1.0 if nobody else len(like) / total
        return nodes[numbers.ravel()], likely[numbers.ravel()]

    def _sums(self, line: _Line, keys: dict[Name, NDArray[np.int32]]) -> Floats:
        """The law of the sum of siblings' keys given what they show, at 256 places of the circle."""
        waves = np.ones((len(keys[line.siblings[0]]), _WAVES + 1), dtype=complex)
        for (table, number), count in zip(line.siblings, self._counted(line.siblings), strict=True):
            if count:
                row = self.rows.row(count)
                values, numbers = np.unique(row, return_inverse=True)
                shown = numbers.ravel() == np.arange(len(values))[:, None]
                spectrum = np.zeros((len(values), _WAVES + 1), dtype=complex)
                kept = np.fft.rfft(shown / shown.sum(axis=1)[:, None])[:, : _WAVES + 1]
                spectrum[:, : kept.shape[1]] = kept
                waves *= spectrum[numbers.ravel()[keys[table, number]]]
        law = np.fft.irfft(waves, n=_CIRCLE) * _CIRCLE
        return np.maximum(law, _NOTHING)

    def _counted(self, siblings: Sequence[Name]) -> list[int]:
        return [
            int(self.tables.counts[self.tables.cells[table] == number].sum()) for table, number in siblings
        ]

    def _likelihood(self, seen: Sequence[tuple[Floats, Floats]], sums: Sequence[Floats]) -> Floats:
        """How likely each cell's value is in a world, times the mean over keys of the laws' products."""
        draws = len(seen[0][0])
        factors: list[tuple[Scope, Floats]] = []
        for line, law in zip(self.lines, sums, strict=True):
            one, two = seen[line.cell][0], seen[line.margin][0]
            apart = (two[:, None, :] - one[:, :, None]) * (_CIRCLE / self.rows.keys)
            at = np.rint(apart).astype(np.int64) % _CIRCLE
            pair = np.take_along_axis(law, at.reshape(draws, -1), axis=1).reshape(at.shape)
            turned = line.cell > line.margin
            ends: Scope = tuple(sorted((line.cell, line.margin)))
            factors.append((ends, pair.swapaxes(1, 2) if turned else pair))
        for place in self.order:
            mine = [one for one in factors if place in one[0]]
            if mine:
                scope = tuple(sorted({number for one in mine for number in one[0]}))
                product = reduce(np.multiply, (_spread(one, scope) for one in mine))
                left: Scope = tuple(number for number in scope if number != place)
                factors = [one for one in factors if place not in one[0]]
                factors.append((left, product.mean(axis=1 + scope.index(place))))
        alone = [likely for _, likely in seen] + [factor for _, factor in factors]
        return np.asarray(reduce(np.multiply, alone))


def told_by_guessing(
    guess: TriedGuess, draws: int, level: float, generator: np.random.Generator
) -> JointEvidence:
    """What the guess tells at least, by so many draws of each world; too much with probability `level`."""
    right = []
    for world in (0, 1):
        hits = np.concatenate([
            guess.says_present(world, some, generator) == bool(world)
            for some in batches(draws, len(guess.tables.counts))
        ])  # fmt: skip
        right.append(least_mean(hits.astype(float), 1.0, level / 2))
    if sum(right) <= 1:
        return JointEvidence.of([1.0], [1.0])
    return JointEvidence.of([right[0], 1 - right[0]], [1 - right[1], right[1]])


def _lines(tables: TableSet, kind: int, cells: Sequence[CellOf]) -> list[_Line]:
    """Cells and margins with few siblings, but those with another of the person's cells in between."""
    found: dict[tuple[int, int], list[Name]] = {}
    for one, cell in enumerate(cells):
        for two, margin in enumerate(cells):
            siblings = tables.siblings(kind, cell, margin) if one != two else None
            if siblings is not None and len(siblings):
                found[one, two] = [(cell.table, number) for number in siblings.tolist()]
    return [
        _Line(one, two, siblings)
        for (one, two), siblings in found.items()
        if len(siblings) <= _MOST_SIBLINGS
        and not any((one, other) in found and (other, two) in found for other in range(len(cells)))
    ]


def _few_enough(lines: list[_Line], cells: int) -> tuple[list[_Line], list[int]]:
    """Lines, without the longest, and an order in which cells can be summed out with few others at a time."""
    kept = sorted(lines, key=lambda line: len(line.siblings))
    while True:
        order, widest = _order([(line.cell, line.margin) for line in kept], cells)
        if widest <= _WIDEST:
            return kept, order
        kept.pop()


def _order(pairs: Sequence[tuple[int, int]], cells: int) -> tuple[list[int], int]:
    """That with the fewest neighbours first, and the most cells that are looked at together."""
    around: dict[int, set[int]] = {number: set() for number in range(cells)}
    for one, two in pairs:
        around[one].add(two)
        around[two].add(one)
    order, widest = [], 1
    while around:
        place = min(around, key=lambda number: (len(around[number]), number))
        near = around.pop(place)
        for one, two in combinations(near, 2):
            around[one].add(two)
            around[two].add(one)
        for one in near:
            around[one].discard(place)
        order.append(place)
        widest = max(widest, 1 + len(near))
    return order, widest


def _spread(factor: tuple[Scope, Floats], scope: Scope) -> Floats:
    """A factor with an axis for each cell of a larger scope."""
    own, values = factor
    shape = [len(values), *(values.shape[1 + own.index(one)] if one in own else 1 for one in scope)]
    return values.reshape(shape)
