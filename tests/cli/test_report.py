"""`leakcap report`: every kind, both lengths, both forms; refusals in one line."""

from __future__ import annotations

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from command_line import leakcap

ROOT = Path(__file__).parents[2]
QUERIES = "examples/hospital/release.toml"
MADE: dict[str, list[str]] = {
    "release": ["release", QUERIES],
    "plan": ["preview", QUERIES],
    "ledger": ["budget", QUERIES],
    "channel": ["channel", "examples/survey.csv"],
    "attack": ["attack", "copies", "1", "100"],
    "Dalenius leakage": ["dalenius", "examples/survey.csv", "examples/disease.csv"],
    "audit": ["audit", "examples.noisy_count:noisy_count", "3", "4", "--samples", "900"],
    "conversion": ["convert", "PureDP(1)", "MIDP"],
    "disclosure": ["disclosure", "examples/disclosure/rounding.toml"],
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db*", "*.html"))
    for kind, words in MADE.items():
        done = leakcap(*words, "--json", cwd=folder)
        assert (done.returncode, done.stderr) == (0, ""), kind
        (folder / f"{kind}.json").write_text(done.stdout, encoding="utf-8")
    return folder


KEPT = {".html", ".md", ".json", ".toml", ".py", ".csv", ".parquet"}
"""What a refused report leaves as it is; SQLite keeps files of its own beside a ledger."""


class Page(HTMLParser):
    """The text of a page, its footnotes and who points at them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.notes: set[str] = set()
        self.calls: set[str] = set()
        self.titles: list[str] = []
        self.numbers: list[str] = []
        self.marked = False
        self._inside = False
        self.feed(text)

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.numbers[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "td"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "li" and known.get("id"):
            self.notes.add(str(known["id"]))
        if tag == "td":
            self._inside = "num" in (known.get("class") or "")
            self.numbers += [""] if self._inside else []
        if tag == "a":
            self.marked = self.marked or self._inside
            self.calls.add(str(known["href"]).removeprefix("#"))
        if tag == "abbr":
            self.titles.append(known.get("title") or "")


@pytest.mark.parametrize("reader", ["board", "reviewer"])
@pytest.mark.parametrize("kind", MADE)
def test_every_kind_in_both_lengths_and_forms(place: Path, kind: str, reader: str) -> None:
    html, md = place / f"{kind}-{reader}.html", place / f"{kind}-{reader}.md"
    told = leakcap("report", f"{kind}.json", "--for", reader, "-o", html, "-o", md, "--json", cwd=place)
    assert (told.returncode, told.stderr) == (0, "")
    assert json.loads(told.stdout)["kind"] == kind
    text, plain = html.read_text(encoding="utf-8"), md.read_text(encoding="utf-8")
    assert len(text) < (3_000_000 if reader == "reviewer" else 60_000)
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    page = Page(text)
    assert page.calls == page.notes
    assert bool(page.calls) == (reader == "reviewer")
    assert not page.marked
    assert all(len(title) > 3 for title in page.titles)
    cited = set(re.findall(r"\[\^(\d+)\](?!:)", plain))
    assert cited == set(re.findall(r"^\[\^(\d+)\]:", plain, re.MULTILINE))
    assert len(cited) == len(page.notes)
    assert plain.startswith("# ")


def test_a_query_file_is_its_ledger_or_its_plan(place: Path) -> None:
    for extra, kind in (((), "ledger"), (("--preview",), "plan")):
        told = leakcap("report", QUERIES, *extra, "-o", "q.html", "--json", cwd=place)
        assert json.loads(told.stdout)["kind"] == kind
    told = leakcap("report", "examples/survey.csv", "-o", "c.html", "--json", cwd=place)
    assert json.loads(told.stdout)["kind"] == "channel"


def test_the_numbers_of_a_release_are_in_its_report(place: Path) -> None:
    record = json.loads((place / "release.json").read_text(encoding="utf-8"))
    leakcap("report", "release.json", "-o", "r.md", cwd=place)
    text = (place / "r.md").read_text(encoding="utf-8")
    for release in record["releases"]:
        assert release["name"] in text
    assert f"| {record['releases'][0]['values'][0]['value']:,} |" in text
    leakcap("report", "release.json", "-o", "r.html", "-o", "r.csv", cwd=place)
    shown = Page((place / "r.html").read_text(encoding="utf-8")).numbers
    assert f"{record['releases'][0]['values'][0]['value']:,}" in shown
    assert not any("\u2212" in text for text in shown)
    with (place / "r.csv").open(encoding="utf-8", newline="") as sheet:
        rows = list(csv.DictReader(sheet))
    every = [row for release in record["releases"] for row in release["values"]]
    assert [float(row["value"]) for row in rows] == [row["value"] for row in every]
    assert [[float(row["lower"]), float(row["upper"])] for row in rows] == [row["interval"] for row in every]
    for said in (
        "Two tables are neighbours",
        "depend on each other",
        "How long the program runs",
        "bounds, keys",
    ):
        assert said in text


def test_the_page_at_the_release_is_the_same_design(place: Path) -> None:
    made = (place / "examples" / "hospital" / "hospital.html").read_text(encoding="utf-8")
    assert "What is not protected" in made
    assert 'id="note-1"' in made


def test_groups_with_private_keys_of_which_none_appeared(place: Path) -> None:
    record = json.loads((place / "release.json").read_text(encoding="utf-8"))
    record["releases"][0]["values"] = []
    record["policy"]["columns"]["diagnosis"] |= {"keys": None, "private": "text"}
    (place / "none.json").write_text(json.dumps(record), encoding="utf-8")
    done = leakcap("report", "none.json", "-o", "none.md", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    text = (place / "none.md").read_text(encoding="utf-8")
    assert "no group had enough people" in text
    assert "keys that are not public" in text


@pytest.mark.parametrize(
    "args",
    [
        ["absent.json"],
        ["release.json", "-o", "x.pdf"],
        ["plan.json", "-o", "x.csv"],
        ["release.json", "-o", "release.json"],
        ["release.json", "--preview"],
        ["examples/hospital/policy.toml"],
        ["release.json", "--for", "nobody"],
        ["examples/noisy_count.py"],
        ["bad.json"],
        ["list.json"],
        ["nan.json"],
        ["forged.json"],
        ["deep.json"],
        ["dry.json"],
        ["old.json"],
    ],
)
def test_one_clear_line_and_no_page(place: Path, args: list[str]) -> None:
    sound = (place / "release.json").read_text(encoding="utf-8")
    (place / "bad.json").write_text('{"schema": "leakcap/release/1"')
    (place / "list.json").write_text("[1, 2]")
    (place / "nan.json").write_text('{"schema": NaN}')
    forged = sound.replace("60.32 %", "50.01 %")
    assert forged != sound
    (place / "forged.json").write_text(forged, encoding="utf-8")
    (place / "deep.json").write_text("[" * 100_000)
    (place / "dry.json").write_text('{"schema": "leakcap/dry-run/1", "dry_run": true, "releases": []}')
    (place / "old.json").write_text(sound.replace("leakcap/release/1", "leakcap/release/0"), encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*.*") if path.suffix in KEPT}
    done = leakcap("report", *args, cwd=place)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1 or "--for" in args, done.stderr
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*.*") if path.suffix in KEPT} == before
