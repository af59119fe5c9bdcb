"""The report of tables that share one budget: rows and columns with margins, what they tell, what is left."""

from __future__ import annotations

from collections.abc import Iterator

from leakcap.plain import counted
from leakcap.report.pages.workload import table_by_table, workload_blocks
from leakcap.report.records.tables import TablesRecord
from leakcap.report.records.versions import same_as_line
from leakcap.report.render.document import Audience, Block, Document, Paragraph, Section, TextTable
from leakcap.report.sections import (
    caps_section,
    certificate_section,
    gains_section,
    headlined,
    policy_section,
    protection_section,
    statement_section,
)
from leakcap.report.words.margined import between_words
from leakcap.report.words.promises import not_counted
from leakcap.report.words.publication import NOT_COMPARED, estimated, headings
from leakcap.statement.restated import restated

__all__ = ["tables_page"]


def tables_page(record: TablesRecord, audience: Audience) -> Document:
    """The report of what `leakcap tables` published."""
    full, total, known = audience == "reviewer", restated(record.so_far), record.policy
    sections = [
        Section("In short", headlined(total)),
        Section(
            "What is published", (*workload_blocks(record, audience), *_between(record), *_data(record, full))
        ),
        *([] if full or known is None else protection_section(known, full=False)),
        gains_section(total, "What everything published so far lets an attacker do"),
        caps_section(record.caps, full=full),
        *certificate_section(record.certificate),
    ]
    if full:
        sections += [
            statement_section(total, "Every line of the statement", record.caps),
            Section("Table by table", tuple(table_by_table(record))),
        ]
        if known is not None:
            sections += [*protection_section(known, full=True), policy_section(known)]
    asked = [table for table in record.tables if table.asked]
    title, about = headings(record.dataset, record.publication)
    told = f"{record.name}: {counted(len(asked), 'private table')} of counts, with one budget"
    return Document(
        title=title,
        subtitle=". ".join(part for part in (about, told) if part),
        kind="tables",
        audience=audience,
        sections=tuple(sections),
    )


def _between(record: TablesRecord) -> Iterator[Block]:
    """Counts of several keys, where they were asked for."""
    if record.between:
        yield Paragraph("Counts of several keys together, with 95 % intervals")
        rows = tuple(
            (between_words(one), " from ".join(estimated(one.value, (one.lower, one.upper))))
            for one in record.between
        )
        yield TextTable(("keys", "count"), rows, (1,))


def _data(record: TablesRecord, full: bool) -> Iterator[Paragraph]:
    """Which rows of which data are counted, and whether the record's numbers could be compared."""
    if record.policy is None or record.question is None:
        yield Paragraph(NOT_COMPARED, soft=True)
    if record.policy is not None and (words := not_counted(record.policy)):
        yield Paragraph(words, soft=True)
    if record.same_as is not None:
        yield Paragraph(same_as_line(record.same_as, record.source), soft=True)
    elif full and record.source:
        yield Paragraph(f"The data: {record.source}.", soft=True)
