"""Tables of columns within columns from the command line: paid once, the same wherever they are shown."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from command_line import leakcap
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, load_policy
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of, read_record
from leakcap.tables import release_tables
from leakcap.tables.files import load_tables
from leakcap.tables.sums import cells_named
from leakcap.web.releasing.drawn import _blocks
from release.nested import hostile_rows

POLICY = """dataset = "stays"
neighbours = "add-remove-one"
caps = { epsilon = 9.0, delta = 1e-6 }
[columns.region]
keys = ["North", "South", "West"]
[columns.district]
within = "region"
keys = { North = ["Ashby", "Newton"], South = ["Newton", "Overton", "Poole"], West = ["Ryde"] }
[columns]
sex = { keys = ["f", "m"] }
day = { bounds = [2026-01-01, 2026-12-31] }
month = { from = "day", truncate = "month" }
quarter = { from = "day", truncate = "quarter" }
"""
TABLES = """policy = "policy.toml"
data = "stays.parquet"
ledger = "l.db"
rho = 0.05
[[tables]]
columns = ["region", "district", "sex"]
ways = 2
[[tables]]
columns = ["month", "sex"]
[[tables]]
columns = ["quarter", "region"]
"""
RELEASE = """policy = "policy.toml"
data = "stays.parquet"
ledger = "q.db"
[[query]]
name = "all"
statistic = "count"
epsilon = 0.2
[[workload]]
name = "cells"
rho = 0.05
tables = [
    { columns = ["region", "district", "sex"] }, { columns = ["month"] }, { columns = ["quarter", "sex"] }
]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nested")
    (folder / "policy.toml").write_text(POLICY)
    (folder / "tables.toml").write_text(TABLES)
    (folder / "q.toml").write_text(RELEASE)
    pyarrow.parquet.write_table(pyarrow.table(hostile_rows()), folder / "stays.parquet")
    return folder


@pytest.fixture(scope="module")
def told(place: Path) -> dict[str, Any]:
    done = leakcap("tables", "tables.toml", "--json", "--csv", "cells.csv", cwd=place)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    (place / "t.json").write_text(done.stdout)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_command_file_and_python_have_the_same_cells_for_one_charge(
    place: Path, told: dict[str, Any]
) -> None:
    assert told["within"] == {"district": "region", "month": "quarter"}
    asked = load_tables(place / "tables.toml")
    with PrivateTable(asked.data, policy=load_policy(asked.policy), ledger=asked.ledger) as table:
        found = release_tables(table, asked.question)
        assert found.repeated
        assert len(table.ledger.entries()) == 1
        table.ledger.verify()
    for one in told["tables"]:
        mine = dict(found.table(*one["columns"]).cells)
        assert {tuple(cell["keys"]): cell["value"] for cell in one["cells"]} == {
            keys: cell.value for keys, cell in mine.items()
        }
    with (place / "cells.csv").open() as file:
        lines = list(csv.DictReader(file))
    pairs = {(line["region"], line["district"]) for line in lines if line["district"]}
    assert pairs == {tuple(keys) for keys, _ in found.table("district").cells}
    assert len(lines) == sum(len(one["cells"]) for one in told["tables"])


def test_a_page_and_the_explorer_show_the_pairs_that_can_occur(place: Path, told: dict[str, Any]) -> None:
    text = render_markdown(page_of(read_record(place / "t.json"), "board"))
    assert "| region | district | count |" in text
    # A column goes across whose others are not in the table.
    assert "| quarter by region | North | South | West | total |" in text
    assert "| region | district by sex | f | m | total |" in text
    assert "Poole" in text
    assert "| North | Poole |" not in text
    asked = load_tables(place / "tables.toml")
    with PrivateTable(asked.data, policy=load_policy(asked.policy), ledger=asked.ledger) as table:
        (entry,) = table.ledger.entries()
        blocks = _blocks(table.ledger, asked.question, table.policy, entry)
    assert blocks
    assert "Overton" in repr(blocks)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("region = North, district = Poole", "must have one key of each of `region`, `district`, which can"),
        ("district = Newton", "must have one key of each of `region`, `district`"),
        ("region = North..South, district = Poole", "Got `region = North..South, district = Poole`."),
        ("month = 2026-01..2026-03", "Got `month = 2026-01..2026-03`."),
        ("district = Nowhere", "must have public keys of `district`. Got `Nowhere`."),
    ],
)
def test_cells_that_cannot_be_are_refused_in_one_line(
    place: Path, told: dict[str, Any], words: str, line: str
) -> None:
    planned = load_tables(place / "tables.toml").question.planned(load_policy(place / "policy.toml"))
    with pytest.raises(InvalidQuery) as caught:
        cells_named(planned, words)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cell_and_a_range_of_regions_are_told_for_free(place: Path, told: dict[str, Any]) -> None:
    words = (
        "region = South, district = Newton, sex = f",
        "region = North..South, quarter = 2026-Q1",
        "month = 2026-05",
    )
    given = [one for word in words for one in ("--between", word)]
    found = json.loads(leakcap("tables", "tables.toml", "--json", *given, cwd=place).stdout)
    assert found["repeated"]
    tables = {tuple(one["columns"]): one["cells"] for one in found["tables"]}
    cells = {tuple(cell["keys"]): cell["value"] for cell in tables["region", "district", "sex"]}
    south, ranged, may = found["between"]
    assert south["value"] == pytest.approx(cells["South", "Newton", "f"])
    quarters = {tuple(cell["keys"]): cell["value"] for cell in tables["region", "quarter"]}
    assert ranged["value"] == pytest.approx(quarters["North", "2026-Q1"] + quarters["South", "2026-Q1"])
    assert may["keys"] == {"month": ["2026-05"]}


def test_a_query_file_previews_prices_and_releases_them(place: Path) -> None:
    planned = json.loads(leakcap("preview", "q.toml", "--json", cwd=place).stdout)
    (cells,) = planned["workloads"]
    sizes = {tuple(one["columns"]): one["cells"] for one in cells["tables"]}
    assert sizes["region", "district", "sex"] == 12
    done = leakcap("release", "q.toml", "--json", "--report", "r.html", cwd=place)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    (released,) = json.loads(done.stdout)["workloads"]
    assert released["rho"] == cells["rho"]
    assert released["within"] == {"district": "region", "month": "quarter"}
    assert "Overton" in (place / "r.html").read_text()


def test_microdata_and_bad_files_are_refused_in_one_line(place: Path) -> None:
    done = leakcap("synthesize", "tables.toml", "--output", "rows.csv", cwd=place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "must not have both `region` and `district`" in done.stderr
    (place / "bad.toml").write_text(f"nested = 1\n{TABLES}".replace('"l.db"', '"bad.db"'))
    done = leakcap("tables", "bad.toml", cwd=place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "`nested`" in done.stderr
    assert not (place / "bad.db").exists()
