"""The report of `leakcap dalenius`: what is learned about something correlated."""

from __future__ import annotations

import math
from itertools import groupby

from leakcap.report.pages.channel import measure_grid, measure_note
from leakcap.report.records import DaleniusRecord, MeasureRecord
from leakcap.report.render.document import Audience, Document, Items, NotedNumber, Section, Text
from leakcap.statement.wording import at_most

__all__ = ["dalenius_page"]

_LIFT, _BAYES = "lift capacity (e^ε)", "Bayes capacity"


def dalenius_page(record: DaleniusRecord, audience: Audience) -> Document:
    """The report of `leakcap dalenius`."""
    sections = [Section("What an attacker learns", (Items(tuple(_sentences(record))),))]
    if audience == "reviewer":
        for title, measures in groupby(record.measures, key=lambda measure: measure.section):
            sections.append(Section(title[:1].upper() + title[1:], (measure_grid(measures),)))
    values = record.shape[0]
    return Document(
        title=record.file,
        subtitle=f"What it tells about {record.correlation}, of {values:,} values",
        kind="Dalenius leakage",
        audience=audience,
        sections=tuple(sections),
    )


def _sentences(record: DaleniusRecord) -> list[Text]:
    known = {(measure.section, measure.measure): measure for measure in record.measures}
    (under, correlated, anything) = dict.fromkeys(measure.section for measure in record.measures)
    return [
        (
            "Under the stated belief some output makes some value ",
            _times(known[under, "lift"]),
            " as likely as before.",
        ),
        (
            "Whatever is believed about it, no output makes a value of it more than ",
            _times(known[correlated, _LIFT]),
            " as likely, and on average a guess becomes at most ",
            _times(known[correlated, _BAYES]),
            " as good.",
        ),
        (
            "Whatever else is correlated with the secret, and however, these are at most ",
            _times(known[anything, _LIFT]),
            " and ",
            _times(known[anything, _BAYES]),
            ".",
        ),
    ]


def _times(measure: MeasureRecord) -> NotedNumber:
    upper = math.inf if measure.upper is None else measure.upper
    words = f"{at_most(upper)} times" if math.isfinite(upper) else "without limit"
    return NotedNumber(words, measure_note(measure))
