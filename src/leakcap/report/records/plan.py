"""What `leakcap plan` prints: a year of publications under the caps, before any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import SlotUse
from leakcap.ledger.rehearsal import Rehearsed
from leakcap.release import Preview
from leakcap.release.asking.year import Year
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.ledger import SlotRecord
from leakcap.report.records.planned_tables import PlannedWorkloadRecord
from leakcap.statement.record import Delta, Epsilon, Part, Rho, Unbounded
from leakcap.tables.question import PlannedTables

__all__ = ["AccuracyRecord", "MonthRecord", "PlanRecord"]


class AccuracyRecord(Part):
    """A statistic as each month has it: it lies within `error_95` with probability 95 %, over the noise."""

    name: str
    error_95: Annotated[Unbounded, Field(description="null stands for no bound")]
    remark: str
    epsilon: Epsilon
    delta: Delta
    rho: Rho = None
    slot: Annotated[str, Field(description="which slot of a plan pays for it; empty where none does")] = ""
    useless: Annotated[str | None, Field(description="that nothing would be learned, where it is so")] = None

    @classmethod
    def of(cls, preview: Preview, slot: str) -> Self:
        """The accuracy and the price that a preview has."""
        price = preview.price
        return cls(
            name=preview.name,
            error_95=preview.error,
            remark=preview.remark,
            epsilon=price.epsilon,
            delta=price.delta,
            rho=price.rho,
            slot=slot,
            useless=preview.useless,
        )


class MonthRecord(Part):
    """A month: whether the publication would be taken, by which caps not, and what is left afterwards."""

    month: str
    taken: bool
    refused_by: Annotated[tuple[str, ...], Field(description="the caps that it would pass")]
    reason: str | None
    caps: tuple[CapRecord, ...]
    period: Annotated[
        tuple[CapRecord, ...], Field(description="of the calendar period, where periods have caps")
    ]

    @classmethod
    def of(cls, month: Rehearsed) -> Self:
        """What a ledger would answer in a month."""
        owners = (
            f"{one.cap}{f' of {who}' if who else ''}"
            for one in month.passed
            for who in [one.analyst or one.group or one.period or one.people]
        )
        return cls(
            month=f"{month.moment:%Y-%m}",
            taken=not month.refused,
            refused_by=tuple(dict.fromkeys(owners)),
            reason=month.refused or None,
            caps=tuple(map(CapRecord.of, month.balances)),
            period=tuple(map(CapRecord.of, month.period)),
        )


class PlanRecord(Record):
    """Publications of months to come; nothing was read from the data, and nothing was recorded."""

    commands: ClassVar = ("plan",)

    schema_: Literal["leakcap/plan/1"] = Field(alias="schema")
    dataset: str
    statistics: tuple[AccuracyRecord, ...]
    months: tuple[MonthRecord, ...]
    breaks: Annotated[str | None, Field(description="the first month that is refused; null where none is")]
    share: Annotated[
        float | None,
        Field(description="of each price: the largest, in thousandths, with which every month is taken"),
    ]
    even: Annotated[tuple[AccuracyRecord, ...], Field(description="the statistics at that share")]
    slots: tuple[SlotRecord, ...]
    new_ledger: Annotated[
        str | None,
        Field(description="where the first release would begin a ledger; null where there is one"),
    ] = None
    workloads: Annotated[
        tuple[PlannedWorkloadRecord, ...], Field(description="tables that share one budget, asked each month")
    ] = ()
    even_workloads: Annotated[
        tuple[PlannedWorkloadRecord, ...], Field(description="the same at that share")
    ] = ()

    @classmethod
    def of(
        cls,
        dataset: str,
        year: Year,
        slots: Sequence[SlotUse],
        *,
        new_ledger: str | None = None,
        workloads: tuple[Sequence[PlannedTables], Sequence[PlannedTables]] = ((), ()),
    ) -> Self:
        """A year, and the slots of plans as they are before it; `workloads` as asked, and at the year's
        share."""
        tables, even = (tuple(map(PlannedWorkloadRecord.of, one)) for one in workloads)
        return cls.made(
            **({"workloads": tables} if tables else {}),
            **({"even_workloads": even} if even else {}),
            dataset=dataset,
            statistics=tuple(map(AccuracyRecord.of, year.previews, year.slots)),
            months=tuple(map(MonthRecord.of, year.months)),
            breaks=None if year.breaks is None else f"{year.breaks.moment:%Y-%m}",
            share=year.share,
            even=tuple(map(AccuracyRecord.of, year.even, year.slots)),
            slots=tuple(map(SlotRecord.of, slots)),
            new_ledger=new_ledger,
        )
