"""The page of a running count: every number is the record's, and what is not shown is named."""

from __future__ import annotations

import json
import re
from typing import Any

import altair

from command_line import ROOT
from leakcap.report.plots.running import running_chart
from leakcap.report.records.running import RunningRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of, record_of

KEPT = json.loads((ROOT / "tests/report/version_1/running.json").read_text(encoding="utf-8"))
TITLE = "| month | count | interval | total since 2026-01 | interval |"


def record(**changes: Any) -> RunningRecord:
    found = record_of({**KEPT, **changes})
    assert isinstance(found, RunningRecord)
    return found


def steps(many: int) -> list[dict[str, Any]]:
    """Periods whose counts and totals are all different, and easily told from any other number of a page."""
    return [
        {"period": f"p{i:03}", "count": 5000.0 + i, "lower": 4990.0 + i, "upper": 5010.0 + i}
        | {"total": 90000.0 + i, "total_lower": 89900.0 + i, "total_upper": 90100.0 + i}
        for i in range(many)
    ]


def test_each_count_and_total_stands_beside_its_period() -> None:
    text = render_markdown(page_of(record(), "reviewer"))
    lines = {line for line in text.splitlines() if line.startswith("| 2026-")}
    series = record().series
    assert len(lines) == sum(len(one.steps) for one in series) == 6
    for one in series:
        for step in one.steps:
            count, total = round(step.count), round(step.total)
            found = [re.findall(r"(?<![\d.-])-?[\d,]+(?![\d-])", line.partition("|")[2]) for line in lines]
            told = [[int(n.replace(",", "")) for n in numbers if n != "6"] for numbers in found]
            assert any(count in numbers and total in numbers for numbers in told), (count, total, told)


def test_a_board_sees_the_last_year_and_a_reviewer_all() -> None:
    long = record(series=[{"keys": ["north"], "steps": steps(15)}], horizon=20)
    for audience, first in (("board", 3), ("reviewer", 0)):
        text = render_markdown(page_of(long, audience))  # type: ignore[arg-type]
        shown = re.findall(r"^\| (p\d+)", text, flags=re.MULTILINE)
        assert shown == [f"p{i:03}" for i in range(first, 15)]
        assert "15 periods of 20" in text


def test_series_that_are_not_shown_are_counted() -> None:
    many = record(series=[{"keys": [f"w{i}"], "steps": steps(2)} for i in range(9)])
    board = render_markdown(page_of(many, "board"))
    assert board.count(TITLE) == 4
    assert "not on this page: 5 more series" in board
    assert render_markdown(page_of(many, "reviewer")).count(TITLE) == 9


def test_before_the_first_period_there_is_no_picture() -> None:
    empty = record(series=[{"keys": [], "steps": []}], by=[])
    text = render_html(page_of(empty, "reviewer"))
    assert "Totals so far" not in text
    assert "0 periods of" in text


def test_the_picture_is_vega_lite_with_every_total() -> None:
    series = record().series
    spec = running_chart([(str(one.keys), one) for one in series])
    altair.LayerChart.from_dict(spec)
    drawn = {
        (one["series"], one["period"], one["low"], one["total"], one["high"])
        for one in spec["data"]["values"]
    }
    assert drawn == {
        (str(one.keys), step.period, step.total_lower, step.total, step.total_upper)
        for one in series
        for step in one.steps
    }
    assert "legend" in running_chart([("all", series[0])])["layer"][0]["encoding"]["color"]


def test_which_rows_of_a_person_count_is_not_said_as_of_other_answers() -> None:
    policy = {**KEPT["policy"], "unit": {"id": "person", "max_rows": 3}}
    text = render_markdown(page_of(record(policy=policy), "reviewer"))
    assert "Of one person the first 3 rows by period count, the same in every step." in text
    assert "keyed hash" not in text


def test_keys_never_become_markup() -> None:
    evil = record(series=[{"keys": ["<script>alert(1)</script>"], "steps": steps(2)}])
    assert "<script>alert" not in render_html(page_of(evil, "board"))
