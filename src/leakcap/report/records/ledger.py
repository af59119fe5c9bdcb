"""What is printed by commands about a ledger: its accounts, its spends and its chain."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from leakcap.release import Policy
from leakcap.report.records.base import CapRecord, Delta, Epsilon, Nats, Part, Record, Rho, StatementRecord

__all__ = [
    "AmendRecord",
    "AmendmentRecord",
    "BudgetRecord",
    "ChangeRecord",
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


class EntryRecord(Part):
    """One spend in the ledger."""

    id: int
    time: str
    name: str
    query: str
    analyst: str
    state: Literal["reserved", "released", "acknowledged", "planned"]
    slot: str = ""
    data_version: int
    epsilon: Nats
    delta: Delta
    nats_person: Nats
    nats_table: Nats
    nats_level: Nats
    rho: Rho = None


class ChangeRecord(Part):
    """One field in which two policies differ."""

    field: str
    before: str
    after: str
    effect: Literal["new", "removed", "raised", "lowered", "changed"]


class AmendmentRecord(Part):
    """From when on another policy governs: who decided it, why, what changed, how earlier spends count."""

    time: str
    by: str
    reason: str
    before: str
    policy: str
    changes: tuple[ChangeRecord, ...]
    carried: str


class ToldRecord(Part):
    """What all answers so far tell together: no more than ε, but with probability δ."""

    epsilon: Epsilon
    delta: Delta


class SlotRecord(Part):
    """A slot of a plan: how many answers it has in all, how many were given, and what each is at most."""

    name: str
    plan: str
    count: int
    used: int
    epsilon: Epsilon
    nats_table: Nats


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
    told: tuple[ToldRecord, ...] = ()
    slots: tuple[SlotRecord, ...] = ()


class AmendRecord(Record):
    """An amendment, made or only previewed, and the caps under it."""

    commands: ClassVar = ("ledger amend",)

    schema_: Literal["leakcap/ledger-amend/1"] = Field(alias="schema")
    preview: bool
    dataset: str
    amendment: AmendmentRecord
    caps: tuple[CapRecord, ...]


class VerifyRecord(Record):
    """A chain that holds."""

    commands: ClassVar = ("ledger verify",)

    schema_: Literal["leakcap/ledger-verify/1"] = Field(alias="schema")
    rows: int
    entries: int
    head: str
    anchored: bool


class RepairRecord(Record):
    """What was paid for without an answer known to have left."""

    commands: ClassVar = ("ledger repair",)

    schema_: Literal["leakcap/ledger-repair/1"] = Field(alias="schema")
    entries: tuple[EntryRecord, ...]


class CurvePoint(Part):
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
    curve: str | tuple[CurvePoint, ...] = ()
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
