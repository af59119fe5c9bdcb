"""The report of an audit: what samples prove, and what they do not."""

from __future__ import annotations

from leakcap.report.records import AuditRecord, ClaimRecord
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
    Section,
    Text,
    TextTable,
)
from leakcap.report.words.wording import at_least, sum_text

__all__ = ["audit_page"]

_CLOPPER = "Clopper & Pearson 1934; docs/audit.md"
_CERTIFIED = Note("a lower bound from samples that did not choose the event", _CLOPPER)


def audit_page(record: AuditRecord, audience: Audience) -> Document:
    """The report of `leakcap audit`."""
    sure = f"{at_least(100 * record.confidence)} %"
    sections = [Section("In short", (_cards(record), *_verdict(record.claim, sure)))]
    if audience == "reviewer":
        evidence = tuple(
            (
                e.event,
                e.speaks_for,
                f"{e.first[0]:,} of {e.first[1]:,}",
                f"{e.second[0]:,} of {e.second[1]:,}",
            )
            for e in record.evidence
        )
        curve = tuple((c.event, at_least(c.likely), sum_text(c.unlikely)) for c in record.curve)
        sections += [
            Section(
                "The evidence", (TextTable(("event", "speaks for", "first", "second"), evidence, (2, 3)),)
            ),
            Section(
                "What is certified of these events",
                (TextTable(("event", "likely at least", "unlikely at most"), curve, (1, 2)),),
            ),
        ]
    sections.append(Section("What this does not say", (Items(_limits(record, sure), caution=True),)))
    first, second = record.samples
    return Document(
        title=record.mechanism,
        subtitle=f"An audit on the inputs {record.inputs[0]} and {record.inputs[1]}: "
        f"{first:,} and {second:,} runs",
        kind="audit",
        audience=audience,
        sections=tuple(sections),
    )


def _cards(record: AuditRecord) -> Cards:
    def card(value: float | None, caption: str) -> Card:
        shown = "no bound" if value is None else f"≥ {at_least(value)} nats"
        return Card(NotedNumber(shown, _CERTIFIED), caption)

    return Cards(
        (
            card(record.epsilon, "is the ε of pure differential privacy of this pair"),
            card(
                record.information_nats, "is what an output tells about which of the two it was, at capacity"
            ),
            card(record.maximal_leakage_nats, "is the maximal leakage of the pair"),
        )
    )


def _verdict(claim: ClaimRecord | None, sure: str) -> list[Block]:
    if claim is None:
        return [Paragraph("No claim was tested.")]
    claimed = "no bound" if claim.claimed is None else sum_text(claim.claimed)
    floor = NotedNumber(at_least(claim.floor), _CERTIFIED)
    if claim.verdict == "violated":
        text: tuple[str | NotedNumber, ...] = (
            f"The samples contradict {claim.claim}: {claim.quantity} of the event found is at least ",
            floor,
            f" with confidence {sure}, and the claim is {claimed}.",
        )
    elif claim.verdict == "consistent":
        text = (
            f"The samples do not contradict {claim.claim}: {claim.quantity} of the most telling event found "
            "is at least ",
            floor,
            f" with confidence {sure}, and the claim is {claimed}. Another event, or another pair of inputs, "
            "may tell more.",
        )
    else:
        more = f" About {claim.needed:,} a side would." if claim.needed else ""
        text = (f"The samples are too few to tell whether {claim.claim} holds.{more}",)
    return [Paragraph(text)]


def _limits(record: AuditRecord, sure: str) -> tuple[Text, ...]:
    return (
        f"Every bound is a lower one and holds with confidence {sure}, each alone: it may be wrong by bad "
        "luck, and is so no more often than that leaves.",
        "An audit finds faults; it proves no mechanism private. Rare events below what so many runs can show "
        "go unseen.",
        "Only this pair of inputs was run. Its neighbours may tell more.",
    )
