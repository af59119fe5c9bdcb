"""Each command that releases writes a certificate: beside its report, or where it is asked for by name."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import leakcap_verify as verify
from command_line import Done, leakcap
from leakcap.ledger import certifying

POLICY = """dataset = "ward"
neighbours = "add-remove-one"
[caps]
epsilon = 9.0
delta = 1e-6
[columns.x]
bounds = [0.0, 10.0]
[columns.y]
bounds = [0.0, 10.0]
[columns.d]
keys = ["a", "b"]
[columns.day]
dates = ["2026-01-01", "2026-12-31"]
[columns.month]
from = "day"
truncate = "month"
"""
PLACE = """policy = "policy.toml"
data = "visits.csv"
ledger = "spent.db"
"""
FILES = {
    "q": '[[query]]\nname = "n"\nstatistic = "count"\nepsilon = 0.1\n',
    "t": 'rho = 0.01\n[[tables]]\ncolumns = ["d"]\n',
    "h": 'rho = 0.01\ntree = "tree.csv"\n',
    "r": 'rho = 0.01\nname = "visits"\nperiod = "month"\nfirst = "2026-01"\nsteps = 3\n',
    "m": '[model]\nkind = "linear"\nfeatures = ["x"]\ntarget = "y"\nepsilon = 0.3\n',
    "lecture": '[model]\nkind = "lecture"\nfeatures = ["x"]\ntarget = "y"\nrows = 10\n',
}
SQL = ["sql", "SELECT COUNT(*) FROM ward", "--epsilon", "0.1", "--in", "q.toml"]
RELEASING = {
    "release": ["release", "q.toml"],
    "tables": ["tables", "t.toml"],
    "hierarchy": ["hierarchy", "h.toml"],
    "running": ["running", "r.toml", "--through", "2026-02"],
    "synthesize": ["synthesize", "t.toml", "--output", "rows.csv"],
    "sql": SQL,
    "fit": ["fit", "m.toml"],
}
"""A way to ask each command that answers from data at hand."""

REPORTING = {name: RELEASING[name] for name in ("release", "tables", "hierarchy", "running", "synthesize")}
"""Those that write a report."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certifying")
    (folder / "policy.toml").write_text(POLICY)
    for name, text in FILES.items():
        (folder / f"{name}.toml").write_text(PLACE + text)
    (folder / "tree.csv").write_text("part,d\np,a\np,b\n")
    rows = (f"{i % 10},{(i * 7) % 10},{'ab'[i % 2]},2026-0{1 + i % 3}-05\n" for i in range(40))
    (folder / "visits.csv").write_text("x,y,d,day\n" + "".join(rows))
    return folder


@pytest.fixture
def world(made: Path, tmp_path: Path) -> Path:
    """A copy of the files, without a ledger yet."""
    return shutil.copytree(made, tmp_path / "world")


def told(done: Done) -> dict[str, Any]:
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def certificates(place: Path) -> list[str]:
    """The files that a checker reads, by name."""
    return sorted(
        path.name for path in place.glob("*.json") if b"leakcap.certificates/1" in path.read_bytes()
    )


def require_proved(record: dict[str, Any], file: Path) -> None:
    """The record names the file, and the independent checker proves the chain up to where the ledger is."""
    name = file.name
    assert record["certificate"] == {
        "file": name,
        "sha256": sha256(file),
        "check": f"leakcap-verify {name}",
    }
    listed = verify.read(file.read_bytes())
    assert {verify.check(one).verdict for one in listed} == {"proved"}
    whole = json.loads(file.read_text())["certificates"][0]
    assert whole["kind"] == "filter"
    assert [json.loads(row)["kind"] for row in whole["witness"]["rows"]].count("reserve") == 1
    head = told(leakcap("ledger", "verify", "spent.db", "--json", cwd=file.parent))["head"]
    assert whole["problem"]["head"] == head


@pytest.mark.parametrize("name", REPORTING)
def test_a_report_names_the_certificate_beside_it(name: str, world: Path) -> None:
    """So does a page that is drawn from the record later."""
    found = told(leakcap(*REPORTING[name], "--report", "page.html", "--json", cwd=world))
    assert certificates(world) == ["page.html.certificate.json"]
    beside = world / "page.html.certificate.json"
    require_proved(found, beside)
    (world / "record.json").write_text(json.dumps(found))
    assert leakcap("report", "record.json", "-o", "again.html", "-o", "again.md", cwd=world).returncode == 0
    for page in ("page.html", "again.html", "again.md"):
        text = (world / page).read_text(encoding="utf-8")
        assert sha256(beside) in text
        assert "leakcap-verify page.html.certificate.json" in text


@pytest.mark.parametrize("name", RELEASING)
def test_a_certificate_that_is_asked_for_by_name_stands_there_alone(name: str, world: Path) -> None:
    words = [*RELEASING[name], *(["--report", "page.html"] if name in REPORTING else [])]
    require_proved(told(leakcap(*words, "--certificate", "c.json", "--json", cwd=world)), world / "c.json")
    assert certificates(world) == ["c.json"]


@pytest.mark.parametrize("name", RELEASING)
def test_the_terminal_says_how_it_is_checked(name: str, world: Path) -> None:
    done = leakcap(*RELEASING[name], "--certificate", "c.json", cwd=world)
    assert done.returncode == 0, done.stderr
    assert sha256(world / "c.json") in done.stdout
    assert "leakcap-verify c.json" in done.stdout


def test_a_page_of_a_fit_names_its_certificate(world: Path) -> None:
    done = leakcap("fit", "m.toml", "--certificate", "c.json", "--json", cwd=world)
    (world / "fit.json").write_text(done.stdout)
    assert leakcap("report", "fit.json", "-o", "fit.md", cwd=world).returncode == 0
    assert sha256(world / "c.json") in (world / "fit.md").read_text(encoding="utf-8")


def test_the_record_of_a_files_tables_names_it_too(world: Path) -> None:
    words = ["--tables", "tables.json", "--report", "page.html"]
    assert leakcap(*RELEASING["synthesize"], *words, cwd=world).returncode == 0
    require_proved(json.loads((world / "tables.json").read_text()), world / "page.html.certificate.json")


@pytest.mark.parametrize("name", RELEASING)
def test_nobody_who_asks_for_none_gets_one(name: str, world: Path) -> None:
    assert "certificate" not in told(leakcap(*RELEASING[name], "--json", cwd=world))
    assert certificates(world) == []


@pytest.mark.parametrize("name", RELEASING)
def test_an_answer_leaves_where_no_certificate_can_be_made(
    name: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was paid for. Whoever asked for the certificate by name is told why there is none."""
    monkeypatch.setattr(certifying, "_MOST_ROWS", 1)
    done = leakcap(*RELEASING[name], "--certificate", "c.json", "--json", cwd=world)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "rows, and a certificate holds 1 at most" in done.stderr
    assert "certificate" not in json.loads(done.stdout)
    if name in REPORTING:
        again = leakcap(*RELEASING[name], "--report", "page.html", "--json", cwd=world)
        assert "certificate" not in told(again)
        assert "leakcap-verify" not in (world / "page.html").read_text(encoding="utf-8")
    assert certificates(world) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([*SQL, "--preview"], "go with an answer"),
        ([*SQL, "--dry-run"], "go with an answer"),
        (["fit", "lecture.toml"], "goes with a fit"),
        (["synthesize", "--from", "t.json", "--output", "rows.csv"], "nothing is asked of a ledger"),
        (["fit", "m.toml", "--checkpoint", "c.json"], "may not replace"),
        (["synthesize", "t.toml", "--output", "rows.csv", "--tables", "c.json"], "may not replace"),
    ],
)
def test_a_certificate_without_a_spend_or_a_place_is_refused(words: list[str], why: str, world: Path) -> None:
    (world / "t.json").write_text("{}")
    before = sorted(path.name for path in world.iterdir())
    done = leakcap(*words, "--certificate", "c.json", cwd=world)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert why in done.stderr
    assert sorted(path.name for path in world.iterdir()) == before


@pytest.mark.parametrize("name", REPORTING)
def test_a_certificate_beside_a_report_replaces_nothing(name: str, world: Path) -> None:
    """A ledger that is called as the certificate would be."""
    ledger = f"sqlite:///{world}/page.html.certificate.json"
    done = leakcap(*REPORTING[name], "--report", "page.html", "--ledger", ledger, cwd=world)
    assert (done.returncode, done.stdout) == (2, "")
    assert "The report's certificate may not replace" in done.stderr
    assert not (world / "page.html").exists()
    assert not (world / "page.html.certificate.json").exists()
