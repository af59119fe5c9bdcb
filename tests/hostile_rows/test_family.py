"""Every way in, every statistic: a neighbour with one hostile row is refused, warned of and read alike.

A pair is a table, a neighbour and one query: the columns are the same, so is the refusal, nothing warns or
stops, and the exact totals move by no more than one unit may move them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import hostile
import leakcap.release.statistics.cumulative as cumulative_room
import leakcap.release.statistics.ranges as ranges_room
import leakcap.release.statistics.ranks as ranks_room
from hostile_rows import ways
from hostile_rows.asked import allowed, asked, moved, outcome, plans
from hostile_rows.ways import DRESSED, FLAVOURS, PLAIN, SLOTS, Typed, frames
from leakcap.errors import DataError
from leakcap.release import Engine, attach
from leakcap.release.frames import Readable
from leakcap.release.plan import Plan


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
                    assert far <= allowed(part, plan), (what, copy, plan.text, part.role, far)
        return copies * len(self._wanted)


def of_typed(way: Typed, unit: str, few: bool, source: random.Random, share: float) -> int:
    """A share of all types in all columns, each with all hostile values, whose tables are copies in one."""
    wanted, tried = plans(unit, few), 0
    cases = list(itertools.product(SLOTS, way.types))
    for slot, type_ in source.sample(cases, max(1, round(share * len(cases)))):
        others, values = way.others(type_), way.hostile(type_)
        what = (way.name, unit, slot, str(type_))
        answers = Answers(way.engine(_rows(slot, others, [], 0, unit), slot, type_), wanted)
        if unit == "people" and slot == "id":
            # Whose ids are tried cannot have them as copies.
            for value in [one for one in values if not _among(one, others)][:3]:
                engine = way.engine(_rows(slot, others, [value], 0, unit), slot, type_)
                tried += answers.compared(engine, 1, (*what, value))
            continue
        tables = [
            _rows(slot, others, mine, copy, unit)
            for copy, mine in enumerate([[], *([one] for one in values)])
        ]
        rows = list(itertools.chain.from_iterable(tables))
        tried += answers.compared(way.engine(rows, slot, type_), len(tables), (*what, values))
    return tried


def _among(value: Any, others: Sequence[Any]) -> bool:
    """Whether somebody has this id already; what cannot be compared is nobody's."""
    try:
        return value in others
    except Exception:
        return False


def _rows(
    slot: str, others: Sequence[Any], mine: Sequence[Any], copy: int, unit: str, each: int = 2
) -> list[dict[str, Any]]:
    """Others with so many rows each, and one row; of a person two, which are alike.

    Two rows are used of a person: which ones of three would hang on the copy, whose people have other ids.
    """
    start, both = 1000 * copy, [*others, *others]
    rows = [{**PLAIN, "id": start + place // each, slot: value} for place, value in enumerate(both)]
    rows += [{**PLAIN, "id": start + 999, slot: one} for one in mine for _ in range(1 + (unit == "people"))]
    return [{**row, "copy": copy} for row in rows]


def of_pandas(unit: str, few: bool, source: random.Random, tables: int) -> int:
    """So many neighbours of pandas tables, each of which chooses its dtypes anew."""
    wanted, tried = plans(unit, few), 0
    cases = list(itertools.product(SLOTS, FLAVOURS, DRESSED))
    kept: dict[tuple[str, str, str], Answers] = {}
    for _ in range(tables):
        case, value = source.choice(cases), source.choice(hostile.everything())
        pair = frames(*case, value)
        if pair is None:
            continue  # pandas itself makes no such column
        without, with_ = pair
        if case not in kept:
            kept[case] = Answers(attach(without), wanted)
        tried += kept[case].compared(attach(with_), 1, (unit, *case, _shown(value)))
    return tried


def _shown(value: Any) -> str:
    try:
        return f"{type(value).__name__} {ascii(value)[:60]}"
    except Exception:
        return type(value).__name__


@pytest.fixture(autouse=True)
def few_cells(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two bins and three powers where there are hundreds: how a cell is read does not hang on them."""
    monkeypatch.setattr(cumulative_room, "branching_for", lambda bins: 2)
    monkeypatch.setattr(ranks_room, "BINS", 2)
    monkeypatch.setattr(ranges_room, "EDGES", (-4.0, 0.0, 1.0, 4.0))
    plans.cache_clear()
    yield
    plans.cache_clear()


def test_a_few_ways(tmp_path: Path) -> None:
    source, tried = random.Random(12), {}
    for way, unit in zip([ways.Arrow(), ways.Csv(tmp_path)], ["rows", "people"], strict=True):
        tried[way.name] = of_typed(way, unit, True, source, 0.0)
    tried["pandas"] = of_pandas("rows", True, source, 3) + of_pandas("people", True, source, 3)
    assert min(tried.values()) >= 10, tried
    assert sum(tried.values()) >= 500, tried


@pytest.mark.slow
def test_arrow_types_in_all_columns() -> None:
    assert of_typed(ways.Arrow(), "rows", True, random.Random(5), 0.25) >= 1_000


def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas' own dtypes, as they were read before: the family stops at once."""
    monkeypatch.setattr(
        import_module("leakcap.release.engine.attach"), "readable", lambda data, wanted: Readable(data)
    )
    with pytest.raises((AssertionError, DataError)):
        of_pandas("rows", True, random.Random(7), 20)
