"""The page of microdata: every number is the record's, in its place; what is not shown is counted."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import altair
import pytest

from command_line import ROOT, leakcap, record_told, tables_example
from leakcap.errors import InvalidParameter
from leakcap.report.plots.synthesis import column_chart, distances_chart
from leakcap.report.records.synthesis import SynthesisRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of, record_of
from leakcap.report.words.wording import sum_text

FILE = "examples/tables/microdata.toml"
BEFORE = json.loads((ROOT / "tests/report/version_1/synthesis.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The record of a file; its report was written beside it."""
    place = tables_example(tmp_path_factory.mktemp("office"))
    record = record_told("synthesize", FILE, "--output", "a.csv", "--report", "a.html", place=place)
    assert "What this file lets an attacker do" in (place / "a.html").read_text(encoding="utf-8")
    assert record["columns"][1]["margin"]
    return record


def sound(told: dict[str, Any], **changes: Any) -> SynthesisRecord:
    found = record_of({**told, **changes})
    assert isinstance(found, SynthesisRecord)
    return found


def test_margins_of_the_record_are_those_of_the_rows_and_of_the_tables(
    told: dict[str, Any], tmp_path: Path
) -> None:
    """Counted in the file that the seed makes again, and read in the record of the tables."""
    place = tables_example(tmp_path)
    (place / FILE).write_text((place / FILE).read_text().split("rows = 500")[0] + TABLES)
    tables = json.loads(leakcap("tables", FILE, "--json", cwd=place).stdout)
    record = record_told("synthesize", FILE, "--output", "a.csv", "--rows", "300", place=place)
    head, *lines = csv.reader((place / "a.csv").read_text(encoding="utf-8").splitlines())
    shown = {tuple(one["columns"]): one["cells"] for one in tables["tables"]}
    for column in record["columns"]:
        cells = {cell["keys"][0]: cell for cell in shown[column["name"],]}
        at = head.index(column["name"])
        assert [one["key"] for one in column["margin"]] == list(cells)
        for one in column["margin"]:
            count = sum(line[at] == one["key"] for line in lines)
            assert one["file"] == pytest.approx(count * record["weight"], rel=1e-12)
            cell = cells[one["key"]]
            assert (one["released"], one["lower"], one["upper"]) == (
                cell["value"], cell["lower"], cell["upper"],
            )  # fmt: skip


TABLES = """
[[tables]]
columns = ["diagnosis", "radius", "texture"]
ways = 2
"""


def test_each_table_has_its_line_and_its_bars(told: dict[str, Any]) -> None:
    record = sound(told)
    text = render_markdown(page_of(record, "reviewer"))
    for one in record.tables:
        (line,) = [row for row in text.splitlines() if row.startswith(f"| {' by '.join(one.columns)}")]
        assert sum_text(one.distance, 3) in line
        assert sum_text(one.bound, 3) in line
    spec = distances_chart([("x", record.tables[0])])
    altair.LayerChart.from_dict(spec)
    (drawn,) = spec["data"]["values"]
    assert drawn == {"table": "x", "distance": record.tables[0].distance, "bound": record.tables[0].bound}


def test_pictures_of_columns_are_vega_lite_with_every_number(told: dict[str, Any]) -> None:
    for column in sound(told).columns:
        spec = column_chart(column)
        altair.LayerChart.from_dict(spec)
        drawn = {(one["key"], one["file"], one["low"], one["high"]) for one in spec["data"]["values"]}
        assert drawn == {(str(one.key), one.file, one.lower, one.upper) for one in column.margin}


def test_what_the_page_promises_is_the_files_and_what_has_no_bound_is_named(told: dict[str, Any]) -> None:
    for audience in ("board", "reviewer"):
        text = " ".join(render_markdown(page_of(sound(told), audience)).split())  # type: ignore[arg-type]
        assert "500 rows about nobody" in text
        assert "nothing here says how far off that is" in text
        assert "diagnosis benign with radius 17 and over" in text
    other = " ".join(render_markdown(page_of(sound(told, from_record="t.json"), "reviewer")).split())
    assert "That a ledger paid for them" in other
    lines = [{**one, "sentence": "Nothing is told."} for one in told["statement"]["lines"]]
    with pytest.raises(InvalidParameter, match="do not follow"):
        page_of(sound(told, statement={**told["statement"], "lines": lines}), "board")


def test_tables_and_columns_that_are_not_drawn_are_counted(told: dict[str, Any]) -> None:
    one, column = told["tables"][0], told["columns"][0]
    many = sound(told, tables=[one] * 600, columns=[column] * 30)
    text = render_markdown(page_of(many, "reviewer"))
    assert "And 100 tables more" in text
    assert "Not drawn: 6 columns more" in text
    assert "And 576 tables more" in render_markdown(page_of(many, "board"))


def test_a_record_of_before_has_a_page_without_those_pictures() -> None:
    text = render_html(page_of(sound(BEFORE), "reviewer"))
    assert "How far its tables are off" in text
    assert "Its columns, one by one" not in text


def test_keys_never_become_markup(told: dict[str, Any]) -> None:
    evil = "<script>alert(1)</script>"
    cell = {**told["columns"][0]["margin"][0], "key": evil}
    bad = sound(
        told,
        columns=[{**told["columns"][0], "name": evil, "margin": [cell]}],
        tables=[{**told["tables"][0], "columns": [evil]}],
        impossible=[{evil: [evil]}],
        from_record=evil,
    )
    assert "<script>alert" not in render_html(page_of(bad, "reviewer"))


def test_the_file_s_games_are_those_of_its_own_charge(told: dict[str, Any]) -> None:
    """No less than the best test between two Gaussians wins; edited games have no page."""
    games = {one["key"]: one for one in told["games"]}
    assert {one["risk"] for one in told["games"]} == {"singling out", "linkability", "inference"}
    inside = told["games"][0]
    assert inside["blind"] == 0.5
    # Of a ρ two Gaussians are √(2ρ) deviations apart, and the likelihood ratio is right with Φ of half of
    # that; whole numbers move it by little at this noise.
    best = NormalDist().cdf(math.sqrt(2 * told["rho"]) / 2)
    assert best - 1e-3 <= inside["success"] < 1.0
    text = " ".join(render_markdown(page_of(sound(told), "reviewer")).split())
    assert "The file's annex: singling out, linkability, inference" in text
    for change in ("success", "blind"):
        edited = [{**told["games"][0], change: 0.501}, *told["games"][1:]]
        with pytest.raises(InvalidParameter, match="do not follow from its bounds"):
            page_of(sound(told, games=edited), "board")
    assert len(games) == len(told["games"]) == 6
    assert "linking two publications" not in text
