"""The report of microdata: its tables' distances as bars, its columns as pictures, what the file tells."""

from __future__ import annotations

import math
from collections.abc import Iterator

from leakcap.plain import counted
from leakcap.release.results.record import KeyValue, figure_held
from leakcap.report.pages.games import games_section, require_sound_games
from leakcap.report.plots.synthesis import column_chart, distances_chart
from leakcap.report.records.synthesis import FileTableRecord, RegressionRecord, SynthesisRecord
from leakcap.report.records.versions import same_as_line
from leakcap.report.render.document import (
    Audience,
    Block,
    Card,
    Cards,
    Document,
    Items,
    Note,
    NotedNumber,
    Paragraph,
    Plot,
    Section,
    Text,
    TextTable,
)
from leakcap.report.sections import (
    PERSON,
    RHO,
    caps_section,
    certificate_section,
    gains_section,
    headline,
    policy_section,
    protection_section,
    statement_section,
)
from leakcap.report.words.files import (
    ERRORS,
    coefficient_cells,
    coefficient_name,
    file_rows,
    paid_for_file,
    regression_told,
)
from leakcap.report.words.margined import chosen_told, table_name
from leakcap.report.words.promises import not_counted
from leakcap.report.words.publication import NOT_COMPARED, headings
from leakcap.report.words.wording import sum_text
from leakcap.statement.restated import restated

__all__ = ["synthesis_page"]

# So many tables are drawn, and listed; so many columns with so many keys at most are drawn.
_DRAWN, _LISTED = 24, 500
_COLUMNS: dict[Audience, int] = {"board": 4, "reviewer": 24}
_KEYS = 40
_DISTANCE = Note("Σ|file − released| over the cells, the file's counts times its weight", "")
_BOUND = Note(
    "Σ|file − released| + √(2/π)·Σσ + √(2 ln 20·cells·λ) + Σ|w|, λ the largest eigenvalue of the noise's "
    "covariance; where tables were chosen, √(2 ln 20N·cells·λ) for the N noises that they could have had, "
    "K among K tables of two columns",
    "Tsirelson, Ibragimov & Sudakov 1976; docs/theory/tables.md, docs/theory/choosing-tables.md",
)
_LEAST_SQUARES = Note(
    "(Σuu')⁻¹Σu·y with noisy sums; the interval encloses what solves any sums that are as far off as their "
    "noise may be, all weighted sums at once: w'noise ≤ c√(w'Cw) + Σ|w|s, c² the 95 % point of χ²",
    "Scheffé 1953; Neumaier 1990, section 4.1; docs/theory/regression-from-tables.md",
)
_ASSOCIATION = Note("Cramér's V: √(χ²/(n(k − 1))), from 0 to 1, of the file's rows", "Cramér 1946")


def synthesis_page(record: SynthesisRecord, audience: Audience) -> Document:
    """The report of a file that `leakcap synthesize` made."""
    full, own, total = audience == "reviewer", restated(record.statement), restated(record.so_far)
    if record.games or record.proven:
        nats = math.inf if record.nats_person is None else record.nats_person
        require_sound_games(record.games, record.proven, record.policy, nats, one=True)
    sections = [
        Section("In short", (headline(own),)),
        Section("The file", tuple(_file(record, full))),
        Section("How far its tables are off", tuple(_errors(record, full))),
    ]
    if record.regression is not None:
        sections.append(Section("A regression in the file", tuple(_regression(record.regression))))
    if drawn := list(_columns(record, audience)):
        sections.append(Section("Its columns, one by one", tuple(drawn)))
    if not full:
        sections += protection_section(record.policy, full=False)
    sections += [
        gains_section(own, "What this file lets an attacker do"),
        *([_games(record)] if record.games else []),
        gains_section(total, "What everything published so far lets an attacker do"),
        caps_section(record.caps, full=full),
        *certificate_section(record.certificate),
    ]
    if full:
        sections += [
            statement_section(own, "Every line of the file's statement", record.caps),
            *protection_section(record.policy, full=True),
            policy_section(record.policy),
        ]
    title, about = headings(record.dataset, record.publication)
    told = f"{record.name}: a file of {counted(record.rows, 'row')} about nobody"
    return Document(
        title=title,
        subtitle=". ".join(part for part in (about, told) if part),
        kind="microdata",
        audience=audience,
        sections=tuple(sections),
    )


def _games(record: SynthesisRecord) -> Section:
    return games_section(
        record.games,
        "The file's annex: singling out, linkability, inference",
        "with this file, at most",
        "Each is a game that is defined to the last detail. Its bound holds whatever the attacker computes, "
        "and for this file, however many are drawn of the same tables: these are all that is published in a "
        "game. What was published together is in the annex of the ledger. No attack on this data was run.",
    )


def _file(record: SynthesisRecord, full: bool) -> Iterator[Block]:
    if full:
        rho = "no bound" if record.rho is None else f"ρ = {sum_text(record.rho)}"
        nats = "no bound" if record.nats_person is None else f"{sum_text(record.nats_person)} nats"
        yield Cards(
            (
                Card(NotedNumber(rho, RHO), f"paid for the tables that it agrees with, entry {record.entry}"),
                Card(NotedNumber(nats, PERSON), "are told about one person on average by it, at most"),
            )
        )
    yield Paragraph(f"{file_rows(record)}.")
    if record.choice is not None:
        yield Paragraph(chosen_told(record.choice))
    weight = " Its column weight has that number in each row." if record.weights else ""
    yield Paragraph(
        "It was drawn from a law fitted to released tables, and nothing else was read: it tells what "
        f"they tell, however many files are drawn.{weight} {paid_for_file(record)}"
    )
    rows = tuple((one.name, one.type, f"{one.keys:,}") for one in record.columns)
    yield TextTable(("column", "type", "keys"), rows, (2,))
    if record.impossible:
        yield Paragraph("No row has these together, because they cannot be:")
        yield Items(tuple(_rule(one) for one in record.impossible[:_LISTED]))
    if words := not_counted(record.policy):
        yield Paragraph(words, soft=True)
    if record.question is None:
        yield Paragraph(NOT_COMPARED, soft=True)
    if record.same_as is not None:
        yield Paragraph(same_as_line(record.same_as, record.source), soft=True)
    elif full and record.source:
        yield Paragraph(f"The data: {record.source}.", soft=True)
    if full:
        yield Paragraph(f"The file is {record.file}. The seed {record.seed} makes it again.", soft=True)


def _rule(rule: dict[str, tuple[KeyValue, ...]]) -> str:
    return " with ".join(f"{name} {' or '.join(map(str, keys))}" for name, keys in rule.items())


def _errors(record: SynthesisRecord, full: bool) -> Iterator[Block]:
    named = [(table_name(one.columns), one) for one in record.tables]
    told = "; ".join(
        f"{name} {sum_text(one.distance, 3)} and at most {sum_text(one.bound, 3)}"
        for name, one in named[:_DRAWN]
    )
    yield Plot(
        "distances", distances_chart(named[:_DRAWN]), f"Rows off the released and the exact table: {told}"
    )
    if full:
        heads = (
            "table of the file", "cells in their interval", "from the released table",
            "from the exact one, at most", "association in the file",
        )  # fmt: skip
        yield TextTable(heads, tuple(_line(name, one) for name, one in named[:_LISTED]), (1, 2, 3, 4))
        shown = _LISTED
    else:
        shown = _DRAWN
    if len(named) > shown:
        yield Paragraph(f"And {len(named) - shown:,} tables more, in --json.", soft=True)
    held = f"The bounds are about the figure that {figure_held(record.covers)}. "
    yield Paragraph(f"{ERRORS} {'' if record.covers == 'table' else held}{record.about}".strip(), soft=True)
    yield Paragraph(
        "Only these tables and their margins have such a bound. What the file says of other combinations of "
        "columns is what the law makes of these: nothing here says how far off that is.",
        soft=True,
    )


def _line(name: str, one: FileTableRecord) -> tuple[Text, ...]:
    association = "" if one.cramers_v is None else NotedNumber(f"{one.cramers_v:.2f}", _ASSOCIATION)
    return (
        name,
        f"{100 * one.inside:.0f} %",
        NotedNumber(sum_text(one.distance, 3), _DISTANCE),
        NotedNumber(sum_text(one.bound, 3), _BOUND),
        association,
    )


def _regression(record: RegressionRecord) -> Iterator[Block]:
    heads = ("coefficient of", "in the file", "in the released tables", "of the exact rows")
    rows = []
    for one in record.coefficients:
        file, value, interval = coefficient_cells(one)
        rows.append(
            (coefficient_name(one) or "the constant", file, NotedNumber(value, _LEAST_SQUARES), interval)
        )
    yield TextTable(heads, tuple(rows), (1, 2, 3))
    yield Paragraph(regression_told(record), soft=True)


def _columns(record: SynthesisRecord, audience: Audience) -> Iterator[Block]:
    known = [one for one in record.columns if one.margin]
    small = [one for one in known if len(one.margin) <= _KEYS][: _COLUMNS[audience]]
    for place, one in enumerate(small):
        told = "; ".join(f"{cell.key} {cell.file:,.0f} ({cell.released:,.0f})" for cell in one.margin)
        yield Plot(f"column{place}", column_chart(one), f"{one.name} in the file (and as released): {told}")
    if hidden := len(known) - len(small):
        yield Paragraph(f"Not drawn: {counted(hidden, 'column')} more.", soft=True)
