"""The page of a tree: every count in its place, what is exact at the top, what is not shown counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from command_line import ROOT
from leakcap.report.records.hierarchies import HierarchyRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of, record_of
from leakcap.report.words.trees import levels_that_fit, nodes_in_order
from leakcap.statement.statement import OF_THE_NOISE

KEPT = json.loads((ROOT / "tests/report/version_1/hierarchy.json").read_text(encoding="utf-8"))


def record(**changes: Any) -> HierarchyRecord:
    found = record_of({**KEPT, **changes})
    assert isinstance(found, HierarchyRecord)
    return found


def level(name: str, parents: list[int], first: int) -> dict[str, Any]:
    """A level whose node i has the count `first` + i."""
    many = len(parents) or 1
    counts = [first + i for i in range(many)]
    told: dict[str, Any] = {"level": name, "parents": parents, "variance": 4.0, "values": counts}
    told |= {"keys": [f"{name}{i}" for i in range(many)], "estimates": [float(n) for n in counts]}
    told |= {"lower": [n - 7 for n in counts], "upper": [n + 7 for n in counts]}
    return told | {"standard_deviations": [3.5] * many, "drowned": [0], "exact": []}


# Children of one parent need not stand together in their level.
LEVELS = [level("land", [], 1000), level("town", [0, 0, 0], 2000), level("part", [2, 0, 2, 1], 3000)]


def test_each_node_stands_below_its_parent_with_its_own_count() -> None:
    found = record(levels=LEVELS, exact=[], exact_statement="")
    text = render_markdown(page_of(found, "reviewer"))
    text = text.partition("## What is published")[2].partition("Each count is")[0]
    lines = [line for line in text.splitlines() if " to " in line and line.startswith("|")]
    shown = [tuple(cell.split("<")[0].strip() for cell in line.strip("|").split("|")) for line in lines]
    order = ["land0", "– town0", "– – part1", "– town1", "– – part3", "– town2", "– – part0", "– – part2"]
    counts = ["1,000 u", "2,000 u", "3,001", "2,001", "3,003", "2,002", "3,000 u", "3,002"]
    assert [name.split("[")[0] for name, *_ in shown] == order
    assert [count for _, _, count, _ in shown] == counts
    assert shown[2][3] == "2,994 to 3,008"


def test_exact_totals_stand_at_the_top_and_have_no_interval() -> None:
    text = render_markdown(page_of(record(), "board"))
    top = text.partition("## What is published")[0]
    assert record().exact_statement
    assert record().exact_statement in top
    assert "| 569 | exact |" in text.replace("**", "")
    assert f"Exact in total: {record().exact[0].reason}" in text


@pytest.mark.parametrize("audience", ["board", "reviewer"])
def test_beside_an_exact_total_nothing_is_promised_of_being_in_the_table(audience: Any) -> None:
    """Under add-remove-one a table with a person and one without never agree in an exact total."""
    presence = (
        "whether it is in the table at all",
        "is in the table at all becomes right",
        "Joining changes",
    )
    lines = {line["key"] for line in KEPT["so_far"]["lines"]}
    assert (KEPT["policy"]["neighbours"], {"presence", "joining"} & lines) == (
        "add-remove-one", {"presence", "joining"},
    )  # fmt: skip
    told = render_markdown(page_of(record(), audience)).replace("\\", "")
    assert not [words for words in presence if words in told]
    assert "Not hidden: whether one patient_id is counted in an exact total, and in which." in told
    above, _, rest = told.partition("What everything published so far lets an attacker do")
    assert rest.strip().startswith(OF_THE_NOISE)
    assert above.index(record().exact_statement) < above.index("fifty-fifty guess")
    noisy = render_markdown(page_of(record(exact=[], exact_statement=""), audience))
    assert presence[0] in noisy
    assert [words for words in presence if words in noisy] == list(
        presence[: 1 if audience == "board" else 3]
    )
    assert OF_THE_NOISE not in noisy


def test_a_large_tree_is_cut_at_a_level_and_the_rest_counted() -> None:
    wide = [LEVELS[0], level("town", [0] * 30, 2000), level("part", [i // 2 for i in range(60)], 3000)]
    found = record(levels=wide, exact=[], exact_statement="")
    assert levels_that_fit(found, 40) == 2
    board = render_markdown(page_of(found, "board"))
    assert "not on this page: 60 nodes" in board
    assert "part0" not in board
    assert "not on this page" not in render_markdown(page_of(found, "reviewer"))
    flat = record(levels=[LEVELS[0], level("town", [0] * 500, 2000)], exact=[], exact_statement="")
    assert len(list(nodes_in_order(flat, levels_that_fit(flat, 400)))) == 1
    assert "not on this page: 500 nodes" in render_markdown(page_of(flat, "reviewer"))


def test_a_level_alone_that_is_too_large_is_cut() -> None:
    alone = level("town", [], 2000) | {
        name: [one] * 500 for name, one in (("keys", "t"), ("values", 1), ("lower", 0), ("upper", 2))
    }
    alone |= {"estimates": [1.0] * 500, "standard_deviations": [1.0] * 500}
    found = record(levels=[alone], exact=[], exact_statement="")
    assert "not on this page: 460 nodes" in render_markdown(page_of(found, "board"))


def test_keys_never_become_markup() -> None:
    evil = record(levels=[LEVELS[0] | {"keys": ["<script>alert(1)</script>"]}], exact=[], exact_statement="")
    assert "<script>alert" not in render_html(page_of(evil, "board"))
