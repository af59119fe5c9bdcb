"""A release is one record: terminal, JSON, HTML, Markdown, CSV and data frames say the same numbers.

Every statistic there is, plain and by a key. All renderings are made from the record alone, which is read
back from a file when table and ledger are gone.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import openpyxl
import pyarrow
import pyarrow.parquet
import pytest
from pydantic import ValidationError
from rich.console import Console

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Query, Release, dry_run, preview
from leakcap.release.planning.plan import plan_query
from leakcap.release.results.record import ReleasedRecord
from leakcap.release.statistics import statistics
from leakcap.report.records import DryRunRecord, PreviewRecord, ReleaseRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.render.sheet import values_text
from leakcap.report.render.workbook import write_workbook
from leakcap.report.sources import page_of, read_record
from leakcap.report.terminal.previews import print_preview
from leakcap.report.terminal.tables import print_release
from leakcap.report.words.wording import to_its_noise
from release.asked import contents
from release.world import COLUMNS, policy_of
from release.world import table as rows_table

POLICY = policy_of(
    unit={"id": "id", "max_rows": 1, "max_groups": 1},
    caps={"epsilon": 10_000.0, "delta": 1e-3},
    columns=COLUMNS | {"private": {"keys": "private"}},
)
ROWS = [{"id": i, "x": i % 9 - 2.5, "y": 2.0 + i % 6, "d": "abc"[i % 3], "k": 1 + i % 2} for i in range(200)]


def queries() -> list[Query]:
    """Each kind of each statistic, plain, by a key, and where it may with Gaussian noise; by private keys."""
    ways: list[dict[str, Any]] = [
        {},
        {"by": ("d",)},
        {"by": ("d", "k")},
        {"noise": "gaussian"},
        {"by": ("k",), "noise": "best"},
    ]
    found = [content | way | {"epsilon": 2.0} for content in contents() for way in ways]
    found += [{"statistic": "count", "by": ("private",), "epsilon": 2.0, "delta": 1e-6}]
    # Nobody is in a group here: no row tells the columns.
    found += [{"statistic": "count", "by": ("private",), "epsilon": 0.01, "delta": 1e-9, "where": "x > 99"}]
    kept = []
    for place, content in enumerate(found):
        query = Query(**content, name=f"q{place}")
        try:
            plan_query(query, POLICY)
        except InvalidQuery:
            continue
        kept.append(query)
    assert {query.statistic for query in kept} == set(statistics())
    assert {query.noise for query in kept} >= {"gaussian", "best"}
    return kept


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Release], Path]:
    """What Python got, and the file that is left of it."""
    folder = tmp_path_factory.mktemp("record")
    data = rows_table(ROWS).append_column("private", pyarrow.array(["north"] * 150 + ["south"] * 50))
    pyarrow.parquet.write_table(data, folder / "t.parquet")
    table = PrivateTable(folder / "t.parquet", policy=POLICY, ledger=folder / "l.db")
    releases = table.release(queries())
    record = ReleaseRecord.of(POLICY, releases, table.statement(), table.budget(), table.ledger.amendments())
    (folder / "record.json").write_text(json.dumps(record.to_dict(), allow_nan=False), encoding="utf-8")
    table.ledger.close()
    for file in folder.iterdir():
        if file.name != "record.json":
            file.unlink()
    return releases, folder / "record.json"


@pytest.fixture(scope="module")
def record(kept: tuple[list[Release], Path]) -> ReleaseRecord:
    found = read_record(kept[1])
    assert isinstance(found, ReleaseRecord)
    return found


def in_terminal(record: ReleaseRecord) -> str:
    console = Console(file=io.StringIO(), width=400, highlight=False)
    print_release(console, record, explain=True)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def in_html(record: ReleaseRecord) -> str:
    text = html.unescape(re.sub(r"<[^>]+>", " ", render_html(page_of(record, "reviewer"))))
    return re.sub(r"[ \u00a0]+", " ", text)


SHOWN: dict[str, Callable[[ReleaseRecord], str]] = {
    "terminal": in_terminal,
    "html": in_html,
    "markdown": lambda record: render_markdown(page_of(record, "reviewer")),
}


def numbers(record: ReleaseRecord) -> Iterator[tuple[str, list[str]]]:
    """Each number as it is shown, with its ends: of every release so many as a terminal shows."""
    for release in record.releases:
        for row in release.values[:20]:
            yield release.name, list(to_its_noise(row.value, *row.interval))


def missing(text: str, record: ReleaseRecord) -> list[str]:
    """Which numbers stand on no line of the text, value and ends in this order."""
    lines = "\n".join(text.splitlines())
    return [name for name, (value, low, high) in numbers(record) if not stands(lines, value, low, high)]


def stands(lines: str, value: str, low: str, high: str) -> bool:
    """Whether the value is followed by its ends. Where it stands is found first: looked for as a whole, the
    three take ten times as long."""
    whole = re.compile(rf"(?<![\d.,]){re.escape(value)}\D*?\s*{re.escape(low)}\D*?{re.escape(high)}(?![\d])")
    place = lines.find(value)
    while place >= 0 and not whole.match(lines, place):
        place = lines.find(value, place + 1)
    return place >= 0


@pytest.mark.parametrize("way", SHOWN)
def test_what_people_read_are_the_numbers_of_the_record(way: str, record: ReleaseRecord) -> None:
    text = SHOWN[way](record)
    assert len(list(numbers(record))) > 100
    assert missing(text, record) == []


@pytest.mark.parametrize("way", SHOWN)
def test_a_rendering_of_another_number_is_caught(way: str, record: ReleaseRecord) -> None:
    first = next(release for release in record.releases if not release.grouped)
    (row,) = first.values
    other = row.model_copy(update={"value": row.value + 1_000_003})
    planted = record.model_copy(update={"releases": (first.model_copy(update={"values": (other,)}),)})
    assert missing(SHOWN[way](record), planted) == [first.name]


def test_the_sheet_has_every_digit(record: ReleaseRecord) -> None:
    rows = list(csv.DictReader(io.StringIO(values_text(record.releases))))
    told = [(release, row) for release in record.releases for row in release.values]
    assert len(rows) == len(told) > 100
    for line, (release, row) in zip(rows, told, strict=True):
        assert line["statistic"] == release.name
        assert {name: line[name] for name in row.keys or {}} == {
            n: str(k) for n, k in (row.keys or {}).items()
        }
        assert [line["value"], line["lower"], line["upper"]] == list(map(repr, (row.value, *row.interval)))


def test_the_workbook_has_every_digit(record: ReleaseRecord, tmp_path: Path) -> None:
    """A sheet a release, in their order, below its notes; no cell of any sheet is a formula."""
    write_workbook(page_of(record, "board"), record.releases, tmp_path / "values.xlsx")
    book = openpyxl.load_workbook(tmp_path / "values.xlsx")
    assert book.sheetnames == ["Summary", *(release.name for release in record.releases)]
    for release in record.releases:
        rows = [list(row) for row in book[release.name].iter_rows(values_only=True)]
        assert rows[0][0] == release.name
        start = next(
            place for place, row in enumerate(rows) if row[-4:] == ["value", "lower", "upper", "flag"]
        )
        assert any(str(row[0]).startswith(release.query) for row in rows[:start])
        found = [tuple(row) for row in rows[start + 1 :]]
        assert found == [
            (*(row.keys or {}).values(), row.value, *row.interval, "u" if row.drowned else None)
            for row in release.values
        ]
        assert list(map(type, found)) == [tuple] * len(release.values)
    summary = [row[0] for row in book["Summary"].iter_rows(values_only=True)]
    assert summary[0] == record.dataset
    assert {"In short", "What is published"} <= set(summary)


def test_frames_of_the_record_are_those_of_the_release(
    kept: tuple[list[Release], Path], record: ReleaseRecord
) -> None:
    for mine, release in zip(record.releases, kept[0], strict=True):
        assert mine.grouped == release.grouped
        assert mine.to_pandas().to_dict("list") == release.to_pandas().to_dict("list")
        if mine.values:
            assert mine.to_pandas().dtypes.tolist() == release.to_pandas().dtypes.tolist()
            assert mine.to_arrow().equals(release.to_arrow())
            assert mine.to_polars().equals(release.to_polars())
        assert mine.to_arrow().column_names == release.to_arrow().column_names == mine.to_polars().columns
    empty = [release for release in record.releases if not release.values]
    assert [release.columns for release in empty] == [("private",)]


def test_nothing_is_lost_or_added_on_the_way_through_a_file(
    kept: tuple[list[Release], Path], record: ReleaseRecord
) -> None:
    assert [release.record for release in kept[0]] == list(record.releases)
    assert record.to_dict() == json.loads(kept[1].read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(ReleaseRecord.model_json_schema(by_alias=True)).validate(record.to_dict())
    for release in kept[0]:
        assert ReleasedRecord.model_validate_json(json.dumps(release.to_dict())) == release.record


def test_a_record_cannot_be_changed_nor_say_more(record: ReleaseRecord) -> None:
    release = record.releases[0]
    with pytest.raises(ValidationError, match="frozen"):
        release.name = "another"  # type: ignore[misc]
    for told, kind in ((release.to_dict(), ReleasedRecord), (record.to_dict(), ReleaseRecord)):
        with pytest.raises(ValidationError, match="not permitted"):
            kind.model_validate(told | {"exact": 7})


def test_preview_and_dry_run_are_records_too() -> None:
    asked = queries()[:6]
    previewed = PreviewRecord.of(POLICY, preview(asked, policy=POLICY))
    again = PreviewRecord.model_validate_json(json.dumps(previewed.to_dict(), allow_nan=False))
    assert again == previewed
    console = Console(file=io.StringIO(), width=400, highlight=False)
    print_preview(console, again)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(f"{one.name} " in text for one in previewed.statistics)
    runs = dry_run(asked, POLICY)
    dry = DryRunRecord.model_validate_json(json.dumps(DryRunRecord.of(runs).to_dict()))
    assert [[row.value for row in one.rows] for one in dry.releases] == [
        [row.value for row in run.rows] for run in runs
    ]
