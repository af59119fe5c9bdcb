"""The report of a fitted model: what is published, what it tells, what it cost."""

from __future__ import annotations

import math

from leakcap.report.records import CoefficientRecord, FitRecord, FittedRecord
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
    Text,
    TextTable,
)
from leakcap.report.sections import (
    EPSILON,
    PERSON,
    certificate_section,
    gains_section,
    headlined,
    price_cells,
    statement_section,
)
from leakcap.report.words.publication import estimated
from leakcap.report.words.wording import signed, sum_text
from leakcap.statement.restated import restated

__all__ = ["fit_page"]

_RENYI = Note("max over neighbours of D_α(P‖P')", "Mironov 2017")
_LEVEL = Note(
    "sup over beliefs of Sibson's information of order α about one person; Shannon's at 1", "docs/models.md"
)


def fit_page(record: FitRecord, audience: Audience) -> Document:
    """The report of `leakcap fit`."""
    if record.fit is None or record.so_far is None:
        return _demonstration(record.demonstration or {}, audience)
    fit, total = record.fit, restated(record.so_far)
    sections = [Section("What is published", tuple(_published(fit)))]
    sections.append(Section("What everything so far lets an attacker do", headlined(total)))
    sections.append(gains_section(total, "In odds"))
    if audience == "reviewer":
        orders = tuple(
            (f"{o.alpha:g}", NotedNumber(_nats(o.renyi), _RENYI), NotedNumber(_nats(o.level), _LEVEL))
            for o in fit.guarantee
        )
        heads = ("order α", "Rényi divergence, nats", "Sibson capacity, nats")
        sections += [
            Section("The guarantee of this fit", (TextTable(heads, orders, (0, 1, 2)), *_asked(fit))),
            Section(
                "What it cost", (TextTable(_PRICE, (price_cells(fit.price),), (0, 1, 2, 3)), *_entry(fit))
            ),
            statement_section(total, "Everything that all answers so far tell"),
        ]
    sections += certificate_section(record.certificate)
    sections.append(Section("What is assumed, and what is not protected", (Items(_LIMITS, caution=True),)))
    return Document(
        title=record.dataset or fit.model,
        subtitle=f"A private fit: {fit.model}",
        kind="fit",
        audience=audience,
        sections=tuple(sections),
    )


_PRICE = ("ε", "δ", "nats, person", "nats, whole table")
_LIMITS: tuple[Text, ...] = (
    "The bounds, scales and columns that the model was given are public: they were not read off the data.",
    "Facts about people in general are not protected: a coefficient is such a fact.",
    "Predictions made from these coefficients tell nothing more about the people whose data was fitted.",
)


def _published(fit: FittedRecord) -> list[Cards | TextTable | Paragraph]:
    rows = tuple(_row(one) for one in fit.coefficients)
    return [
        Cards(
            (
                Card(NotedNumber(f"ε = {sum_text(fit.price.epsilon)}", EPSILON), "was paid for this fit"),
                Card(
                    NotedNumber(f"{_nats(fit.price.nats_person)} nats", PERSON),
                    "are told about one person on average, at most",
                ),
            )
        ),
        TextTable(("", "value", "interval"), rows, (1, 2)),
        Paragraph(f"Intervals: {fit.intervals}. Noise: {fit.noise}.", soft=True),
    ]


def _row(one: CoefficientRecord) -> tuple[Text, ...]:
    return one.name, *estimated(one.value, one.interval)


def _asked(fit: FittedRecord) -> list[Paragraph]:
    if fit.asked is None:
        return []
    said = "no bound is known" if fit.asked.epsilon is None else f"ε = {sum_text(fit.asked.epsilon)}"
    return [Paragraph(f"At δ = {sum_text(fit.asked.delta)}: {said}.")]


def _entry(fit: FittedRecord) -> list[Paragraph]:
    again = " It was repeated from there for free." if fit.repeated else ""
    return [Paragraph(f"Entry {fit.entry} of the ledger.{again}", soft=True)]


def _nats(value: float | None) -> str:
    return sum_text(math.inf if value is None else value)


def _demonstration(facts: dict[str, float], audience: Audience) -> Document:
    moved, bound = facts["moved"], facts["bound"]
    ridge, ridge_bound = facts["ridge_moved"], facts["ridge_bound"]
    rows: tuple[tuple[Text, ...], ...] = (
        ("the lecture's regression", signed(moved, upward=True), signed(bound, upward=False)),
        ("with a ridge of 0.1", signed(ridge, upward=True), signed(ridge_bound, upward=False)),
    )
    return Document(
        title="The lecture's bound on least squares does not hold",
        subtitle="A demonstration: nothing was read and nothing was spent",
        kind="fit",
        audience=audience,
        sections=(
            Section(
                "By how much one record moves the minimiser",
                (
                    TextTable(("", "it moves by", "the bound says"), rows, (1, 2)),
                    Paragraph(
                        f"On two tables of {facts['rows']:,.0f} rows that differ in one. Noise of the scale "
                        "that the first bound asks for tells the tables apart. Take kind `linear` or `ridge`."
                    ),
                ),
            ),
        ),
    )
