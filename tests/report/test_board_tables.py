"""A board's page shows every table that it announces, and says of longer ones where they are."""

from __future__ import annotations

import re

import pyarrow
import pytest

from leakcap.release import PrivateTable, Query
from leakcap.report.pages.release import _CELLS, _LINES
from leakcap.report.records import ReleaseRecord
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of
from release.world import policy_of
from seeded import SeededSource

COLUMNS = {
    "short": {"keys": list(range(5))},
    "lines": {"keys": list(range(_LINES))},
    "long": {"keys": list(range(_LINES + 1))},
    "across": {"keys": ["x", "y"]},
    "down": {"keys": list(range(_CELLS // 2))},
    "deep": {"keys": list(range(_CELLS // 2 + 1))},
}
ASKED = {
    "one": (),
    "short": ("short",),
    "lines": ("lines",),
    "long": ("long",),
    "crossed": ("down", "across"),
    "too deep": ("deep", "across"),
}


@pytest.fixture(scope="module")
def record() -> ReleaseRecord:
    data = pyarrow.table({name: [column["keys"][0]] for name, column in COLUMNS.items()})
    private = PrivateTable(
        data, policy=policy_of(columns=COLUMNS), ledger="sqlite://", source=SeededSource(1)
    )
    queries = [Query(name=name, statistic="count", by=by, epsilon=1.0) for name, by in ASKED.items()]
    releases = private.release(queries)
    return ReleaseRecord.of(private.policy, releases, private.statement(), private.budget())


def test_what_is_announced_is_shown(record: ReleaseRecord) -> None:
    """Each value of each release that the list names stands on the page, and no other does."""
    page = render_markdown(page_of(record, "board"))
    published = page[page.index("## What is published") : page.index("## Who is protected")]
    assert "full report" not in page
    shown = 0
    for release in record.releases:
        lines = [line for line in published.splitlines() if line.startswith(f"| {release.name}")]
        own = [f"{row.interval[0]:,.0f}" for row in release.values]
        if release.name in ("long", "too deep"):
            assert not lines
            assert f"{release.name} ({len(release.values)} values)" in published
        else:
            assert len(lines) == 1
            shown += len(release.values)
            assert all(low in published for low in own)
    number = r"-?[\d,.]+(?: u)?"
    lined = re.findall(rf"\| {number} \| {number} \| {number} \|$", published, re.MULTILINE)
    in_cells = re.findall(rf"{number} \({number} to {number}\)", published)
    assert (len(lined), len(in_cells), shown) == (1 + 5 + _LINES, _CELLS, 1 + 5 + _LINES + _CELLS)


def test_the_reviewer_s_page_has_all_of_them(record: ReleaseRecord) -> None:
    page = render_markdown(page_of(record, "reviewer"))
    assert "for their length" not in page
    assert len(re.findall(r"\[\^\d+\]", page)) >= sum(len(one.values) for one in record.releases)
