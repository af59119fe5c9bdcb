"""A table by two keys is shown in rows and columns, wherever it fits, and says each number once."""

from __future__ import annotations

import io
import itertools
import re

import pyarrow
import pytest
from rich.console import Console

from leakcap.release import PrivateTable
from leakcap.report.records import ReleaseRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of
from leakcap.report.terminal.tables import print_values
from leakcap.report.words.crossed import crossed_table
from leakcap.report.words.wording import to_its_noise

MONTHS = [f"2024-{month:02}" for month in range(1, 7)]
WARDS = ["A", "B <b>", "C"]
POLICY = {
    "dataset": "stays",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 100.0},
    "columns": {"month": {"keys": MONTHS}, "ward": {"keys": WARDS}, "age": {"bounds": [0.0, 9.0]}},
}


@pytest.fixture(scope="module")
def record() -> ReleaseRecord:
    rows = list(itertools.product(MONTHS, WARDS, range(7)))
    names = ("month", "ward", "age")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    table = PrivateTable(pyarrow.table(columns), policy=POLICY, ledger="sqlite://")
    asked = [
        table.count(by=("month", "ward"), epsilon=1.0, name="down"),
        table.count(by=("ward", "month"), epsilon=1.0, name="across"),
        table.count(by="ward", epsilon=1.0, name="single"),
    ]
    return ReleaseRecord.of(table.policy, asked, table.statement(), table.budget())


def test_the_fewer_keys_go_across_in_their_order(record: ReleaseRecord) -> None:
    for release, flip in zip(record.releases[:2], (False, True), strict=True):
        found = crossed_table(release, 4)
        assert found is not None
        assert (found.heads, tuple(head for (head,), _ in found.rows)) == (tuple(WARDS), tuple(MONTHS))
        assert found.corner == ("month by ward",)
        by_keys = {tuple((row.keys or {}).values()): row for row in release.values}
        for ((month,), cells), ward in itertools.product(found.rows, WARDS):
            key = (ward, month) if flip else (month, ward)
            assert cells[WARDS.index(ward)] is by_keys[key]


def test_what_is_no_crossed_table(record: ReleaseRecord) -> None:
    down, _, single = record.releases
    assert crossed_table(single, 8) is None
    assert crossed_table(down, 2) is None
    # Of private keys a pair may be missing: then no cell may stand for it.
    assert crossed_table(down.model_copy(update={"values": down.values[1:]}), 8) is None
    assert crossed_table(down.model_copy(update={"values": ()}), 8) is None


def in_terminal(record: ReleaseRecord, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_values(console, record.releases)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def drawn(record: ReleaseRecord) -> dict[str, str]:
    page = page_of(record, "reviewer")
    html = re.sub(r"<sup>.*?</sup>|<[^>]+>", "", render_html(page))
    return {
        "terminal": in_terminal(record, 80),
        "html": html.replace("&lt;", "<").replace("&gt;", ">"),
        "markdown": render_markdown(page),
    }


def test_each_cell_stands_once_with_its_interval(record: ReleaseRecord) -> None:
    found = drawn(record)
    for way, text in found.items():
        text = re.sub(r"[\s\u00a0]+", " ", text).replace("\\", "")
        for release in record.releases[:2]:
            for row in release.values:
                value, low, high = to_its_noise(row.value, *row.interval)
                value += " u" if row.drowned else ""
                assert f"{value} ({low} to {high})" in text, (way, row)
        assert text.count("in a table of its own, below") == 2
        assert "month by ward" in text


def test_no_line_of_a_terminal_is_broken(record: ReleaseRecord) -> None:
    lines = drawn(record)["terminal"].splitlines()
    for month in MONTHS:
        (first, second) = [line for line in lines if line.startswith(month)]
        assert first.count(" to ") == second.count(" to ") == len(WARDS)


@pytest.mark.parametrize("width", [30, 40, 50, 60, 66, 70, 80, 200])
def test_where_there_is_no_room_each_value_has_a_line(record: ReleaseRecord, width: int) -> None:
    """No number is cut off to make room."""
    text = in_terminal(record, width)
    assert "\N{HORIZONTAL ELLIPSIS}" not in text or width <= 30
    wide = text.count("in a table of its own, below")
    assert wide == (2 if width >= 70 else 0 if width <= 50 else wide)


def test_a_key_that_is_markup_is_shown_as_it_is() -> None:
    """Rich took it for a closing tag that nothing opened: the command broke off after the spend."""
    keys = ["[/x]", "[red]a"]
    policy = {**POLICY, "columns": {"s": {"keys": keys}, "t": {"keys": ["[bold]", "b"]}}}
    data = pyarrow.table({"s": keys * 9, "t": ["b"] * 18})
    answer = PrivateTable(data, policy=policy, ledger="sqlite://").count(by=("t", "s"), epsilon=1.0)
    for release in (answer.record, answer.record.model_copy(update={"name": "[/y]"})):
        console = Console(file=io.StringIO(), width=120)
        print_values(console, [release])
        shown = console.file.getvalue()  # type: ignore[attr-defined]
        assert all(key in shown for key in (*keys, "[bold]"))
