"""`leakcap synthesize`: the file that Python makes, one charge for any number, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from command_line import leakcap, record_told, tables_example
from leakcap.ledger import Ledger
from leakcap.release import PrivateTable, load_policy
from leakcap.synthesis import synthesize
from leakcap.synthesis.files import load_synthesis
from leakcap.tables import release_tables

FILE = "examples/tables/microdata.toml"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tables_example(tmp_path)


def made(place: Path, *words: str) -> dict[str, Any]:
    return record_told("synthesize", FILE, *words, place=place)


def test_any_number_of_files_is_one_charge_and_python_makes_the_same(place: Path) -> None:
    first = made(place, "--output", "a.csv", "--seed", "5")
    again = made(place, "--output", "b.csv", "--seed", "5")
    other = made(place, "--output", "deep/c.parquet", "--rows", "40")
    assert [one["repeated"] for one in (first, again, other)] == [False, True, True]
    assert (place / "a.csv").read_bytes() == (place / "b.csv").read_bytes()
    assert (first["rows"], other["rows"], other["file"]) == (500, 40, "c.parquet")
    assert first["seed"] == 5 != other["seed"]
    table = pyarrow.parquet.read_table(place / "deep/c.parquet")
    assert (table.num_rows, table.column_names) == (40, ["diagnosis", "radius", "texture"])
    with (place / "a.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 500
    assert not [row for row in rows if (row["diagnosis"], row["radius"]) == ("benign", "17 and over")]

    asked = load_synthesis(place / FILE)
    with PrivateTable(
        asked.tables.data, policy=load_policy(asked.tables.policy), ledger=asked.tables.ledger
    ) as table:
        found = release_tables(table, asked.tables.question)
        (entry,) = table.ledger.entries()
        assert found.repeated
    file = synthesize(found, rows=500, seed=5, impossible=asked.impossible)
    assert file.to_arrow().to_pylist() == rows
    told = pytest.approx((entry.spend.rho, entry.spend.nats_person), abs=1e-11)  # the ledger counts ticks
    assert (first["rho"], first["nats_person"]) == told
    assert first["weight"] == float(found.table().values) / 500
    assert first["statement"]["exposure"] | {"title": ""} == first["so_far"]["exposure"] | {"title": ""}
    assert len(first["tables"]) == 3
    assert all(0.0 <= one["distance"] < one["bound"] for one in first["tables"])


def test_a_file_that_asks_for_tables_will_do_and_tells_its_own_charge_only(place: Path) -> None:
    tables = leakcap("tables", "examples/tables/tables.toml", "--json", cwd=place)
    found = json.loads(tables.stdout)
    one = leakcap("synthesize", "examples/tables/tables.toml", "--output", "t.csv", "--json", cwd=place)
    record = json.loads(one.stdout)
    assert (record["repeated"], record["entry"]) == (True, found["entry"])
    two = made(place, "--output", "r.csv")
    assert two["nats_person"] < record["nats_person"]
    assert two["statement"]["exposure"]["nats_person"]["upper"] == pytest.approx(
        two["nats_person"], abs=1e-11
    )
    assert two["so_far"]["exposure"]["nats_person"]["upper"] >= record["nats_person"] + two["nats_person"]


def test_the_terminal_says_what_it_costs_and_how_to_make_it_again(place: Path) -> None:
    text = " ".join(leakcap("synthesize", FILE, "--output", "a.csv", cwd=place).stdout.split())
    for told in (
        "500 rows about nobody",
        "diagnosis × radius",
        "The tables were paid for. More files are free.",
        "each counts for",
        "The same command with --rows 500 --seed",
        "until --fresh buys the tables anew",
        "What this file of `breast cancer patients",
        "The rows are in a.csv",
    ):
        assert told in text
    again = " ".join(leakcap("synthesize", FILE, "--output", "a.csv", cwd=place).stdout.split())
    assert "Nothing was paid: the ledger knows the tables." in again


@pytest.mark.parametrize(
    ("words", "changed", "message"),
    [
        (["--output", "a.txt"], ("", ""), "must be a file that ends in .csv or .parquet"),
        (["--output", "a.csv", "--rows", "0"], ("", ""), "whole number from 1 to 10,000,000"),
        (["--output", "a.csv", "--seed", "-1"], ("", ""), "2⁴⁸"),
        (["--output", "a.csv"], ("rows = 500", "rows = 0"), "`rows`"),
        (["--output", "a.csv"], ("rows = 500", "rows = true"), "`rows`"),
        (["--output", "a.csv"], ("17 and over", "18 and over"), "must be one of its public keys"),
        (["--output", "a.csv"], ('"benign"', "1.5"), "must be one of its public keys, or a list of some"),
        (["--output", "a.csv"], ('"benign"', '[["benign"]]'), "must be one of its public keys"),
        (["--output", "a.csv"], ('"benign"', '{ a = "benign" }'), "must be one of its public keys"),
        (["--output", "a.csv"], ('"benign"', '["benign", "malignant"]'), None),
        (["--output", "a.csv"], (', radius = "17 and over"', ""), None),
        (
            ["--output", "a.csv"],
            ('"benign", radius = "17 and over"', '["benign", "malignant"]'),
            "leave enough",
        ),
        (["--output", "a.csv"], ("[[tables]]", "[[table]]"), "tables"),
        (["--output", "a.csv"], ('"texture"]', '"age"]'), "must be columns of the policy"),
        (["--output", "a.csv"], ("ways = 2", "ways = 9"), "`ways`"),
        (
            ["--output", "a.csv"],
            ("rows = 500", "choose = 4"),
            "whole number from 1 to 2: all of them cost less noise",
        ),
        (["--output", "a.csv"], ("rows = 500", "choose = true"), "`choose`"),
        (["--output", "examples/tables/microdata.toml"], ("", ""), "ends in .csv"),
    ],
)
def test_what_cannot_be_made_is_refused_before_anything_is_paid(
    place: Path, words: list[str], changed: tuple[str, str], message: str | None
) -> None:
    text = (place / FILE).read_text()
    assert changed[0] in text
    (place / FILE).write_text(text.replace(*changed))
    done = leakcap("synthesize", FILE, *words, cwd=place)
    if message is None:
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(place.rglob("*.db")) + list(place.glob("a.*"))


def test_a_cap_that_is_passed_leaves_no_file(place: Path) -> None:
    (place / FILE).write_text((place / FILE).read_text().replace("epsilon = 1.0", "epsilon = 5.0"))
    done = leakcap("synthesize", FILE, "--output", "a.csv", cwd=place)
    assert (done.returncode, (place / "a.csv").exists()) == (2, False), done.stderr
    assert "cap" in done.stderr
    made_url = f"sqlite:///{place / 'examples/tables/tables.db'}"
    assert not (place / "examples/tables/tables.db").exists() or not Ledger.read(made_url).entries()


def test_chosen_tables_are_one_charge_and_stand_in_the_record(place: Path) -> None:
    file = place / FILE
    file.write_text(file.read_text().replace("rows = 500", "rows = 500\nchoose = 2"))
    first = made(place, "--output", "a.csv", "--seed", "5")
    again = made(place, "--output", "b.csv", "--seed", "5")
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert (place / "a.csv").read_bytes() == (place / "b.csv").read_bytes()
    assert first["choice"] == again["choice"]
    assert first["choice"]["among"] == 3
    assert len({frozenset(one) for one in first["choice"]["chosen"]}) == 2
    assert {frozenset(one["columns"]) for one in first["tables"]} == set(
        map(frozenset, first["choice"]["chosen"])
    )
    done = leakcap("synthesize", FILE, "--from", "t.json", "--output", "c.csv", cwd=place)
    assert (done.returncode, (place / "c.csv").exists()) == (2, False)
    assert "Leave out one of them. Nothing was spent or written." in done.stderr
    (price,) = {one["rho"] for one in (first, again)}
    told = first["so_far"]["exposure"]["nats_person"]["upper"]
    assert told == again["so_far"]["exposure"]["nats_person"]["upper"] == pytest.approx(price, abs=1e-11)
    text = " ".join(leakcap("synthesize", FILE, "--output", "a.csv", cwd=place).stdout.split())
    assert "2 tables of 3 chosen by a private score, in this order: " in text
    assert "Intervals and bounds hold for all 3 at once." in text
    leakcap("synthesize", FILE, "--output", "a.csv", "--report", "a.html", cwd=place)
    assert "2 tables of 3 chosen by a private score" in " ".join((place / "a.html").read_text().split())
