"""What a report says of versions, revisions and withdrawals, and of the ledger itself."""

from __future__ import annotations

from collections.abc import Sequence

from leakcap.ledger import Edition
from leakcap.report.records import (
    CustodyRecord,
    RevisionRecord,
    VersionRecord,
    custody_lines,
    fate_of,
    revision_lines,
    said_same_lines,
)
from leakcap.report.render.document import Items, Section, TextTable

__all__ = ["custody_section", "revised_section", "versions_section"]


def revised_section(revisions: Sequence[RevisionRecord]) -> tuple[Section, ...]:
    """All revisions and withdrawals; nothing where there were none."""
    told = revision_lines(revisions)
    return (Section("Revisions and withdrawals", (Items(told),)),) if told else ()


def versions_section(versions: Sequence[VersionRecord]) -> tuple[Section, ...]:
    """Every version of every publication: of which data it is, and what became of it; nothing where none was
    named."""
    if not any(one.publication or one.period or one.sources or one.same_as for one in versions):
        return ()
    heads = ("publication", "data set", "since", "table", "data", "answers", "repeats", "state")
    rows = tuple(
        (
            Edition(one.publication, one.period, one.version).line or "(not named)",
            one.dataset,
            one.first[:10],
            f"{one.data_version:,}",
            ", ".join(one.sources),
            f"{one.answers:,}",
            f"{one.repeated:,}",
            "; ".join([text for text in (fate_of(one), *said_same_lines(one)) if text]) or "valid",
        )
        for one in versions
    )
    return (Section("Versions of what was published", (TextTable(heads, rows, (3, 5, 6)),)),)


def custody_section(events: Sequence[CustodyRecord]) -> tuple[Section, ...]:
    """What was done with the ledger as a whole; nothing where nothing was."""
    told = custody_lines(events)
    return (Section("The ledger itself", (Items(told),)),) if told else ()
