"""Commands of the ledger read whichever file names it: of queries, models, tables, trees, streams."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command_line import ROOT, leakcap
from leakcap.cli.asked import load_asked
from leakcap.running.question import RunningQuestion
from leakcap.tables.hierarchies.question import HierarchyQuestion
from leakcap.tables.question import TablesQuestion

EXAMPLES = {
    "hospital/model.toml": (),
    "hospital/release.toml": (),
    "running/visits.toml": (RunningQuestion,),
    "tables/hierarchy.toml": (HierarchyQuestion,),
    "tables/microdata.toml": (TablesQuestion,),
    "tables/tables.toml": (TablesQuestion,),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db*"))
    done = leakcap("running", "examples/running/visits.toml", "--through", "2026-01", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_of_file_is_told_from_the_others(name: str, place: Path) -> None:
    found = load_asked(place / "examples" / name)
    assert tuple(map(type, found.questions)) == EXAMPLES[name]
    assert Path(found.policy).is_file()
    if name == "tables/hierarchy.toml":
        assert place / "examples/tables/radius.csv" in [Path(one).resolve() for one in found.files]


def test_the_budget_of_a_file_is_that_of_its_ledger(place: Path) -> None:
    told = json.loads(leakcap("budget", "examples/running/visits.toml", "--json", cwd=place).stdout)
    ledger = ["--ledger", "examples/running/visits.db", "--json"]
    alone = json.loads(leakcap("budget", *ledger, cwd=place).stdout)
    assert [one["name"] for one in told["entries"]] == ["visits 2026"]
    assert {name: told[name] for name in ("entries", "caps")} == {n: alone[n] for n in ("entries", "caps")}
    shown = leakcap("budget", "examples/running/visits.toml", cwd=place)
    assert "visits 2026" in shown.stdout
    assert "is not the one that governs" not in shown.stdout


@pytest.mark.parametrize("words", [["ledger", "verify"], ["ledger", "repair"], ["annex"], ["report"]])
def test_other_commands_read_it_too(words: list[str], place: Path) -> None:
    done = leakcap(*words, "examples/running/visits.toml", cwd=place)
    assert done.returncode == 0, done.stderr


def test_what_a_file_names_is_not_written_over(place: Path) -> None:
    for name in ("radius.csv", "policy.toml", "hierarchy.toml"):
        before = (place / "examples/tables" / name).read_bytes()
        words = ["ledger", "backup", "examples/tables/hierarchy.toml", f"examples/tables/{name}"]
        done = leakcap(*words, cwd=place)
        assert done.returncode == 2
        assert "may not replace" in done.stderr
        assert (place / "examples/tables" / name).read_bytes() == before


def test_a_policy_is_no_file_that_asks(place: Path) -> None:
    done = leakcap("budget", "examples/running/policy.toml", cwd=place)
    assert done.returncode == 2
    assert "`policy` of `examples/running/policy.toml` is missing" in done.stderr
