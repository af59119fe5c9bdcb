"""A first release that is refused: it says what the ledger itself would say, and begins none."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import csv

from command_line import leakcap
from leakcap.errors import BudgetExceeded, LeakcapError, LedgerError
from leakcap.ledger import Edition, Ledger
from leakcap.release import PrivateTable, Query
from leakcap.web.releasing.asking import released
from leakcap.web.serving.settings import Settings

ROWS = pyarrow.table({"id": list(range(6)), "cap": [1.0, 2.0] * 3, "s": ["x", "y"] * 3})
POLICY: dict[str, Any] = {
    "dataset": "ward",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 1.0},
    "columns": {"s": {"keys": ["x", "y"]}},
}
WITH_DELTA = {"epsilon": 1.0, "delta": 1e-6, "delta_of_answers": 1e-7}
PLAN = [{"name": "year", "delta": 1e-7, "slots": [{"name": "m", "count": 2, "epsilon": 0.2}]}]
SMALL, LARGE = 0.1, 1.5
WRITTEN = """dataset = "ward"
neighbours = "add-remove-one"
caps = { epsilon = 1.0, delta = 1e-6, delta_of_answers = 1e-7 }
columns.s.keys = ["x", "y"]
plan = [{ name = "year", delta = 1e-7, slots = [{ name = "m", count = 2, epsilon = 0.2 }] }]
"""


def count(epsilon: float, **more: Any) -> Query:
    return Query(name=f"n{epsilon}", statistic="count", epsilon=epsilon, **more)


REFUSED: dict[str, tuple[dict[str, Any], list[Query], dict[str, Any]]] = {
    "a cap on ε": ({}, [count(LARGE)], {}),
    "both together": ({}, [count(0.6), count(0.5)], {}),
    "a cap on ρ": ({"caps": {"rho": 0.01}}, [count(LARGE)], {}),
    "an analyst's cap": (
        {"caps": {"epsilon": 9.0, "each_analyst": {"epsilon": 0.05}}},
        [count(SMALL)],
        {"analyst": "ann"},
    ),
    "a month's cap": (
        {"caps": {"epsilon": 9.0, "each_period": {"epsilon": 0.05, "length": "month"}}},
        [count(SMALL)],
        {},
    ),
    "a reference period's cap": (
        {"caps": {"epsilon": 9.0, "each_period": {"epsilon": 0.05, "length": "month", "by": "reference"}}},
        [count(SMALL)],
        {"edition": Edition("Ward", "2026-03")},
    ),
    "no reference period": (
        {"caps": {"epsilon": 9.0, "each_period": {"epsilon": 1.0, "length": "month", "by": "reference"}}},
        [count(SMALL)],
        {},
    ),
    "what the plan leaves": ({"caps": WITH_DELTA, "plan": PLAN}, [count(0.9)], {}),
    "a slot that is not there": ({"caps": WITH_DELTA, "plan": PLAN}, [count(SMALL, slot="w")], {}),
    "a slot that is too small": ({"caps": WITH_DELTA, "plan": PLAN}, [count(0.3, slot="m")], {}),
    "a slot that is used up": (
        {"caps": WITH_DELTA, "plan": PLAN},
        [count(0.1, slot="m"), count(0.12, slot="m"), count(0.15, slot="m")],
        {},
    ),
    "a plan that does not fit": (
        {"caps": WITH_DELTA | {"epsilon": 0.1}, "plan": PLAN},
        [count(0.05)],
        {},
    ),
}


def told(policy: dict[str, Any], queries: Sequence[Query], options: dict[str, Any], **asked: Any) -> str:
    """What a release of these queries is refused with."""
    with (
        pytest.raises(LeakcapError) as caught,
        PrivateTable(ROWS, policy=POLICY | policy, ledger="l.db", **options, **asked) as table,
    ):
        table.release(queries)
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize("name", REFUSED)
def test_who_is_refused_first_hears_what_the_ledger_says_and_leaves_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    policy, queries, options = REFUSED[name]
    for folder in ("asked", "opened"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "asked")
    with caplog.at_level(logging.INFO, logger="leakcap"):
        before = told(policy, queries, options, asked=queries)
    assert not os.listdir()
    assert not [one.getMessage() for one in caplog.records if "charged" in one.getMessage()]
    monkeypatch.chdir(tmp_path / "opened")
    assert told(policy, queries, options) == before


def test_a_plan_is_logged_as_charged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked = [count(SMALL, slot="m")]
    policy = POLICY | {"caps": WITH_DELTA, "plan": PLAN}
    with (
        caplog.at_level(logging.INFO, logger="leakcap"),
        PrivateTable(ROWS, policy=policy, ledger=tmp_path / "l.db", asked=asked) as table,
    ):
        table.release(asked)
        assert [entry.state for entry in table.ledger.entries()] == ["planned", "released"]
    assert sum("charged: plan" in one.getMessage() for one in caplog.records) == 1


@pytest.mark.parametrize("fresh", [False, True])
def test_what_is_asked_twice_is_paid_for_twice_where_it_is_fresh(fresh: bool, tmp_path: Path) -> None:
    twice = [count(0.6), Query(name="again", statistic="count", epsilon=0.6)]
    place = {"policy": POLICY, "ledger": tmp_path / "l.db", "asked": twice}
    if not fresh:
        with PrivateTable(ROWS, **place) as table:
            assert [one.repeated for one in table.release(twice)] == [False, True]
        return
    with pytest.raises(BudgetExceeded, match=r"1\.2 asked"):
        PrivateTable(ROWS, **place, fresh=True)
    assert not list(tmp_path.iterdir())


def test_a_new_ledger_knows_no_version(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"There is no ledger `sqlite:///.*/l\.db` yet.*no version 1"):
        PrivateTable(ROWS, policy=POLICY, ledger=tmp_path / "l.db", same_as=1)
    assert not list(tmp_path.iterdir())


def test_the_explorer_begins_no_ledger_for_what_it_refuses(tmp_path: Path) -> None:
    csv.write_csv(ROWS, tmp_path / "d.csv")
    (tmp_path / "p.toml").write_text(WRITTEN)
    url = f"sqlite:///{tmp_path / 'l.db'}"
    own = {"policy": tmp_path / "p.toml", "data": tmp_path / "d.csv", "ledger": url}
    settings = Settings(**own, allow_release=True, token="t" * 32)
    with pytest.raises(BudgetExceeded):
        released(settings, count(LARGE))
    assert not (tmp_path / "l.db").exists()
    released(settings, count(SMALL))
    with Ledger.read(url) as ledger:
        assert [entry.state for entry in ledger.entries()] == ["planned", "released"]


def test_who_is_asked_whether_to_pay_has_begun_no_ledger(tmp_path: Path) -> None:
    csv.write_csv(ROWS, tmp_path / "d.csv")
    (tmp_path / "p.toml").write_text(WRITTEN)
    with PrivateTable(ROWS, policy=tmp_path / "p.toml", ledger="sqlite://") as table:
        left = table.budget()[0].left
    (tmp_path / "q.toml").write_text(
        'policy = "p.toml"\ndata = "d.csv"\nledger = "l.db"\n'
        '[[query]]\nname = "n"\nstatistic = "count"\nepsilon = 0.1\n'
    )
    files = sorted(os.listdir(tmp_path))
    for words in (
        ("release", "q.toml"),
        ("sql", "SELECT COUNT(*) FROM ward", "--epsilon", "0.1", "--in", "q.toml"),
    ):
        refused = leakcap(*words, "--fresh", cwd=tmp_path)
        assert refused.returncode == 2
        assert f"--fresh pays ε = 0.1 for new noise, of {left:.6g} left." in refused.stderr
        assert sorted(os.listdir(tmp_path)) == files
    assert leakcap("release", "q.toml", "--fresh", "--yes", cwd=tmp_path).returncode == 0
