"""One is no plural: of a ledger with one spend no command and no page says "1 spends"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_line import leakcap
from leakcap.ledger import Ledger

POLICY = """dataset = "ward"
neighbours = "add-remove-one"
[caps]
epsilon = 1.0
[columns.age]
bounds = [0.0, 120.0]
"""
QUERY = """policy = "policy.toml"
data = "ward.csv"
ledger = "ward.db"
[[query]]
name = "n"
statistic = "count"
epsilon = 0.5
[annex]
authors = ["A. Author"]
curators = ["Office"]
description = "Ages."
intended_use = "A test."
region = "Nowhere"
"""
PLURAL = re.compile(r"\b1 (spends|answers|entries|queries|events)\b")
COMMANDS = [
    ("annex", "q.toml"),
    ("annex", "q.toml", "--output", "annex.md"),
    ("annex", "q.toml", "--registry", "--output", "entry.yaml"),
    ("budget", "q.toml"),
    ("ledger", "verify", "sqlite:///ward.db"),
    ("report", "q.toml", "--output", "report.md"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_one_spend_is_one_spend(words: tuple[str, ...], tmp_path: Path) -> None:
    for name, text in (("policy.toml", POLICY), ("q.toml", QUERY), ("ward.csv", "age\n31\n45\n")):
        (tmp_path / name).write_text(text)
    assert leakcap("release", "q.toml", cwd=tmp_path).returncode == 0
    before = set(tmp_path.iterdir())
    done = leakcap(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = [
        path.read_text() for path in set(tmp_path.iterdir()) - before if path.suffix in (".md", ".yaml")
    ]
    told = "\n".join([done.stdout, *written])
    assert not PLURAL.search(told), PLURAL.findall(told)
    assert re.search(r"\b1 (spend|answer|query)\b", told), told


def test_a_notebook_s_card_of_a_ledger_says_one_spend(tmp_path: Path) -> None:
    for name, text in (("policy.toml", POLICY), ("q.toml", QUERY), ("ward.csv", "age\n31\n45\n")):
        (tmp_path / name).write_text(text)
    assert leakcap("release", "q.toml", cwd=tmp_path).returncode == 0
    with Ledger.read(f"sqlite:///{tmp_path / 'ward.db'}") as book:
        assert "1 spend<" in book._repr_html_()
