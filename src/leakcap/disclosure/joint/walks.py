"""How far apart all that is published without and with a person can be at most: by walks through the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakcap.disclosure.joint.drawn_keys import batches, drawn_keys, keys_of_cells
from leakcap.disclosure.joint.keyed import RowsByKey
from leakcap.disclosure.joint.moves import Moves, PlannedMoves, moves_near
from leakcap.disclosure.joint.published import TableSet
from leakcap.disclosure.joint.runs import arcs_of
from leakcap.numeric.logspace import Floats
from leakcap.numeric.means import least_mean

__all__ = ["apart_by_walks", "walked"]

_STEPS, _ROUNDS, _POOL = 1200, 3, 499
_PLANNED = 2026
_ROUNDED = 1e-7
"""More than the roundings of all moves of a walk change the law of where it goes, and its weight."""

Places = NDArray[np.int16]


def apart_by_walks(
    tables: TableSet,
    kind: int,
    rows: RowsByKey,
    size: int,
    draws: int,
    level: float,
    generator: np.random.Generator,
) -> float:
    """At most this is the total variation of all that is published, without and with `size` people of a kind.

    Too low with probability `level` over the draws. Somebody else has to be of the kind. Proof:
    docs/theory/cell-keys.md, "Walks through the keys".
    """
    plan = moves_near(tables, kind, _POOL, np.random.default_rng(_PLANNED))
    values = np.concatenate([
        walked(tables, plan, rows, size, some, generator) for some in batches(draws, len(tables.counts))
    ])  # fmt: skip
    return float(min(1.0, 1.0 - least_mean(values, 1.0, level) + _ROUNDED))


def walked(
    tables: TableSet,
    plan: PlannedMoves,
    rows: RowsByKey,
    size: int,
    draws: int,
    generator: np.random.Generator,
) -> Floats:
    """min(1, w) of so many walks that begin in the world without the person."""
    drawn = keys_of_cells(
        tables, plan.cells, drawn_keys(tables.counts, rows.keys, draws, generator), rows.keys
    )
    counts = [int(tables.counts[tables.cells[table] == cell].sum()) for table, cell in plan.cells]
    near, places, room = _Near.of(drawn[: plan.near], counts[: plan.near], rows, size)
    at = np.empty((len(counts), draws), dtype=np.int16)
    most = np.empty_like(at)
    at[: plan.near], most[: plan.near] = places, room
    for place in range(plan.near, len(counts)):
        first, length = _runs(rows.row(counts[place]))
        keys = drawn[place]
        at[place], most[place] = (keys - first[keys]) % rows.keys, length[keys] - 1
    steps = np.arange(1, _STEPS + 1) / (_STEPS + 1)
    logarithm, before = np.zeros(draws), (0.0, 0.0)
    turn = 0
    for odds in 2 * np.log(np.tan(np.pi * steps / 2)):
        # What a near cell costs that is out of the run without the person, and out of that with them.
        costs = max(-float(odds), 0.0), max(float(odds), 0.0)
        outside = near.outside(at[: plan.near])
        logarithm -= (costs[0] - before[0]) * outside[0] + (costs[1] - before[1]) * outside[1]
        before = costs
        for _ in range(_ROUNDS):
            for moves in plan.rounds[turn % len(plan.rounds)]:
                _moved(at, most, moves, near, costs, turn % 2 == 0, generator)
            turn += 1
    outside = near.outside(at[: plan.near])
    logarithm += before[0] * outside[0] + before[1] * outside[1]
    arrived = near.possible & (outside[1] == 0)
    return np.asarray(np.where(arrived, np.exp(np.minimum(logarithm, 0.0)), 0.0))


class _Near(NamedTuple):
    """Of cells that count the person: the runs of keys without and with them, in a frame that holds both.

    Those with the person are moved by one number a walk, the same for all cells, which the key of the
    person's kind takes back in the end. Rows are cells, columns are walks.
    """

    absent: tuple[Places, Places]
    """The first places of the runs, and those after their last."""
    present: tuple[Places, Places]
    possible: NDArray[np.bool_]
    """Whether there is a run with the person in all of a walk's cells."""

    @classmethod
    def of(
        cls, drawn: NDArray[np.int32], counts: Sequence[int], rows: RowsByKey, size: int
    ) -> tuple[_Near, Places, Places]:
        """With where each key is in its frame, and the last place of that."""
        keys = rows.keys
        runs = np.array([
            _matched(rows.row(count), rows.row(count + size))[:, own]
            for count, own in zip(counts, drawn, strict=True)
        ])  # fmt: skip
        first, length, other, reach, possible = np.moveaxis(runs, 1, 0)
        way = first - other + (length - reach) / 2
        way -= keys * np.rint(way / keys)
        weights = 1.0 / np.minimum(length, np.maximum(reach, 1)) ** 2
        other = other + np.rint((way * weights).sum(axis=0) / weights.sum(axis=0)).astype(np.int64)
        ahead, behind = (other - first) % keys, (first - other) % keys
        one, two = np.maximum(length, ahead + reach), np.maximum(reach, behind + length)
        # The frame begins with whichever run makes it shorter; around all keys the second run is cut.
        begins = (one <= two) | (np.minimum(one, two) > keys)
        frame = np.minimum(np.where(begins, one, two), keys)
        a, b = np.where(begins, 0, behind), np.where(begins, ahead, 0)
        near = cls(
            (a.astype(np.int16), (a + length).astype(np.int16)),
            (b.astype(np.int16), np.minimum(b + reach, keys).astype(np.int16)),
            possible.astype(bool).all(axis=0),
        )
        at = (drawn - np.where(begins, first, other)) % keys
        return near, at.astype(np.int16), (frame - 1).astype(np.int16)

    def outside(self, at: Places) -> tuple[Floats, Floats]:
        """How many of the cells are out of the run of each world, for each walk."""
        without, with_person = (
            ((at < first) | (at >= end)).sum(axis=0).astype(float) for first, end in self[:2]
        )
        return without, with_person

    def rise(self, cell: int, before: Places, after: Places, costs: tuple[float, float]) -> Floats:
        """By how much the logarithm of the weight rises as a cell's key goes from one place to another."""
        rise = np.zeros(len(before))
        for (first, end), cost in zip(self[:2], costs, strict=True):
            if cost:
                out = [((at < first[cell]) | (at >= end[cell])).astype(float) for at in (before, after)]
                rise += cost * (out[0] - out[1])
        return rise


def _moved(
    at: Places,
    most: Places,
    moves: Moves,
    near: _Near,
    costs: tuple[float, float],
    mirrored: bool,
    generator: np.random.Generator,
) -> None:
    """Each move made by a number that keeps all keys in their frames: drawn, or its mirror image.

    Where cells that count the person are touched it is made with the probability of Metropolis.
    """
    draws = at.shape[1]
    rows = moves.cells.ravel()
    here = at[rows].reshape(*moves.cells.shape, draws)
    left = most[rows].reshape(here.shape) - here
    ups = (moves.signs > 0)[:, :, None]
    down, up = np.where(ups, here, left).min(axis=0), np.where(ups, left, here).min(axis=0)
    step = up - down
    if not mirrored:
        step = (generator.random(up.shape) * (up + down + 1)).astype(np.int16) - down
    touched = moves.cells < len(near.absent[0])
    for move in np.flatnonzero(touched.any(axis=0)):
        rise = np.zeros(draws)
        for slot in np.flatnonzero(touched[:, move]):
            before = here[slot, move]
            rise += near.rise(
                moves.cells[slot, move], before, before + moves.signs[slot, move] * step[move], costs
            )
        step[move] *= generator.random(draws) < np.exp(np.minimum(rise, 0.0))
    here += moves.signs[:, :, None] * step
    at[rows] = here.reshape(len(rows), draws)


def _runs(row: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """At each key the first key and the length of the run that shows the same."""
    keys = len(row)
    first, length = np.zeros((2, keys), dtype=np.int32)
    for start, reach in arcs_of(row):
        run = np.arange(start, start + reach) % keys
        first[run], length[run] = start, reach
    return first, length


def _matched(absent: NDArray[np.int64], present: NDArray[np.int64]) -> NDArray[np.int64]:
    """At each key: its run without the person, and that with them which shows the same; is there one?

    Five rows: first key and length of both, and 1 where there is one. A value that is shown at several runs
    counts as one for each, in their order.
    """
    keys = len(absent)
    found = np.ones((5, keys), dtype=np.int64)
    for value in np.unique(absent):
        others = arcs_of(present == value, True)
        for place, (start, length) in enumerate(arcs_of(absent == value, True)):
            other = (*others[place], 1) if place < len(others) else (start, length, 0)
            found[:, np.arange(start, start + length) % keys] = np.array([start, length, *other])[:, None]
    return found
