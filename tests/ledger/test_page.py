"""The page about the ledger says what the code does."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from leakcap.cli.revisions import ledger
from leakcap.ledger import Ledger, Limits
from leakcap.ledger.editions import calendar_days
from leakcap.ledger.schema import ACCOUNT, EVENT, SCHEMA, STATE
from leakcap.release import load_policy

PAGE = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    opened = names["ledger"]
    assert isinstance(opened, Ledger)
    assert (opened.totals().epsilon, opened.unreleased()) == (0.1, [])
    opened.close()


def test_every_table_is_explained() -> None:
    for table in (EVENT, STATE, ACCOUNT, SCHEMA):
        assert f"`{table.name}`" in PAGE


def test_every_public_verb_is_explained() -> None:
    verbs = {name for name in dir(Ledger) if callable(getattr(Ledger, name)) and not name.startswith("_")}
    assert len(verbs) >= 16
    assert not {verb for verb in verbs if f"{verb}(" not in PAGE and f"`{verb}`" not in PAGE}


def test_the_policy_of_the_page_is_one(tmp_path: Path) -> None:
    toml, asked, planned, trainings, own = re.findall(r"```toml[^\n]*\n(.*?)```", PAGE, re.DOTALL)
    head = 'dataset = "d"\nneighbours = "replace-one"\nrows = 5\n[columns.x]\nbounds = [0.0, 1.0]\n'
    (tmp_path / "policy.toml").write_text(head + toml)
    caps = load_policy(tmp_path / "policy.toml").caps.ledger_caps()
    for capped in (caps, caps.each_analyst, caps.analysts["Dr. Ng"], caps.groups["ward"], caps.each_period):
        assert capped is not None
        assert capped.epsilon is not None
    assert (caps.nats_person, caps.nats_level, caps.alpha, caps.queries, caps.period) == (
        0.1,
        0.3,
        2.0,
        100,
        "month",
    )
    for name in (field.name for field in fields(Limits)):
        assert getattr(caps, name) is not None  # the page shows every cap
    assert calendar_days(tomllib.loads(asked)["publication"]["period"]) is not None
    (tmp_path / "plan.toml").write_text(head + planned)
    (plan,) = load_policy(tmp_path / "plan.toml").plan
    assert plan.ledger_plan().slots[0].count == 12
    ours = head.replace('"replace-one"\nrows = 5', '"add-remove-one"')
    (tmp_path / "trainings.toml").write_text(ours + trainings)
    (year,) = load_policy(tmp_path / "trainings.toml").plan
    assert year.ledger_plan().slots[0].descent is not None
    people = head.replace("replace-one", "add-remove-one").replace("rows = 5\n", "").split("[", 1)
    (tmp_path / "own.toml").write_text(people[0] + own + "[" + people[1])
    assert load_policy(tmp_path / "own.toml").caps.ledger_caps().each_person == (0.1, 0.5, 1.0)


def test_every_command_is_explained() -> None:
    named = [command.name or command.callback.__name__ for command in ledger.registered_commands]
    assert len(named) >= 4
    for name in named:
        assert f"leakcap ledger {name}" in PAGE
