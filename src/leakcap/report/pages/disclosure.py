"""The report of an office's method: what a published cell tells of one person, beside noise of its error."""

from __future__ import annotations

import math

from leakcap.report.records.disclosure import DisclosureRecord
from leakcap.report.render.document import (
    Audience,
    Card,
    Cards,
    Document,
    Items,
    Note,
    NotedNumber,
    Section,
    TextTable,
)
from leakcap.report.words.disclosure import HEADS, KNOWN, conclusions, disclosure_rows
from leakcap.statement.wording import at_most, percent

__all__ = ["disclosure_page"]

_MOST_ROWS = 60


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
    rows = tuple(disclosure_rows(record))
    shown = rows if audience == "reviewer" else (*rows[:3], *rows[len(record.cells) :])
    sections = [
        Section("In short", (Cards(tuple(cards)), Items(tuple(conclusions(record))))),
        Section("Cell by cell", (TextTable(HEADS, shown[:_MOST_ROWS], tuple(range(1, len(HEADS)))),)),
        Section("What is assumed", (Items(KNOWN),)),
    ]
    return Document(
        title=record.title or record.method,
        subtitle=f"What a cell tells about one person: {record.method}",
        kind="disclosure",
        audience=audience,
        sections=tuple(sections),
    )
