"""Pages, workbook and CSV of tables that share one budget: every number is the record's, in its place."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from command_line import ROOT, leakcap
from leakcap.errors import InvalidParameter
from leakcap.report.pages import workload as tables_pages
from leakcap.report.records.tables import TablesRecord
from leakcap.report.render import workbook
from leakcap.report.render.html import render_html
from leakcap.report.render.margins import write_each_table
from leakcap.report.render.markdown import render_markdown
from leakcap.report.render.workbook import require_room, write_workbook
from leakcap.report.sources import page_of, record_of
from leakcap.report.words.margined import margined_tables

KEPT = json.loads((ROOT / "tests/report/version_1/tables.json").read_text(encoding="utf-8"))


def record(**changes: Any) -> TablesRecord:
    found = record_of({**KEPT, **changes})
    assert isinstance(found, TablesRecord)
    return found


def small_record(first: list[Any], second: list[Any]) -> TablesRecord:
    """Two columns with these keys, whose cells are numbered; margins are worked out here."""

    def table(columns: list[str], cells: dict[tuple[Any, ...], int]) -> dict[str, Any]:
        told = [{"keys": list(keys), "value": v, "lower": v - 3, "upper": v + 3} for keys, v in cells.items()]
        return {"columns": columns, "asked": len(columns) == 2, "standard_deviation": 1.5, "cells": told}

    both = {(a, b): 10 * i + j for i, a in enumerate(first) for j, b in enumerate(second)}
    down = {(a,): sum(v for (c, _), v in both.items() if c is a) for a in first}
    over = {(b,): sum(v for (_, c), v in both.items() if c is b) for b in second}
    parts = [table([], {(): sum(both.values())}), table(["x"], down), table(["y"], over)]
    return record(tables=[*parts, table(["x", "y"], both)])


def test_each_cell_and_margin_stands_where_its_keys_say() -> None:
    found = record()
    by = {one.columns: {cell.keys: cell for cell in one.cells} for one in found.tables}
    (shown,) = margined_tables(
        found, [one for one in found.tables if one.columns == ("radius", "texture")], 8
    )
    textures = [keys[0] for keys in by["texture",]]
    assert (shown.corner, shown.heads) == (("radius by texture",), (*textures, "total"))
    *lines, last = shown.rows
    assert [keys for keys, _ in lines] == list(by["radius",])
    for (radius,), cells in lines:
        assert cells == (*(by["radius", "texture"][radius, one] for one in textures), by["radius",][radius,])
    assert last == (("total",), (*(by["texture",][one,] for one in textures), by[()][()]))


def test_one_column_three_columns_and_none() -> None:
    found = small_record(["a", "b"], [1, 2, 3])
    shown = margined_tables(found, found.tables, 8)
    assert [(one.corner, one.heads) for one in shown] == [
        (("",), ("count",)),
        (("x",), ("count",)),
        (("y",), ("count",)),
        (("y by x",), ("a", "b", "total")),
    ]
    assert [[cell.value for cell in cells] for _, cells in shown[-1].rows] == [
        [0, 10, 10], [1, 11, 12], [2, 12, 14], [3, 33, 36],
    ]  # fmt: skip
    (listed,) = margined_tables(found, found.tables[-1:], 1)
    assert (listed.corner, listed.heads, len(listed.rows)) == (("x", "y"), ("count",), 7)
    assert listed.rows[-1] == (("total", ""), (found.tables[0].cells[0],))


def test_keys_that_look_alike_are_told_apart_and_none_is_taken_for_a_margin() -> None:
    found = small_record([1, "1", "total"], ["total", "(total)"])
    (shown,) = margined_tables(found, found.tables[-1:], 8)
    assert shown.heads == ("total", "(total)", "((total))")
    assert [keys for keys, _ in shown.rows] == [("1",), ("1",), ("total",), ("(total)",)]
    assert [cells[0].value for _, cells in shown.rows] == [0, 10, 20, 30]


def test_a_page_shows_small_tables_and_names_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    for audience in ("board", "reviewer"):
        text = render_markdown(page_of(record(), audience))  # type: ignore[arg-type]
        assert "| total" in text
        assert "not on this page" not in text
        assert text.count("with margins and 95 % intervals") == 4
    monkeypatch.setattr(tables_pages, "_CELLS", {"board": 9, "reviewer": 9})
    text = render_markdown(page_of(record(), "board"))
    assert "diagnosis by radius (10 cells), radius by texture (20 cells); the standard deviation" in text
    assert text.count("with margins and 95 % intervals") == 2
    monkeypatch.setattr(tables_pages, "_TABLES", {"board": 1, "reviewer": 1})
    assert render_markdown(page_of(record(), "board")).count("with margins and 95 %") == 1


def test_every_number_of_the_page_is_the_record_s() -> None:
    text = render_markdown(page_of(record(), "reviewer"))
    shown = set(re.findall(r"\| (-?[\d.,]+)(?: u)? \(", text))
    values = [cell.value for one in record().tables for cell in one.cells]
    assert len(shown) > 30
    for one in shown:
        digits = len(one.partition(".")[2])
        assert any(abs(float(one.replace(",", "")) - value) <= 0.5 * 10**-digits + 1e-9 for value in values)


def test_a_record_without_a_margin_is_refused_and_keys_never_become_markup() -> None:
    with pytest.raises(InvalidParameter, match="something that its page needs is missing"):
        page_of(record(tables=[one for one in KEPT["tables"] if one["columns"] != ["texture"]]), "board")
    evil = small_record(["<script>alert(1)</script>", "=1+1"], ["|a|", "b"])
    assert "<script>alert" not in render_html(page_of(evil, "board"))


def test_workbook_and_folder_have_every_digit_of_every_table(tmp_path: Path) -> None:
    found = small_record(["=1+1", "b"], [1, 2])
    write_workbook(page_of(found, "reviewer"), (), tmp_path / "x.xlsx", (found,))
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    assert book.sheetnames == ["Summary", "total", "x", "y", "x by y"]
    above = [row[0] for row in book["x by y"].values][:5]
    assert above[0] == found.name
    assert "ρ = " in above[1]
    assert "95 % intervals" in above[2]
    heads, *lines = [row for row in book["x by y"].values if row[1] is not None]
    assert heads[:6] == ("x", "y", "value", "lower", "upper", "flag")
    assert [line[:5] for line in lines] == [
        ("=1+1", 1, 0, -3, 3), ("=1+1", 2, 1, -2, 4), ("b", 1, 10, 7, 13), ("b", 2, 11, 8, 14),
    ]  # fmt: skip
    (evil,) = {row[0] for row in book["x by y"].iter_rows() if row[0].value == "=1+1" and row[1].value == 1}
    assert evil.data_type == "s"
    write_each_table(record(), tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 7
    with (tmp_path / "out/radius-by-texture.csv").open(encoding="utf-8", newline="") as file:
        told = list(csv.DictReader(file))
    (own,) = (one for one in KEPT["tables"] if one["columns"] == ["radius", "texture"])
    assert [[one["radius"], one["texture"]] for one in told] == [cell["keys"] for cell in own["cells"]]
    assert [float(one["value"]) for one in told] == [cell["value"] for cell in own["cells"]]


def test_more_than_a_workbook_has_room_for_is_refused_before_anything_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_room([2**20 - 6] * 250)
    for cells in ([1] * 251, [2**20]):
        with pytest.raises(InvalidParameter, match=r"Take --csv\. Nothing was spent or written\."):
            require_room(cells)
    monkeypatch.setattr(workbook, "_MOST_SHEETS", 6)
    file = world(tmp_path)
    done = leakcap("tables", file, "--excel", "x.xlsx", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not [*tmp_path.rglob("*.db*"), *tmp_path.rglob("*.xlsx")]


def world(place: Path) -> str:
    """The example, copied; where its file is."""
    skipped = shutil.ignore_patterns("*.db*")
    shutil.copytree(ROOT / "examples/tables", place / "examples/tables", ignore=skipped)
    (place / "examples/hospital").mkdir()
    shutil.copy(ROOT / "examples/hospital/patients.parquet", place / "examples/hospital")
    return "examples/tables/tables.toml"


def test_the_command_writes_report_workbook_and_a_file_for_each_table(tmp_path: Path) -> None:
    file = world(tmp_path)
    words = ["tables", file, "--report", "r.html", "--excel", "v.xlsx", "--csv", "cells", "--json"]
    done = leakcap(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (tmp_path / "tables.json").write_text(done.stdout)
    assert "radius by texture, with margins" in (tmp_path / "r.html").read_text()
    assert len(list((tmp_path / "cells").iterdir())) == len(told["tables"]) == 7
    words = ["report", "tables.json", "--for", "board"]
    again = leakcap(
        *words, *(word for end in ("html", "md", "csv", "xlsx") for word in ("-o", f"b.{end}")), cwd=tmp_path
    )
    assert again.returncode == 0, again.stderr
    assert "The tables report for the board is in b.html, b.md, b.csv, b.xlsx" in again.stdout
    assert "Not protected" in (tmp_path / "b.md").read_text()
    assert (tmp_path / "b.csv").read_text().count("\n") == 1 + 50
    sheet = openpyxl.load_workbook(tmp_path / "v.xlsx")["radius by texture"]
    values = [row[2] for row in sheet.values if row[2] is not None][1:]
    (own,) = (one for one in told["tables"] if one["columns"] == ["radius", "texture"])
    assert values == [cell["value"] for cell in own["cells"]]
