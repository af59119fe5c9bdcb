"""`leakcap tables`: the same numbers as in Python, what it costs, and what it refuses."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import leakcap, record_told, tables_example
from leakcap.errors import InvalidQuery
from leakcap.ledger import Ledger
from leakcap.release import PrivateTable, load_policy
from leakcap.report.words.wording import sum_text
from leakcap.tables import release_tables
from leakcap.tables.files import load_tables

FILE = "examples/tables/tables.toml"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tables_example(tmp_path)


def told(place: Path, *words: str) -> dict[str, Any]:
    return record_told("tables", FILE, *words, place=place)


def test_file_command_and_python_give_the_same_numbers_for_one_charge(place: Path) -> None:
    first, again = told(place), told(place)
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert first["tables"] == again["tables"]
    asked = load_tables(place / FILE)
    with PrivateTable(asked.data, policy=load_policy(asked.policy), ledger=asked.ledger) as table:
        found = release_tables(table, asked.question)
        assert found.repeated
        assert len(table.ledger.entries()) == 1
        table.ledger.verify()
    assert len(first["tables"]) == len(found.plan.workload.closure) == 7
    assert [one["columns"] for one in first["tables"] if one["asked"]] == [
        ["diagnosis"], ["diagnosis", "radius"], ["diagnosis", "texture"], ["radius", "texture"],
    ]  # fmt: skip
    for one in first["tables"]:
        mine = dict(found.table(*one["columns"]).cells)
        assert {
            tuple(cell["keys"]): (cell["value"], cell["lower"], cell["upper"]) for cell in one["cells"]
        } == {keys: (cell.value, cell.low, cell.high) for keys, cell in mine.items()}
    by = {tuple(one["columns"]): sum(cell["value"] for cell in one["cells"]) for one in first["tables"]}
    assert max(by.values()) - min(by.values()) < 1e-9
    text = leakcap("tables", FILE, cwd=place).stdout
    assert "Repeated from the ledger" in text
    assert "malignant" in text
    assert "All tables agree; 3 margins more in --json and --csv." in " ".join(text.split())


def test_what_is_published_and_of_which_data_is_recorded_and_said(place: Path) -> None:
    """As of a release; a copy of the file is answered for free where the owner says that it is the same."""
    said = 'publication = { title = "Patients", period = "2026-03", version = "1.0" }\n'
    text = (place / FILE).read_text().replace('name = "cells"\n', 'name = "cells"\n' + said)
    (place / FILE).write_text(text)
    first = told(place)
    assert first["publication"] == {"title": "Patients", "period": "2026-03", "version": "1.0"}
    assert first["source"] == "patients.parquet"
    assert (first["policy"]["neighbours"], "same_as" in first) == ("add-remove-one", False)
    shutil.copy(place / "examples/hospital/patients.parquet", place / "examples/hospital/copy.parquet")
    (place / FILE).write_text(text.replace("patients.parquet", "copy.parquet"))
    again = told(place, "--same-as", "1")
    assert again["repeated"]
    assert again["same_as"] == {"version": 1, "sources": ["patients.parquet"], "periods": ["2026-03"]}
    shown = " ".join(leakcap("tables", FILE, "--same-as", "1", cwd=place).stdout.split())
    for words in (
        "Patients: cells breast cancer patients, in tables. Reference period: 2026-03. Version 1.0 Protected",
        f"ρ = {sum_text(first['rho'])} for all of them.",
        "copy.parquet was said to be version 1 of the table (patients.parquet, published for 2026-03).",
    ):
        assert words in shown
    with Ledger.read(f"sqlite:///{place / 'examples/tables/tables.db'}") as ledger:
        assert [one.source for one in ledger.entries()] == ["patients.parquet"]
        assert [one.source for one in ledger.versions()[0].same_as] == ["copy.parquet"]


def test_no_margin_is_promised_where_there_is_none(place: Path) -> None:
    text = (place / FILE).read_text()
    (place / FILE).write_text(text[: text.index("[[tables]]")] + "[[tables]]\ncolumns = []\n")
    shown = leakcap("tables", FILE, cwd=place).stdout
    assert "All tables agree. The error" in " ".join(shown.split())


def test_no_to_fresh_noise_begins_no_ledger(place: Path) -> None:
    assert leakcap("tables", FILE, "--fresh", cwd=place).returncode == 2
    unknown = leakcap("tables", FILE, "--same-as", "1", cwd=place)
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
    assert "no version 1 of the table" in unknown.stderr
    assert not list(place.rglob("*.db*"))


def test_csv_has_every_cell_and_never_replaces_what_is_read(place: Path) -> None:
    first = told(place, "--csv", "out/cells.csv")
    with (place / "out/cells.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == sum(len(one["cells"]) for one in first["tables"])
    assert len(lines) == 1 + 2 + 5 + 4 + 10 + 8 + 20
    found = {
        tuple(sorted((name, line[name]) for name in ("diagnosis", "radius", "texture") if line[name])): line
        for line in lines
    }
    for one in first["tables"]:
        for cell in one["cells"]:
            line = found[tuple(sorted(zip(one["columns"], cell["keys"], strict=True)))]
            numbers = tuple(float(line[name]) for name in ("value", "lower", "upper"))
            assert numbers == (cell["value"], cell["lower"], cell["upper"])
            assert float(line["standard_deviation"]) == one["standard_deviation"]
            assert line["flag"] == ("u" if cell.get("drowned") else "")
    (place / "kept.csv").write_text("id\n1\n")
    text = (place / FILE).read_text().replace("../hospital/patients.parquet", "../../kept.csv")
    (place / FILE).write_text(text)
    refused = leakcap("tables", FILE, "--csv", "kept.csv", cwd=place)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "may not replace" in refused.stderr


def test_data_frames_hold_the_same_numbers(place: Path) -> None:
    told(place)
    asked = load_tables(place / FILE)
    with PrivateTable(asked.data, policy=load_policy(asked.policy), ledger=asked.ledger) as table:
        one = release_tables(table, asked.question).table("texture", "diagnosis")
    frames = (
        one.to_pandas().to_dict("list"),
        one.to_arrow().to_pydict(),
        one.to_polars().to_dict(as_series=False),
    )
    for frame in frames:
        assert list(frame) == ["diagnosis", "texture", "value", "lower", "upper", "flag"]
        assert frame["value"] == one.values.ravel().tolist()
        assert frame["lower"] == [cell.low for _, cell in one.cells]
        assert list(zip(frame["diagnosis"], frame["texture"], strict=True)) == [keys for keys, _ in one.cells]


def test_cells_that_noise_drowns_are_marked_in_every_rendering(place: Path) -> None:
    """With little budget: in JSON, CSV, frames and on the terminal, by the definition in `by_hand`."""
    text = (place / FILE).read_text()
    (place / FILE).write_text(text.replace("epsilon = 2.0", "epsilon = 0.1"))
    first = told(place, "--csv", "out/cells.csv")
    marked = {}
    for one in first["tables"]:
        marked[tuple(one["columns"])] = marks = [cell.get("drowned", False) for cell in one["cells"]]
        assert marks == [by_hand(cell["value"], cell["lower"], cell["upper"]) for cell in one["cells"]]
    with (place / "out/cells.csv").open(encoding="utf-8", newline="") as file:
        flags = [line["flag"] for line in csv.DictReader(file)]
    assert flags == ["u" if own else "" for marks in marked.values() for own in marks]
    asked = load_tables(place / FILE)
    with PrivateTable(asked.data, policy=load_policy(asked.policy), ledger=asked.ledger) as table:
        one = release_tables(table, asked.question).table("diagnosis", "texture")
    for flag in (one.to_pandas()["flag"], one.to_arrow()["flag"].to_pylist(), one.to_polars()["flag"]):
        assert list(flag) == ["u" if own else "" for own in marked[one.columns]]
    cells = sum(sum(marked[tuple(own["columns"])]) for own in first["tables"] if own["asked"])
    assert 0 < cells < sum(len(own["cells"]) for own in first["tables"] if own["asked"])
    said = leakcap("tables", FILE, cwd=place).stdout
    assert len(re.findall(r"\d u\b", said)) == cells
    assert f"u: unreliable, because the noise is as large as the count: {cells} cells." in said


def by_hand(value: float, low: float, high: float) -> bool:
    """0 may be the figure, and the noise may be as large as what is shown."""
    return low <= 0 <= high and low < high and abs(value) <= (high - low) / 2


def test_fresh_noise_is_paid_for_and_asked_for_first(place: Path) -> None:
    first = told(place)
    refused = leakcap("tables", FILE, "--fresh", "--json", cwd=place)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    paid = leakcap("tables", FILE, "--fresh", "--yes", "--json", cwd=place)
    assert json.loads(paid.stdout)["tables"] != first["tables"]
    over = leakcap("tables", FILE, "--fresh", "--yes", cwd=place)
    over = leakcap("tables", FILE, "--fresh", "--yes", cwd=place) if over.returncode == 0 else over
    assert (over.returncode, over.stderr.count("\n")) == (2, 1)
    assert "Nothing was spent" in over.stderr


POSITIVE = "must be positive and finite. Got"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('ways = 2', 'ways = 4', "`ways` of tables `cells` must be at most 3, the number"),
        ('ways = 2', 'ways = true', "`tables.0.ways` of `"),
        ('ways = 2', 'ways = "2"', "must be a whole number. Got '2'."),
        ('ways = 2', 'ways = 0', "must be at least 1. Got 0"),
        ('ways = 2', 'way = 2', "not a known field"),
        ('epsilon = 2.0', '', "Tables `cells` must have `rho` or `epsilon`, not both."),
        *(
            ('epsilon = 2.0', f'{price} = {number}', f"`{price}` of tables `cells` {POSITIVE} {number}.")
            for price in ("rho", "epsilon") for number in ("nan", "inf", "-1.0", "0.0")
        ),
        *(
            (old, f'{price} = {number}', f"must be a number. Got {got}.")
            for price in ("rho", "epsilon", "weight")
            for old in (('weight = 4.0' if price == "weight" else 'epsilon = 2.0'),)
            for number, got in (("true", "True"), ('"0.1"', "'0.1'"))
        ),
        ('epsilon = 2.0', 'rho = 5.0', "Nothing was spent"),
        ('patients.parquet', 'nobody.csv', "no column `diagnosis`"),
        ('"radius", "texture"', '"radius", "mean_area"', "Got `mean_area`"),
        ('"radius", "texture"', '"radius", "radius"', "Got `radius` twice"),
        *(
            ('weight = 4.0', f'weight = {number}', f"`weight` of tables `cells` {POSITIVE} {number}.")
            for number in ("-4.0", "0.0", "nan", "inf")
        ),
        ('ledger = "tables.db"', 'ledger = "sqlite://"', "A ledger in memory forgets"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_in_one_line_and_begins_no_ledger(
    place: Path, old: str, new: str, says: str
) -> None:
    text = (place / FILE).read_text()
    assert old in text
    (place / "examples/hospital/nobody.csv").write_text("patient_id,age\n1,2\n")
    (place / FILE).write_text(text.replace(old, new))
    done = leakcap("tables", FILE, cwd=place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr
    assert not list(place.rglob("*.db"))


def test_weights_of_a_table_that_is_asked_for_twice_add_up(place: Path) -> None:
    text = (place / FILE).read_text().replace('["diagnosis"]\nweight', '["radius", "diagnosis"]\nweight')
    (place / FILE).write_text(text)
    asked = load_tables(place / FILE)
    planned = asked.question.planned(load_policy(asked.policy))
    assert {planned.plan.workload.named(t): float(w) for t, w in planned.plan.workload.weights.items()} == {
        ("diagnosis", "radius"): 5.0,
        ("diagnosis", "texture"): 1.0,
        ("radius", "texture"): 1.0,
    }


def test_a_hundred_columns_by_fifty_is_refused_at_once() -> None:
    from leakcap.tables.question import TableAsked

    with pytest.raises(InvalidQuery, match="must make no more than 200,000 tables"):
        TableAsked(columns=tuple(map(str, range(100))), ways=50).each()
