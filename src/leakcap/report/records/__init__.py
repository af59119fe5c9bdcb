"""What the commands print with `--json`, field by field: a report is drawn from this and from nothing else.

Every record names its own shape and version in `schema`, as in ``leakcap/release/1``. Fields may be added
within a version; a field that goes or changes its meaning makes a new one. ∞, which JSON cannot say, is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.release.asking.planned import PlannedRecord
    from leakcap.release.results.record import PriceRecord, ReleasedRecord, RowRecord
    from leakcap.report.records.amendments import AmendmentRecord, AmendRecord, ChangeRecord
    from leakcap.report.records.annex import AnnexRecord
    from leakcap.report.records.attacks import AttackRecord, FindingRecord
    from leakcap.report.records.audits import AuditRecord, ClaimRecord
    from leakcap.report.records.base import CapRecord, Record
    from leakcap.report.records.channels import ChannelRecord, DaleniusRecord, MeasureRecord
    from leakcap.report.records.commands import ReportRecord, SchemaRecord, records
    from leakcap.report.records.conversions import ConvertRecord
    from leakcap.report.records.custody import (
        AdmitRecord,
        BackupRecord,
        CustodyRecord,
        DatasetRecord,
        LedgerAnchorRecord,
        MoveRecord,
        RestoreRecord,
        custody_lines,
    )
    from leakcap.report.records.ledger import (
        BudgetRecord,
        EntryRecord,
        ExportRecord,
        RepairRecord,
        SlotRecord,
        ToldRecord,
        VerifyRecord,
    )
    from leakcap.report.records.outside import OutsideSpendRecord, SpendRecord
    from leakcap.report.records.owner import CheckRecord, FindingOfCheck, InitRecord
    from leakcap.report.records.plan import MonthRecord, PlanRecord
    from leakcap.report.records.previews import PreviewRecord
    from leakcap.report.records.registry_entry import RegistryEntryRecord
    from leakcap.report.records.releases import (
        CoefficientRecord,
        DryRunRecord,
        FitRecord,
        FittedRecord,
        ReleaseRecord,
    )
    from leakcap.report.records.requests import RequestRecord
    from leakcap.report.records.revisions import RevisedRecord, RevisionRecord, revision_lines
    from leakcap.report.records.versions import (
        SaidSameRecord,
        SameAsRecord,
        VersionRecord,
        fate_of,
        said_same_lines,
        same_as_line,
    )
    from leakcap.statement.record import StatementRecord

__all__ = [
    "AdmitRecord",
    "AmendRecord",
    "AmendmentRecord",
    "AnnexRecord",
    "AttackRecord",
    "AuditRecord",
    "BackupRecord",
    "BudgetRecord",
    "CapRecord",
    "ChangeRecord",
    "ChannelRecord",
    "CheckRecord",
    "ClaimRecord",
    "CoefficientRecord",
    "ConvertRecord",
    "CustodyRecord",
    "DaleniusRecord",
    "DatasetRecord",
    "DryRunRecord",
    "EntryRecord",
    "ExportRecord",
    "FindingOfCheck",
    "FindingRecord",
    "FitRecord",
    "FittedRecord",
    "InitRecord",
    "LedgerAnchorRecord",
    "MeasureRecord",
    "MonthRecord",
    "MoveRecord",
    "OutsideSpendRecord",
    "PlanRecord",
    "PlannedRecord",
    "PreviewRecord",
    "PriceRecord",
    "Record",
    "RegistryEntryRecord",
    "ReleaseRecord",
    "ReleasedRecord",
    "RepairRecord",
    "ReportRecord",
    "RequestRecord",
    "RestoreRecord",
    "RevisedRecord",
    "RevisionRecord",
    "RowRecord",
    "SaidSameRecord",
    "SameAsRecord",
    "SchemaRecord",
    "SlotRecord",
    "SpendRecord",
    "StatementRecord",
    "ToldRecord",
    "VerifyRecord",
    "VersionRecord",
    "custody_lines",
    "fate_of",
    "records",
    "revision_lines",
    "said_same_lines",
    "same_as_line",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.release.asking.planned": ("PlannedRecord",),
        "leakcap.release.results.record": ("PriceRecord", "ReleasedRecord", "RowRecord"),
        "leakcap.report.records.amendments": ("AmendmentRecord", "AmendRecord", "ChangeRecord"),
        "leakcap.report.records.annex": ("AnnexRecord",),
        "leakcap.report.records.base": ("CapRecord", "Record"),
        "leakcap.report.records.commands": ("ReportRecord", "SchemaRecord", "records"),
        "leakcap.report.records.custody": (
            "AdmitRecord",
            "BackupRecord",
            "CustodyRecord",
            "DatasetRecord",
            "LedgerAnchorRecord",
            "MoveRecord",
            "RestoreRecord",
            "custody_lines",
        ),
        "leakcap.report.records.ledger": (
            "BudgetRecord",
            "EntryRecord",
            "ExportRecord",
            "RepairRecord",
            "SlotRecord",
            "ToldRecord",
            "VerifyRecord",
        ),
        "leakcap.report.records.outside": ("OutsideSpendRecord", "SpendRecord"),
        "leakcap.report.records.owner": ("CheckRecord", "FindingOfCheck", "InitRecord"),
        "leakcap.report.records.registry_entry": ("RegistryEntryRecord",),
        "leakcap.report.records.releases": (
            "CoefficientRecord",
            "DryRunRecord",
            "FitRecord",
            "FittedRecord",
            "ReleaseRecord",
        ),
        "leakcap.report.records.previews": ("PreviewRecord",),
        "leakcap.report.records.attacks": ("AttackRecord", "FindingRecord"),
        "leakcap.report.records.audits": ("AuditRecord", "ClaimRecord"),
        "leakcap.report.records.channels": ("ChannelRecord", "DaleniusRecord", "MeasureRecord"),
        "leakcap.report.records.conversions": ("ConvertRecord",),
        "leakcap.report.records.requests": ("RequestRecord",),
        "leakcap.report.records.revisions": ("RevisedRecord", "RevisionRecord", "revision_lines"),
        "leakcap.report.records.versions": (
            "SaidSameRecord",
            "SameAsRecord",
            "VersionRecord",
            "fate_of",
            "said_same_lines",
            "same_as_line",
        ),
        "leakcap.report.records.plan": ("MonthRecord", "PlanRecord"),
        "leakcap.statement.record": ("StatementRecord",),
    },
)
