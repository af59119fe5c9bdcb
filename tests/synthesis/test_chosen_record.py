"""A kept record of chosen tables: read back to every number, and refused where one was edited."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leakcap.errors import InvalidParameter
from leakcap.release import PrivateTable, exposure_so_far
from leakcap.report.records import recovered
from leakcap.report.records.recovered import released_of
from leakcap.report.records.tables import TablesRecord
from leakcap.report.sources import record_of
from leakcap.statement import statement_of
from leakcap.synthesis import ChosenTables, release_chosen_tables, synthesize
from leakcap.tables import TablesQuestion
from leakcap.tables.residuals import residual_integers
from seeded import SeededSource
from synthesis.worlds import POLICY, people

ASKED = TablesQuestion(columns=("sex", "ward", "old", "rooms"), ways=2, rho=0.3)


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"neighbours": "replace-one", "rows": 4_000},
        {"caps": {"epsilon": 9.0, "delta": 1e-6}, "unit": {"id": "rooms", "max_rows": 2_000}},
        {"columns": {**POLICY["columns"], "old": {"keys": [False]}}},
    ],
)
def test_a_record_of_chosen_tables_is_read_back_to_every_number(policy: dict[str, Any]) -> None:
    with PrivateTable(people(), policy=POLICY | policy, ledger="sqlite://") as table:
        found = release_chosen_tables(table, ASKED, 2, source=SeededSource(1))
        total = statement_of(exposure_so_far(table.ledger.entries(), table.policy))
        record = record_of(json.loads(json.dumps(TablesRecord.of(found, total, table.budget()).to_dict())))
    assert isinstance(record, TablesRecord)
    assert record.choice is not None
    assert (record.choice.among, record.choice.chosen) == (found.among, found.chosen)
    again = released_of(record)
    assert isinstance(again, ChosenTables)
    assert (again.chosen, again.among, again.entry) == (found.chosen, found.among, found.entry)
    assert again.spend == found.spend
    for one, noisy in found.integers.items():
        mine = residual_integers(again.integers[one].astype(object))
        assert np.array_equal(residual_integers(noisy.astype(object)), mine)
    some: list[tuple[dict[str, Any], float]] = [({"sex": "f"}, 1.0), ({"sex": "m"}, -2.5), ({}, 1 / 3)]
    assert again.sum_of(some) == found.sum_of(some)
    assert synthesize(again, rows=50, seed=1).to_arrow() == synthesize(found, rows=50, seed=1).to_arrow()


EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "nothing said of a choice": lambda one: one.pop("choice"),
    "fewer to choose from": lambda one: one["choice"].update(among=2),
    "one chosen less": lambda one: one["choice"]["chosen"].pop(),
    "another one chosen": lambda one: one["choice"]["chosen"].__setitem__(0, ["sex", "rooms"]),
    "one chosen twice": lambda one: one["choice"]["chosen"].__setitem__(0, one["choice"]["chosen"][1]),
    "one that is none": lambda one: one["choice"]["chosen"].__setitem__(0, ["sex", "age"]),
    "none chosen": lambda one: one["choice"].update(chosen=[]),
    "fewer columns to choose among": lambda one: one["question"].update(columns=["sex", "ward", "old"]),
    "the price of the tables alone": lambda one: one.update(rho=one["rho"] * 0.9),
    "intervals of one table": lambda one: [
        cell.update(lower=(cell["lower"] + cell["value"]) / 2, upper=(cell["upper"] + cell["value"]) / 2)
        for cell in one["tables"][-1]["cells"]
    ],
    "the words": lambda one: one.update(query="all tables"),
}


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """A record of chosen tables."""
    with PrivateTable(people(), policy=POLICY, ledger="sqlite://") as table:
        found = release_chosen_tables(table, ASKED, 2, source=SeededSource(1))
        total = statement_of(exposure_so_far(table.ledger.entries(), table.policy))
        told: dict[str, Any] = json.loads(json.dumps(TablesRecord.of(found, total, table.budget()).to_dict()))
    return told


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_record_is_refused_in_one_line(recorded: dict[str, Any], edit: str) -> None:
    told = copy.deepcopy(recorded)
    EDITS[edit](told)
    record = record_of(told)
    assert isinstance(record, TablesRecord)
    with pytest.raises(InvalidParameter) as refused:
        released_of(record)
    assert "\n" not in str(refused.value)
    if "choice" in told:
        assert "leakcap synthesize FILE" in str(refused.value)


def test_a_reader_that_forgets_the_choice_is_caught(
    recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intervals of one table alone, and the price without the scores, do not agree with the record."""
    monkeypatch.setattr(recovered, "_of_choice", lambda choice, told, found: found)
    record = record_of(recorded)
    assert isinstance(record, TablesRecord)
    with pytest.raises(InvalidParameter, match="does not agree with itself"):
        released_of(record)
