"""The page on conversions lists exactly the edges of the graph."""

from __future__ import annotations

from pathlib import Path

from leakcap.definition import Implication, edges

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "conversions.md"
HEAD = "| from | to | value | source | attained by |\n|---|---|---|---|---|"


def row(edge: Implication) -> str:
    keywords = f" ({', '.join(edge.required)})" if edge.required else ""
    attained = "looser, published" if edge.loose else edge.attained_by or "—"
    cells = (edge.source.__name__, edge.target.__name__ + keywords, edge.formula, edge.citation, attained)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table() -> str:
    ordered = sorted(edges(), key=lambda e: (e.source.__name__, e.target.__name__, e.loose, e.name))
    return "\n".join([HEAD, *(row(edge) for edge in ordered)])


def test_the_page_lists_every_edge_as_it_is() -> None:
    assert len(edges()) > 70
    assert table() in PAGE.read_text(encoding="utf-8")
