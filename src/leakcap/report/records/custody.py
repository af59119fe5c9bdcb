"""What is printed by commands that care for a ledger: moved, backed up, restored, shared by data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Anchor, BackedUp, CustodyEvent, DatasetSpending, Moved, Restored
from leakcap.report.records.base import Record
from leakcap.statement.record import Part

__all__ = [
    "AdmitRecord",
    "BackupRecord",
    "CustodyRecord",
    "DatasetRecord",
    "LedgerAnchorRecord",
    "MoveRecord",
    "RestoreRecord",
    "custody_lines",
]


class CustodyRecord(Part):
    """What was done with a ledger as a whole: it was moved, restored, closed, or admitted a data set."""

    time: str
    by: str
    kind: str
    what: str
    reason: str

    @classmethod
    def of(cls, event: CustodyEvent) -> Self:
        """One act."""
        time = event.time.isoformat(timespec="seconds")
        return cls(time=time, by=event.by, kind=event.kind, what=event.what, reason=event.reason)


def custody_lines(events: Sequence[CustodyRecord]) -> tuple[str, ...]:
    """What was done with a ledger, when, by whom and why.

    >>> told = {"time": "2026-05-04T09:00:00+00:00", "by": "ada", "kind": "moved", "reason": "a new server"}
    >>> custody_lines([CustodyRecord(what="moved from `a.db` to `b.db`", **told)])
    ('On 2026-05-04 by ada: moved from `a.db` to `b.db`: a new server.',)
    """
    return tuple(
        f"On {one.time[:10]}{f' by {one.by}' if one.by else ''}: "
        f"{': '.join(text.rstrip('.') for text in (one.what, one.reason) if text)}."
        for one in events
    )


class LedgerAnchorRecord(Part):
    """The end of a ledger's chain and what was spent until then, as exact decimals; null where no bound is
    known. A file with it is what `--anchor` takes."""

    head: str
    rows: int
    entries: int
    dataset: str
    policy: str
    spent: dict[str, str | None] | None
    curve: tuple[str | None, ...]

    @classmethod
    def of(cls, anchor: Anchor) -> Self:
        """One anchor."""
        return cls(**asdict(anchor))


class DatasetRecord(Part):
    """One of several data sets that pay from a ledger, and what its answers cost by themselves."""

    dataset: str
    entries: int
    epsilon: str | None
    rho: str | None

    @classmethod
    def of(cls, spending: DatasetSpending) -> Self:
        """One data set."""
        return cls(**asdict(spending))


class AdmitRecord(Record):
    """A data set that may pay from a ledger now, or could, and all that do."""

    commands: ClassVar = ("ledger admit",)

    schema_: Literal["leakcap/ledger-admit/1"] = Field(alias="schema")
    preview: bool
    dataset: str
    datasets: tuple[DatasetRecord, ...]

    @classmethod
    def of(cls, dataset: str, datasets: Sequence[DatasetSpending], *, preview: bool) -> Self:
        """What `admit` returned, and the ledger's data sets."""
        return cls.made(preview=preview, dataset=dataset, datasets=tuple(map(DatasetRecord.of, datasets)))


class BackupRecord(Record):
    """A backup: of which ledger, in which file, and the ledger's anchor at that moment."""

    commands: ClassVar = ("ledger backup",)

    schema_: Literal["leakcap/ledger-backup/1"] = Field(alias="schema")
    source: str
    file: str
    anchor: LedgerAnchorRecord

    @classmethod
    def of(cls, made: BackedUp) -> Self:
        """What `backup` returned."""
        return cls.made(source=made.source, file=made.file, anchor=LedgerAnchorRecord.of(made.anchor))


class RestoreRecord(Record):
    """A ledger that was put back from a backup, or would be."""

    commands: ClassVar = ("ledger restore",)

    schema_: Literal["leakcap/ledger-restore/1"] = Field(alias="schema")
    preview: bool
    dataset: str
    backup: str
    target: str
    anchor: LedgerAnchorRecord
    unreleased: tuple[int, ...]
    lost: int | None
    booked: Annotated[str, Field(description="what is booked for the spends that it lacks, in words")] = ""
    closed: bool

    @classmethod
    def of(cls, restored: Restored, *, preview: bool) -> Self:
        """What `restore` returned."""
        told = {
            name: getattr(restored, name)
            for name in ("dataset", "backup", "target", "unreleased", "lost", "booked")
        }
        anchor = LedgerAnchorRecord.of(restored.anchor)
        return cls.made(preview=preview, anchor=anchor, closed=restored.closed, **told)


class MoveRecord(Record):
    """A ledger that was moved, or would be: where it was, where it is, and its chain."""

    commands: ClassVar = ("ledger move",)

    schema_: Literal["leakcap/ledger-move/1"] = Field(alias="schema")
    preview: bool
    dataset: str
    source: str
    target: str
    rows: int
    entries: int
    head: str

    @classmethod
    def of(cls, moved: Moved, *, preview: bool) -> Self:
        """What `move` returned."""
        return cls.made(preview=preview, **asdict(moved))
