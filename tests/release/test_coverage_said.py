"""Which figure an interval holds: every statistic says so, and names the rows kept where rows can be cut.

The other route is the exact totals themselves: where a larger `max_rows` changes them, rows were cut.
"""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from leakcap.errors import InvalidQuery
from leakcap.release import Policy, PrivateTable, Query, preview
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query
from leakcap.release.statistics import statistics
from leakcap.report.records import PreviewRecord, ReleaseRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.render.sheet import values_text
from leakcap.report.sources import page_of
from leakcap.report.terminal.previews import print_preview
from leakcap.report.terminal.tables import print_release
from release.asked import contents
from release.world import answers, policy_of, table
from seeded import SeededSource

# Of three people: 24 rows, 3 rows and one, which are unlike one another.
PEOPLE = [1] * 24 + [2] * 3 + [3]
ROWS = [
    {"id": id_, "x": i % 9 - 2.5, "y": 2.0 + i % 6, "d": "abc"[i % 3], "k": 1 + i % 2, "f": i % 5 == 0}
    for i, id_ in enumerate(PEOPLE)
]
WAYS: list[dict[str, Any]] = [{}, {"by": ("k",)}, {"where": "f"}, {"by": ("d",), "where": "k = 1"}]
CUT = {"id": "id", "max_rows": 2, "max_groups": 1}
UNCUT = {"id": "id", "max_rows": 1000}


def asked() -> list[dict[str, Any]]:
    """Each statistic with its fields, in several ways."""
    return [{"name": f"q{i}", "epsilon": 1.0, **content, **way} for i, content in enumerate(contents()) for way in WAYS]  # fmt: skip # noqa: E501


TABLE = table(ROWS)


def planned_or_refused(fields: dict[str, Any], policy: Policy) -> Plan | None:
    try:
        return plan_query(Query(**fields), policy)
    except InvalidQuery:
        return None


def test_what_says_the_table_uses_all_rows_and_what_may_be_cut_says_so() -> None:
    said: dict[str, set[str]] = {}
    cut, uncut = policy_of(unit=CUT), policy_of(unit=UNCUT)
    for fields in asked():
        mine, all_ = planned_or_refused(fields, cut), planned_or_refused(fields, uncut)
        if mine is None:
            continue
        assert all_ is not None or fields["statistic"] == "rows_cut"
        covers = mine.coverage.covers
        if all_ is not None and answers(mine, TABLE) != answers(all_, TABLE):
            assert covers == "rows kept", fields
        said.setdefault(fields["statistic"], set()).add(covers)
    assert said.keys() == statistics().keys()
    assert {name for name, found in said.items() if "table" in found} == {
        "distinct",
        "rows_cut",
        "rows_per_person",
    }


def said_beside(fields: dict[str, Any]) -> str:
    """What is said of the intervals of surveys, whatever is cut."""
    weighted = fields["statistic"] in ("weighted_mean", "weighted_ratio", "weighted_total")
    return "Sample: the figure of these rows with their weights, 95 % over the noise alone." * weighted


def test_where_a_row_is_the_unit_nothing_is_cut() -> None:
    for fields in asked():
        try:
            plan = plan_query(Query(**fields), policy_of())
        except InvalidQuery:
            continue
        assert (plan.coverage.covers, plan.coverage.about) == ("table", said_beside(fields))


def told(policy: Any) -> tuple[list[Any], ReleaseRecord, PreviewRecord]:
    """Two releases, and the records of them and of their plan."""
    queries = [
        Query(name="rows", statistic="count", epsilon=1.0),
        Query(name="wards", statistic="count", by=("d",), epsilon=1.0),
        Query(name="people", statistic="distinct", epsilon=1.0),
    ]
    private = PrivateTable(table(ROWS), policy=policy, ledger="sqlite://", source=SeededSource(1))
    releases = private.release(queries)
    record = ReleaseRecord.of(policy, releases, private.statement(), private.budget())
    assert [one.coverage for one in private.release(queries)] == [one.coverage for one in releases]
    return releases, record, PreviewRecord.of(policy, preview(queries, policy=policy))


def shown(policy: Any) -> dict[str, str]:
    """Every rendering of the same answers, and of their plan."""
    releases, record, plan = told(policy)
    console = Console(file=io.StringIO(), width=500, highlight=False)
    planned = Console(file=io.StringIO(), width=500, highlight=False)
    print_release(console, record)
    print_preview(planned, plan)
    found = {
        "terminal": console.file.getvalue(),  # type: ignore[attr-defined]
        "planned": planned.file.getvalue(),  # type: ignore[attr-defined]
        "text": "\n".join(map(str, releases)),
        "notebook": "".join(one._repr_html_() for one in releases),
        "csv": values_text(record.releases),
        "json": str(record.to_dict()),
        "planned json": str(plan.to_dict()),
    }
    for audience in ("reviewer", "board"):
        for name, one in (("release", record), ("plan", plan)):
            page = page_of(one, audience)  # type: ignore[arg-type]
            found[f"{name} html {audience}"] = render_html(page)
            found[f"{name} markdown {audience}"] = render_markdown(page)
    return {name: re.sub(r"\s+", " ", text) for name, text in found.items()}


@pytest.mark.parametrize("unit", [CUT, "row"], ids=["cut", "whole"])
def test_every_rendering_says_which_figure_its_intervals_hold(unit: Any) -> None:
    policy = policy_of(unit=unit)
    if unit == "row":
        _, record, plan = told_of_rows(policy)
        assert {one.covers for one in (*record.releases, *plan.statistics)} == {"table"}
        return
    for name, text in shown(policy).items():
        assert "rows kept" in text, name
        if name != "csv":
            assert "at most 2 of each id: the 95 % are over the noise alone" in text, name
            assert "at most 2 of each id, in at most 1 group: the 95 %" in text, name


def told_of_rows(policy: Any) -> tuple[list[Any], ReleaseRecord, PreviewRecord]:
    """The same where a row is the unit: nothing is cut, and no rendering speaks of it."""
    query = Query(name="rows", statistic="count", epsilon=1.0)
    private = PrivateTable(table(ROWS), policy=policy, ledger="sqlite://", source=SeededSource(1))
    releases = private.release([query])
    record = ReleaseRecord.of(policy, releases, private.statement(), private.budget())
    text = render_html(page_of(record, "reviewer")) + str(releases[0])
    assert "rows kept" not in text
    assert "the table itself gives" in text
    return releases, record, PreviewRecord.of(policy, preview([query], policy=policy))


def test_a_sheet_says_it_line_by_line() -> None:
    _, record, _ = told(policy_of(unit=CUT))
    lines = values_text(record.releases).splitlines()
    assert lines[0].endswith('"covers"')
    assert [line.rpartition(",")[2] for line in lines[1:]] == ['"rows kept"'] * 4 + ['"table"']
