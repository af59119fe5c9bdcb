"""Pairs of tables through the engines: a pair is a table, a neighbour with one hostile row, and one query."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import hostile
import leakcap.release.statistics.cumulative as cumulative_room
import leakcap.release.statistics.quantiles as ranks_room
import leakcap.release.statistics.ranges as ranges_room
from hostile_rows.asked import SHAPES, allowed, asked, moved, outcome, plans
from hostile_rows.ways import DRESSED, FLAVOURS, PLAIN, SLOTS, Typed, frames
from leakcap.release import Engine, attach
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import text_of

__all__ = ["cases_of", "few_cells", "of_pandas", "of_typed", "rows_of", "shown"]


@contextmanager
def few_cells() -> Iterator[None]:
    """Two bins and three powers where there are hundreds: how a cell is read does not hang on them."""
    with (
        mock.patch.object(cumulative_room, "branching_for", return_value=2),
        mock.patch.object(ranks_room, "BINS", 2),
        mock.patch.object(ranges_room, "EDGES", (-4.0, 0.0, 1.0, 4.0)),
    ):
        plans.cache_clear()
        yield
    plans.cache_clear()


class Answers:
    """What a table answers to every query, and whether a neighbour's answers are a neighbour's."""

    def __init__(self, engine: Engine, wanted: Sequence[Plan]) -> None:
        self._wanted, self._columns = wanted, engine.columns()
        self._refusals = [outcome(engine, plan) for plan in wanted]
        self._heard = [plan for plan, refusal in zip(wanted, self._refusals, strict=True) if not refusal]
        self._totals = {id(plan): found[0] for plan, found in asked(engine, self._heard, 1)}

    def compared(self, engine: Engine, copies: int, what: Any) -> int:
        """How many pairs these are, each copy in the engine's table being a neighbour."""
        assert engine.columns() == self._columns, what
        assert [outcome(engine, plan) for plan in self._wanted] == self._refusals, what
        for plan, found in asked(engine, self._heard, copies):
            for copy, totals in enumerate(found):
                for part, far in moved(plan, self._totals[id(plan)], totals):
                    assert far <= allowed(part, plan), (what, copy, text_of(plan), part.role, far)
        return copies * len(self._wanted)


def cases_of(way: Typed, turn: int) -> list[tuple[str, Any]]:
    """Every type in a column, which is another one at the next turn; few types are in all columns."""
    if len(way.types) < len(SLOTS):
        return list(itertools.product(SLOTS, way.types))
    return [(SLOTS[(turn + place) % len(SLOTS)], type_) for place, type_ in enumerate(way.types)]


def of_typed(way: Typed, unit: str, cases: Iterable[tuple[str, Any]]) -> int:
    """Columns of types with all hostile values that they can hold, copies in one table: the pairs tried."""
    tried = 0
    for turn, (slot, type_) in enumerate(cases):
        wanted = plans(unit, turn % len(SHAPES))
        others, values = way.others(type_), way.hostile(type_)
        what = (way.name, unit, slot, str(type_))
        answers = Answers(way.engine(rows_of(slot, others, [], 0, unit), slot, type_), wanted)
        if unit == "people" and slot == "id":
            # Whose ids are tried cannot have them as copies.
            for value in [one for one in values if not _among(one, others)][:3]:
                engine = way.engine(rows_of(slot, others, [value], 0, unit), slot, type_)
                tried += answers.compared(engine, 1, (*what, value))
            continue
        tables = [
            rows_of(slot, others, mine, copy, unit)
            for copy, mine in enumerate([[], *([one] for one in values)])
        ]
        rows = list(itertools.chain.from_iterable(tables))
        # The first copy has no hostile row.
        tried += answers.compared(way.engine(rows, slot, type_), len(tables), (*what, values)) - len(wanted)
    return tried


def _among(value: Any, others: Sequence[Any]) -> bool:
    """Whether somebody has this id already; what cannot be compared is nobody's."""
    try:
        return value in others
    except Exception:
        return False


def rows_of(
    slot: str, others: Sequence[Any], mine: Sequence[Any], copy: int, unit: str, each: int = 2
) -> list[dict[str, Any]]:
    """Others with so many rows each, and one row; of a person two, which are alike.

    Two rows are used of a person: which ones of three would hang on the copy, whose people have other ids.
    """
    start, both = 1000 * copy, [*others, *others]
    rows = [{**PLAIN, "id": start + place // each, slot: value} for place, value in enumerate(both)]
    rows += [{**PLAIN, "id": start + 999, slot: one} for one in mine for _ in range(1 + (unit == "people"))]
    return [{**row, "copy": copy} for row in rows]


def of_pandas(unit: str, source: random.Random, tables: int) -> int:
    """So many neighbours of pandas tables, each of which chooses its dtypes anew."""
    tried = 0
    cases = list(itertools.product(SLOTS, FLAVOURS, DRESSED))
    kept: dict[tuple[str, str, str], Answers] = {}
    for turn in range(tables):
        case, value = source.choice(cases), source.choice(hostile.everything())
        pair = frames(*case, value)
        if pair is None:
            continue  # pandas itself makes no such column
        without, with_ = pair
        if case not in kept:
            kept[case] = Answers(attach(without), plans(unit, turn % len(SHAPES)))
        tried += kept[case].compared(attach(with_), 1, (unit, *case, shown(value)))
    return tried


def shown(value: Any) -> str:
    try:
        return f"{type(value).__name__} {ascii(value)[:60]}"
    except Exception:
        return type(value).__name__
