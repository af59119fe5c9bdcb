"""The report of a conversion: what follows from a guarantee, step by step."""

from __future__ import annotations

import math

from leakcap.report.records import ConvertRecord
from leakcap.report.render.document import (
    Audience,
    Card,
    Cards,
    Document,
    Note,
    NotedNumber,
    Paragraph,
    Section,
    TextTable,
)
from leakcap.report.words.wording import sum_text

__all__ = ["convert_page"]


def convert_page(record: ConvertRecord, audience: Audience) -> Document:
    """The report of `leakcap convert`."""
    value = math.inf if record.value is None else record.value
    route = Note(
        "; ".join(step.formula for step in record.steps) or "the same guarantee",
        "; ".join(step.source for step in record.steps),
    )
    kept = "Some mechanism attains it: nothing stronger follows."
    text = kept if record.tight else "Something stronger may follow: not every step is known to be attained."
    sections = [
        Section(
            "In short",
            (
                Cards((Card(NotedNumber(sum_text(value), route), f"is what {record.to} states"),)),
                Paragraph(f"From {record.from_} follows {record.to}. {text}"),
            ),
        )
    ]
    if audience == "reviewer":
        rows = tuple((s.from_, s.to, s.formula, s.source, s.attained_by or "") for s in record.steps)
        heads = ("from", "to", "formula", "source", "attained by")
        sections.append(Section("The route", (TextTable(heads, rows),)))
    return Document(record.to, f"What follows from {record.from_}", "conversion", audience, tuple(sections))
