"""Checkpoints beside caps, amendments and older ledgers: none of these stops a descent that is paid for."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, LeakcapError, LedgerError
from leakcap.ledger import Charge, Ledger, Proposed, Spend
from leakcap.models import (
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PrivateDecisionTree,
    PrivateGradientDescent,
    RidgeRegression,
)
from leakcap.models.private_model import PrivateModel
from leakcap.release import Policy, PrivateTable
from models.test_descent import Crash, crash_at, data
from models.world import ledger_of, policy_of


def descent(policy: Policy | Path, ledger: Any, path: Path, **changes: Any) -> PrivateGradientDescent:
    options: dict[str, Any] = {"steps": 40, "checkpoint": path, "checkpoint_every": 5}
    return PrivateGradientDescent(policy=policy, ledger=ledger, **{**options, **changes})


CAPS: list[dict[str, Any]] = [
    {"queries": 1},
    {"each_analyst": {"queries": 1}},
    {"analysts": {"ann": {"queries": 1}}},
    {"each_period": {"length": "year", "queries": 1}},
]


@pytest.mark.parametrize("caps", CAPS, ids=str)
def test_checkpoints_are_no_queries(caps: dict[str, Any], tmp_path: Path) -> None:
    """A cap of one query lets one descent through, with all its checkpoints, crashes and resumptions."""
    policy = policy_of(max_rows=200, caps={"epsilon": 1e6, "delta": 0.5, **caps})
    X, y = data(8, 200)
    with Ledger.open(
        "sqlite://", dataset=policy.dataset, policy=policy.fingerprint(), caps=policy.caps.ledger_caps(),
        clock=lambda: datetime(2030, 6, 1, tzinfo=UTC),
    ) as ledger:  # fmt: skip
        with pytest.raises(Crash):
            descent(policy, ledger, tmp_path / "run.json", analyst="ann", progress=crash_at(17)).fit(X, y)
        assert json.loads((tmp_path / "run.json").read_text())["step"] == 15
        descent(policy, ledger, tmp_path / "run.json", analyst="ann").resume(X, y)
        (entry,) = ledger.entries()
        assert entry.state == "released"
        assert ledger.totals().entries == 1
        assert len(ledger.steps(entry.id)) == 8
        for account in ledger.accounts():
            assert [b.left for b in account.balances if b.name == "queries"] in ([], [0.0])
        with pytest.raises(BudgetExceeded, match="`queries` cap"):
            descent(policy, ledger, tmp_path / "other.json", analyst="ann").fit(X, y)
        ledger.verify()


def test_lower_caps_do_not_stop_a_descent_that_is_paid_for(tmp_path: Path) -> None:
    """The owner lowers every cap below what was spent while it runs: it asks for nothing more."""
    policy = policy_of(max_rows=200)
    lower = policy_of(max_rows=200, caps={"epsilon": 0.01, "delta": 0.0, "queries": 0})
    X, y = data(8, 200)
    with Ledger.open(
        "sqlite://", dataset=policy.dataset, policy=policy.fingerprint(), caps=policy.caps.ledger_caps(),
        text=policy.text(),
    ) as ledger:  # fmt: skip

        def amended(step: int, steps: int) -> None:
            if step == 12:
                ledger.amend(Proposed(lower.text(), lower.caps.ledger_caps(), reason="less"))

        model = descent(policy, ledger, tmp_path / "run.json", progress=amended).fit(X, y)
        assert [entry.state for entry in ledger.entries()] == ["released"]
        assert len(ledger.steps(model.entry_)) == 8
        ledger.verify()


def test_each_step_is_left_once_and_only_while_the_entry_is_open() -> None:
    policy = policy_of()
    with ledger_of(policy) as ledger:
        first, second = ledger.reserve([Charge("descent", name, Spend(epsilon=0.1)) for name in "ab"])
        ledger.mark_progress(first.id, (0, 10), [[0.5]])
        with pytest.raises(LedgerError, match="went on from step 0 in another run"):
            ledger.mark_progress(first.id, (0, 7), [[0.25]])
        ledger.mark_progress(first.id, (10, 20), [[0.75]])
        ledger.mark_progress(second.id, (0, 10), [[1.0]])
        assert {start: (s.to, s.values) for start, s in ledger.steps(first.id).items()} == {
            0: (10, [[0.5]]), 10: (20, [[0.75]]),
        }  # fmt: skip
        ledger.mark_released([first.id])
        ledger.acknowledge([second.id])
        for entry in (first, second):
            with pytest.raises(LedgerError, match=r"released before|acknowledged as lost"):
                ledger.mark_progress(entry.id, (20, 30), [[1.0]])
        with pytest.raises(LedgerError, match="no entry 9"):
            ledger.mark_progress(9, (0, 1), [[1.0]])
        assert ledger.totals().entries == 2
        ledger.verify()


def test_notes_of_an_older_leakcap_are_gone_on_from(tmp_path: Path) -> None:
    """It wrote them as queries of price zero. Their steps were seen: they are not run again."""
    policy, path = policy_of(max_rows=200), tmp_path / "run.json"
    X, y = data(8, 200)
    with ledger_of(policy) as ledger:
        with pytest.raises(Crash):
            descent(policy, ledger, path, checkpoint_every=100, progress=crash_at(3)).fit(X, y)
        run, nothing = json.loads(path.read_text())["entry"], Spend(0.0, 0.0, 0.0, 0.0, 0.0)
        for start, end, left in ((0, 10, True), (10, 20, True), (20, 30, False)):
            text = f"entry {run} went on from step {start}"
            (note,) = ledger.reserve([Charge("checkpoint", text, nothing, "", {"to": end})])
            if left:
                ledger.mark_released([note.id], answers={note.id: [[float(end), 0.0, 0.0]]})
        seen: list[int] = []
        descent(policy, ledger, path, progress=lambda step, steps: seen.append(step)).resume(X, y)
        assert seen == list(range(21, 41))
        assert list(ledger.steps(run)) == [20, 25, 30, 35]


MODELS: dict[type[PrivateModel], dict[str, Any]] = {
    LinearRegression: {"bounds": (-1.0, 1.0), "target_bounds": (-3.0, 3.0)},
    RidgeRegression: {},
    LogisticRegression: {},
    LinearSVC: {},
    PrivateDecisionTree: {},
    PrivateGradientDescent: {"steps": 10, "checkpoint_every": 5},
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rows_after", [1, 2])
def test_what_fails_after_the_commit_never_says_that_nothing_was_spent(
    kind: type[PrivateModel], rows_after: int, tmp_path: Path
) -> None:
    """The clock falls back an hour once the spend is on the disk, so that no row can follow it."""
    late = datetime(2030, 1, 1, tzinfo=UTC)
    policy, options = policy_of(max_rows=200), dict(MODELS[kind])
    X, y = data(8, 200)
    looks = 0

    def clock() -> datetime:
        nonlocal looks
        looks += 1
        return late if looks <= 1 + rows_after else late - timedelta(hours=1)

    if kind is PrivateGradientDescent:
        options["checkpoint"] = tmp_path / "run.json"
    elif rows_after == 2:
        rows_after = 1
    with Ledger.open(
        "sqlite://", dataset=policy.dataset, policy=policy.fingerprint(), caps=policy.caps.ledger_caps(),
        clock=clock,
    ) as ledger:  # fmt: skip
        with pytest.raises(LeakcapError) as refusal:
            kind(policy=policy, ledger=ledger, **options).fit(X, y)
        message = str(refusal.value)
        assert ledger.totals().entries == 1
        assert "othing was spent" not in message
        assert "The spend was committed before and stays in the ledger." in message


@pytest.mark.parametrize(
    "name", ["ledger.db", "ledger.db-wal", "./x/../ledger.db", "data.parquet", "policy.toml"]
)
def test_a_checkpoint_replaces_nothing_that_the_fit_rests_on(name: str, tmp_path: Path) -> None:
    """Nor what is first written beside it; the table's files and those of arrays alike."""
    policy = policy_of(max_rows=200, caps={"epsilon": 1e6, "delta": 0.5})
    stored, place, named = (tmp_path / one for one in ("data.parquet", "ledger.db", "policy.toml"))
    (tmp_path / "x").mkdir()
    column = [place / 100 for place in range(100)]
    pyarrow.parquet.write_table(pyarrow.table({"x": column, "y": column}), stored)
    caps = "caps = { epsilon = 1e6, delta = 0.5 }\n"
    columns = "".join(f"[columns.{one}]\nbounds = [0.0, 1.0]\n" for one in "xy")
    named.write_text(f'dataset = "d"\nneighbours = "add-remove-one"\nmax_rows = 200\n{caps}{columns}')
    before = {one: one.read_bytes() for one in (stored, named)}
    table = PrivateTable(stored, policy=named, ledger=place)
    X, y = data(8, 200)
    path = tmp_path / name
    with pytest.raises(InvalidParameter, match="`checkpoint` of `PrivateGradientDescent` may not replace"):
        descent(policy, None, path).fit_table(table, features=["x"], target="y")
    assert table.ledger.totals().entries == 0
    if name != "data.parquet":
        with pytest.raises(InvalidParameter, match="may not replace"):
            descent(named, table.ledger, path).fit(X, y)
    assert table.ledger.totals().entries == 0
    assert {one: one.read_bytes() for one in before} == before
