"""Beside totals that are exact by law nothing is said of whether somebody is in the data: they tell it.

A table with a person and one without never agree in such a total, so that whoever knows everybody else is
right with probability 1; every line about that would be a promise that is broken on the same page.
"""

from __future__ import annotations

import html
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from command_line import ROOT, leakcap
from leakcap.bound import Bound
from leakcap.cli.serve import _from_files
from leakcap.release.results import exposure as exposures
from leakcap.report.sources import page_of, record_of
from leakcap.statement import Exposure, compose, statement_of
from leakcap.statement.restated import restated
from leakcap.statement.risks import ProvenRecord, games_of
from leakcap.statement.statement import OF_THE_NOISE
from leakcap.web import Settings, create_app
from leakcap.web.serving.guard import Keys

PRESENCE = (
    "is in the table at all",
    "Joining changes",
    "telling whether a person's data was used",
    "no answer can weigh more",
)
"""What is said of being in the data: by a statement, by its policy's promise, by the games of an annex."""

EXACT = '\n[[exact]]\nlevel = "width"\ncounts = { small = 250 }\nreason = "register act, § 4"\n'
HOME = "http://127.0.0.1:8421"


def place(folder: Path, *, exact: bool) -> Path:
    """The examples, with a tree that is asked for in `asked.toml`."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db*"))
    tables = folder / "examples/tables"
    asked = (tables / "hierarchy.toml").read_text().replace("[weights]\nwidth = 2.0", "")
    (tables / "asked.toml").write_text(asked + EXACT * exact)
    return tables


def said(text: str) -> str:
    """The words of a page or of a terminal, on one line."""
    body = re.sub(r"<(script|style).*?</\1>", " ", text, flags=re.S)
    words = html.unescape(re.sub(r"<[^>]+>|[│╭╮╰╯─•]", " ", body)).replace("\\", "")
    return " ".join(words.split())


def everything(folder: Path) -> dict[str, str]:
    """What each way of looking at the ledger says after the tree was released."""
    found: dict[str, str] = {}
    for name, words in {
        "hierarchy": ["hierarchy", "asked.toml", "--report", "tree.html"],
        "hierarchy --json": ["hierarchy", "asked.toml", "--json"],
        "tables": ["tables", "tables.toml", "--report", "tables.html"],
        "report": ["report", "asked.toml", "--output", "ledger.html"],
        "report of the board": ["report", "asked.toml", "--for", "board", "--output", "board.html"],
        "annex": ["annex", "asked.toml", "--output", "annex.html"],
        "budget --json": ["budget", "asked.toml", "--json"],
    }.items():
        done = leakcap(*words, cwd=folder)
        assert done.returncode == 0, (name, done.stderr)
        found[name] = said(done.stdout)
    for file in ("tree", "tables", "ledger", "board", "annex"):
        found[f"{file}.html"] = said((folder / f"{file}.html").read_text())
    web = TestClient(
        create_app(Settings(**_from_files([folder / "asked.toml"])), keys=Keys(None, "c")), base_url=HOME
    )
    for path in ("/release", "/release/entry/1"):
        found[path] = said(web.get(path).text)
    return found


ALONE = {"report", "report of the board", "annex"}
"""Commands that say no more than where the page is."""


def test_no_page_speaks_of_presence_beside_exact_totals(tmp_path: Path) -> None:
    exact = everything(place(tmp_path, exact=True))
    alone = (
        "Protected: everything the table says about one patient_id, and whether it is in the table at all."
    )
    own = {"tables": alone, "tables.html": alone}  # No total of these is exact.
    for name, told in exact.items():
        told = told.replace(own.get(name, ""), "")
        assert [words for words in PRESENCE if words in told] == [], name
        if name not in ALONE and "--json" not in name:
            assert OF_THE_NOISE in told, name
        if name not in ALONE and "tables" not in name and "--json" not in name and name != "/release/entry/1":
            assert "whether one patient_id is counted in an exact total" in told, name
    for name in ("hierarchy --json", "budget --json"):
        assert json.loads(exact[name])["so_far"]["exposure"]["exact_totals"] is True
    noisy = everything(place(tmp_path / "noisy", exact=False))
    for name in ("ledger.html", "tables.html", "annex.html", "/release", "/release/entry/1"):
        assert [words for words in PRESENCE if words in noisy[name]], name
        assert OF_THE_NOISE not in noisy[name]


def test_a_ledger_that_loses_the_mark_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of before: the page of the entry promised presence beside the exact total."""
    monkeypatch.setattr(exposures, "EXACT_TOTALS", "forgotten")
    tables = place(tmp_path, exact=True)
    assert leakcap("hierarchy", "asked.toml", cwd=tables).returncode == 0
    settings = Settings(**_from_files([tables / "asked.toml"]))
    told = said(TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME).get("/release").text)
    assert [words for words in PRESENCE if words in told]


def test_a_ledger_knows_of_every_answer_with_exact_totals(tmp_path: Path) -> None:
    """Another number is the same question, whose entry is marked. With totals where there were none, or for
    other reasons, it is another question, so that no entry without the mark answers it."""
    tables = place(tmp_path, exact=False)
    asked = (tables / "asked.toml").read_text()
    seen = []
    for change in ("", EXACT, EXACT.replace("250", "251"), EXACT.replace("§ 4", "§ 5")):
        (tables / "asked.toml").write_text(asked + change)
        done = leakcap("hierarchy", "asked.toml", "--json", cwd=tables)
        record = json.loads(done.stdout)
        told = record["so_far"]["exposure"].get("exact_totals", False)
        seen.append((record["entry"], record["repeated"], told))
    assert seen == [(1, False, False), (2, False, True), (2, True, True), (3, False, True)]


NOISE = Exposure("noise", 0.4, 0.8, Bound.exact(0.02, method="m"), 1.0, "add-remove-one", units=9)
EXACTLY = replace(NOISE, title="tree", exact_totals=True)


def test_one_answer_with_exact_totals_marks_all_of_them() -> None:
    assert compose([NOISE, EXACTLY], "all").exact_totals
    assert not compose([NOISE, NOISE], "all").exact_totals
    assert EXACTLY.repeated(3).exact_totals


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_all_other_lines_stay_as_they_are(relation: str) -> None:
    contents = 0.8 if relation == "add-remove-one" else 0.4
    noise = replace(NOISE, relation=relation, epsilon_contents=contents)
    plain, beside = statement_of(noise), statement_of(replace(noise, exact_totals=True))
    left = {"presence", "joining"} if relation == "add-remove-one" else set()
    assert [one.key for one in beside.lines] == [one.key for one in plain.lines if one.key not in left]
    same = [one for one in plain.lines if one.key not in left | {"epsilon"}]
    assert [one for one in beside.lines if one.key != "epsilon"] == same
    assert beside["epsilon"].upper == plain["epsilon"].upper
    assert "no noisy answer can weigh more" in beside["epsilon"].sentence
    assert (plain.caveat, beside.caveat) == ("", OF_THE_NOISE)
    assert OF_THE_NOISE in str(beside)
    assert OF_THE_NOISE in beside._repr_html_()
    assert OF_THE_NOISE not in str(plain)
    assert restated(beside.record()) == beside
    assert "exact_totals" not in plain.to_dict()["exposure"]


def test_whether_a_person_is_in_the_data_is_no_game_beside_exact_totals() -> None:
    proven = [ProvenRecord(epsilon=0.4, delta=0.0, epsilon_contents=0.8, delta_contents=0.0)]
    plain = games_of(proven, "add-remove-one", 9)
    beside = games_of(proven, "add-remove-one", 9, exact_totals=True)
    assert [one for one in plain if one.key != "membership"] == list(beside)
    assert games_of(proven, "replace-one", 9) == games_of(proven, "replace-one", 9, exact_totals=True)


def test_an_annex_whose_mark_was_taken_out_is_refused(tmp_path: Path) -> None:
    tables = place(tmp_path, exact=True)
    assert leakcap("hierarchy", "asked.toml", cwd=tables).returncode == 0
    record = json.loads(leakcap("annex", "asked.toml", "--json", cwd=tables).stdout)
    page_of(record_of(record), "board")
    del record["so_far"]["exposure"]["exact_totals"]
    with pytest.raises(ValueError, match="games do not follow"):
        page_of(record_of(record), "board")
