"""`leakcap synthesize --tables`: the released tables beside the rows, chosen ones too, for no more."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from command_line import leakcap, tables_example
from leakcap.release import PrivateTable, load_policy
from leakcap.synthesis import release_chosen_tables
from leakcap.synthesis.files import load_synthesis

CHOSEN = """
policy = "examples/tables/policy.toml"
data = "examples/hospital/patients.parquet"
ledger = "chosen.db"
rho = 0.05
choose = 1

[[tables]]
columns = ["diagnosis", "radius", "texture"]
ways = 2
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tables_example(tmp_path_factory.mktemp("tables"))
    (found / "chosen.toml").write_text(CHOSEN)
    return found


def cells(path: Path, columns: tuple[str, ...]) -> dict[tuple[str, ...], tuple[float, float, float]]:
    """The cells of one table of a file, by the text of their keys."""
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    every = [name for name in lines[0] if name in ("diagnosis", "radius", "texture")]
    return {
        tuple(line[name] for name in columns): (
            float(line["value"]),
            float(line["lower"]),
            float(line["upper"]),
        )
        for line in lines
        if {name for name in every if line[name]} == set(columns)
    }


def test_chosen_tables_are_written_as_python_has_them_for_one_charge(place: Path) -> None:
    done = leakcap("synthesize", "chosen.toml", "--output", "a.csv", "--yes", "--tables", "t.csv", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "The released tables are in t.csv" in " ".join(done.stdout.split())
    asked = load_synthesis(place / "chosen.toml")
    own = asked.tables
    with PrivateTable(own.data, policy=load_policy(own.policy), ledger=own.ledger) as table:
        found = release_chosen_tables(table, own.question, 1)
        assert found.repeated
        assert len(table.ledger.entries()) == 1
    (chosen,) = found.chosen
    for columns in (chosen, ("diagnosis",), ("radius",), ("texture",), ()):
        mine = {tuple(map(str, keys)): (c.value, c.low, c.high) for keys, c in found.table(*columns).cells}
        assert cells(place / "t.csv", found.table(*columns).columns) == mine
    unknown = {"diagnosis", "radius", "texture"} - set(chosen)
    assert not cells(place / "t.csv", (*sorted(unknown), chosen[0]))


def test_a_record_of_chosen_tables_makes_files_elsewhere(place: Path, tmp_path: Path) -> None:
    """Nothing else is in the folder: no data, no policy, no ledger; and the report draws it."""
    words = ("--rows", "300", "--seed", "5")
    done = leakcap(
        "synthesize", "chosen.toml", "--output", "c.csv", "--tables", "kept.json", *words, cwd=place
    )
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "kept.json").write_bytes((place / "kept.json").read_bytes())
    done = leakcap(
        "synthesize", "--from", "kept.json", "--output", "d.csv", "--tables", "again.json", *words, "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told, kept = json.loads(done.stdout), json.loads((place / "kept.json").read_text())
    assert (tmp_path / "d.csv").read_bytes() == (place / "c.csv").read_bytes()
    assert told["choice"] == kept["choice"]
    assert told["rho"] == kept["rho"] == pytest.approx(0.05, abs=1e-11)
    assert json.loads((tmp_path / "again.json").read_text()) == kept
    done = leakcap("report", "kept.json", "-o", "kept.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 table of 3 chosen by a private score" in (tmp_path / "kept.html").read_text()


def test_tables_of_a_record_are_those_of_its_own_command(place: Path) -> None:
    plain = CHOSEN.replace("choose = 1", "").replace("chosen.db", "plain.db")
    (place / "plain.toml").write_text(plain)
    done = leakcap("tables", "plain.toml", "--yes", "--json", "--csv", "own.csv", cwd=place)
    (place / "told.json").write_text(done.stdout)
    assert json.loads(done.stdout)["entry"] == 1
    done = leakcap("synthesize", "--from", "told.json", "--output", "b.csv", "--tables", "each", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    names = {path.stem for path in (place / "each").iterdir()}
    assert len(names) == 7
    (pair,) = (
        path for path in (place / "each").iterdir() if "radius" in path.stem and "texture" in path.stem
    )
    assert cells(pair, ("radius", "texture")) == cells(place / "own.csv", ("radius", "texture"))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("rows.csv", "`--tables`"),
        ("examples", "`--tables` cannot be written to `examples`"),
        ("t.txt", "`--tables`"),
        ("chosen.toml", "`--tables`"),
    ],
)
def test_a_target_that_would_replace_something_is_refused_before_anything_is_paid(
    place: Path, target: str, said: str
) -> None:
    words = ("--output", "rows.csv", "--yes", "--ledger", "other.db", "--tables", target)
    done = leakcap("synthesize", "chosen.toml", *words, cwd=place)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (place / "other.db").exists()
    assert not (place / "rows.csv").exists()
