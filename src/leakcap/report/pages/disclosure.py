"""The report of an office's method: what a published cell tells of one person, beside noise of its error."""

from __future__ import annotations

import math

from leakcap.plain import counted
from leakcap.report.records.disclosure import DisclosureRecord
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
from leakcap.report.words.disclosure import HEADS, KNOWN, conclusions, disclosure_rows
from leakcap.statement.wording import at_most, percent

__all__ = ["disclosure_page"]

_SHORT = 3


def disclosure_page(record: DisclosureRecord, audience: Audience) -> Document:
    """The report of `leakcap disclosure`."""
    worst = record.cells[0]
    capacity, guess = worst.capacity[1], worst.guesses[0].upper
    cards = [
        Card(
            NotedNumber(percent(guess), Note("(1 + TV)/2", "exact sums of fractions")),
            "is how often a guess is right after the worst cell, from fifty-fifty",
        ),
        Card(
            NotedNumber(
                f"{at_most(math.inf if capacity is None else capacity)} nats",
                Note("max over priors of I(person; published)", "Shannon 1948"),
            ),
            "are told by the worst cell on average, whatever is believed before",
        ),
    ]
    if worst.sure_after is not None:
        cards.append(
            Card(
                NotedNumber(f"{worst.sure_after:,}", Note("least k with (1 + TV of k cells)/2 ≥ 0.95", "")),
                "such cells until a guess is right in 95 of 100 cases",
            )
        )
    rows, kinds = tuple(disclosure_rows(record)), len(record.cells)
    shown = rows if audience == "reviewer" else (*rows[: min(_SHORT, kinds)], *rows[kinds:])
    further = record.further + (0 if audience == "reviewer" else max(0, kinds - _SHORT))
    less = (
        (Paragraph(f"{counted(further, 'further kind')} of cells tell less.", soft=True),) if further else ()
    )
    sections = [
        Section("In short", (Cards(tuple(cards)), Items(tuple(conclusions(record))))),
        Section("Cell by cell", (TextTable(HEADS, shown, tuple(range(1, len(HEADS)))), *less)),
        Section("What is assumed", (Items(KNOWN),)),
    ]
    return Document(
        title=record.title or record.method,
        subtitle=f"What a cell tells about one person: {record.method}",
        kind="disclosure",
        audience=audience,
        sections=tuple(sections),
    )
