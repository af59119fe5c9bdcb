"""What is printed by commands about a ledger: its accounts, its spends and its chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import (
    Account,
    Amendment,
    CustodyEvent,
    DatasetSpending,
    Edition,
    Entry,
    Ledger,
    OdometerReading,
    PublishedVersion,
    Revision,
    SlotUse,
)
from leakcap.release import Policy
from leakcap.report.records.amendments import AmendmentRecord
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.certificates import CertificateRecord
from leakcap.report.records.custody import CustodyRecord, DatasetRecord, LedgerAnchorRecord
from leakcap.report.records.requests import RequestRecord
from leakcap.report.records.revisions import RevisionRecord
from leakcap.report.records.versions import VersionRecord
from leakcap.statement import Statement
from leakcap.statement.record import Delta, Epsilon, Nats, Part, Rho, StatementRecord

__all__ = [
    "BudgetRecord",
    "EntryRecord",
    "ExportRecord",
    "RepairRecord",
    "SlotRecord",
    "ToldRecord",
    "VerifyRecord",
]


class AccountRecord(Part):
    """An account of an analyst, of a period, or of the people whose own cap is one level."""

    scope: str
    name: str
    caps: tuple[CapRecord, ...]

    @classmethod
    def of(cls, account: Account) -> Self:
        """One account, with all its caps."""
        return cls(scope=account.scope, name=account.name, caps=tuple(map(CapRecord.of, account.balances)))


class EntryRecord(Part):
    """One spend in the ledger."""

    id: int
    time: str
    name: str
    query: str
    analyst: str
    state: Literal["reserved", "released", "acknowledged", "planned", "lost"]
    slot: str = ""
    publication: str = ""
    period: Annotated[str, Field(description="the reference period that it is published for")] = ""
    version: str = ""
    data_version: int
    source: Annotated[str, Field(description="what its owner called the data; empty for a data frame")] = ""
    same_as: Annotated[
        int | None, Field(description="the number of the version that the data was said to be")
    ] = None
    epsilon: Nats
    delta: Delta
    nats_person: Nats
    nats_table: Nats
    nats_level: Nats
    rho: Rho = None

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """What the ledger has of it, but for what an auditor alone needs."""
        spend, edition = entry.spend, entry.edition or Edition()
        return cls.model_validate(
            {
                "id": entry.id,
                "time": entry.time.isoformat(timespec="seconds"),
                "name": entry.query,
                "query": entry.text,
                "analyst": entry.analyst,
                "state": entry.state,
                "slot": entry.slot,
                "publication": edition.title,
                "period": edition.period,
                "version": edition.version,
                "data_version": entry.data_version,
                "source": entry.source,
                "same_as": entry.same_as,
                "epsilon": spend.epsilon,
                "delta": spend.delta,
                "nats_person": spend.nats_person,
                "nats_table": spend.nats_table,
                "nats_level": spend.nats_level,
                "rho": spend.rho,
            }
        )


class ToldRecord(Part):
    """What all answers so far tell together: no more than ε, but with probability δ."""

    epsilon: Epsilon
    delta: Delta

    @classmethod
    def of(cls, told: OdometerReading) -> Self:
        """What the odometer says at one δ."""
        return cls(epsilon=told.epsilon, delta=told.delta)


class SlotRecord(Part):
    """A slot of a plan: how many answers it has in all, how many were given, and what each is at most."""

    name: str
    plan: str
    count: int
    used: int
    epsilon: Epsilon | None
    rho: Rho = None
    nats_table: Nats
    each: str
    """What each answer is at most, in words."""

    @classmethod
    def of(cls, use: SlotUse) -> Self:
        """A slot, and how far it is used."""
        slot = use.slot
        return cls(
            name=slot.name,
            plan=use.plan,
            count=slot.count,
            used=use.used,
            epsilon=slot.epsilon if slot.rho is None and slot.descent is None else None,
            rho=slot.rho,
            nats_table=slot.nats_table,
            each=slot.law.offered,
        )


class BudgetRecord(Record):
    """A ledger's accounts; with a query file also the policy and what everything so far tells."""

    commands: ClassVar = ("budget",)

    schema_: Literal["leakcap/budget/1"] = Field(alias="schema")
    dataset: str
    caps: tuple[CapRecord, ...]
    accounts: tuple[AccountRecord, ...]
    entries: tuple[EntryRecord, ...]
    policy: Policy | None = None
    so_far: StatementRecord | None = None
    amendments: tuple[AmendmentRecord, ...] = ()
    revisions: tuple[RevisionRecord, ...] = ()
    told: tuple[ToldRecord, ...] = ()
    slots: tuple[SlotRecord, ...] = ()
    datasets: tuple[DatasetRecord, ...] = ()
    versions: tuple[VersionRecord, ...] = ()
    custody: tuple[CustodyRecord, ...] = ()
    certificate: CertificateRecord | None = None

    @classmethod
    def of(
        cls,
        dataset: str,
        accounts: Sequence[Account],
        entries: Sequence[Entry],
        amendments: Sequence[Amendment] = (),
        *,
        revisions: Sequence[Revision] = (),
        told: Sequence[OdometerReading] = (),
        slots: Sequence[SlotUse] = (),
        datasets: Sequence[DatasetSpending] = (),
        versions: Sequence[PublishedVersion] = (),
        custody: Sequence[CustodyEvent] = (),
        policy: Policy | None = None,
        so_far: Statement | None = None,
        certificate: CertificateRecord | None = None,
    ) -> Self:
        """A ledger as it stands; `accounts` begin with the one of everything."""
        whole, *others = map(AccountRecord.of, accounts)
        return cls.made(
            dataset=dataset,
            caps=whole.caps,
            accounts=tuple(others),
            entries=tuple(map(EntryRecord.of, entries)),
            amendments=tuple(map(AmendmentRecord.of, amendments)),
            **({"revisions": tuple(map(RevisionRecord.of, revisions))} if revisions else {}),
            **({"told": tuple(map(ToldRecord.of, told))} if told else {}),
            **({"slots": tuple(map(SlotRecord.of, slots))} if slots else {}),
            **({"datasets": tuple(map(DatasetRecord.of, datasets))} if len(datasets) > 1 else {}),
            **({"custody": tuple(map(CustodyRecord.of, custody))} if custody else {}),
            **({"versions": tuple(map(VersionRecord.of, versions))} if versions else {}),
            **({} if policy is None else {"policy": policy.model_dump(mode="json")}),
            **({} if so_far is None else {"so_far": so_far.record()}),
            **({} if certificate is None else {"certificate": certificate}),
        )

    @classmethod
    def of_ledger(
        cls,
        book: Ledger,
        policy: Policy | None = None,
        *,
        deltas: Sequence[float] = (),
        certificate: CertificateRecord | None = None,
    ) -> Self:
        """All that a ledger tells; with the policy that governs it also what everything so far tells, and
        with `deltas` all answers together at each. `certificate` is that of a file that was written."""
        from leakcap.release import exposure_so_far
        from leakcap.statement import statement_of

        entries = book.entries()
        told = statement_of(exposure_so_far(entries, policy)) if policy is not None and entries else None
        return cls.of(
            book.dataset,
            book.accounts(),
            entries,
            book.amendments(),
            revisions=book.revisions(),
            told=[book.odometer(delta) for delta in deltas],
            slots=book.slots(),
            datasets=book.datasets(),
            versions=book.versions(),
            custody=book.custody(),
            policy=policy,
            so_far=told,
            certificate=certificate,
        )


class VerifyRecord(Record):
    """A chain that holds."""

    commands: ClassVar = ("ledger verify",)

    schema_: Literal["leakcap/ledger-verify/1"] = Field(alias="schema")
    rows: int
    entries: int
    head: str
    anchored: bool
    anchor: LedgerAnchorRecord | None = None


class RepairRecord(Record):
    """What was paid for without an answer known to have left."""

    commands: ClassVar = ("ledger repair",)

    schema_: Literal["leakcap/ledger-repair/1"] = Field(alias="schema")
    entries: tuple[EntryRecord, ...]


class RenyiPoint(Part):
    """The Rényi divergence of one order between neighbours."""

    order: float
    nats: Nats


class TrailRow(Part):
    """One spend of an export, which other programs read."""

    id: int
    time: str
    analyst: str
    query: str
    text: str
    state: str
    epsilon: float
    delta: float
    nats_person: Nats
    nats_table: Nats
    nats_level: Nats
    rho: Rho = None
    curve: str | tuple[RenyiPoint, ...] = ()
    event: str | dict[str, Any] | None = None
    slot: str = ""
    data_version: int
    details: str | dict[str, Any]
    software: str


class ExportRecord(Record):
    """The audit trail."""

    commands: ClassVar = ("ledger export",)

    schema_: Literal["leakcap/ledger-export/1"] = Field(alias="schema")
    entries: tuple[TrailRow, ...]
    amendments: tuple[AmendmentRecord, ...] = ()
    revisions: tuple[RevisionRecord, ...] = ()
    custody: tuple[CustodyRecord, ...] = ()
    requests: tuple[RequestRecord, ...] = ()
