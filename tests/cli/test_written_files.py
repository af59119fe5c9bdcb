"""What a command writes never replaces what it reads, under whichever name; and leaves nothing that runs."""

from __future__ import annotations

import gc
import inspect
import os
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from command_line import COMMANDS, ROOT, example, leakcap
from leakcap.apart import apart
from leakcap.ledger import Ledger

OUTPUTS = {"report", "csv", "excel", "output", "checkpoint", "copy", "tables", "certificate"}
"""Options of all commands that name a file to be written."""

READ = {
    "published",
    "register",
    "method",
    "backup",
    "correlation",
    "file",
    "files",
    "first",
    "known",
    "old",
    "pedigree",
    "policy",
    "source",
}
"""Options and arguments of all commands that name a file to be read."""

POLICY = """dataset = "ward"
neighbours = "add-remove-one"
unit = { id = "person", max_rows = 3 }
[caps]
epsilon = 1.0
[columns.x]
bounds = [0.0, 10.0]
[columns.d]
keys = ["a", "b"]
[tables.people]
id = "person"
columns.age = { bounds = [0.0, 120.0] }
"""
QUERIES = """policy = "policy.toml"
data = "visits.csv"
tables = { people = "people.csv" }
ledger = "spent.db"
[[query]]
name = "n"
statistic = "count"
epsilon = 0.1
"""
MODEL = """policy = "policy.toml"
data = "visits.csv"
ledger = "spent.db"
[model]
kind = "descent"
features = ["x"]
target = "x"
delta = 1e-6
"""
TABLES = """policy = "policy.toml"
data = "visits.csv"
ledger = "spent.db"
rho = 0.1
[[tables]]
columns = ["d"]
"""
HIERARCHY = """policy = "policy.toml"
data = "visits.csv"
ledger = "spent.db"
rho = 0.1
tree = "tree.csv"
"""
RUNNING = """policy = "policy.toml"
data = "visits.csv"
ledger = "spent.db"
rho = 0.1
name = "visits"
period = "month"
first = "2026-01"
steps = 3
"""
KEPT = ["policy.toml", "visits.csv", "spent.db", "spent.db-wal", "spent.db-shm"]
WAYS = {
    "release --report": (["release", "q.toml", "--report"], ".html"),
    "release --csv": (["release", "q.toml", "--csv"], ".csv"),
    "release --certificate": (["release", "q.toml", "--certificate"], ".json"),
    "budget --certificate": (["budget", "q.toml", "--certificate"], ".json"),
    "release --excel": (["release", "q.toml", "--excel"], ".xlsx"),
    "sql --csv": (
        ["sql", "SELECT COUNT(*) FROM ward", "--epsilon", "0.1", "--in", "q.toml", "--csv"],
        ".csv",
    ),
    "sql --excel": (
        ["sql", "SELECT COUNT(*) FROM ward", "--epsilon", "0.1", "--in", "q.toml", "--excel"],
        ".xlsx",
    ),
    "report --output page": (["report", "q.toml", "--output"], ".md"),
    "ledger export --output": (["ledger", "export", "q.toml", "--output"], ".csv"),
    "ledger backup": (["ledger", "backup", "q.toml"], ".backup"),
    "annex --output": (["annex", "q.toml", "--output"], ".md"),
    "fit --checkpoint": (["fit", "m.toml", "--checkpoint"], ".checkpoint"),
    "hierarchy --csv": (["hierarchy", "h.toml", "--csv"], ".csv"),
    "hierarchy --excel": (["hierarchy", "h.toml", "--excel"], ".xlsx"),
    "hierarchy --report": (["hierarchy", "h.toml", "--report"], ".html"),
    "running --csv": (["running", "r.toml", "--csv"], ".csv"),
    "running --excel": (["running", "r.toml", "--excel"], ".xlsx"),
    "running --report": (["running", "r.toml", "--report"], ".html"),
    "tables --csv": (["tables", "t.toml", "--csv"], ".csv"),
    "tables --excel": (["tables", "t.toml", "--excel"], ".xlsx"),
    "tables --report": (["tables", "t.toml", "--report"], ".html"),
    "synthesize --output csv": (["synthesize", "t.toml", "--output"], ".csv"),
    "synthesize --output parquet": (["synthesize", "t.toml", "--output"], ".parquet"),
    "synthesize --report": (["synthesize", "t.toml", "--output", "rows.csv", "--report"], ".html"),
    "synthesize --tables": (["synthesize", "t.toml", "--output", "rows.csv", "--tables"], ".csv"),
    "fit --certificate": (["fit", "m.toml", "--certificate"], ".json"),
    "hierarchy --certificate": (["hierarchy", "h.toml", "--certificate"], ".json"),
    "running --certificate": (["running", "r.toml", "--certificate"], ".json"),
    "sql --certificate": (
        ["sql", "SELECT COUNT(*) FROM ward", "--epsilon", "0.1", "--in", "q.toml", "--certificate"],
        ".json",
    ),
    "synthesize --certificate": (["synthesize", "t.toml", "--output", "rows.csv", "--certificate"], ".json"),
    "tables --certificate": (["tables", "t.toml", "--certificate"], ".json"),
    "init --output": (["init", "visits.csv", "--output"], ".toml"),
}


def paths(command: object) -> set[str]:
    """The options and arguments that are paths."""
    said = get_type_hints(inspect.unwrap(getattr(command, "callback", None) or paths))
    return {name for name, kind in said.items() if Path in flat(kind)}


def flat(kind: object) -> set[object]:
    return {kind}.union(*map(flat, get_args(kind)))


def test_every_path_of_every_command_is_read_or_written() -> None:
    """A new one is sorted here, and where it is written to, the guard has to know."""
    found = {name: paths(command) for name, command in COMMANDS.items()}
    assert sum(map(len, found.values())) > 20
    assert {one for many in found.values() for one in many} <= READ | OUTPUTS
    written = {(name, one) for name, many in found.items() for one in many & OUTPUTS}
    guarded = {("release", "report"), ("release", "csv"), ("report", "output"), ("fit", "checkpoint")}
    guarded |= {
        ("init", "output"),
        ("hierarchy", "csv"),
        ("hierarchy", "excel"),
        ("hierarchy", "report"),
        ("running", "csv"),
        ("running", "excel"),
        ("running", "report"),
        ("synthesize", "output"),
        ("synthesize", "report"),
        ("synthesize", "tables"),
        ("tables", "csv"),
        ("tables", "excel"),
        ("tables", "report"),
        ("release", "excel"),
        ("sql", "csv"),
        ("sql", "excel"),
        ("channel", "certificate"),
        ("convert", "certificate"),
        ("release", "certificate"),
        ("budget", "certificate"),
        ("fit", "certificate"),
        ("hierarchy", "certificate"),
        ("running", "certificate"),
        ("sql", "certificate"),
        ("synthesize", "certificate"),
        ("tables", "certificate"),
    }
    attacks = {(name, "report") for name in COMMANDS if name.startswith("attack ")}
    assert (
        written
        == guarded | {("ledger export", "output"), ("ledger backup", "copy"), ("annex", "output")} | attacks
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A query file that joins a table, a model file, and a ledger with one spend."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "policy.toml").write_text(POLICY)
    (folder / "q.toml").write_text(QUERIES)
    (folder / "m.toml").write_text(MODEL)
    (folder / "t.toml").write_text(TABLES)
    (folder / "h.toml").write_text(HIERARCHY)
    (folder / "r.toml").write_text(RUNNING)
    (folder / "tree.csv").write_text("part,d\np,a\np,b\n")
    (folder / "visits.csv").write_text("person,x,d\n1,2.0,a\n2,3.0,b\n")
    (folder / "people.csv").write_text("person,age\n1,40\n2,50\n")
    done = leakcap("release", "q.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    gc.collect()  # the ledger's connection goes, and its log with it
    return folder


@pytest.fixture
def world(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return shutil.copytree(made, tmp_path / "world")


def spelled(kept: Path, ending: str) -> Iterator[Path]:
    """Other names of a file, each with the ending that the option asks for where that can be."""
    folder = kept.parent
    for number, make in enumerate((os.symlink, os.link)):
        link = folder / f"link{number}{ending}"
        # A file that is not there yet has no second name, but something may point to where it will be.
        if kept.exists() or make is os.symlink:
            make(kept, link)
            yield link
    (folder / "aside").symlink_to(folder)
    if kept.suffix == ending or ending == ".checkpoint":
        yield kept
        yield folder / "." / "aside" / ".." / folder.name / kept.name
        yield folder / "aside" / kept.name


ALONE = {
    "fit": ["m.toml"],
    "hierarchy": ["h.toml", "tree.csv"],
    "running": ["r.toml"],
    "synthesize": ["t.toml"],
    "tables": ["t.toml"],
}
OWN = {way: ALONE.get(way.partition(" ")[0], ["q.toml", "people.csv"]) for way in WAYS}
CASES = [(way, kept) for way in WAYS for kept in (*KEPT, *OWN[way])]


def state(folder: Path) -> dict[str, bytes | float]:
    """What every file holds, and what the ledger says."""
    with Ledger.read(f"sqlite:///{folder / 'spent.db'}") as ledger:
        spent = ledger.totals().epsilon
    files = [p for p in folder.iterdir() if p.is_file() and "spent.db" not in p.resolve().name]
    return {"spent": spent, **{p.name: p.read_bytes() for p in files if not p.name.startswith("link")}}


@pytest.mark.parametrize(("way", "kept"), CASES)
def test_nothing_that_is_read_is_written_over(way: str, kept: str, world: Path) -> None:
    words, ending = WAYS[way]
    before = state(world)
    names = list(spelled(world / kept, ending))
    for target in names:
        done = leakcap(*words, target, cwd=world)
        assert done.returncode == 2, (target, done.stdout)
        assert "may not replace" in done.stderr, done.stderr
    assert names
    for link in world.glob("link*"):
        link.unlink()
    assert state(world) == before


BOTH = [name for name, one in COMMANDS.items() if paths(one) & OUTPUTS and paths(one) & READ]


@pytest.mark.parametrize("name", BOTH)
def test_the_files_of_a_commands_example_stay(name: str, tmp_path: Path) -> None:
    """Every command that writes, found by walking: through a link to any file that its own words name."""
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*", "*.html")
    )
    words = example(name)
    writes = paths(COMMANDS[name])
    option = next(
        f"--{one}" for one in ("output", "report", "csv", "checkpoint", "certificate") if one in writes
    )
    ending = {"--csv": ".csv", "--checkpoint": ".json", "--certificate": ".json"}.get(option, ".html")
    ending = ".csv" if name == "synthesize" else ending
    if option in words:
        words = words[: words.index(option)] + words[words.index(option) + 2 :]
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    named = [tmp_path / word for word in words if (tmp_path / word).is_file()]
    assert named
    for number, read in enumerate(named):
        link = tmp_path / f"link{number}{ending}"
        link.symlink_to(read)
        done = leakcap(*words, option, link, cwd=tmp_path)
        refused = done.returncode == 2 and "may not replace" in done.stderr
        # A model that takes one step keeps no checkpoint.
        assert refused or name == "fit", (done.stdout, done.stderr)
    after = {p: p.read_bytes() for p in before if p.suffix != ".db"}
    assert after == {p: text for p, text in before.items() if p.suffix != ".db"}


@pytest.mark.parametrize(
    "report",
    ["../out.html", "/tmp/out.html", "sub/../../out.html", "link.html", "away/out.html", "a\\u0000.html"],
)
def test_a_query_file_writes_in_its_own_folder(report: str, world: Path) -> None:
    outside = world.parent / f"{world.name}-outside"
    outside.mkdir()
    (world / "link.html").symlink_to(outside / "out.html")
    (world / "away").symlink_to(outside)
    (world / "q.toml").write_text(f'report = "{report}"\n{QUERIES}')
    done = leakcap("release", "q.toml", cwd=world)
    assert (done.returncode, "must stay in the folder" in done.stderr) == (2, True), done.stderr
    assert not list(outside.iterdir())


@pytest.mark.parametrize("report", ["out.html", "./out.html", "pages/../out.html", "pages/out.html"])
def test_there_it_may(report: str, world: Path) -> None:
    (world / "q.toml").write_text(f'report = "{report}"\n{QUERIES}')
    (world / "pages").mkdir()
    done = leakcap("release", "q.toml", cwd=world)
    assert done.returncode == 0, done.stderr
    assert (world / report).is_file()


def test_where_case_may_not_count_it_does_not(tmp_path: Path) -> None:
    """A log that is not there yet: nobody knows whether this file system would call both names one."""
    ledger = tmp_path / "Straße.db"
    for name in ("STRASSE.DB-WAL", "straße.db-shm", unicodedata.normalize("NFD", "Straße.db-journal")):
        assert not apart(tmp_path / name, [f"sqlite:///{ledger}"])
        assert not apart(tmp_path / name, [f"sqlite+pysqlite:///{ledger}"])
    assert apart(tmp_path / "Strasse.html", [f"sqlite:///{ledger}"])
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.csv").touch()
    assert apart(tmp_path / "a.csv", [tmp_path / "b.csv"])


@pytest.mark.parametrize("url", ["sqlite+pysqlite://", "sqlite+pysqlite:///", "sqlite+pysqlite:///:memory:"])
def test_no_spelling_of_a_ledger_in_memory_is_spent_from(url: str, world: Path) -> None:
    done = leakcap("release", "q.toml", "--ledger", url, cwd=world)
    assert (done.returncode, "forgets" in done.stderr) == (2, True), done.stderr


def test_a_link_to_nowhere_is_no_new_folder(world: Path) -> None:
    """It was found after the spend, when the folder could not be made."""
    (world / "values").symlink_to(world / "nowhere")
    with Ledger.read(f"sqlite:///{world / 'spent.db'}") as ledger:
        before = len(ledger.entries())
    done = leakcap("release", "q.toml", "--csv", "values", cwd=world)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "`--csv` must be a new folder" in done.stderr
    with Ledger.read(f"sqlite:///{world / 'spent.db'}") as ledger:
        assert len(ledger.entries()) == before
