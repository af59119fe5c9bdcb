"""The report of a question about a group: what a tree of published margins tells of it."""

from __future__ import annotations

from leakcap.report.records.disclosure_groups import DisclosureGroupRecord
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
from leakcap.report.words.disclosure_groups import (
    GROUP_HEADS,
    group_assumptions,
    group_conclusions,
    group_figures,
    group_rows,
    published_words,
)
from leakcap.statement.wording import percent

__all__ = ["group_page"]

_BELIEFS = (
    "Before: the belief in a secret beforehand. After: the least and the greatest belief that something "
    "published can leave behind."
)


def group_page(record: DisclosureGroupRecord, audience: Audience) -> Document:
    """The report of `leakcap disclosure` about a group."""
    cards = [
        Card(
            NotedNumber(
                percent(record.guess[1]),
                Note("mean over secrets of the greatest chance of each outcome", "theory, cell keys"),
            ),
            f"is how often, at most, a guess is right about which of {len(record.secrets)} secrets is true; "
            f"without what is published it is {percent(record.even[1])}",
        ),
        Card(
            NotedNumber(percent(record.sure[1]), Note("chance of outcomes under one secret alone", "")),
            "is how often, at most, no doubt is left",
        ),
    ]
    sections = [
        Section("In short", (Cards(tuple(cards)), Items(tuple(group_conclusions(record))))),
        Section(
            "Secret by secret",
            (
                TextTable(GROUP_HEADS, tuple(group_rows(record)), (2, 3, 4)),
                Paragraph(_BELIEFS, soft=True),
            ),
        ),
        Section("What was found", (TextTable(("figure", "at most"), tuple(group_figures(record)), (1,)),)),
        Section("What is published", (Items(published_words(record)),)),
        Section("What is assumed", (Items(group_assumptions(record)),)),
    ]
    return Document(
        title=record.title or record.method,
        subtitle=f"What cells and margins together tell about a group: {record.method}",
        kind="disclosure",
        audience=audience,
        sections=tuple(sections),
    )
