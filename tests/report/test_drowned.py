"""Values that their noise drowns are marked in every rendering, in a table of 5,760 cells too."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow
import pytest
from rich.console import Console
from scipy.stats import binom

from leakcap.release import PrivateTable, Query, Release, load_policy, with_margins
from leakcap.release.results.record import ReleasedRecord
from leakcap.release.statistics import statistics
from leakcap.report.records import ReleaseRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.render.sheet import values_text
from leakcap.report.render.workbook import write_workbook
from leakcap.report.sources import page_of
from leakcap.report.terminal.tables import print_values
from seeded import ALARM, SeededSource

KEYS: dict[str, list[Any]] = {"ward": list(range(24)), "month": list(range(1, 13)), "code": list(range(20))}
POLICY = load_policy({
    "dataset": "stays", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
    "unit": {"id": "id", "max_rows": 2},
    "columns": {**{name: {"keys": keys} for name, keys in KEYS.items()}, "x": {"bounds": [-1.0, 1.0]},
                "y": {"bounds": [0.0, 1.0]}},
})  # fmt: skip
FEW = "ward = 23 AND code = 13 AND month = 7"
QUERIES = [
    Query(name="rows", statistic="count", epsilon=1.0),
    Query(name="few", statistic="count", where=FEW, epsilon=0.1),
    Query(name="balance", statistic="sum", column="x", where=FEW, epsilon=0.1),
    Query(name="middle", statistic="mean", column="x", epsilon=0.1),
    Query(name="half", statistic="median", column="x", epsilon=0.1),
    Query(name="wards", statistic="count", by=("ward",), epsilon=0.01),
    Query(name="cells", statistic="count", by=tuple(KEYS), epsilon=1.0),
]
# Where 0 says that there is nothing. Of the others 0 is a number like any other.
FROM_ZERO = {
    *("contingency", "count", "cumulative", "distinct", "formula_sum", "histogram", "rows_cut", "sum", "top"),
    "weighted_total",
}


def rows() -> pyarrow.Table:
    """Stays, a few of most codes and many of some."""
    chance = np.random.default_rng(11)
    many = 20_000
    columns = {name: np.array(keys)[chance.zipf(1.5, many) % len(keys)] for name, keys in KEYS.items()}
    numbers = {"x": chance.uniform(-1, 1, many), "y": chance.uniform(size=many)}
    return pyarrow.table({"id": np.arange(many) // 2, **columns, **numbers})


@pytest.fixture(scope="module")
def record() -> ReleaseRecord:
    private = PrivateTable(rows(), policy=POLICY, ledger="sqlite://", source=SeededSource(4))
    releases = private.release(QUERIES)
    return ReleaseRecord.of(POLICY, releases, private.statement(), private.budget())


def by_hand(value: float, low: float, high: float) -> bool:
    """0 may be the figure, and the noise may be as large as what is shown."""
    return low <= 0 <= high and low < high and abs(value) <= (high - low) / 2


def test_marked_is_what_may_be_nothing(record: ReleaseRecord) -> None:
    marked = {}
    for release in record.releases:
        counts = release.query.partition(" ")[0] in FROM_ZERO
        for row in release.values:
            assert row.drowned == (counts and by_hand(row.value, *row.interval)), (release.name, row)
        marked[release.name] = release.drowned
    assert marked["rows"] == marked["middle"] == marked["half"] == 0
    assert (marked["few"], marked["balance"]) == (1, 1)
    assert 0 < marked["wards"] < 24
    assert 2880 < marked["cells"] < len(record.releases[-1].values) == 5760
    again = ReleaseRecord.model_validate(record.to_dict())
    assert [one.drowned for one in again.releases] == [one.drowned for one in record.releases]


def test_every_statistic_is_one_of_both_kinds() -> None:
    assert {name for name, kind in statistics().items() if kind.from_zero} == FROM_ZERO


def test_a_cell_of_nobody_is_nearly_always_marked_and_a_large_one_never() -> None:
    """Of 1,000 empty cells 95 % at least, by the interval's own promise. False alarm: 10⁻⁶."""
    policy = load_policy({
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
        "columns": {"k": {"keys": list(range(2000))}},
    })  # fmt: skip
    table = pyarrow.table({"k": np.repeat(np.arange(1000), 100)})
    private = PrivateTable(table, policy=policy, ledger="sqlite://", source=SeededSource(5))
    marks = [row.drowned for row in private.count(by="k", epsilon=0.5).record.values]
    assert not any(marks[:1000])
    assert binom.cdf(sum(marks[1000:]), 1000, 0.95) > ALARM


def test_every_rendering_marks_the_same_values(record: ReleaseRecord, tmp_path: Path) -> None:
    total = sum(one.drowned for one in record.releases)
    told = csv.DictReader(io.StringIO(values_text(record.releases)))
    flags = [line["flag"] for line in told]
    assert (flags.count("u"), flags.count("")) == (
        total,
        sum(len(one.values) for one in record.releases) - total,
    )
    write_workbook(page_of(record, "board"), record.releases, tmp_path / "t.xlsx")
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    for release in record.releases:
        cells = [row[-1] for row in book[release.name].iter_rows(values_only=True)]
        assert cells.count("u") == release.drowned
        notes = " ".join(str(row[0]) for row in book[release.name].iter_rows(max_row=4, values_only=True))
        assert (f"{release.drowned:,} of {len(release.values):,}: the noise" in notes) == (
            release.drowned > 0
        )
    page = page_of(record, "reviewer")
    html = re.sub(r"<sup>.*?</sup>|<[^>]+>", " ", render_html(page))
    assert len(re.findall(r"\d u\b", html)) == total
    assert len(re.findall(r"\d u\b", render_markdown(page).replace("\\", ""))) >= total
    console = Console(file=io.StringIO(), width=200, highlight=False)
    print_values(console, record.releases)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    shown = [row for one in record.releases for row in one.values[:20]]
    assert len(re.findall(r"\d u\b", text)) == sum(row.drowned for row in shown)
    cells = record.releases[-1]
    for way in (text, html):
        assert "u: unreliable, because the noise is as large as the value: " in way
        assert f"{cells.drowned:,} of 5,760 values of cells" in re.sub(r"\s+", " ", way)


def test_frames_mark_the_same_values_in_lists_pivots_and_margins(record: ReleaseRecord) -> None:
    """A column `flag` as CSV has it: u, or empty. In a pivot one beside each value."""
    private = PrivateTable(rows(), policy=POLICY, ledger="sqlite://", source=SeededSource(4))
    crossed = with_margins(private.count(by=["ward", "month"], epsilon=0.02), POLICY)
    kept = ReleasedRecord.model_validate(crossed.to_dict())
    for found in (*record.releases, crossed, kept):
        one = found.record if isinstance(found, Release) else found
        told = [row["flag"] for row in csv.DictReader(io.StringIO(values_text([one])))]
        assert told == ["u" if by else "" for by in (row.drowned for row in one.values)]
        frames = (found.to_pandas()["flag"], found.to_arrow()["flag"].to_pylist(), found.to_polars()["flag"])
        for frame in frames:
            assert list(frame) == told
    assert 0 < kept.drowned < len(kept.values)
    wide = crossed.pivot(across=["month"])
    flags = [name for name in wide.to_pandas().columns if name.endswith(" flag")]
    assert len(flags) == 12 + 1
    by = {tuple(map(str, (row.keys or {}).values())): row.drowned for row in kept.values}
    for frame in (wide.to_pandas(), wide.to_polars(), wide.record.to_pandas()):
        for name in flags:
            month = name.removesuffix(" flag")
            for ward, flag in zip(frame["ward"], frame[name], strict=True):
                assert flag == ("u" if by[str(ward), month] else "")


def test_print_and_notebook_mark_the_same_values_and_say_what_was_done() -> None:
    """What a person at a prompt sees first: `print(release)` and the card, in lists and in crossed tables."""
    private = PrivateTable(rows(), policy=POLICY, ledger="sqlite://", source=SeededSource(4))
    running = Query(name="running", statistic="cumulative", column="x", bins=6, epsilon=0.01)
    releases = private.release([*QUERIES[:6], running])
    releases += [*private.sql(ORDERED, epsilon=0.002), *private.sql(CROSSED, epsilon=0.002)]
    marked, done = set(), set()
    for release in releases:
        told, values = release.record.post_processed, release.record.values
        few = [sum(row.drowned for row in values[:20]), sum(row.drowned for row in values)]
        text, card = str(release), unescape(release._repr_html_()).replace("\u00a0", " ")
        assert len(re.findall(r"\d u \(95 %", text)) == few[0]
        cells = card.partition("<table")[2].partition("</table>")[0]
        assert len(re.findall(r"\d u\b", cells)) == few[release.name == "crossed"], release.name
        for way in (text, card):
            assert ("u: unreliable, because the noise is as large as the value" in way) == (few[1] > 0)
            assert ("Post-processing, which costs nothing: " in way) == (told is not None)
            assert (told or "") in way
        marked |= {release.name} if few[0] else set()
        done |= {release.name} if told else set()
    assert {"few", "wards", "ordered", "crossed"} <= marked
    assert {"running", "ordered"} <= done
    assert "wards" not in done


ORDERED = "SELECT ward, COUNT(*) AS ordered FROM stays WHERE ward > 3 GROUP BY ward ORDER BY 2 LIMIT 9"
CROSSED = (
    "SELECT month, CASE WHEN ward < 9 THEN 'low' ELSE 'high' END AS w, COUNT(*) AS crossed FROM stays "
    "GROUP BY month, w"
)


def test_where_nothing_is_marked_nothing_is_said_of_it() -> None:
    private = PrivateTable(rows(), policy=POLICY, ledger="sqlite://", source=SeededSource(4))
    releases = private.release(QUERIES[:1])
    record = ReleaseRecord.of(POLICY, releases, private.statement(), private.budget())
    assert "unreliable" not in render_html(page_of(record, "reviewer"))
    assert "drowned" not in str(record.to_dict())
