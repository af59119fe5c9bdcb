"""What a fourth review found, of amendments and of answers by columns: each test failed before its mend."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest

from leakcap.errors import BudgetExceeded, InvalidInput, LedgerError
from leakcap.ledger import Charge, Ledger, Spend
from leakcap.models import PrivateGradientDescent
from leakcap.models.examples import of_table
from leakcap.release import PrivateTable, amend, load_policy
from leakcap.release.engine.base import plain_cells
from leakcap.release.results.recorded import parsed_answer
from leakcap.web.releasing.ledger_view import answer_of
from leakcap.web.serving.settings import Settings
from release.world import policy_of

DATA = pyarrow.table({"g": [0, 1, 2, 2, 2], "x": [1.0] * 5})
POLICY: dict[str, Any] = {
    "dataset": "ward",
    "neighbours": "add-remove-one",
    "max_rows": 100,
    "caps": {"epsilon": 99.0},
    "columns": {"g": {"keys": [0, 1]}, "x": {"bounds": [0.0, 2.0**32]}},
}
EACH: dict[str, Any] = POLICY | {"caps": {"epsilon": 99.0, "each_analyst": {"epsilon": 0.5}}}


LAST = "SELECT entry FROM leakcap_event WHERE kind IN ('release', 'repeat') ORDER BY seq DESC LIMIT 1"


def opened(ledger: Path, policy: dict[str, Any], analyst: str = "") -> PrivateTable:
    return PrivateTable(DATA, policy=policy, ledger=ledger, version="1", analyst=analyst)


def spent(table: PrivateTable) -> dict[str, float]:
    """ε on each analyst's account."""
    return {a.name: a.balances[0].spent for a in table.ledger.accounts() if a.scope == "analyst"}


def test_an_answer_told_for_free_is_on_the_account_that_an_amendment_makes(tmp_path: Path) -> None:
    """Whoever was told others' answers before analysts had caps could be told as much again afterwards."""
    ledger = tmp_path / "ledger.db"
    ng = opened(ledger, POLICY, "ng").count(epsilon=0.25)
    for _ in range(3):
        assert opened(ledger, POLICY, "li").count(epsilon=0.25).value == ng.value
    opened(ledger, POLICY, "li").count(epsilon=0.125)
    opened(ledger, POLICY, "wu").count(epsilon=0.25, fresh=True)
    amend(EACH, ledger, reason="agreed")
    assert spent(opened(ledger, EACH)) == {"ng": 0.25, "li": 0.375, "wu": 0.25}
    with pytest.raises(BudgetExceeded, match=r"analyst `li`.*0\.125 left"):
        opened(ledger, EACH, "li").count(epsilon=0.25)
    opened(ledger, EACH, "li").count(epsilon=0.125)
    # Made again, from the same rows: nothing is counted twice. Two steps count double.
    public = {k: v for k, v in EACH.items() if k != "max_rows"} | {"neighbours": "replace-one", "rows": 5}
    amend(public, ledger, reason="agreed")
    table = opened(ledger, public)
    assert spent(table) == {"ng": 0.5, "li": 1.0, "wu": 0.5}
    assert table.budget()[0].spent == 2 * (0.25 + 0.125 + 0.25 + 0.125)
    table.ledger.verify()


def test_an_answer_recalled_before_an_amendment_does_not_leave_after_it(tmp_path: Path) -> None:
    """It would be on nobody's account, where the amendment gave each analyst one."""
    old = opened(tmp_path / "ledger.db", POLICY, "ng")
    old.count(epsilon=0.25)
    charge = Charge("n", "count", Spend(0.25), "ng")
    entry = old.ledger.reserve([charge], data="state")[0].id
    old.ledger.mark_released([entry], answers={entry: [[5]]})
    (answer,) = old.ledger.recall([charge], data="state")
    assert answer is not None
    amend(EACH, tmp_path / "ledger.db", reason="agreed")
    with pytest.raises(LedgerError, match="amended at"):
        old.ledger.mark_repeated([answer.entry], analyst="li")


def test_true_is_not_one_in_a_policy(tmp_path: Path) -> None:
    """Python has [0, 1] == [False, True]: the change was not told, and what counted zeros and ones was
    repeated as how many are false and true, among whom twos are."""
    ledger = tmp_path / "ledger.db"
    opened(ledger, POLICY).count(by="g", epsilon=40.0)
    truths = POLICY | {"columns": POLICY["columns"] | {"g": {"keys": [False, True]}}}
    made = amend(truths, ledger, reason="agreed")
    assert [change.field for change in made.changes] == ["columns.g"]
    answer = opened(ledger, truths).count(by="g", epsilon=40.0)
    assert (answer.repeated, [row.value for row in answer.rows]) == (False, [1, 4])


def test_people_whose_ids_are_dates_beyond_python_stay_apart(tmp_path: Path) -> None:
    """Python takes the last day for one of the year 9999, or fails to read it. As one person, two shared the
    coin that takes them into a step; and one who made a fit fail was seen by that."""
    file = str(tmp_path / "visits.duckdb")
    days = ["infinity", "9999-12-31", "-infinity", "0001-01-01", "20000-01-01", "9999-12-31"]
    with duckdb.connect(file) as stored:
        stored.execute("CREATE TABLE visits (id DATE, x DOUBLE, y DOUBLE)")
        stored.executemany("INSERT INTO visits VALUES (CAST(? AS DATE), 1, 1)", [[day] for day in days])
    columns = {name: {"bounds": [0.0, 2.0]} for name in ("x", "y")}
    policy = policy_of(unit={"id": "id", "max_rows": 3}, columns=columns)
    visits = PrivateTable(file, table="visits", policy=policy, ledger="sqlite://")
    people = of_table(visits, ["x"], "y", None, classes=False, centred=True).read()[2]
    assert people is not None
    assert sorted(Counter(people.tolist()).values()) == [1, 1, 1, 1, 2]


def test_a_decimal_that_is_no_number_stops_nothing() -> None:
    """PostgreSQL's numerics may be NaN or infinite, as ids too: to make an integer of one failed, after the
    spend, and said so. Python's NaN would be another person in each row."""
    rows = plain_cells([(Decimal("NaN"),), (Decimal("NaN"),), (Decimal("Infinity"),), (Decimal("2.50"),)])
    assert len(set(rows)) == 3


def test_a_sum_on_whole_numbers_is_repeated_with_what_it_was_made_of(tmp_path: Path) -> None:
    """Its doubles equal its integers, which were taken for recorded with them."""
    table = opened(tmp_path / "ledger.db", POLICY)
    first, again = (table.sum("x", epsilon=1.0) for _ in range(2))
    assert again.repeated
    assert first.drawn is not None
    assert first.drawn == again.drawn


def test_coefficients_of_a_fit_are_not_shown_as_a_number_with_its_interval(tmp_path: Path) -> None:
    """The explorer showed the first as the value, the next two as the ends, the others as the group."""
    columns = {name: {"bounds": [0.0, 2.0]} for name in ("x", "y", "z")}
    policy = load_policy(POLICY | {"caps": {"epsilon": 99.0, "delta": 0.1}, "columns": columns})
    data = pyarrow.table({name: [1.0, 0.5] for name in columns})
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    table = PrivateTable(data, policy=policy, ledger=url)
    PrivateGradientDescent(steps=2, noise_multiplier=9.0).fit_table(table, features=["x", "z"], target="y")
    table.count(epsilon=1.0)
    settings = Settings(policy=policy, ledger=url)
    with Ledger.read(url) as book:
        assert [answer_of(settings, entry).count for entry in book.entries()] == [0, 1]


@pytest.mark.parametrize(
    "recorded",
    [
        {"values": [5], "lower": [-(10**400)], "upper": [8.0]},
        {"values": [5], "lower": [float("nan")], "upper": [8.0]},
        {"values": [5], "lower": [2.0], "upper": [float("inf")]},
        {"values": [5], "lower": [2.0], "upper": [8.0], "keys": [5]},
        {"values": [5], "lower": [2.0], "upper": [8.0], "keys": [[["a"]]]},
        {"values": [5], "lower": [2.0], "upper": [8.0], "parts": [[["count"], [5]]]},
    ],
)
def test_what_no_release_records_is_no_answer(recorded: Any) -> None:
    """Some of these ended in errors that were not leakcap's."""
    assert parsed_answer(recorded) is None


@pytest.mark.parametrize("value", ["a secret", None, 10**400], ids=["text", "nothing", "huge"])
def test_a_target_that_is_no_number_counts_as_missing(value: object, tmp_path: Path) -> None:
    """Gradient descent stopped at it, and quoted it; the other models left the row out."""
    policy = load_policy(POLICY | {"caps": {"epsilon": 99.0, "delta": 0.1}})
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    targets = np.array([1.0, value], dtype=object)
    model = PrivateGradientDescent(policy=policy, ledger=ledger, steps=1, noise_multiplier=9.0)
    rows = np.array([[0.5], [0.2]])
    assert model.fit(rows, targets).coef_.shape == (1,)
    with pytest.raises(InvalidInput, match="dtype float64") as refused:  # for its type, whatever is in it
        model.fit(rows, targets.astype(str))
    assert str(value)[:9] not in str(refused.value)


def test_a_run_is_resumed_by_whoever_paid_for_it(tmp_path: Path) -> None:
    """A file of one line names any run in the ledger: its answer left on another analyst's account."""
    caps = {"epsilon": 99.0, "delta": 0.1, "each_analyst": {"epsilon": 9.0}}
    columns = {name: {"bounds": [0.0, 2.0]} for name in ("x", "y")}
    policy = load_policy(POLICY | {"caps": caps, "columns": columns})
    data = pyarrow.table({name: [1.0, 0.5] for name in columns})
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    saved = tmp_path / "run.json"

    def stop(step: int, _: int) -> None:
        if step == 2:
            raise KeyboardInterrupt

    def descent(**more: Any) -> PrivateGradientDescent:
        return PrivateGradientDescent(steps=3, noise_multiplier=9.0, checkpoint=saved, **more)

    asked: dict[str, Any] = {"features": ["x"], "target": "y"}
    ng, li = (PrivateTable(data, policy=policy, ledger=ledger, analyst=name) for name in ("ng", "li"))
    with pytest.raises(KeyboardInterrupt):
        descent(progress=stop).fit_table(ng, **asked)
    saved.write_text('{"entry": 1, "step": 0, "theta": [0.0, 0.0]}')
    with pytest.raises(LedgerError, match="paid for by analyst `ng`"):
        descent().resume_table(li, **asked)
    assert descent().resume_table(ng, **asked).entry_ == 1


def test_what_an_amendment_says_is_true_of_spends_before_the_one_before_it(tmp_path: Path) -> None:
    """It spoke of the last policy alone: all counts as charged, where the first policy's ε count twice."""
    ledger = tmp_path / "ledger.db"
    opened(ledger, POLICY).count(epsilon=0.25)
    public = {k: v for k, v in POLICY.items() if k != "max_rows"} | {"neighbours": "replace-one", "rows": 5}
    level = {"epsilon": 99.0, "alpha": 3.0, "nats_level": 9.0}
    said = [
        amend(public | {"caps": caps}, ledger, reason="agreed").carried
        for caps in (
            {"epsilon": 98.0},
            level,
            level | {"alpha": 2.0},
            level | {"alpha": 4.0},
            {"epsilon": 97.0},
        )
    ]
    assert all(text.startswith("Every ε charged under add-remove-one counts twice") for text in said)
    assert all("in the table is protected no longer" in text for text in said)
    low, fewer, gone = (
        "no level, or a lower one, counts at level",
        "count as nats at level 2",
        "counted no more",
    )
    assert [low in text for text in said] == [False, True, True, True, False]
    assert [fewer in text for text in said] == [False, False, True, False, False]
    assert [text.count(gone) for text in said] == [0, 0, 0, 0, 3]
    with Ledger.read(f"sqlite:///{ledger}") as book:
        assert [one.carried for one in book.amendments()] == said


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_accounts_are_what_each_was_told_whatever_was_amended(seed: int, tmp_path: Path) -> None:
    """A book kept by hand: who was told which entry, paid or for free, and under which neighbours."""
    coins, ledger = random.Random(seed), tmp_path / "ledger.db"
    charged: list[tuple[float, str]] = []
    heard: dict[str, set[int]] = {name: set() for name in ("ng", "li", "wu")}
    policy, alone = POLICY, False
    opened(ledger, policy).ledger.close()
    for _ in range(25):
        relation = coins.choice([policy["neighbours"], "replace-one"])
        if coins.random() < 0.3:
            each = coins.choice([None, 3.0, 9.0])
            own = {} if each is None else {"each_analyst": {"epsilon": each}}
            caps = {"epsilon": 99.0 + coins.random()} | own
            size = {"rows": 5} if relation == "replace-one" else {"max_rows": 100}
            kept = {name: POLICY[name] for name in ("dataset", "columns")}
            policy, alone = {**kept, **size, "neighbours": relation, "caps": caps}, each is not None
            amend(policy, ledger, reason="agreed")
        name, epsilon = coins.choice(list(heard)), coins.choice([0.25, 0.5])
        with opened(ledger, policy, name).ledger as book:
            table = PrivateTable(DATA, policy=policy, ledger=book, version="1", analyst=name)
            try:
                answer = table.count(epsilon=epsilon)
            except BudgetExceeded:
                continue
            if not answer.repeated:
                charged.append((epsilon, policy["neighbours"]))
            with closing(sqlite3.connect(ledger)) as rows:  # the last one says of which entry the answer left
                heard[name].add(*rows.execute(LAST).fetchone())
            now = {n: e * (1 + (r != policy["neighbours"])) for n, (e, r) in enumerate(charged, 1)}
            assert table.budget()[0].spent == sum(now.values())
            if alone:
                assert spent(table) == {n: sum(now[e] for e in mine) for n, mine in heard.items() if mine}
            book.verify()


def test_what_a_policy_remembers_is_not_settled_before_anything_is_spent(tmp_path: Path) -> None:
    """It had looked for answers in an unused ledger, whose first policy then was another one."""
    ledger = tmp_path / "ledger.db"
    early = opened(ledger, POLICY).ledger
    assert early.recall([Charge("n", "count", Spend(0.25))], data="state") == [None]
    other = POLICY | {"columns": POLICY["columns"] | {"x": {"bounds": [0.0, 2.0]}}}
    later = opened(ledger, other).ledger
    (entry,) = later.reserve([Charge("n", "count", Spend(0.25))], data="state")
    later.mark_released([entry.id], answers={entry.id: [[5]]})
    amend(POLICY, ledger, reason="agreed")
    assert early.recall([Charge("n", "count", Spend(0.25))], data="state") == [None]
