"""`leakcap plan`: the year on the terminal and as JSON, from policy and ledger alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import ROOT, leakcap

POLICY = """dataset = "ward"
neighbours = "add-remove-one"
[caps]
epsilon = 1.0
[caps.each_period]
length = "month"
epsilon = 0.4
[columns.age]
bounds = [0.0, 120.0]
"""
QUERIES = """policy = "policy.toml"
data = "gone.csv"
ledger = "ward.db"
[[query]]
name = "old"
statistic = "count"
where = "age >= 65"
epsilon = 0.3
"""


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """A policy and a query file, of data that is not there."""
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "q.toml").write_text(QUERIES)
    return tmp_path


def year_in(folder: Path, *words: str) -> dict[str, Any]:
    done = leakcap("plan", "q.toml", "--start", "2101-01", "--json", *words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_year_of_three_tenths_a_month_breaks_in_april(ward: Path) -> None:
    found = year_in(ward)
    assert (found["breaks"], len(found["months"])) == ("2101-04", 12)
    assert [month["taken"] for month in found["months"]] == [True] * 3 + [False] * 9
    left = {cap["cap"]: cap["left"] for cap in found["months"][2]["caps"]}
    assert left["epsilon"] == pytest.approx(0.1, abs=1e-11)
    period = {cap["cap"]: cap["left"] for cap in found["months"][2]["period"]}
    assert period["epsilon"] == pytest.approx(0.1, abs=1e-11)
    assert found["months"][3]["refused_by"] == ["epsilon"]
    # A twelfth of 1 is 0.2777 of 0.3: ± ln(20)/0.0831, and a whole number.
    assert found["share"] == 0.277
    assert (found["statistics"][0]["error_95"], found["even"][0]["error_95"]) == (10, 36)


def test_neither_data_nor_ledger_is_made_or_read_and_nothing_is_recorded(ward: Path) -> None:
    before = sorted(path.name for path in ward.iterdir())
    shown = leakcap("plan", "q.toml", "--start", "2101-01", cwd=ward)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert sorted(path.name for path in ward.iterdir()) == before
    for words in ("2101-04 would be refused.", "At 27.7 % of these prices all 12 fit", "± 36", "0.7", "± 10"):
        assert words in " ".join(shown.stdout.split()), words
    assert shown.stdout.count("refused\n") + shown.stdout.count("refused ") >= 9


def test_what_the_ledger_has_spent_counts_and_its_chain_stays(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*", "*.html")
    )
    queries = "examples/hospital/release.toml"
    words = ["plan", queries, "--start", "2101-01", "--json"]
    fresh = json.loads(leakcap(*words, cwd=tmp_path).stdout)
    assert leakcap("release", queries, cwd=tmp_path).returncode == 0
    head = leakcap("ledger", "verify", queries, cwd=tmp_path).stdout
    spent = json.loads(leakcap(*words, cwd=tmp_path).stdout)
    # 1.4 a month under a cap of 3: two months at first, one after the first is spent.
    assert (fresh["breaks"], spent["breaks"]) == ("2101-03", "2101-02")
    assert leakcap("ledger", "verify", queries, cwd=tmp_path).stdout == head
    (tmp_path / "examples/hospital/policy.toml").write_text(
        (tmp_path / "examples/hospital/policy.toml").read_text().replace("epsilon = 3.0", "epsilon = 4.0")
    )
    other = leakcap(*words, cwd=tmp_path)
    assert (other.returncode, other.stdout, other.stderr.count("\n")) == (2, "", 1)
    assert "leakcap ledger amend" in other.stderr


def test_slots_pay_for_their_months_and_end(ward: Path) -> None:
    plan = '[[plan]]\nname = "monthly"\ncount = 8\nepsilon = 0.1\n'
    (ward / "policy.toml").write_text(POLICY + plan)
    (ward / "q.toml").write_text(QUERIES.replace("epsilon = 0.3", 'epsilon = 0.1\nslot = "monthly"'))
    found = year_in(ward)
    assert (found["breaks"], found["share"], found["even"]) == ("2101-09", None, [])
    assert found["months"][8]["refused_by"] == ["slot monthly"]
    assert [(slot["name"], slot["used"], slot["count"]) for slot in found["slots"]] == [("monthly", 0, 8)]
    assert found["statistics"][0]["slot"] == "monthly"
    shown = leakcap("plan", "q.toml", "--start", "2101-01", cwd=ward).stdout
    assert "slot monthly" in shown
    assert "No smaller price keeps all months" in shown
    (ward / "q.toml").write_text(QUERIES.replace("epsilon = 0.3", 'epsilon = 0.1\nslot = "weekly"'))
    done = leakcap("plan", "q.toml", cwd=ward)
    assert (done.returncode, done.stderr.count("\n"), "no slot `weekly`" in done.stderr) == (2, 1, True)


def test_a_ledger_that_is_not_there_is_said(ward: Path) -> None:
    """A mistyped name would otherwise be a year in which everything fits."""
    (ward / "q.toml").write_text(QUERIES.replace("epsilon = 0.3", "epsilon = 0.01"))
    said = "There is no ledger at `{}` yet: this is the plan for a new one."
    (ward / "gone.csv").write_text("age\n70\n")
    assert leakcap("release", "q.toml", cwd=ward).returncode == 0
    words = ["plan", "q.toml", "--start", "2101-01"]
    shown = leakcap(*words, cwd=ward)
    assert "There is no ledger" not in shown.stdout
    assert year_in(ward)["new_ledger"] is None
    typo = leakcap(*words, "--ledger", "wrad.db", cwd=ward)
    assert (typo.returncode, typo.stderr) == (0, "")
    assert said.format("wrad.db") in " ".join(typo.stdout.split())
    assert year_in(ward, "--ledger", "wrad.db")["new_ledger"] == "wrad.db"
    assert not (ward / "wrad.db").exists()


def test_one_month_is_one(ward: Path) -> None:
    one = leakcap("plan", "q.toml", "--start", "2101-01", "--months", "1", cwd=ward).stdout
    assert "The publication fits under the caps." in one
    (ward / "q.toml").write_text(QUERIES.replace("epsilon = 0.3", "epsilon = 0.5"))
    one = leakcap("plan", "q.toml", "--start", "2101-01", "--months", "1", cwd=ward).stdout
    assert "At 80.0 % of these prices it fits:" in one


@pytest.mark.parametrize("start", ["2027", "2101-13", "1999-01", "2101-1", "\x1b[2J", "next"])
def test_a_month_that_is_none_is_refused_in_a_line(ward: Path, start: str) -> None:
    done = leakcap("plan", "q.toml", "--start", start, cwd=ward)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "`--start` must be a month" in done.stderr
    assert "\x1b" not in done.stderr
