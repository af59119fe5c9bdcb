"""Workloads in a query file: paid with the queries in one commit, one record, the same in every rendering."""

from __future__ import annotations

import csv
import html
import json
import shutil
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from command_line import ROOT, leakcap
from leakcap.errors import BudgetExceeded, DataError, InvalidQuery
from leakcap.ledger import Ledger
from leakcap.release import PrivateTable, Query, load_policy, load_queries
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of, read_record
from leakcap.tables import TablesQuestion
from leakcap.tables import release as releasing
from leakcap.tables.files import workloads_of
from leakcap.tables.release import release_workloads
from tables.test_release import policy_of, rows_of, table_of

FILE = """policy = "policy.toml"
data = "patients.parquet"
ledger = "l.db"
[[query]]
name = "all"
statistic = "count"
epsilon = 0.2
[[workload]]
name = "pairs"
columns = ["diagnosis", "radius", "texture"]
ways = 2
rho = 0.05
"""
COUNT = Query(name="all", statistic="count", epsilon=1.0)
PAIRS = TablesQuestion(name="pairs", columns=("sex", "ward", "smokes"), ways=2, rho=0.05)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "examples/tables/policy.toml", tmp_path)
    shutil.copy(ROOT / "examples/hospital/patients.parquet", tmp_path)
    (tmp_path / "q.toml").write_text(FILE)
    return tmp_path


def told(place: Path, *words: str) -> dict[str, Any]:
    done = leakcap("release", "q.toml", *words, "--json", cwd=place)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_one_commit_one_record_and_repeated_for_free(place: Path) -> None:
    planned = json.loads(leakcap("preview", "q.toml", "--json", cwd=place).stdout)
    first, again = told(place), told(place)
    (own,), (repeated,) = first["workloads"], again["workloads"]
    assert (own["repeated"], repeated["repeated"]) == (False, True)
    assert own["tables"] == repeated["tables"]
    with Ledger.read(f"sqlite:///{place / 'l.db'}") as ledger:
        count, pairs = ledger.entries()
        assert count.batch == pairs.batch
        assert (count.query, pairs.query, pairs.id) == ("all", "pairs", own["entry"])
    # What was said beforehand is what was charged, and how wide the intervals are.
    (plan,) = planned["workloads"]
    assert planned["caps"] == first["caps"]
    exposures = planned["together"]["exposure"], first["so_far"]["exposure"]
    for name in ("epsilon", "epsilon_contents", "delta", "delta_contents"):
        assert exposures[0][name] == pytest.approx(exposures[1][name], rel=1e-9)
    assert [one["columns"] for one in plan["tables"]] == [one["columns"] for one in own["tables"]]
    for before, after in zip(plan["tables"], own["tables"], strict=True):
        assert before["cells"] == len(after["cells"])
        for cell in after["cells"]:
            assert (cell["upper"] - cell["lower"]) / 2 == pytest.approx(before["error_95"], rel=1e-9)
    policy, asked = load_policy(place / "policy.toml"), load_queries(place / "q.toml")
    with PrivateTable(asked.data, policy=policy, ledger=asked.ledger) as table:
        answers, (found,) = release_workloads(table, asked.queries, workloads_of(asked, "q.toml"))
    assert [one.repeated for one in answers] == [True] == [found.repeated]
    for one in own["tables"]:
        assert [cell["value"] for cell in one["cells"]] == found.table(
            *one["columns"]
        ).values.ravel().tolist()


def test_every_rendering_has_the_tables(place: Path) -> None:
    first = told(place, "--report", "r.html", "--csv", "out", "--excel", "x.xlsx")
    told(place, "--csv", "v.csv")
    (place / "r.json").write_text(json.dumps(first))
    (own,) = first["workloads"]
    by = {tuple(one["columns"]): one["cells"] for one in own["tables"]}
    with (place / "v.csv").open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["statistic"] == "pairs"]
    said = [float(line["value"]) for line in lines]
    assert said == [cell["value"] for cells in by.values() for cell in cells]
    with (place / "out/pairs-radius-by-texture.csv").open(encoding="utf-8", newline="") as file:
        assert [float(line["upper"]) for line in csv.DictReader(file)] == [
            cell["upper"] for cell in by["radius", "texture"]
        ]
    book = openpyxl.load_workbook(place / "x.xlsx")
    assert book.sheetnames[:3] == ["Summary", "all", "total"]
    assert [row[2] for row in book["radius by texture"].values if row[2] is not None][1:] == [
        cell["value"] for cell in by["radius", "texture"]
    ]
    for audience in ("board", "reviewer"):
        page = page_of(read_record(place / "r.json"), audience)  # type: ignore[arg-type]
        text = render_markdown(page)
        assert "1 private statistic and 3 tables" in text
        assert "## pairs: tables of counts with one budget" in text
        assert "radius by texture, with margins and 95 % intervals" in text
    assert "radius by texture, with margins" in (place / "r.html").read_text()
    shown = leakcap("release", "q.toml", cwd=place).stdout
    assert "2 of 2 answers were repeated" in shown
    assert "All tables agree; 4 margins more in --json and --csv." in " ".join(shown.split())
    done = leakcap("report", "q.toml", "--preview", "-o", "p.md", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "| radius by texture" in (place / "p.md").read_text()
    annex = leakcap("annex", "q.toml", "--json", cwd=place)
    assert {one["mechanism"]: one["answers"] for one in json.loads(annex.stdout)["mechanisms"]} == {
        "discrete Gaussian": 1,
        "discrete Laplace": 1,
    }


def test_which_rows_tables_are_about_stands_wherever_they_are_shown(place: Path) -> None:
    """A row without a key in one column is in no table of the workload: no margin is about it."""
    text = FILE + '[[workload]]\nname = "benign"\ncolumns = ["radius"]\nways = 1\nrho = 0.01\n'
    text += """where = "diagnosis = 'benign'"\n"""
    (place / "q.toml").write_text(text)
    about = "All tables and margins are about the rows that have a listed key in"
    wanted, alone = (
        f"{about} each of diagnosis, radius, texture.",
        f"{about} radius, where diagnosis = 'benign'.",
    )
    planned = json.loads(leakcap("preview", "q.toml", "--json", cwd=place).stdout)
    found = told(place, "--excel", "x.xlsx", "--report", "r.html")
    for record in (planned, found):
        for one, start in zip(record["workloads"], (wanted, alone), strict=True):
            assert one["about"].startswith(start)
    shown = " ".join(leakcap("release", "q.toml", cwd=place).stdout.split())
    before = " ".join(leakcap("preview", "q.toml", cwd=place).stdout.split())
    page = html.unescape((place / "r.html").read_text())
    for said in (shown, before, page):
        assert wanted in said
        assert alone in said
    book = openpyxl.load_workbook(place / "x.xlsx")
    assert {"pairs, radius", "benign, radius"} <= set(book.sheetnames)
    notes = [row[0] for row in book["benign, radius"].values]
    assert notes[0] == "benign"
    assert "diagnosis = 'benign'" in notes[1]
    assert "ρ = 0.01" in notes[1]
    assert notes[3].startswith(alone)


def test_all_or_nothing_with_a_ledger_and_without(place: Path) -> None:
    """Each fits the caps alone; both do not."""
    text = FILE.replace("epsilon = 0.2", "epsilon = 2.5").replace("rho = 0.05", "rho = 0.15")
    (place / "q.toml").write_text(text)
    done = leakcap("release", "q.toml", cwd=place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "Nothing was spent" in done.stderr
    assert not list(place.glob("l.db*"))
    alone = FILE.replace("epsilon = 0.2", "epsilon = 2.5")
    (place / "q.toml").write_text(alone[: alone.index("[[workload]]")])
    told(place)
    (place / "q.toml").write_text(text)
    done = leakcap("release", "q.toml", cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    with Ledger.read(f"sqlite:///{place / 'l.db'}") as ledger:
        assert [one.query for one in ledger.entries()] == ["all"]
    (place / "q.toml").write_text(text.replace("rho = 0.15", "rho = 0.01"))
    found = told(place)
    assert [one["repeated"] for one in (*found["releases"], *found["workloads"])] == [True, False]


def test_what_fails_after_the_commit_stays_spent_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with PrivateTable(table_of(rows_of(50)), policy=policy_of(), ledger="sqlite://", version="1") as table:

        def broken(*_: object) -> None:
            assert [one.state for one in table.ledger.entries()] == ["reserved", "reserved"]
            raise DataError("The engine is gone.")

        monkeypatch.setattr(releasing, "counts_of", broken)
        with pytest.raises(DataError, match="gone"):
            release_workloads(table, [COUNT], [PAIRS])
        assert [one.state for one in table.ledger.entries()] == ["reserved", "reserved"]


def test_what_is_known_is_free_and_only_the_rest_is_paid() -> None:
    policy = policy_of(caps={"epsilon": 6.0, "delta": 1e-6})
    with PrivateTable(table_of(rows_of(50)), policy=policy, ledger="sqlite://", version="1") as table:
        other = PAIRS.model_copy(update={"name": "other", "rho": 0.06})
        release_workloads(table, [], [PAIRS])
        answers, found = release_workloads(table, [COUNT], [other, PAIRS])
        assert [one.repeated for one in (*answers, *found)] == [False, False, True]
        assert [one.query for one in table.ledger.entries()] == ["pairs", "all", "other"]
        table.ledger.verify()
        with pytest.raises(BudgetExceeded, match="Nothing was spent"):
            release_workloads(table, [COUNT], [PAIRS.model_copy(update={"rho": 1.0})], fresh=True)
        assert len(table.ledger.entries()) == 3


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'name = "pairs"',
            'name = "all"',
            "`name` of workload `all` must be that of no other workload or query",
        ),
        ("rho = 0.05", "", "Tables `pairs` must have `rho` or `epsilon`, not both."),
        ("rho = 0.05", "rho = 0.05\nfamily = 2", "`family` of `q.toml: workload 1` is not a known field."),
        ("ways = 2", 'ways = "2"', "must be a whole number. Got '2'."),
        ('"radius", "texture"', '"radius", "mean_radius"', "Got `mean_radius`"),
        ("[[workload]]", "[workload]", "`workload` of `q.toml` must be a list"),
        ("rho = 0.05", "rho = nan", "`rho` of tables `pairs` must be positive and finite. Got nan."),
    ],
)
def test_a_wrong_workload_is_one_line_and_begins_no_ledger(
    place: Path, old: str, new: str, says: str
) -> None:
    assert old in FILE
    (place / "q.toml").write_text(FILE.replace(old, new))
    for command in ("release", "preview"):
        done = leakcap(command, "q.toml", cwd=place)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert says in done.stderr
    assert not list(place.glob("l.db*"))


def test_fresh_noise_is_asked_for_and_a_small_workbook_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leakcap.report.render import workbook

    first = told(place)
    done = leakcap("release", "q.toml", "--fresh", cwd=place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    again = told(place, "--fresh", "--yes")
    assert again["workloads"][0]["tables"] != first["workloads"][0]["tables"]
    monkeypatch.setattr(workbook, "_MOST_SHEETS", 6)
    done = leakcap("release", "q.toml", "--fresh", "--yes", "--excel", "x.xlsx", cwd=place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    with Ledger.read(f"sqlite:///{place / 'l.db'}") as ledger:
        assert len(ledger.entries()) == 4


def year_in(place: Path, text: str) -> dict[str, Any]:
    (place / "q.toml").write_text(text)
    done = leakcap("plan", "q.toml", "--start", "2101-01", "--json", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_year_counts_the_tables_of_each_month(place: Path) -> None:
    """A release of each month leaves what was said, and the share keeps the year, a thousandth more not."""
    year = year_in(place, FILE)
    assert year["breaks"] is not None
    assert 0.0 < year["share"] < 1.0
    (asked,), (even,) = year["workloads"], year["even_workloads"]
    assert [one["error_95"] for one in asked["tables"]] < [one["error_95"] for one in even["tables"]]
    for thousandths, fits in ((round(1000 * year["share"]), True), (round(1000 * year["share"]) + 1, False)):
        prices = (f"epsilon = {0.2 * thousandths / 1000:.6f}", f"rho = {0.05 * thousandths / 1000:.8f}")
        text = FILE.replace("epsilon = 0.2", prices[0]).replace("rho = 0.05", prices[1])
        assert (year_in(place, text)["breaks"] is None) == fits
    shown = " ".join(leakcap("plan", "q.toml", "--start", "2101-01", cwd=place).stdout.split())
    assert "pairs cells 95 % error" in shown
    assert "and these of the tables." in shown
    (place / "q.toml").write_text(FILE)
    assert year["months"][0]["caps"] == told(place)["caps"]


def test_two_workloads_of_one_name_are_refused(place: Path) -> None:
    (place / "q.toml").write_text(FILE + FILE[FILE.index("[[workload]]") :])
    with pytest.raises(InvalidQuery, match="Give it another `name`"):
        workloads_of(load_queries(place / "q.toml"), "q.toml")
