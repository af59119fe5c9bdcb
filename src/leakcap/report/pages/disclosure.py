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
_HEADS = (
    "Belief is that in presence after the worst published value, from one half. The columns with cells say "
    "how often the best guess is right after so many; the last, after how many it is in 95 of 100 cases."
)


def disclosure_page(record: DisclosureRecord, audience: Audience) -> Document:
    """The report of `leakcap disclosure`."""
    worst = record.cells[0]
    capacity, guess = worst.capacity[1], worst.guesses[0].upper
    cards = [
        Card(
            NotedNumber(percent(guess), Note("(1 + TV)/2", "exact sums of fractions")),
            "is how often somebody guesses right, from one cell of the worst kind, whether a person is in it",
        ),
        Card(
            NotedNumber(
                f"{at_most(math.inf if capacity is None else capacity)} nats",
                Note("max over priors of I(person; published)", "Shannon 1948"),
            ),
            "are told by such a cell on average at most; the whole answer, yes or no, is 0.694",
        ),
    ]
    if worst.sure_after is not None:
        cards.append(
            Card(
                NotedNumber(f"{worst.sure_after:,}", Note("least k with (1 + TV of k cells)/2 ≥ 0.95", "")),
                "such cell is enough to be right in 95 of 100 cases"
                if worst.sure_after == 1
                else "such cells are enough to be right in 95 of 100 cases",
            )
        )
    rows, kinds = tuple(disclosure_rows(record)), len(record.cells)
    few = range(kinds) if audience == "reviewer" else _few(record)
    shown = (*(rows[place] for place in few), *rows[kinds:])
    further = record.further + kinds - len(few)
    less = (
        (Paragraph(f"{counted(further, 'further kind')} of cells tell no more.", soft=True),)
        if further
        else ()
    )
    sections = [
        Section("In short", (Cards(tuple(cards)), Items(tuple(conclusions(record))))),
        Section(
            "Cell by cell",
            (TextTable(HEADS, shown, tuple(range(1, len(HEADS)))), *less, Paragraph(_HEADS, soft=True)),
        ),
        Section("What is assumed", (Items(KNOWN),)),
    ]
    return Document(
        title=record.title or record.method,
        subtitle=f"What a cell tells about one person: {record.method}",
        kind="disclosure",
        audience=audience,
        sections=tuple(sections),
    )


def _few(record: DisclosureRecord) -> list[int]:
    """The kinds of cells that a board sees: the worst, and the worst of those with many people."""
    places = list(range(min(_SHORT, len(record.cells))))
    large = [k for k, cell in enumerate(record.cells) if any(n >= record.start for n in cell.others)]
    return places if not large or large[0] in places else [*places[:-1], large[0]]
