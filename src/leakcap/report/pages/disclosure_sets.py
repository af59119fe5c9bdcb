"""The report of a whole set of tables: what all that is published tells of one person."""

from __future__ import annotations

from leakcap.plain import counted
from leakcap.report.records.disclosure_sets import TableSetRecord
from leakcap.report.render.document import (
    Audience,
    Card,
    Cards,
    Document,
    Items,
    Note,
    NotedNumber,
    Paragraph,
    Section,
    TextTable,
)
from leakcap.report.words.disclosure_sets import SET_HEADS, set_assumptions, set_conclusions, set_rows
from leakcap.statement.wording import percent

__all__ = ["table_set_page"]

_SHORT = 3


def table_set_page(record: TableSetRecord, audience: Audience) -> Document:
    """The report of `leakcap disclosure` with tables."""
    worst = record.places[0]
    cards = [
        Card(
            NotedNumber(
                percent(worst.guess[1]),
                Note("(1 + TV)/2 of all published cells together", "theory, cell keys"),
            ),
            "is how often a guess is right at most at the worst place, from fifty-fifty",
        ),
        Card(
            NotedNumber(f"{record.published:,}", Note("cells of all tables", "")),
            f"cells in {counted(len(record.tables), 'table')} are published of the same people",
        ),
    ]
    rows = tuple(set_rows(record))
    shown = rows if audience == "reviewer" else rows[:_SHORT]
    left = record.further + len(rows) - len(shown)
    less = (Paragraph(f"{counted(left, 'further place')}: no worse than these.", soft=True),) if left else ()
    tables = tuple(" × ".join(by) or "the total" for by in record.tables)
    sections = [
        Section("In short", (Cards(tuple(cards)), Items(tuple(set_conclusions(record))))),
        Section("Place by place", (TextTable(SET_HEADS, shown, tuple(range(2, len(SET_HEADS)))), *less)),
        Section("What is published", (Items(tables),)),
        Section("What is assumed", (Items(set_assumptions(record)),)),
    ]
    return Document(
        title=record.title or record.method,
        subtitle=f"What all tables together tell about one person: {record.method}",
        kind="disclosure",
        audience=audience,
        sections=tuple(sections),
    )
