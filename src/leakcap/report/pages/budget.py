"""The report of a ledger: what was spent by whom, what it tells together, what is left."""

from __future__ import annotations

import math
from datetime import datetime

from leakcap.plain import counted
from leakcap.report.pages.amended import amended_section, amendment_section
from leakcap.report.pages.revised import custody_section, revised_section, versions_section
from leakcap.report.records import BudgetRecord, EntryRecord
from leakcap.report.render.document import (
    Audience,
    Document,
    NotedNumber,
    Paragraph,
    Section,
    Text,
    TextTable,
)
from leakcap.report.sections import (
    EPSILON,
    PERSON,
    TABLE,
    caps_section,
    certificate_section,
    gains_section,
    headlined,
    policy_section,
    protection_section,
    statement_section,
)
from leakcap.report.words.wording import sum_text
from leakcap.statement.restated import restated

__all__ = ["budget_page"]

_STATES = {
    "released": "released",
    "reserved": "paid, not released",
    "acknowledged": "paid, lost",
    "planned": "a plan, paid beforehand",
    "lost": "not in the ledger, booked",
}


def budget_page(record: BudgetRecord, audience: Audience) -> Document:
    """The report of `leakcap budget`."""
    full = audience == "reviewer"
    total = None if record.so_far is None else restated(record.so_far)
    exact = total is not None and total.exposure.exact_totals
    sections: list[Section] = [] if total is None else [Section("In short", headlined(total))]
    if total is None and not record.entries:
        sections.append(Section("In short", (Paragraph("Nothing was spent yet."),)))
    if record.policy is not None and not full:
        sections += protection_section(record.policy, full=False, exact_totals=exact)
    if total is not None:
        sections.append(gains_section(total, "What everything published so far lets an attacker do"))
    sections.append(caps_section(record.caps, full=full))
    if full:
        for account in record.accounts:
            sections.append(
                caps_section(account.caps, f"The budget of {account.scope} {account.name}".strip())
            )
        if total is not None:
            sections.append(statement_section(total, "Every line of the statement", record.caps))
        heads = ("#", "query", "when", "who", "ε", "δ", "nats, person", "nats, table", "state")
        rows = tuple(_row(entry) for entry in record.entries)
        sections += [*versions_section(record.versions), *revised_section(record.revisions)]
        sections += map(amendment_section, record.amendments)
        sections += custody_section(record.custody)
        sections.append(Section("The spends", (TextTable(heads, rows, (0, 4, 5, 6, 7)),)))
        if record.policy is not None:
            sections += [
                *protection_section(record.policy, full=True, exact_totals=exact),
                policy_section(record.policy),
            ]
    else:
        versions = versions_section(record.versions)
        sections += [*versions, *revised_section(record.revisions), *amended_section(record.amendments)]
    sections += certificate_section(record.certificate)
    return Document(
        title=record.dataset,
        subtitle=f"{counted(len(record.entries), 'spend')} in the ledger",
        kind="ledger",
        audience=audience,
        sections=tuple(sections),
    )


def _row(entry: EntryRecord) -> tuple[Text, ...]:
    when = datetime.fromisoformat(entry.time)
    epsilon = math.inf if entry.epsilon is None else entry.epsilon
    person = math.inf if entry.nats_person is None else entry.nats_person
    table = math.inf if entry.nats_table is None else entry.nats_table
    return (
        str(entry.id or ""),
        ": ".join(text for text in (entry.name, entry.query) if text),
        f"{when:%Y-%m-%d %H:%M} UTC",
        entry.analyst or "(unnamed)",
        NotedNumber(sum_text(epsilon), EPSILON),
        sum_text(entry.delta),
        NotedNumber(sum_text(person), PERSON),
        NotedNumber(sum_text(table), TABLE),
        _STATES[entry.state],
    )
