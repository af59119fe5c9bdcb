"""Revisions and withdrawals of published answers, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Revision
from leakcap.report.records.base import Record
from leakcap.statement.record import Part

__all__ = ["RevisedRecord", "RevisionRecord", "revision_lines"]


class RevisionRecord(Part):
    """An answer that was replaced by another, or withdrawn: what, why, who; nothing was given back."""

    time: str
    by: str
    reason: str
    entry: int
    query: str
    edition: Annotated[str, Field(description="what it was published as; empty where that was not said")]
    replaced_by: Annotated[int | None, Field(description="the entry that is valid instead; null: withdrawn")]
    by_edition: str = ""

    @classmethod
    def of(cls, revision: Revision) -> Self:
        """One revision or withdrawal."""
        old, new = (one.line if one else "" for one in (revision.edition, revision.by_edition))
        return cls(
            time=revision.time.isoformat(timespec="seconds"),
            by=revision.by,
            reason=revision.reason,
            entry=revision.entry,
            query=revision.query,
            edition=old,
            replaced_by=revision.replaced_by,
            by_edition=new,
        )


class RevisedRecord(Record):
    """What a revision or a withdrawal put on record, or would."""

    commands: ClassVar = ("ledger revise", "ledger withdraw")

    schema_: Literal["leakcap/ledger-revise/1"] = Field(alias="schema")
    preview: bool
    dataset: str
    revisions: tuple[RevisionRecord, ...]


def revision_lines(revisions: Sequence[RevisionRecord]) -> tuple[str, ...]:
    """Which answers, of what, were replaced by which, or withdrawn; who said so, and why.

    >>> common = {"time": "2026-05-04T09:00:00+00:00", "by": "ada", "reason": "Lost"}
    >>> old = {"edition": "Stays, 2026-03, version 1.0", "replaced_by": None}
    >>> both = [RevisionRecord(entry=n, query=name, **old, **common) for n, name in ((3, "n"), (4, "days"))]
    >>> revision_lines(both)
    ('On 2026-05-04 by ada: n (entry 3), days (entry 4) of Stays, 2026-03, version 1.0, withdrawn: Lost.',)
    """
    lines = []
    for _, group in groupby(revisions, _together):
        alike = list(group)
        one = alike[0]
        by = f" by {one.by}" if one.by else ""
        of = f" of {one.edition}," if one.edition else ""
        reason = one.reason.rstrip(".")
        lines.append(f"On {one.time[:10]}{by}: {', '.join(map(_answer, alike))}{of} {_fate(one)}: {reason}.")
    return tuple(lines)


def _together(one: RevisionRecord) -> tuple[object, ...]:
    return one.time, one.by, one.reason, one.edition, one.by_edition, one.replaced_by is None


def _answer(one: RevisionRecord) -> str:
    now = "" if one.replaced_by is None else f", now entry {one.replaced_by}"
    return f"{one.query} (entry {one.entry}{now})"


def _fate(one: RevisionRecord) -> str:
    if one.replaced_by is None:
        return "withdrawn"
    return f"replaced by {one.by_edition}" if one.by_edition else "replaced"
