"""The report as a browser shows it: headless Chromium opens the file and draws the plots, offline."""

from __future__ import annotations

import re
from pathlib import Path

import altair
import duckdb
import pytest

from browser import Marks, browse
from leakcap.release import PrivateTable, Query, exposure_so_far
from leakcap.report.plots import release as plots
from leakcap.report.records import ReleaseRecord
from leakcap.report.render.document import Document
from leakcap.report.render.html import render_html, write_html
from leakcap.report.sources import page_of
from leakcap.statement import statement_of
from leakcap.statement.restated import restated

POLICY = {
    "dataset": "ward <script>alert(1)</script>",
    "neighbours": "replace-one",
    "rows": 4,
    "columns": {"age": {"bounds": [0.0, 120.0]}, "sex": {"keys": ["f", "</script><b>m"]}},
    "caps": {"epsilon": 500.0, "nats_table": 900.0},
}


@pytest.fixture
def record(tmp_path: Path) -> ReleaseRecord:
    path = tmp_path / "ward.parquet"
    duckdb.execute(
        f"COPY (SELECT * FROM (VALUES (31.0, 'f'), (45.0, 'm'), (72.0, 'f'), (90.0, 'm')) t(age, sex)) "
        f"TO '{path}' (FORMAT parquet)"
    )
    table = PrivateTable(path, policy=POLICY, ledger="sqlite://")
    queries = [
        Query(name="old & grey", statistic="count", where="age >= 65", epsilon=0.5),
        Query(name="by sex", statistic="count", by=("sex",), epsilon=0.5),
        Query(name="ages", statistic="histogram", column="age", bins=6, epsilon=0.5),
        Query(name="mean age", statistic="mean", column="age", epsilon=0.5),
    ]
    releases = table.release(queries)
    total = statement_of(exposure_so_far(table.ledger.entries(), table.policy))
    return ReleaseRecord.of(table.policy, releases, total, table.budget())


def page_for(record: ReleaseRecord, audience: str = "reviewer") -> Document:
    assert audience in {"board", "reviewer"}
    return page_of(record, "board" if audience == "board" else "reviewer")


def test_the_browser_draws_every_plot(record: ReleaseRecord, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_html(page_for(record), page)
    dom = browse(page, tmp_path / "profile", "--dump-dom")
    parser = Marks()
    parser.feed(dom)
    wanted = {"guess", "information", "future", "statistic-0", "statistic-1"}
    assert {plot for plot, marks in parser.marks.items() if marks >= 1} >= wanted, parser.marks
    assert parser.marks["statistic-1"] >= 6
    assert parser.marks["information"] >= 4
    assert page.stat().st_size < 3_000_000
    shot = tmp_path / "report.png"
    browse(page, tmp_path / "profile2", f"--screenshot={shot}")
    assert shot.stat().st_size > 20_000


def test_nothing_is_fetched_and_nothing_is_injected(record: ReleaseRecord) -> None:
    text = render_html(page_for(record))
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    assert "<script>alert(1)" not in text
    assert "</script><b>" not in text
    assert text.count("<script>") == text.count("</script>") == 4
    board = render_html(page_for(record, "board"))
    assert "<script" not in board
    assert "</script><b>" not in board
    assert len(board.encode()) < 60_000


def pages(pdf: Path) -> int:
    return len(re.findall(rb"/Type\s*/Page[^s]", pdf.read_bytes()))


def test_the_board_reads_one_sheet_of_paper(record: ReleaseRecord, tmp_path: Path) -> None:
    for audience, most in (("board", 1), ("reviewer", 12)):
        page, pdf = tmp_path / f"{audience}.html", tmp_path / f"{audience}.pdf"
        write_html(page_for(record, audience), page)
        browse(page, tmp_path / audience, f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
        assert 1 <= pages(pdf) <= most, audience


def test_every_specification_is_vega_lite(record: ReleaseRecord) -> None:
    total = restated(record.so_far)
    specs = [
        plots.guess(total),
        plots.information_bars(total),
        plots.future(total),
        *(plots.statistic(r.name, r.values) for r in record.releases if r.grouped),
    ]
    assert len(specs) == 5
    for spec in specs:
        altair.Chart.from_dict(spec) if "layer" not in spec else altair.LayerChart.from_dict(spec)
    broken = specs[0] | {"mark": {"type": "no such mark"}}
    with pytest.raises(Exception, match="no such mark"):
        altair.Chart.from_dict(broken)
