"""What the commands print with `--json`, field by field: a report is drawn from this and from nothing else.

Every record names its own shape and version in `schema`, as in ``leakcap/release/1``. Fields may be added
within a version; a field that goes or changes its meaning makes a new one. ∞, which JSON cannot say, is null.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from leakcap.release.asking.planned import PlannedRecord
from leakcap.release.results.record import PriceRecord, ReleasedRecord, RowRecord
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.ledger import (
    AmendmentRecord,
    AmendRecord,
    BudgetRecord,
    ChangeRecord,
    EntryRecord,
    ExportRecord,
    RepairRecord,
    SlotRecord,
    ToldRecord,
    VerifyRecord,
)
from leakcap.report.records.releases import (
    CoefficientRecord,
    DryRunRecord,
    FitRecord,
    FittedRecord,
    PlanRecord,
    ReleaseRecord,
)
from leakcap.report.records.theory import (
    AttackRecord,
    AuditRecord,
    ChannelRecord,
    ClaimRecord,
    ConvertRecord,
    DaleniusRecord,
    FindingRecord,
    MeasureRecord,
)
from leakcap.statement.record import StatementRecord

__all__ = [
    "AmendRecord",
    "AmendmentRecord",
    "AttackRecord",
    "AuditRecord",
    "BudgetRecord",
    "CapRecord",
    "ChangeRecord",
    "ChannelRecord",
    "ClaimRecord",
    "CoefficientRecord",
    "ConvertRecord",
    "DaleniusRecord",
    "DryRunRecord",
    "EntryRecord",
    "ExportRecord",
    "FindingRecord",
    "FitRecord",
    "FittedRecord",
    "MeasureRecord",
    "PlanRecord",
    "PlannedRecord",
    "PriceRecord",
    "Record",
    "ReleaseRecord",
    "ReleasedRecord",
    "RepairRecord",
    "ReportRecord",
    "RowRecord",
    "SchemaRecord",
    "SlotRecord",
    "StatementRecord",
    "ToldRecord",
    "VerifyRecord",
    "records",
]


class ReportRecord(Record):
    """Which files a report was written to."""

    commands: ClassVar = ("report",)

    schema_: Literal["leakcap/report/1"] = Field(alias="schema")
    kind: str
    audience: Literal["board", "reviewer"]
    files: tuple[str, ...]


class SchemaRecord(Record):
    """A JSON Schema, of draft 2020-12."""

    model_config = ConfigDict(extra="allow")

    commands: ClassVar = ("schema",)


def records(command: str) -> tuple[type[Record], ...]:
    """The records that a command may print: several for one that has several jobs.

    >>> [record.__name__ for record in records("sql")]
    ['ReleaseRecord', 'PlanRecord', 'DryRunRecord']
    """
    return tuple(record for record in Record.__subclasses__() if command in record.commands)
