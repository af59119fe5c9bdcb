"""Pictures of counts: a tree's rectangles are as high as its counts, a table's tints as strong."""

from __future__ import annotations

import re
from html import unescape

from leakcap.report.records.tables import CellRecord, TableRecord
from leakcap.report.render.drawings import Node, icicle
from leakcap.report.words.margined import MarginedTable

RECT = re.compile(
    r'<title>([^<]*)</title><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" '
    r'class="([^"]*)"/>'
)


def test_each_node_lies_beside_its_parent_and_is_as_high_as_its_count() -> None:
    nodes = [
        Node(0, "all", 100, "all"),
        Node(1, "a", 70, "a"),
        Node(2, "a1", 50, "a1", "known"),
        Node(2, "a2", 20, "a2"),
        Node(1, "none", 0, "none"),
        Node(2, "none1", 0, "none1"),
        Node(1, "b", 30, "b"),
        Node(2, "b1", 30, "b1", "faint"),
    ]
    found = {
        name: (float(x), float(y), float(wide), float(high), kind)
        for name, x, y, wide, high, kind in RECT.findall(icicle(nodes, "t").svg)
    }
    assert set(found) == {"all", "a", "a1", "a2", "b", "b1"}
    tall = found["all"][3]
    parents = {"a": "all", "b": "all", "a1": "a", "a2": "a", "b1": "b"}
    for node in nodes:
        if node.size:
            x, y, wide, high, _ = found[node.name]
            assert abs(high - tall * node.size / 100) < 0.011
            if node.name in parents:
                above = found[parents[node.name]]
                assert abs(x - above[0] - wide) < 0.11
                assert above[1] - 0.011 <= y <= y + high <= above[1] + above[3] + 0.021
    assert abs(found["b"][1] - tall * 0.7) < 0.011
    assert (found["a1"][4], found["b1"][4], found["a"][4]) == ("node known", "node faint", "node")


def test_names_are_escaped_cut_and_left_out_where_there_is_no_room() -> None:
    hostile = "<script>alert(1)</script>" + "x" * 300
    nodes = [Node(0, hostile, 1000, hostile), Node(1, "tiny", 1, "tiny"), Node(1, "rest", 999, "rest")]
    svg = icicle(nodes, hostile).svg
    assert "<script" not in svg
    shown = [unescape(one) for one in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]
    assert len(shown) == 2
    assert shown[0].startswith("<script>")
    assert shown[0].endswith("…")
    assert shown[1] == "rest"
    assert icicle([], "nothing").svg.count("<rect") == 0
    assert icicle([Node(0, "all", 0, "")], "nobody").svg.count("<rect") == 0


def shades(rows: list[list[float]], heads: int) -> tuple[tuple[int, ...], ...]:
    """Those of a table of one column of keys, of these numbers, the last row its margin."""
    cells = [tuple(CellRecord(keys=(), value=v, lower=v, upper=v) for v in row) for row in rows]
    table = TableRecord(columns=("x",), asked=True, standard_deviation=1.0, cells=())
    told = tuple((("k",), own) for own in cells)
    return MarginedTable(table, ("x",), ("h",) * heads, told).shades


def test_tints_are_shares_of_the_largest_count_and_margins_have_none() -> None:
    assert shades([[90, 10, 100], [-5, 45, 40], [85, 55, 140]], 3) == (
        (0, 9, 1, 0), (0, 0, 4, 0), (0, 0, 0, 0),
    )  # fmt: skip
    assert shades([[30.0], [90.0], [120.0]], 1) == ((0, 3), (0, 9), (0, 0))
    assert shades([[-3.0], [0.0], [-3.0]], 1) == ((0, 0), (0, 0), (0, 0))
    assert shades([[7.0]], 1) == ((0, 0),)


def test_what_is_no_size_is_not_drawn_and_moves_nothing() -> None:
    """Trees have none of these; a picture of another source might."""
    own = [Node(0, "all", 10, "all"), Node(1, "a", 4, "a"), Node(1, "b", 6, "b")]
    strange = [*own[:2], Node(1, "less", -5, "less"), Node(1, "nan", float("nan"), "nan"), own[2]]
    assert icicle(strange, "t").svg == icicle(own, "t").svg
    assert "<rect" not in icicle([Node(0, "all", float("nan"), "all")], "t").svg


def test_nodes_too_narrow_for_a_name_have_none() -> None:
    levels = [Node(depth, f"level {depth}", 10, "words") for depth in range(60)]
    deep = icicle(levels, "t").svg
    assert deep.count("<rect") == 60
    assert "<text" not in deep
    assert "…" not in deep
    assert icicle(levels[:20], "t").svg.count("<text") == 20
