"""What statements make of answers that were paid for between other neighbours than those of now."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow

from leakcap.ledger import Entry, Ledger
from leakcap.release import PrivateTable, amend, exposure_so_far, load_policy
from leakcap.statement import statement_of

EPSILON, UNITS = 0.1, 100
RULES = {
    "dataset": "d", "caps": {"epsilon": 5.0, "delta": 1e-6}, "columns": {"x": {"bounds": [-8.0, 8.0]}},
    "plan": [{"name": "year", "count": 2, "epsilon": EPSILON}],
}  # fmt: skip
BEFORE = {**RULES, "neighbours": "add-remove-one", "max_rows": 2 * UNITS}
NOW = {**RULES, "neighbours": "replace-one", "rows": UNITS}


def entries_now(folder: Path) -> list[Entry]:
    """A plan and a sum from a table of which presence was protected; now contents are."""
    ledger, data = folder / "d.db", pyarrow.table({"x": [1.0] * UNITS})
    with PrivateTable(data, policy=BEFORE, ledger=ledger) as table:
        table.sum("x", epsilon=EPSILON, name="s")
    amend(NOW, ledger, reason="the number of rows is public")
    with Ledger.read(f"sqlite:///{ledger}") as book:
        return book.entries()


def told_of(one: Entry) -> Any:
    return statement_of(exposure_so_far([one], load_policy(NOW)))


def far_enough(one: Entry) -> bool:
    """Whether a statement lets odds, a guess and a test move as far as they do. A sum tells −8 from 8 by
    Laplace noise of 2ε, a plan two contents by two randomised responses of 2ε each."""
    told, keep = told_of(one), 1 / (1 + math.exp(-2 * EPSILON))
    odds, guess = 2 * EPSILON, 1 - math.exp(-EPSILON) / 2
    if one.state == "planned":
        odds, guess = 4 * EPSILON, keep
    least = {"odds": math.exp(odds), "coin_flip": guess, "test_power": 0.01 * math.exp(odds)}
    return all(told[name].upper >= value * (1 - 1e-6) for name, value in least.items())


def test_what_was_told_between_presence_and_absence_is_told_between_contents(tmp_path: Path) -> None:
    plan, answer = entries_now(tmp_path)
    assert (plan.state, answer.spend.epsilon) == ("planned", 2 * EPSILON)
    # Planted: the event between presence and absence, which is what an auditor reads.
    for one in (plan, answer):
        assert far_enough(one)
        assert one.own.event
        assert not far_enough(replace(one, spend=replace(one.spend, event=one.own.event)))
