"""The report of a channel: everything that one matrix leaks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import groupby

from leakcap.report.records import ChannelRecord, MeasureRecord
from leakcap.report.render.document import (
    Audience,
    Card,
    Cards,
    Document,
    Items,
    Note,
    NotedNumber,
    Section,
    Text,
    TextTable,
)
from leakcap.report.sections import BITS
from leakcap.report.words.wording import quantity, sum_text
from leakcap.statement.wording import at_most, percent

__all__ = ["channel_page", "measure_grid", "measure_note"]

_EPSILON, _SHANNON, _BAYES = "ε, the largest log ratio", "Shannon capacity", "Bayes capacity"


def channel_page(record: ChannelRecord, audience: Audience) -> Document:
    """The report of `leakcap channel`."""
    known = {measure.measure: measure for measure in record.measures}
    sections = [
        Section("In short", (_cards(record, known),)),
        Section("What an attacker gains", (Items(tuple(_sentences(record, known))),)),
    ]
    if audience == "reviewer":
        for title, measures in groupby(record.measures, key=lambda measure: measure.section):
            sections.append(Section(title[:1].upper() + title[1:], (measure_grid(measures),)))
        sections.append(Section("What is assumed", (Items(_ASSUMED),)))
    secrets, outputs = record.shape
    return Document(
        title=record.file,
        subtitle=f"A channel from {secrets:,} secrets to {outputs:,} outputs",
        kind="channel",
        audience=audience,
        sections=tuple(sections),
    )


_ASSUMED: tuple[str, ...] = (
    "The matrix is exactly what the mechanism does, floating-point noise and timing included.",
    "One output is seen. Several add up: see `leakcap.accounting`, or Channel ** k.",
    "The lines under the prior hold for that belief; the capacities hold for every belief.",
    "What depends on the secret is bounded by the same capacities; what does not is not learned here.",
)


def measure_note(measure: MeasureRecord) -> Note:
    """The formula and the source of a measure, as a footnote."""
    return Note(measure.formula, f"{measure.source}; {measure.method}" if measure.source else measure.method)


def _upper(measure: MeasureRecord) -> float:
    return math.inf if measure.upper is None else measure.upper


def _another(record: ChannelRecord) -> str:
    return "another" if record.neighbours == "all" else "a neighbouring one"


def _secrets(record: ChannelRecord) -> str:
    return "secrets" if record.neighbours == "all" else "neighbouring secrets"


def _cards(record: ChannelRecord, known: dict[str, MeasureRecord]) -> Cards:
    epsilon, shannon, bayes = known[_EPSILON], known[_SHANNON], known[_BAYES]
    bits = _upper(shannon) * BITS
    return Cards(
        (
            Card(
                NotedNumber(quantity(_upper(epsilon), _upper(epsilon), "nats"), measure_note(epsilon)),
                f"is ε: no output weighs more than that for one secret against {_another(record)}",
            ),
            Card(
                NotedNumber(f"{at_most(bits)} bits", measure_note(shannon)),
                "are told on average, at most, whatever is believed before",
            ),
            Card(
                NotedNumber(f"× {at_most(_upper(bayes))}", measure_note(bayes)),
                "is how much likelier a guess of the secret becomes, at most",
            ),
        )
    )


def _sentences(record: ChannelRecord, known: dict[str, MeasureRecord]) -> list[Text]:
    secrets = record.shape[0]
    epsilon, bayes, shannon = known[_EPSILON], known[_BAYES], known[_SHANNON]
    told: list[Text] = []
    if math.isfinite(_upper(epsilon)):
        factor = math.exp(min(_upper(epsilon), 700.0))
        if _upper(epsilon) <= 700.0:
            told.append(
                (
                    f"Whatever is seen, odds of 1 to 1 between two {_secrets(record)} become at most ",
                    NotedNumber(f"{at_most(factor)} to 1", measure_note(epsilon)),
                    ".",
                )
            )
    else:
        told.append(
            f"Some output rules a secret out: odds between two {_secrets(record)} can become certainty."
        )
    best = min(_upper(bayes) / secrets, 1.0)
    told.append(
        (
            f"One guess among {secrets:,} equally likely secrets is right with probability ",
            NotedNumber(percent(best), measure_note(bayes)),
            f" at most on average over the outputs; without the output with 1 in {secrets:,}.",
        )
    )
    told.append(
        (
            "On average an output tells at most ",
            NotedNumber(quantity(_upper(shannon), _upper(shannon), "nats"), measure_note(shannon)),
            f" ({at_most(_upper(shannon) * BITS)} bits); the secret itself has at most "
            f"{at_most(math.log2(secrets))} bits.",
        )
    )
    return told


def measure_grid(measures: Iterable[MeasureRecord]) -> TextTable:
    """Measures as a table, one a row, with how each was found."""
    rows = tuple(_row(measure) for measure in measures)
    return TextTable(("measure", "value", "in bits", "how it was found"), rows, (1, 2))


def _row(measure: MeasureRecord) -> tuple[Text, ...]:
    low = -math.inf if measure.lower is None else measure.lower
    high = _upper(measure)
    value = NotedNumber(quantity(low, high, measure.unit), measure_note(measure))
    bits = sum_text(high * BITS) if measure.unit == "nats" and 0.0 <= high < math.inf else ""
    return (measure.measure, value, bits, measure.method)
