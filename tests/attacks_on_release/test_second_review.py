"""What a second look at the release path found: each once worked, and is mended."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from leakcap.errors import InvalidPolicy, InvalidQuery, LeakcapError
from leakcap.ledger import Caps, Charge, Ledger, Spend
from leakcap.release import PrivateTable, attach, load_policy
from leakcap.release.sql.select import sql_queries
from leakcap.statement.guessing import exception
from release.world import exact, planned, policy_of

PERSON = {"unit": {"id": "id", "max_rows": 1}}


@pytest.mark.parametrize("name", ["leakcap_row_number", "LEAKCAP_ROW_NUMBER"])
def test_no_column_stands_in_for_the_row_number(name: str) -> None:
    """One person has a hundred rows and may have one: a column of that name decided which are kept."""
    columns = {name: {"bounds": [0.0, 10.0]}}
    data = pyarrow.table({"id": [7] * 100, name: [1.0] * 100})
    try:
        plan = planned(policy_of(columns=columns, **PERSON), statistic="count")
    except (InvalidPolicy, InvalidQuery):
        return
    assert exact(plan, attach(data)) == [[1]]


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_odds_leave_their_range_no_more_often_than_the_statement_says(epsilon: float) -> None:
    """Odds may be multiplied or divided beyond e^2ε: both tails at once, with exactly (ε, δ)."""
    delta, beyond = 1e-3, math.exp(2 * epsilon) * (1 + 1e-9)
    up, down = delta / (1 - math.exp(epsilon) / beyond), delta / (beyond - math.exp(epsilon))
    p = np.array([up, down, 1 - up - down])
    q = np.array([up / beyond, down * beyond, 1 - up / beyond - down * beyond])
    for a, b in ((p, q), (q, p)):
        assert np.maximum(a - math.exp(epsilon) * b, 0.0).sum() <= delta * (1 + 1e-6)
    assert exception(epsilon, delta) >= (up + down) * (1 - 1e-6)


def test_a_coin_flip_cap_holds_with_delta() -> None:
    """δ adds to the guess: 0.6 cannot be promised beside a cap of δ = 0.3."""
    caps = {"coin_flip": 0.6, "delta": 0.3}
    with pytest.raises(InvalidPolicy):
        load_policy(
            {
                "dataset": "d",
                "neighbours": "replace-one",
                "rows": 9,
                "caps": caps,
                "columns": {"x": {"bounds": [0.0, 1.0]}},
            }
        )


@pytest.mark.parametrize("epsilon", [0.1, 0.05, 0.01])
def test_the_shares_of_a_statement_are_charged_no_more_than_was_asked(epsilon: float) -> None:
    policy = policy_of(caps={"epsilon": epsilon})
    table = PrivateTable(pyarrow.table({"x": [1.0, 2.0]}), policy=policy, ledger="sqlite://")
    table.sql("SELECT COUNT(*), SUM(x), AVG(x) FROM tests", epsilon=epsilon)
    assert table.ledger.totals().epsilon <= epsilon


def test_a_reservation_that_was_edited_answers_no_other_query(tmp_path: Path) -> None:
    """The row that says what was asked is looked at as well as the row that says what left."""
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'l.db'}", dataset="d", policy="ab12cd34", caps=Caps(1.0))
    charges = [Charge(name, name, Spend(epsilon=0.1)) for name in ("count", "sum")]
    for number, charge in enumerate(charges):
        (entry,) = ledger.reserve([charge], data="t")
        ledger.mark_released([entry.id], answers={entry.id: [[float(number)]]})
    with sqlite3.connect(tmp_path / "l.db") as file:
        memos = file.execute(
            "SELECT seq, memo FROM leakcap_event WHERE kind = 'reserve' ORDER BY seq"
        ).fetchall()
        file.execute("UPDATE leakcap_event SET memo = '' WHERE seq = ?", (memos[0][0],))
        file.execute("UPDATE leakcap_event SET memo = ? WHERE seq = ?", (memos[0][1], memos[1][0]))
    with pytest.raises(LeakcapError):
        ledger.recall(charges[:1], data="t")


def test_a_repeat_is_recorded_only_of_an_answer_that_left() -> None:
    ledger = Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(1.0))
    (entry,) = ledger.reserve([Charge("n", "count", Spend(epsilon=0.1))], data="t")
    with pytest.raises(LeakcapError):
        ledger.mark_repeated([entry.id])


@pytest.mark.parametrize(
    "text",
    ['SELECT COUNT(*) FROM tests AS "1" WHERE x > 1 . 5', "SELECT COUNT(*) FROM tests AS s WHERE 's'.x = 1"],
)
def test_only_a_name_qualifies(text: str) -> None:
    """The first was answered as x > 5."""
    with pytest.raises(InvalidQuery):
        sql_queries(text, policy_of(), 0.5)
