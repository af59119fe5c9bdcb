"""`leakcap tables` with ranges and prefixes: one charge, its record, its files, and what it refuses for
nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from command_line import leakcap, record_told, tables_example
from leakcap.release import PrivateTable, load_policy
from leakcap.report.records.recovered import released_of
from leakcap.report.records.tables import TablesRecord
from leakcap.tables import release_tables
from leakcap.tables.files import load_tables

FILE = "ranges.toml"
ASKED = """
policy = "examples/tables/policy.toml"
data = "examples/hospital/patients.parquet"
ledger = "ranges.db"
rho = 0.02
ranges = ["radius"]
prefixes = ["texture"]

[[tables]]
columns = ["diagnosis", "radius", "texture"]
ways = 2
"""
BETWEEN = "radius = 10 to under 12..14 to under 17, diagnosis = malignant"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tables_example(tmp_path_factory.mktemp("ordered"))
    (found / FILE).write_text(ASKED)
    return found


@pytest.fixture(scope="module")
def told(place: Path) -> TablesRecord:
    return TablesRecord.model_validate(record_told("tables", FILE, "--between", BETWEEN, place=place))


def test_the_record_has_what_was_asked_and_python_says_the_same(place: Path, told: TablesRecord) -> None:
    asked = load_tables(place / FILE)
    with PrivateTable(asked.data, policy=load_policy(asked.policy), ledger=asked.ledger) as table:
        found = release_tables(table, asked.question)
        assert found.repeated
        assert len(table.ledger.entries()) == 1
        table.ledger.verify()
    (one,) = told.between
    assert one.keys == {"radius": ("10 to under 12", "14 to under 17"), "diagnosis": ("malignant",)}
    mine = found.between({"radius": one.keys["radius"][:2], "diagnosis": "malignant"})  # type: ignore[dict-item]
    assert (one.value, one.lower, one.upper) == (mine.value, mine.low, mine.high)
    assert [(table.columns, table.up_to) for table in told.cumulative] == [
        (("diagnosis", "texture"), ("texture",)),
        (("radius", "texture"), ("texture",)),
    ]
    added = dict(found.table("diagnosis", "texture", cumulative=["texture"]).cells)
    assert {cell.keys: (cell.value, cell.lower, cell.upper) for cell in told.cumulative[0].cells} == {
        keys: (cell.value, cell.low, cell.high) for keys, cell in added.items()
    }
    again = released_of(told)
    assert again.between({"radius": one.keys["radius"][:2], "diagnosis": "malignant"}) == mine  # type: ignore[dict-item]


def test_an_edited_cumulative_count_is_refused(told: TablesRecord) -> None:
    first, *more = told.cumulative[0].cells
    cells = (first.model_copy(update={"value": first.value + 1}), *more)
    wrong = (told.cumulative[0].model_copy(update={"cells": cells}), *told.cumulative[1:])
    with pytest.raises(Exception, match="`cumulative` does not follow from the rest"):
        released_of(told.model_copy(update={"cumulative": wrong}))


def test_files_and_text_have_the_cumulative_counts(place: Path, told: TablesRecord) -> None:
    text = leakcap(
        "tables",
        FILE,
        "--csv",
        "a.csv",
        "--report",
        "a.html",
        "--excel",
        "a.xlsx",
        "--between",
        BETWEEN,
        cwd=place,
    ).stdout
    assert "texture, up to" in text
    assert "radius 10 to under 12 to 14 to under 17, diagnosis malignant:" in text
    assert "cell, range or cumulative count that was asked for" in " ".join(text.split())
    with (place / "a.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    added = [line for line in lines if line["up_to"]]
    assert {line["up_to"] for line in added} == {"texture"}
    assert [float(line["value"]) for line in added] == [
        cell.value for table in told.cumulative for cell in table.cells
    ]
    page = (place / "a.html").read_text()
    assert "10 to under 12 to 14 to under 17" in page
    assert "diagnosis by texture, cumulative" in page
    leakcap("tables", FILE, "--csv", "each", cwd=place)
    names = {path.stem for path in (place / "each").iterdir()}
    assert len(names) == 9
    assert sum("cumulative" in name for name in names) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("radius", "must be like `week = W03..W10, sex = f`"),
        ("ward = 3", "must name columns of the tables: `diagnosis`, `radius`, `texture`. Got `ward`"),
        ("radius = 12", "must have public keys of `radius`. Got `12`"),
        ("radius = under 10, radius = under 10", "must name each column once. Got `radius` twice"),
        ("radius = 17 and over..under 10", "a last key of `radius` that is not before the first"),
        ("radius = under 10, texture = under 15, diagnosis = benign", "a table of the file together"),
    ],
)
def test_wrong_words_are_one_line_before_anything_is_paid(place: Path, words: str, said: str) -> None:
    found = leakcap("tables", FILE, "--yes", "--ledger", "other.db", "--between", words, cwd=place)
    assert found.returncode == 2
    assert said in found.stderr
    assert found.stderr.count("\n") == 1
    assert not (place / "other.db").exists()


def test_a_workload_of_a_query_file_has_ranges(place: Path) -> None:
    (place / "both.toml").write_text(
        'policy = "examples/tables/policy.toml"\ndata = "examples/hospital/patients.parquet"\n'
        'ledger = "both.db"\n[[query]]\nname = "n"\nstatistic = "count"\nepsilon = 0.1\n'
        '[[workload]]\nname = "bands"\nrho = 0.01\nranges = ["radius"]\ncolumns = ["radius"]\nways = 1\n'
    )
    (planned,) = json.loads(leakcap("preview", "both.toml", "--json", cwd=place).stdout)["workloads"]
    assert "by ranges of radius" in planned["query"]
    assert not (place / "both.db").exists()


def test_microdata_of_ranges_are_refused_before_anything_is_paid(place: Path, told: TablesRecord) -> None:
    found = leakcap("synthesize", FILE, "--output", "file.csv", cwd=place)
    assert found.returncode == 2
    assert "must have cells alone, and these are asked by ranges of `radius`" in found.stderr
    (place / "told.json").write_text(json.dumps(told.to_dict()))
    found = leakcap("synthesize", "--from", "told.json", "--output", "file.csv", cwd=place)
    assert found.returncode == 2
    assert "must have cells alone" in found.stderr
    after = record_told("tables", FILE, place=place)
    assert (after["repeated"], after["entry"]) == (True, told.entry)
    assert after["caps"] == told.to_dict()["caps"]
