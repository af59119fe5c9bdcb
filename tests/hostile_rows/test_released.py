"""The same through `PrivateTable.release`: with a hostile row answers have the same columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from hostile_rows import ways
from hostile_rows.asked import SHAPES, UNITS, plans
from hostile_rows.pairs import rows_of, shown
from hostile_rows.ways import PLAIN, Typed, frames
from leakcap.errors import LeakcapError
from leakcap.release import PrivateTable, Query, Release
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import used_columns
from seeded import SeededSource

LOCAL = ways.every({"nothing", "a folder"})


def heard(data: Any, stored: str | None, wanted: Sequence[Plan]) -> list[object]:
    """For each query what everybody may see of its answer, whatever the noise; nothing may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = SeededSource(3)
        table = PrivateTable(data, policy=wanted[0].policy, ledger="sqlite://", table=stored, source=source)
        return [_heard(table, replace(plan.query, name=f"q{at}")) for at, plan in enumerate(wanted)]


def _heard(table: PrivateTable, query: Query) -> object:
    try:
        (answer,) = table.release([query])
    except LeakcapError as error:
        return type(error).__name__, str(error)
    return (answer.text, answer.price, answer.noise_scale, *_columns(answer))


def _columns(answer: Release) -> list[object]:
    columns = answer.rows.columns()
    if answer.query.delta is not None:
        # How many groups there are is the answer itself, and without one there are no labels.
        return [type(answer.rows)]
    # Other labels may be chosen, like those of the most frequent keys.
    public = {name: columns[name] for name in answer.query.by}
    return [list(columns), public, len(answer.rows)]


def pairs_of(way: Typed, unit: str, slot: str, type_: Any, turn: int, few: int) -> int:
    """Every so many-th hostile value that the type can hold; answers are made, not only refusals."""
    wanted, others = plans(unit, turn), way.others(type_)
    without = heard(*way.data(rows_of(slot, others, [], 0, unit), slot, type_), wanted)
    answered = sum(len(one) > 2 for one in without if isinstance(one, tuple))
    assert answered * 2 >= len(wanted), without
    values = way.hostile(type_)[turn::few]
    for value in values:
        with_ = heard(*way.data(rows_of(slot, others, [value], 0, unit), slot, type_), wanted)
        assert with_ == without, (way.name, unit, slot, str(type_), shown(value))
    return len(values) * len(wanted)


def test_one_answer_after_another() -> None:
    assert pairs_of(ways.Arrow(), "rows", "s", pyarrow.string(), 0, 120) >= 15
    without, with_ = frames("d", "words", "as it is", b"\xff") or (None, None)
    wanted = plans("people", 1)
    assert heard(with_, None, wanted) == heard(without, None, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("place", range(len(LOCAL)), ids=[kind.name for kind in LOCAL])
def test_answers_have_the_same_columns(place: int, unit: str, tmp_path: Path) -> None:
    """Of the hostile values every fiftieth: how each of them is read, `test_family` shows."""
    way = LOCAL[place](tmp_path)
    slots = [("s", pyarrow.string()), ("d", pyarrow.string()), ("x", way.types[-1])]
    tried = sum(
        pairs_of(way, unit, slot, type_, turn, 50)
        for turn, (slot, type_) in enumerate(slots)
        if type_ in (pyarrow.string(), pyarrow.float64())
    )
    print(f"{way.name}, {unit}: {tried} pairs released")
    assert tried >= 50


def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's text as it is, which was read so before: whoever is in the condition stops the release."""
    monkeypatch.setattr(import_module("leakcap.release.engine.frames"), "valid", lambda data: data)
    wanted = [
        plan for turn in range(len(SHAPES)) for plan in plans("rows", turn) if "s" in used_columns(plan)
    ]
    texts = [
        {"d": "a", "s": one, **{n: v for n, v in PLAIN.items() if n not in "ds"}} for one in ("a", b"\xff")
    ]
    tables = [[{**one, "copy": 0} for one in texts[:size]] for size in (1, 2)]
    without, with_ = (ways.Arrow().data(rows, "s", pyarrow.string()) for rows in tables)
    before, after = heard(*without, wanted), heard(*with_, wanted)
    assert "DataError" not in {one[0] for one in before if isinstance(one, tuple)}
    assert "DataError" in {one[0] for one in after if isinstance(one, tuple)}
