"""All commands, found by walking: each shows an example that runs, and prints what its schema describes."""

from __future__ import annotations

import functools
import gc
import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest

from command_line import COMMANDS, ROOT, Done, example, leakcap
from endings import complaint
from leakcap.release import load_policy, open_ledger


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, where the first release was made."""
    folder = tmp_path_factory.mktemp("place")
    ignored = shutil.ignore_patterns("*.db*", "*.html", "__pycache__")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=ignored)
    done = leakcap("release", "examples/hospital/release.toml", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    saved = ["examples/hospital/hospital.db", "examples/hospital/hospital.backup"]
    assert leakcap("ledger", "backup", *saved, cwd=folder).returncode == 0
    stays = load_policy(folder / "examples/visits.toml").model_copy(update={"dataset": "stays"})
    open_ledger(folder / "examples/stays/stays.db", stays).close()
    ward = load_policy(folder / "examples/outside/policy.toml")
    open_ledger(folder / "examples/outside/ward.db", ward).close()
    (folder / "result.json").write_text(done.stdout, encoding="utf-8")
    return folder


def test_all_commands_are_found() -> None:
    assert {"release", "sql", "ledger verify", "attack wifi", "schema"} <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_runs(place: Path, name: str) -> None:
    """False alarms: that of `audit` asks for a confidence of 0.999999, and its claim is true."""
    words = example(name)
    assert " ".join(words).startswith(name)
    gc.disable()  # so that a ledger that is left to the collector stays open, and its log on the disk
    try:
        done = leakcap(*words, cwd=place)
    finally:
        gc.enable()
    # One who only looks may leave an empty log.
    assert not [log for log in place.rglob("*-wal") if log.stat().st_size]
    assert (complaint(done.returncode, 0, done.stdout), done.stderr) == ("", ""), words
    assert done.stdout or name in {"ledger export"}


@functools.cache
def schema_of(name: str) -> jsonschema.Draft202012Validator:
    """What holds records against a command's schema, which is one: asked for and checked once."""
    shape = json.loads(leakcap("schema", *name.split()).stdout)
    jsonschema.Draft202012Validator.check_schema(shape)
    return jsonschema.Draft202012Validator(shape)


def validated(name: str, done: Done) -> dict[str, object]:
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, object] = json.loads(done.stdout)
    schema_of(name).validate(found)
    return found


FEWER = {"attack wifi": ["--fields", "5"]}
"""Beside an example that takes seconds, and runs as it stands above: of few fields the record is the same."""


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"schema"}))
def test_json_is_what_the_schema_says(place: Path, name: str) -> None:
    found = validated(name, leakcap(*example(name), *FEWER.get(name, []), "--json", cwd=place))
    assert re.fullmatch(r"leakcap/[a-z-]+/\d+", str(found["schema"]))
    assert not schema_of(name).is_valid({**found, "surprise": 1})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "sql",
            ["SELECT COUNT(*) FROM patients", "--epsilon", "0.1", "--in", "examples/hospital/release.toml"],
        ),
        ("budget", ["--ledger", "examples/hospital/hospital.db"]),
        ("channel", ["examples/survey.csv", "--gain", "property:a,a,b", "--alpha", "0.5,3"]),
        ("audit", ["examples.noisy_count:noisy_count", "0", "5", "--samples", "400"]),
        ("attack copies", ["1", "50", "--epsilon", "2"]),
        ("attack membership", ["--epsilon", "inf"]),
        ("attack wifi", ["--bits", "4", "--fields", "2", "--adaptive"]),
        ("convert", ["PureDP(inf)", "MIDP"]),
        ("disclosure", ["examples/disclosure/rounding.toml"]),
        ("disclosure", ["examples/disclosure/rounding.toml", "examples/disclosure/census.toml"]),
        ("disclosure", ["examples/disclosure/keys.toml", "examples/disclosure/household.toml"]),
        ("ledger verify", ["examples/hospital/release.toml"]),
    ],
)
def test_json_of_other_jobs(place: Path, name: str, words: list[str]) -> None:
    validated(name, leakcap(*name.split(), *words, "--json", cwd=place))


def test_a_dry_run_and_a_plan_are_told_apart(place: Path) -> None:
    base = [
        "sql",
        "SELECT COUNT(*) FROM patients",
        "--epsilon",
        "0.1",
        "--in",
        "examples/hospital/release.toml",
    ]
    dry = validated("sql", leakcap(*base, "--dry-run", "--json", cwd=place))
    plan = validated("sql", leakcap(*base, "--preview", "--json", cwd=place))
    assert (dry["schema"], plan["schema"]) == ("leakcap/dry-run/1", "leakcap/preview/1")


def test_no_schema_for_what_is_no_command() -> None:
    done = leakcap("schema", "nonsense")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
