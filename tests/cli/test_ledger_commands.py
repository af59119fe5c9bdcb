"""The ledger's commands as a person meets them."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from command_line import leakcap
from leakcap.ledger import Caps, Charge, Ledger, Limits, Slot, SlotPlan, Spend

OLD_SCHEMA = Path(__file__).parents[1] / "ledger" / "data" / "schema_3.sql"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger of a few months: two analysts, three kinds, one answer that never left."""
    now = [datetime(2026, 1, 30, 12, tzinfo=UTC)]
    caps = Caps(
        epsilon=1.0,
        delta=0.0,
        queries=9,
        nats_level=1.0,
        alpha=2.0,
        each_analyst=Limits(epsilon=0.5),
        each_period=Limits(epsilon=0.2),
        period="month",
    )
    url = f"sqlite:///{tmp_path / 'ward.db'}"
    with Ledger.open(url, dataset="ward", policy="0" * 8, caps=caps, clock=lambda: now[0]) as ledger:
        for text, analyst in (("count", "ng"), ("mean of age", "räume"), ("count where age > 5", "=ng")):
            (entry,) = ledger.reserve([Charge(f"my {text}", text, Spend(epsilon=0.1), analyst)], data="1")
            if analyst != "räume":
                ledger.mark_released([entry.id], answers={entry.id: [[987654321, 0, 0]]})
            now[0] += timedelta(days=40)
    return tmp_path


def test_the_budget_draws_time_analysts_and_kinds(folder: Path) -> None:
    shown = leakcap("budget", "--ledger", "ward.db", cwd=folder).stdout
    for part in (
        "ε over time",
        "2026-01",
        "2026-02",
        "2026-03",
        "2026-04",
        "ε by analyst",
        "räume",
        "ε by kind",
    ):
        assert part in shown
    for part in ("nats at level 2", "queries", "analyst ng", "not released", "█"):
        assert part in shown
    bars = shown[shown.index("ε over time") : shown.index("nats, person")]
    lines = {line.split()[0]: line for line in bars.splitlines() if line.strip()}
    assert "2 queries" in lines["count"]
    assert "0 queries" in lines["2026-02"]  # a month without a spend is shown as such
    assert "█" not in lines["2026-02"]


def test_the_budget_as_json_has_every_account(folder: Path) -> None:
    told = json.loads(leakcap("budget", "--ledger", "ward.db", "--json", cwd=folder).stdout)
    caps = {cap["cap"]: cap for cap in told["caps"]}
    assert caps["epsilon"] == {
        "cap": "epsilon",
        "unit": "nats of log-odds",
        "limit": 1.0,
        "spent": 0.3,
        "left": 0.7,
    }
    assert caps["queries"]["left"] == 6.0
    scopes = [(account["scope"], account["name"]) for account in told["accounts"]]
    assert scopes[:3] == [("analyst", "=ng"), ("analyst", "ng"), ("analyst", "räume")]
    assert scopes[3][0] == "month"
    assert [entry["state"] for entry in told["entries"]] == ["released", "reserved", "released"]


def test_verify_prints_a_head_that_is_an_anchor(folder: Path) -> None:
    done = leakcap("ledger", "verify", "ward.db", cwd=folder)
    assert done.returncode == 0
    head = done.stdout.split()[-1]
    assert len(head) == 64
    assert (
        "contains the anchor" in leakcap("ledger", "verify", "ward.db", "--anchor", head, cwd=folder).stdout
    )
    told = json.loads(leakcap("ledger", "verify", "ward.db", "--anchor", head, "--json", cwd=folder).stdout)
    anchor = told.pop("anchor")
    assert (anchor["head"], anchor["rows"], anchor["entries"]) == (head, 6, 3)
    assert told == {
        "schema": "leakcap/ledger-verify/1",
        "rows": 6,
        "entries": 3,
        "head": head,
        "anchored": True,
    }
    with closing(sqlite3.connect(folder / "ward.db", isolation_level=None)) as connection:
        connection.execute("UPDATE leakcap_event SET analyst = 'x' WHERE seq = 2")
    edited = leakcap("ledger", "verify", "ward.db", cwd=folder)
    assert (edited.returncode, edited.stdout, edited.stderr.count("\n")) == (2, "", 1)
    assert "Row 2" in edited.stderr


def test_repair_lists_and_acknowledges(folder: Path) -> None:
    assert "my mean of age" in leakcap("ledger", "repair", "ward.db", cwd=folder).stdout
    (lost,) = json.loads(leakcap("ledger", "repair", "ward.db", "--json", cwd=folder).stdout)["entries"]
    assert (lost["id"], lost["analyst"], lost["state"]) == (2, "räume", "reserved")
    again = leakcap("ledger", "repair", "ward.db", "--acknowledge", "1", cwd=folder)
    assert again.returncode == 2
    assert "released before" in again.stderr
    done = leakcap("ledger", "repair", "ward.db", "--acknowledge", "2", "--note", "power cut", cwd=folder)
    assert "Nothing to repair" in done.stdout
    assert leakcap("ledger", "verify", "ward.db", cwd=folder).returncode == 0
    assert "lost" in leakcap("budget", "--ledger", "ward.db", cwd=folder).stdout
    told = json.loads(leakcap("budget", "--ledger", "ward.db", "--json", cwd=folder).stdout)
    assert told["caps"][0]["spent"] == 0.3


def test_the_export_has_who_when_what_and_no_answer(folder: Path) -> None:
    done = leakcap("ledger", "export", "ward.db", cwd=folder)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["analyst"] for row in rows] == ["ng", "räume", "'=ng"]  # no formula in a spreadsheet
    assert [(row["state"], row["epsilon"], row["nats_table"]) for row in rows][1] == (
        "reserved",
        "0.1",
        "inf",
    )
    assert (
        leakcap(
            "ledger", "export", "ward.db", "--format", "json", "--output", "a.json", cwd=folder
        ).returncode
        == 0
    )
    listed = json.loads((folder / "a.json").read_text(encoding="utf-8"))
    assert listed[2]["analyst"] == "=ng"
    assert listed[0]["nats_table"] is None
    assert listed[0]["software"]
    with closing(sqlite3.connect(folder / "ward.db")) as connection:
        names = [name for (name,) in connection.execute("SELECT DISTINCT data || memo FROM leakcap_event")]
    for text in (done.stdout, json.dumps(listed)):
        assert "987654321" not in text
        assert not [name for name in names if name and name in text]


def test_a_ledger_of_before_the_first_release_is_refused_and_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.executescript(OLD_SCHEMA.read_text(encoding="utf-8"))
    before = files(tmp_path)
    for command in (
        ["budget", "--ledger", "old.db"],
        ["ledger", "verify", "old.db"],
        ["ledger", "repair", "old.db"],
    ):
        refused = leakcap(*command, cwd=tmp_path)
        assert refused.returncode == 2
        assert "before leakcap's first release" in refused.stderr.replace("\n", " ")
    assert files(tmp_path) == before


def test_what_all_answers_tell_together(tmp_path: Path) -> None:
    """Under caps with a δ the terminal says which cap is of what; `--delta` asks the odometer."""
    url = f"sqlite:///{tmp_path}/d.db"
    with Ledger.open(url, dataset="d", policy="ab12cd34", caps=Caps(3.0, 1e-6)) as ledger:
        ledger.reserve([Charge("n", "count", Spend(epsilon=0.02))] * 400)
        told = ledger.odometer(1e-9)
    shown = leakcap("budget", "--ledger", url, "--delta", "1e-9", cwd=tmp_path).stdout
    for part in (
        "ε, all together",
        "δ, of answers",
        f"ε at most {told.epsilon:.2f}"[:-1],
        "probability of 1e-09",
    ):
        assert part in shown
    listed = json.loads(leakcap("budget", "--ledger", url, "--delta", "1e-9", "--json", cwd=tmp_path).stdout)
    assert listed["told"] == [{"epsilon": told.epsilon, "delta": told.delta}]
    wrong = leakcap("budget", "--ledger", url, "--delta", "2", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "`delta` of `odometer` must be" in wrong.stderr


OLD = """
dataset = "ward"
neighbours = "add-remove-one"
[caps]
epsilon = 1.0
[columns.age]
bounds = [0.0, 120.0]
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A ledger under old.toml, of which 0.75 is spent; new.toml raises the cap and adds a column."""
    (tmp_path / "old.toml").write_text(OLD)
    new = OLD.replace("1.0", "2.0") + '[columns.sex]\nkeys = ["f", "m"]\n'
    (tmp_path / "new.toml").write_text(new)
    (tmp_path / "row.toml").write_text('unit = { id = "person", max_rows = 2 }\n' + new)
    head = 'data = "ages.csv"\nledger = "ward.db"\n'
    query = '[[query]]\nname = "n"\nstatistic = "count"\nepsilon = 0.75\n'
    (tmp_path / "ages.csv").write_text("age,sex\n31,f\n45,m\n")
    for name in ("old", "new"):
        (tmp_path / f"ask-{name}.toml").write_text(f'policy = "{name}.toml"\n{head}{query}')
    assert leakcap("release", "ask-old.toml", cwd=tmp_path).returncode == 0
    return tmp_path


def test_a_policy_is_amended(policies: Path) -> None:
    shown = leakcap("ledger", "amend", "new.toml", "--ledger", "ward.db", "--preview", cwd=policies).stdout
    for part in (
        "nothing was changed yet",
        "caps.epsilon",
        "raised",
        "columns.sex",
        "1.25",
        "as it was charged",
    ):
        assert part in shown
    assert leakcap("release", "ask-old.toml", cwd=policies).returncode == 0
    words = ["ledger", "amend", "ask-new.toml", "--reason", "the board agreed"]
    told = json.loads(leakcap(*words, "--json", cwd=policies).stdout)
    assert (told["preview"], told["amendment"]["reason"], told["caps"][0]["left"]) == (
        False,
        "the board agreed",
        1.25,
    )
    refused = leakcap("release", "ask-old.toml", cwd=policies)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "was amended at" in refused.stderr
    again = json.loads(leakcap("release", "ask-new.toml", "--json", cwd=policies).stdout)
    assert again["releases"][0]["repeated"] is True
    assert again["amendments"][0]["reason"] == "the board agreed"
    assert "The policy was amended on" in leakcap("release", "ask-new.toml", cwd=policies).stdout
    (policies / "again.json").write_text(json.dumps(again), encoding="utf-8")
    assert leakcap("report", "again.json", "--output", "a.md", cwd=policies).returncode == 0
    assert "the board agreed" in (policies / "a.md").read_text(encoding="utf-8")
    budget = json.loads(leakcap("budget", "ask-new.toml", "--json", cwd=policies).stdout)
    assert [one["reason"] for one in budget["amendments"]] == ["the board agreed"]
    assert "the board agreed" in leakcap("budget", "ask-new.toml", cwd=policies).stdout
    (row,) = [
        row
        for row in csv.DictReader(io.StringIO(leakcap("ledger", "export", "ward.db", cwd=policies).stdout))
        if row["state"] == "amended"
    ]
    assert (row["id"], row["epsilon"], "raised from 1 to 2" in row["text"]) == ("", "0.0", True)
    assert leakcap("ledger", "verify", "ward.db", cwd=policies).returncode == 0
    for audience in ("reviewer", "board"):
        page = leakcap("report", "ask-new.toml", "--for", audience, "--output", "r.html", cwd=policies)
        assert page.returncode == 0, page.stderr
        assert "the board agreed" in (policies / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["new.toml", "--ledger", "ward.db"], "in one line"),
        (["new.toml", "--reason", "x"], "needs --ledger"),
        (["old.toml", "--ledger", "ward.db", "--reason", "x"], "nothing to amend"),
        (["row.toml", "--ledger", "ward.db", "--reason", "x"], "`unit` may not change from row to `person`"),
        (["none.toml", "--ledger", "ward.db", "--reason", "x"], "does not exist"),
        (["new.toml", "--ledger", "none.db", "--reason", "x"], "There is no ledger"),
    ],
)
def test_an_amendment_that_is_refused_is_one_line(policies: Path, words: list[str], message: str) -> None:
    done = leakcap("ledger", "amend", *words, cwd=policies)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr


def files(folder: Path) -> list[Path]:
    """All but SQLite's own, which stand beside a file while somebody who may not write reads it."""
    return sorted(path for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm")))


@pytest.mark.parametrize(
    "command",
    [
        ["verify", "none.db"],
        ["repair", "none.db"],
        ["repair", "none.db", "--acknowledge", "1"],
        ["export", "none.db"],
        ["verify", "nosuch://x"],
        ["verify", "none.toml"],
        ["export", "ward.db", "--format", "xml"],
        ["export", "ward.db", "--output", "no/such/folder.csv"],
        ["repair", "ward.db", "--acknowledge", "77"],
        ["verify", "ward.db", "--anchor", "ab"],
    ],
)
def test_one_clear_line_and_nothing_made(folder: Path, command: list[str]) -> None:
    before = files(folder)
    done = leakcap("ledger", *command, cwd=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert files(folder) == before


def test_every_command_shows_an_example() -> None:
    for command in ("verify", "repair", "export", "amend"):
        assert "Example" in leakcap("ledger", command, "--help").stdout
    assert "Example" in leakcap("budget", "--help").stdout


def test_the_budget_lists_slots_and_export_and_json_name_them(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'plan.db'}"
    caps = Caps(epsilon=3.0, delta=1e-6, delta_of_answers=1e-6)
    with Ledger.open(url, dataset="ward", policy="0" * 8, caps=caps) as ledger:
        ledger.plan(SlotPlan("year", [Slot("monthly", 12, epsilon=0.2)], delta=1e-6))
        ledger.reserve([Charge("my count", "count", Spend(epsilon=0.2), slot="monthly")])
    shown = leakcap("budget", "--ledger", url, cwd=tmp_path).stdout
    assert "Paid for beforehand" in shown
    assert "slot monthly" in shown
    told = json.loads(leakcap("budget", "--ledger", url, "--json", cwd=tmp_path).stdout)
    (slot,) = told["slots"]
    assert (slot["name"], slot["plan"], slot["count"], slot["used"]) == ("monthly", "year", 12, 1)
    assert [(one["state"], one["slot"], one["epsilon"]) for one in told["entries"]] == [
        ("planned", "", 2.3986893),
        ("reserved", "monthly", 0.0),
    ]
    rows = json.loads(leakcap("ledger", "export", url, "--format", "json", cwd=tmp_path).stdout)
    assert [row["slot"] for row in (rows["entries"] if isinstance(rows, dict) else rows)] == ["", "monthly"]
