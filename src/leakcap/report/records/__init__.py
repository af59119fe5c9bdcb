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
    from leakcap.report.records.annex import AnnexRecord
    from leakcap.report.records.base import CapRecord, Record
    from leakcap.report.records.commands import ReportRecord, SchemaRecord, records
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
    from leakcap.report.records.owner import CheckRecord, FindingOfCheck, InitRecord
    from leakcap.report.records.registry import RegistryRecord
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
    from leakcap.report.records.year import MonthRecord, YearRecord
    from leakcap.statement.record import StatementRecord

__all__ = [
    "AmendRecord",
    "AmendmentRecord",
    "AnnexRecord",
    "AttackRecord",
    "AuditRecord",
    "BudgetRecord",
    "CapRecord",
    "ChangeRecord",
    "ChannelRecord",
    "CheckRecord",
    "ClaimRecord",
    "CoefficientRecord",
    "ConvertRecord",
    "DaleniusRecord",
    "DryRunRecord",
    "EntryRecord",
    "ExportRecord",
    "FindingOfCheck",
    "FindingRecord",
    "FitRecord",
    "FittedRecord",
    "InitRecord",
    "MeasureRecord",
    "MonthRecord",
    "PlanRecord",
    "PlannedRecord",
    "PriceRecord",
    "Record",
    "RegistryRecord",
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
    "YearRecord",
    "records",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.release.asking.planned": ("PlannedRecord",),
        "leakcap.release.results.record": ("PriceRecord", "ReleasedRecord", "RowRecord"),
        "leakcap.report.records.annex": ("AnnexRecord",),
        "leakcap.report.records.base": ("CapRecord", "Record"),
        "leakcap.report.records.commands": ("ReportRecord", "SchemaRecord", "records"),
        "leakcap.report.records.ledger": (
            "AmendmentRecord",
            "AmendRecord",
            "BudgetRecord",
            "ChangeRecord",
            "EntryRecord",
            "ExportRecord",
            "RepairRecord",
            "SlotRecord",
            "ToldRecord",
            "VerifyRecord",
        ),
        "leakcap.report.records.owner": ("CheckRecord", "FindingOfCheck", "InitRecord"),
        "leakcap.report.records.registry": ("RegistryRecord",),
        "leakcap.report.records.releases": (
            "CoefficientRecord",
            "DryRunRecord",
            "FitRecord",
            "FittedRecord",
            "PlanRecord",
            "ReleaseRecord",
        ),
        "leakcap.report.records.theory": (
            "AttackRecord",
            "AuditRecord",
            "ChannelRecord",
            "ClaimRecord",
            "ConvertRecord",
            "DaleniusRecord",
            "FindingRecord",
            "MeasureRecord",
        ),
        "leakcap.report.records.year": ("MonthRecord", "YearRecord"),
        "leakcap.statement.record": ("StatementRecord",),
    },
)
