"""What answers are published as is recorded with every answer, whoever asks, and caps may count by it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import leakcap
from leakcap.ledger import Edition, Ledger

POLICY = """dataset = "stays"
neighbours = "add-remove-one"
max_rows = 100
[caps]
epsilon = 50.0
delta = 1e-6
[caps.each_period]
length = "month"
by = "reference"
epsilon = 2.0
[columns.age]
bounds = [0.0, 120.0]
[columns.days]
bounds = [0.0, 30.0]
[columns.band]
from = "age"
cuts = [30.0, 60.0]
"""
FILE = """policy = "policy.toml"
data = "t.csv"
ledger = "l.db"
{}
[[query]]
name = "n"
statistic = "count"
epsilon = 0.5
"""
MODEL = """policy = "policy.toml"
data = "t.csv"
ledger = "l.db"
{}
[model]
kind = "ridge"
features = ["age"]
target = "days"
penalty = 1.0
epsilon = 0.5
"""
TABLES = """policy = "policy.toml"
data = "t.csv"
ledger = "l.db"
{}
rho = 0.001
[[tables]]
columns = ["band"]
"""
HIERARCHY = """policy = "policy.toml"
data = "t.csv"
ledger = "l.db"
levels = ["band"]
{}
rho = 0.001
"""
# A month's account takes Gaussian noise only where it has a δ.
WITH_DELTA = POLICY.replace('by = "reference"', 'by = "reference"\ndelta = 1e-6')
SAID = 'publication = {{ title = "Stays", period = "{}", version = "1.0" }}'


def desk(folder: Path, period: str | None) -> Path:
    said = "" if period is None else SAID.format(period)
    (folder / "policy.toml").write_text(POLICY)
    (folder / "t.csv").write_text("age,days\n" + "".join(f"{n % 90},{n % 17}\n" for n in range(80)))
    (folder / "q.toml").write_text(FILE.format(said))
    (folder / "m.toml").write_text(MODEL.format(said))
    (folder / "tables.toml").write_text(TABLES.format(said))
    (folder / "hierarchy.toml").write_text(HIERARCHY.format(said))
    return folder


ASKERS = {
    "release": ("release", "q.toml"),
    "sql": ("sql", "SELECT AVG(age) FROM stays", "--epsilon", "0.5", "--in", "q.toml"),
    "fit": ("fit", "m.toml"),
    "tables": ("tables", "tables.toml"),
    "hierarchy": ("hierarchy", "hierarchy.toml"),
    "synthesize": ("synthesize", "tables.toml", "--fresh", "--yes", "--output", "rows.csv"),
}


def test_whoever_asks_says_what_it_is_about(tmp_path: Path) -> None:
    place = desk(tmp_path, "2024-03")
    (place / "policy.toml").write_text(WITH_DELTA)
    for number, words in enumerate(ASKERS.values(), 1):
        done = leakcap(*words, cwd=place)
        assert (done.returncode, done.stderr) == (0, "")
        with Ledger.read(f"sqlite:///{place / 'l.db'}") as ledger:
            entries, accounts = ledger.entries(), ledger.accounts()
            ledger.verify()
        assert len(entries) == number
        assert {one.edition for one in entries} == {Edition("Stays", "2024-03", "1.0")}
        assert {one.source for one in entries} == {"t.csv"}
        assert [(one.scope, one.name) for one in accounts] == [
            ("everything", ""),
            ("reference month", "2024-03"),
        ]
    shown = json.loads(leakcap("budget", "q.toml", "--json", cwd=place).stdout)["entries"]
    assert {(one["publication"], one["period"], one["version"]) for one in shown} == {
        ("Stays", "2024-03", "1.0")
    }
    assert "Stays, 2024-03, version 1.0" in leakcap("budget", "q.toml", cwd=place).stdout
    rows = json.loads(leakcap("ledger", "export", "l.db", "--format", "json", cwd=place).stdout)
    assert {row["details"]["reference_period"] for row in rows} == {"2024-03"}


@pytest.mark.parametrize("who", ASKERS)
@pytest.mark.parametrize("period", [None, "March 2024"])
def test_whoever_names_no_period_is_refused_in_one_line(who: str, period: str | None, tmp_path: Path) -> None:
    place = desk(tmp_path, period)
    (place / "policy.toml").write_text(WITH_DELTA)
    done = leakcap(*ASKERS[who], cwd=place)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "count by reference period" in done.stderr
    assert "Nothing was spent." in done.stderr
    assert done.stderr.count("\n") == 1
    assert "`sqlite://`" not in done.stderr
    assert not (place / "l.db").exists()


def test_twelve_months_are_published_in_one_and_the_plan_says_so(tmp_path: Path) -> None:
    """Under a cap by date the fifth half of ε would be refused in the month of asking."""
    place = desk(tmp_path, None)
    for month in range(1, 7):
        desk(tmp_path, f"2024-{month:02d}")
        assert leakcap("release", "q.toml", "--fresh", "--yes", cwd=place).returncode == 0
    for _ in range(3):
        assert leakcap("release", "q.toml", "--fresh", "--yes", cwd=place).returncode == 0
    refused = leakcap("release", "q.toml", "--fresh", "--yes", cwd=place)
    assert refused.returncode != 0
    assert "`epsilon` cap of reference month `2024-06`" in refused.stderr
    planned = leakcap("plan", "q.toml", "--start", "2024-05", "--months", "3", "--json", cwd=place)
    months = json.loads(planned.stdout)["months"]
    assert [(one["month"], one["taken"]) for one in months] == [
        ("2024-05", True),
        ("2024-06", False),
        ("2024-07", True),
    ]
    assert months[1]["refused_by"] == ["epsilon of 2024-06"]


def test_the_explorer_says_what_it_is_about(tmp_path: Path) -> None:
    from leakcap.release import load_queries
    from leakcap.web.releasing.asking import released
    from leakcap.web.serving.settings import Settings

    asked = load_queries(desk(tmp_path, "2024-03") / "q.toml")
    settings = Settings(
        policy=asked.policy, ledger=asked.ledger, data=asked.data, allow_release=True, token="t",
        edition=asked.edition,
    )  # fmt: skip
    released(settings, asked.queries[0])
    with Ledger.read(asked.ledger) as ledger:
        assert [one.edition for one in ledger.entries()] == [Edition("Stays", "2024-03", "1.0")]


def test_same_as_answers_for_its_own_reference_period_only(tmp_path: Path) -> None:
    """The file was copied, and the period of the query file is another month's by mistake."""
    place = desk(tmp_path, "2024-03")
    assert leakcap("release", "q.toml", cwd=place).returncode == 0
    desk(tmp_path, "2024-04")
    for words in (ASKERS["release"], ASKERS["sql"]):
        done = leakcap(*words, "--same-as", "1", cwd=place)
        assert (done.returncode, done.stdout) == (2, "")
        assert "published for 2024-03, and this publication is for 2024-04. Nothing was spent." in done.stderr
    desk(tmp_path, None)
    for words in (ASKERS["release"], ASKERS["sql"]):
        done = leakcap(*words, "--same-as", "1", cwd=place)
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            "published for 2024-03, and this publication is for none. Nothing was spent. Say for"
            in done.stderr
        )
    desk(tmp_path, "2024-03")
    repeated = leakcap("release", "q.toml", "--same-as", "1", cwd=place)
    assert "1 of 1 answers were repeated from the ledger, for free." in repeated.stdout
    with Ledger.read(f"sqlite:///{place / 'l.db'}") as ledger:
        assert ledger.totals().entries == 1
        assert [ledger.data_version(n).periods for n in (1, 2)] == [("2024-03",), ()]


def test_the_budget_lists_versions_their_files_and_what_was_said_to_be_the_same(tmp_path: Path) -> None:
    """In the terminal, in JSON, and on the pages made of it."""
    place = desk(tmp_path, "2024-03")
    assert leakcap("release", "q.toml", cwd=place).returncode == 0
    (place / "copy.csv").write_text((place / "t.csv").read_text())
    text = (place / "q.toml").read_text().replace("t.csv", "copy.csv").replace('"1.0"', '"1.1"')
    (place / "q.toml").write_text(text)
    said = "copy.csv was said to be version 1 of the table (t.csv, published for 2024-03)."
    for words in (
        ASKERS["release"],
        ("sql", "SELECT COUNT(*) FROM stays", "--epsilon", "0.5", "--in", "q.toml"),
    ):
        shown = leakcap(*words, "--same-as", "1", cwd=place)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert said in " ".join(shown.stdout.split())
    told = json.loads(leakcap("release", "q.toml", "--same-as", "1", "--json", cwd=place).stdout)
    assert told["source"] == "copy.csv"
    assert told["same_as"] == {"version": 1, "sources": ["t.csv"], "periods": ["2024-03"]}
    why = ("--period", "2024-03", "--version", "1.0", "--reason", "a ward is missing")
    assert leakcap("ledger", "withdraw", "l.db", *why, cwd=place).returncode == 0
    (place / "release.json").write_text(json.dumps(told))
    book = leakcap("budget", "q.toml", "--json", cwd=place).stdout
    (place / "budget.json").write_text(book)
    first, second = json.loads(book)["versions"]
    assert (first["publication"], first["period"], first["version"]) == ("Stays", "2024-03", "1.0")
    assert (first["sources"], first["withdrawn"], first["reasons"]) == (["t.csv"], 1, ["a ward is missing"])
    assert [one["source"] for one in second["same_as"]] == ["copy.csv"]
    assert json.loads(book)["entries"][0]["source"] == "t.csv"
    listed = " ".join(leakcap("budget", "q.toml", cwd=place).stdout.split())
    for audience in ("board", "reviewer"):
        for kind in ("release", "budget"):
            page = place / f"{kind}.md"
            made = leakcap("report", f"{kind}.json", "--for", audience, "--output", page.name, cwd=place)
            assert (made.returncode, made.stderr) == (0, "")
        assert said in (place / "release.md").read_text()
        listed += (place / "budget.md").read_text()
    for words in (
        "Stays, 2024-03, version 1.1",
        "withdrawn: a ward is missing",
        "copy.csv, said to be version",
    ):
        assert listed.count(words) >= 3, words


SLOTS = """
[[plan]]
name = "year"
slots = [{{ name = "monthly", count = 12, epsilon = 0.4 }}]
delta = {}
"""


@pytest.mark.parametrize("who", ["release", "sql"])
def test_a_refused_first_release_leaves_no_ledger(who: str, tmp_path: Path) -> None:
    """Refused by a cap, by a slot that does not admit it, by a plan that does not fit; and then a first one
    that fits begins a ledger."""
    place = desk(tmp_path, "2024-03")
    cases = {
        "cap of reference month `2024-03` would be exceeded": (POLICY, 2.5, ""),
        "Plan `year` does not fit": (POLICY + SLOTS.format("2e-6"), 0.5, ""),
    }
    if who == "release":  # SQL has no slots
        cases["Slot `monthly` admits"] = (POLICY + SLOTS.format("0.0"), 0.5, "monthly")
    for why, (policy, epsilon, slot) in cases.items():
        (place / "policy.toml").write_text(policy)
        asked = FILE.format(SAID.format("2024-03")) + (f'slot = "{slot}"\n' if slot else "")
        (place / "q.toml").write_text(asked.replace("0.5", str(epsilon)))
        words = [one.replace("0.5", str(epsilon)) for one in ASKERS[who]]
        done = leakcap(*words, cwd=place)
        assert (done.returncode, done.stdout) == (2, ""), why
        assert why in done.stderr
        assert done.stderr.count("\n") <= 2
        assert not list(place.glob("l.db*")), why
    desk(tmp_path, "2024-03")
    assert leakcap(*ASKERS[who], cwd=place).returncode == 0
    assert (place / "l.db").exists()
