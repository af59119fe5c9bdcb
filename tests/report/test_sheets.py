"""Trees and running counts as CSV and as workbooks: every number of the record, in its place."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from command_line import ROOT, leakcap
from leakcap.errors import InvalidParameter
from leakcap.report.render import workbook
from leakcap.report.render.workbook import require_room


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sheets")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db*"))
    return folder


def told(place: Path, *words: str) -> dict[str, Any]:
    done = leakcap(*words, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rows_of(sheet: Any, head: str) -> list[tuple[Any, ...]]:
    """What stands in a sheet from its heads on, of which the first is this."""
    rows = [tuple(cell for cell in row if cell is not None) for row in sheet.iter_rows(values_only=True)]
    return rows[next(place for place, row in enumerate(rows) if row[:1] == (head,)) :]


def test_every_period_of_a_running_count(place: Path) -> None:
    targets = ["--csv", "out/r.csv", "--excel", "out/r.xlsx"]
    words = ["running", "examples/running/visits.toml", "--through", "2026-03"]
    record = told(place, *words, *targets)
    expected = [
        [*one["keys"], *(step[name] for name in (
            "period", "count", "lower", "upper", "total", "total_lower", "total_upper"
        )), record["covers"]]
        for one in record["series"] for step in one["steps"]
    ]  # fmt: skip
    assert len(expected) == 6
    heads = ["ward", "month", "count", "count_lower", "count_upper", "total", "total_lower", "total_upper"]
    with (place / "out/r.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == [*heads, "covers"]
    assert [[*one[:2], *map(float, one[2:8]), one[8]] for one in lines[1:]] == expected
    book = openpyxl.load_workbook(place / "out/r.xlsx")
    assert book.sheetnames == ["Summary", "visits 2026"]
    first, *rest = rows_of(book["visits 2026"], "ward")
    assert list(first) == [*heads, "covers"]
    assert [list(row) for row in rest] == expected
    assert any("95 % intervals" in str(row[0]) for row in book["visits 2026"].iter_rows(values_only=True))


def test_every_node_of_a_tree(place: Path) -> None:
    words = ["hierarchy", "examples/tables/hierarchy.toml", "--csv", "out/h.csv", "--excel", "out/h.xlsx"]
    record = told(place, *words)
    book = openpyxl.load_workbook(place / "out/h.xlsx")
    assert book.sheetnames == ["Summary", "patients by radius"]
    with (place / "out/h.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    sheet = book["patients by radius"]
    rows = [["" if cell is None else cell for cell in row] for row in sheet.iter_rows(values_only=True)]
    start = next(place for place, row in enumerate(rows) if row[: len(lines[0])] == lines[0])
    body = [row[: len(lines[0])] for row in rows[start + 1 :]]
    assert len(body) == len(lines) - 1 == sum(len(level["keys"]) for level in record["levels"])
    value = lines[0].index("value")
    values = [number for level in record["levels"] for number in level["values"]]
    assert [row[value] for row in body] == values
    assert [int(line[value]) for line in lines[1:]] == values


def test_what_a_workbook_has_no_room_for_is_refused_before_it_is_paid(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "MOST_ROWS", 10)
    with pytest.raises(InvalidParameter, match=r"Got 1 table, the largest with 5 cells\..*Nothing was spent"):
        require_room([5])
    text = (place / "examples/running/visits.toml").read_text().replace("visits.db", "other.db")
    (place / "examples/running/other.toml").write_text(text)
    words = ["running", "examples/running/other.toml", "--through", "2026-01", "--excel", "no.xlsx"]
    done = leakcap(*words, cwd=place)
    assert done.returncode == 2
    assert "A sheet has room for 4 lines. This answer has" in done.stderr
    assert "Nothing was spent or written" in done.stderr
    assert not (place / "examples/running/other.db").exists()
    assert not (place / "no.xlsx").exists()
