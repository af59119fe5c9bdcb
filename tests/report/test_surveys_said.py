"""A survey's row `population` is about the population: no rendering calls its figure the table's, or its
sampling noise."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow
import pytest

from leakcap.release import PrivateTable, Release, query_from
from leakcap.report.records import ReleaseRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.sheet import values_text, write_each
from leakcap.report.sources import page_of
from seeded import SeededSource

POLICY = {
    "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
    "survey": {"weight": "w", "design": "poisson"},
    "columns": {"x": {"bounds": [-100.0, 100.0]}, "w": {"bounds": [1.0, 20.0]}, "k": {"keys": ["a", "b"]}},
}  # fmt: skip


@pytest.fixture
def private() -> PrivateTable:
    """400 rows around 0: the total is little beside what sampling makes of it."""
    x = np.random.default_rng(1).normal(0, 30, 400)
    rows = pyarrow.table({"x": x, "w": np.full(400, 10.0), "k": ["a", "b"] * 200})
    return PrivateTable(rows, policy=POLICY, ledger="sqlite://", source=SeededSource(4))


def total(private: PrivateTable, epsilon: float, **asked: object) -> Release:
    query = {"name": "total", "statistic": "weighted_total", "column": "x", "design_weight": "w"}
    return private.release([query_from(query | {"epsilon": epsilon} | asked)])[0]


def record_of(private: PrivateTable, *releases: Release) -> ReleaseRecord:
    return ReleaseRecord.of(private.policy, list(releases), private.statement(), private.budget())


def test_sampling_is_no_noise_that_drowns(private: PrivateTable) -> None:
    """The population's interval is wide about 0 by sampling alone; the sample's noise is 1,000 times less."""
    for _ in ("paid", "recalled"):
        clear = total(private, 1e3)
        low, high = clear.rows[2].interval
        assert low < 0 < high
        assert high - low > 2 * abs(clear.rows[2].value)
        assert high - low > 100 * (clear.rows[0].interval[1] - clear.rows[0].interval[0])
        assert [row.drowned for row in clear.record.values] == [False] * 3
        assert clear.to_pandas()["flag"].tolist() == [""] * 3
    hidden = total(private, 0.01, by="k")
    marks = [row.drowned for row in hidden.record.values]
    assert marks[0::3] == marks[2::3] == [True, True]
    lone = hidden.at(k="b", figure="population")
    assert lone.to_pandas()["flag"].tolist() == ["u"]
    assert lone.record.values[0].covers == "population"


def test_every_rendering_says_whose_figure_the_population_s_is(private: PrivateTable, tmp_path: Path) -> None:
    found = total(private, 1e3, by="k")
    mean = total(private, 1e3, name="mean", statistic="weighted_mean")
    record = record_of(private, found, mean)
    told = csv.DictReader(io.StringIO(values_text(record.releases)))
    assert [line["covers"] for line in told] == ["table", "table", "population"] * 3
    json = record.to_dict()["releases"][0]["values"]
    assert [one.get("covers") for one in json] == [None, None, "population"] * 2
    held = "that of a row called population holds the population's, over noise and sampling"
    for audience in ("reviewer", "board"):
        page = re.sub(r"\s+", " ", render_html(page_of(record, audience)))  # type: ignore[arg-type]
        assert f"{held}. Counts" in unescape(page)
    found.to_excel(tmp_path / "t.xlsx")
    (sheet,) = openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets
    assert any(held in str(row[0]) for row in sheet.iter_rows(max_row=4, values_only=True))
    write_each([found.pivot(across="figure").record, found.pivot(across="k").record], tmp_path)
    for path in tmp_path.glob("*.csv"):
        lines = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
        assert {line["covers"] for line in lines} == {""}


def test_where_no_row_is_about_a_population_nothing_is_said_of_one(private: PrivateTable) -> None:
    record = record_of(private, private.count(epsilon=1.0))
    assert "population" not in render_html(page_of(record, "reviewer"))
    assert "covers" not in record.to_dict()["releases"][0]["values"][0]
    (line,) = csv.DictReader(io.StringIO(values_text(record.releases)))
    assert line["covers"] == "table"
