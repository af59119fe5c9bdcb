"""`leakcap running`: the same numbers as in Python, for one charge, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import ROOT, leakcap
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, load_policy
from leakcap.running import release_running
from leakcap.running.files import load_running


@pytest.fixture
def place(tmp_path: Path) -> Path:
    kept = shutil.ignore_patterns("*.db*")
    return shutil.copytree(ROOT / "examples/running", tmp_path / "running", ignore=kept)


def told(place: Path, *words: str) -> dict[str, Any]:
    done = leakcap("running", "visits.toml", *words, "--json", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_command_and_python_give_the_same_numbers_for_one_charge(place: Path) -> None:
    first, again = told(place, "--through", "2026-03"), told(place)
    assert (first["new"], again["new"]) == (3, 0)
    assert first["series"] == again["series"]
    asked = load_running(place / "visits.toml")
    with PrivateTable(asked.data, policy=load_policy(asked.policy), ledger=asked.ledger) as table:
        found = release_running(table, asked.question)
        assert (found.new, len(table.ledger.entries())) == (0, 1)
    for one in first["series"]:
        for step in one["steps"]:
            total = found.total(step["period"], *one["keys"])
            mine = (step["total"], step["total_lower"], step["total_upper"])
            assert mine == (total.value, total.low, total.high)


def test_the_terminal_shows_every_period_and_the_budget_calls_it_a_stream(place: Path) -> None:
    done = leakcap("running", "visits.toml", "--through", "2026-02", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("ward north", "2026-02", "since 2026-01", "2 periods of 12: 2 answered now"):
        assert words in done.stdout
    budget = leakcap("budget", "--ledger", "sqlite:///visits.db", "--all", cwd=place)
    assert "stream" in budget.stdout
    assert "not released" not in budget.stdout


@pytest.mark.parametrize("words", [("--through", "2027-01"), ("--through", "March"), ()])
def test_what_is_refused_is_one_line_and_leaves_no_ledger(place: Path, words: tuple[str, ...]) -> None:
    done = leakcap("running", "visits.toml", *words, cwd=place)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not (place / "visits.db").exists()


def test_a_file_with_a_field_that_is_none_is_refused(place: Path) -> None:
    file = place / "visits.toml"
    file.write_text(file.read_text() + "fresh = true\n")
    with pytest.raises(InvalidQuery, match="fresh"):
        load_running(file)
