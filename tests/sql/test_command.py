"""`leakcap sql`: preview, dry run and answer; what is refused spends nothing."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from command_line import leakcap

POLICY = """
dataset = "visits"
neighbours = "add-remove-one"
[columns.stay]
bounds = [0.0, 60.0]
[columns.ward]
keys = ["a", "b"]
[caps]
epsilon = 1.0
"""
QUERIES = """
policy = "policy.toml"
data = "visits.parquet"
ledger = "sqlite:///visits.db"
[[query]]
name = "n"
statistic = "count"
epsilon = 0.1
"""
STATEMENT = "SELECT ward, COUNT(*), AVG(stay) AS days FROM visits WHERE stay > 1 GROUP BY ward"


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "release.toml").write_text(QUERIES)
    rows = "SELECT 2.0 + i % 10 AS stay, ['a', 'b'][1 + i % 2] AS ward FROM range(5000) AS t (i)"
    duckdb.execute(f"COPY ({rows}) TO '{tmp_path / 'visits.parquet'}' (FORMAT parquet)")
    return tmp_path


def test_preview_touches_neither_data_nor_ledger(visits: Path) -> None:
    (visits / "visits.parquet").unlink()
    done = leakcap("sql", STATEMENT, "--epsilon", "0.5", "--preview", "--json", cwd=visits)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(one["name"], one["price"]["epsilon"]) for one in found["statistics"]] == [
        ("count", 0.25),
        ("days", 0.25),
    ]
    assert not (visits / "visits.db").exists()


def test_a_dry_run_costs_nothing(visits: Path) -> None:
    (visits / "visits.parquet").unlink()
    done = leakcap("sql", STATEMENT, "--epsilon", "0.5", "--dry-run", cwd=visits)
    assert done.returncode == 0, done.stderr
    assert "say nothing about the data" in done.stdout
    assert "days" in done.stdout
    assert not (visits / "visits.db").exists()


def test_an_answer_costs_what_was_offered(visits: Path) -> None:
    options = ("--epsilon", "0.5", "--weights", "3,2", "--json")
    done = leakcap("sql", STATEMENT, *options, cwd=visits)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [release["name"] for release in found["releases"]] == ["count", "days"]
    assert found["caps"][0]["spent"] == 0.5
    again = json.loads(leakcap("sql", STATEMENT, *options, cwd=visits).stdout)
    assert again["caps"][0]["spent"] == 0.5  # remembered


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("SELECT stay FROM visits", "--epsilon", "0.5"), "Line 1, column 8: `stay` is selected but not in"),
        (("SELECT COUNT(*) FROM visits", "--epsilon", "5"), "epsilon"),
        (("SELECT COUNT(*) FROM visits", "--epsilon", "0.5", "--weights", "x"), "must be numbers"),
        (("SELECT COUNT(*) FROM visits", "--epsilon", "0.5", "--in", "none.toml"), "does not exist"),
        (("SELECT COUNT(*) FROM visits", "--epsilon", "0.5", "--ledger", "sqlite://"), "in memory"),
    ],
)
def test_refusals_are_one_line_and_spend_nothing(
    visits: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = leakcap("sql", *arguments, cwd=visits)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    ledger = leakcap("budget", "release.toml", "--json", cwd=visits)
    assert ledger.returncode != 0 or json.loads(ledger.stdout)["caps"][0]["spent"] == 0.0
