"""Moves of keys near one person: added to some kinds' keys, taken from others', and seen by few cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakcap.disclosure.joint.published import TableSet

__all__ = ["Moves", "PlannedMoves", "crossed_columns", "moves_near"]

_ALL_MARGINS = 0.3
"""How often a column's factor is the person's own value alone, which its margin sees."""
_FEW = 8
"""Kinds in one move, at most."""

Name = tuple[int, int]
"""A published cell: its table, and its number there."""


class Moves(NamedTuple):
    """Moves that touch no cell in common, and as many each: one column a move."""

    cells: NDArray[np.int64]
    """Rows of `PlannedMoves.cells`."""
    signs: NDArray[np.int16]
    """1 where a cell's key goes up as the move's first kind does, −1 where it goes down."""


class PlannedMoves(NamedTuple):
    """Rounds of moves, and the cells that any of them touches; those that count the person come first."""

    cells: list[Name]
    near: int
    rounds: list[list[Moves]]


def moves_near(tables: TableSet, kind: int, rounds: int, generator: np.random.Generator) -> PlannedMoves:
    """So many rounds of moves, each of which touches a cell that counts a person of this kind.

    Where the tables cross columns, a move is a product over them: in each the person's value and minus
    another, or another alone, or the person's alone. With all margins each touches 2^columns cells.
    """
    near = [(table, int(row[kind])) for table, row in enumerate(tables.cells) if row[kind] >= 0]
    found = {cell: place for place, cell in enumerate(near)}
    columns = crossed_columns(tables)
    places = {tuple(one): number for number, one in enumerate(columns.T.tolist())}
    others = [_others(tables, kind, column, len(columns) == 1) for column in columns]
    plan = []
    for _ in range(rounds):
        factors = [
            _factors(int(column[kind]), own, generator) for column, own in zip(columns, others, strict=True)
        ]
        moves = [_touched(tables, {kind: 1})]
        for chosen in product(*factors):
            kinds = _multiplied(chosen, places)
            if kinds is not None and all(tables.counts[one] for one in kinds):
                moves.append(_touched(tables, kinds))
        plan.append(_together([one for one in moves if one], found))
    return PlannedMoves(list(found), len(near), plan)


def crossed_columns(tables: TableSet) -> NDArray[np.int64]:
    """Columns of which each combination of values is one kind, by tables of one; or the kinds themselves.

    >>> tables = TableSet.of_columns([1] * 4, {"a": "xxyy", "b": "uvuv"}, [("a", "b"), ("a",), ("b",)])
    >>> crossed_columns(tables).tolist()
    [[0, 0, 1, 1], [0, 1, 0, 1]]
    """
    kinds = len(tables.counts)
    chosen: list[NDArray[np.int64]] = []
    apart = 1
    for row in sorted((row for row in tables.cells if (row >= 0).all()), key=lambda row: len(np.unique(row))):
        more = [*chosen, np.unique(row, return_inverse=True)[1].ravel()]
        told = np.unique(np.array(more), axis=1).shape[1]
        if told > apart:
            chosen, apart = more, told
        if apart == kinds and int(np.prod([one.max() + 1 for one in chosen])) == kinds:
            return np.array(chosen)
    return np.arange(kinds)[None, :]


def _others(
    tables: TableSet, kind: int, column: NDArray[np.int64], alone: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Other values of a column, and how often each is moved: kinds the more, the more tables they share."""
    values = np.setdiff1d(column, [column[kind]])
    if not alone:
        return values, np.full(len(values), 1 / max(1, len(values)))
    own = tables.cells[:, kind][:, None]
    shared = ((tables.cells == own) & (own >= 0)).sum(axis=0)[values] * (tables.counts[values] > 0)
    values, shared = values[shared > 0], shared[shared > 0]
    return values, shared / max(1, shared.sum())


def _factors(
    own: int, others: tuple[NDArray[np.int64], NDArray[np.float64]], generator: np.random.Generator
) -> list[dict[int, int]]:
    values, chances = others
    if not len(values) or generator.random() < _ALL_MARGINS:
        return [{own: 1}]
    drawn = generator.choice(values, min(2, len(values)), replace=False, p=chances).tolist()
    pair, rest = {own: 1, drawn[0]: -1}, [{one: 1} for one in drawn[1:]]
    return [pair, *rest] if rest or generator.random() < 0.5 else [{drawn[0]: 1}]


def _multiplied(
    chosen: Sequence[dict[int, int]], places: dict[tuple[int, ...], int]
) -> dict[int, int] | None:
    """The kinds of a product of factors, with signs; None where a combination is no kind, or many are."""
    found = {
        places.get(tuple(value for value, _ in combination), -1): int(
            np.prod([sign for _, sign in combination])
        )
        for combination in product(*(factor.items() for factor in chosen))
    }
    return found if -1 not in found and len(found) <= _FEW else None


def _touched(tables: TableSet, kinds: dict[int, int]) -> dict[Name, int]:
    """The cells whose keys a move changes, with signs; nothing where one would change by more than once."""
    found: dict[Name, int] = {}
    for kind, sign in kinds.items():
        for table, cell in enumerate(tables.cells[:, kind].tolist()):
            if cell >= 0:
                found[table, cell] = found.get((table, cell), 0) + sign
    found = {cell: sign for cell, sign in found.items() if sign}
    return found if all(abs(sign) == 1 for sign in found.values()) else {}


def _together(moves: list[dict[Name, int]], found: dict[Name, int]) -> list[Moves]:
    """Neighbouring moves that touch no cell in common, and as many each, as one."""
    groups: list[list[dict[Name, int]]] = []
    for move in moves:
        last = groups[-1] if groups else [{(-1, -1): 0}]
        if len(last[0]) == len(move) and not any(cell in one for one in last for cell in move):
            last.append(move)
        else:
            groups.append([move])
        for cell in move:
            found.setdefault(cell, len(found))
    return [
        Moves(
            np.array([[found[cell] for cell in move] for move in group]).T,
            np.array([list(move.values()) for move in group], dtype=np.int16).T,
        )
        for group in groups
    ]
