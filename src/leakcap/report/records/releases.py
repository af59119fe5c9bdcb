"""What is printed by commands that release, or would: statistics, plans, dry runs and fitted models."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from leakcap.release import Policy
from leakcap.report.records.base import (
    CapRecord,
    Delta,
    KeyValue,
    Nats,
    Number,
    Part,
    PriceRecord,
    Record,
    StatementRecord,
)
from leakcap.report.records.ledger import AmendmentRecord

__all__ = [
    "CoefficientRecord",
    "DryRunRecord",
    "FitRecord",
    "FittedRecord",
    "PlanRecord",
    "PlannedRecord",
    "ReleaseRecord",
    "ReleasedRecord",
    "RowRecord",
]


class RowRecord(Part):
    """A group's value, and the interval that holds the truth with the stated confidence."""

    keys: dict[str, KeyValue] | None = None
    value: Number
    interval: tuple[Number, Number]


class NoiseRecord(Part):
    """The noise: its law, and the scale of each noisy part in the column's unit or in rows."""

    mechanism: str
    scales: dict[str, float]
    chosen: Annotated[
        str | None, Field(description="which noise was chosen and why, where the query left it open")
    ] = None


class ReleasedRecord(Part):
    """One private statistic."""

    name: str
    query: str
    values: tuple[RowRecord, ...]
    confidence: float
    noise: NoiseRecord
    price: PriceRecord
    repeated: bool = False
    post_processed: Annotated[
        str | None, Field(description="what was done to the noisy numbers afterwards, which costs nothing")
    ] = None
    counted: Annotated[
        str | None, Field(description="whom it counts, where people have caps of their own")
    ] = None
    statement: StatementRecord


class ReleaseRecord(Record):
    """What a release published, what it leaks, and what is left."""

    commands: ClassVar = ("release", "sql")

    schema_: Literal["leakcap/release/1"] = Field(alias="schema")
    dataset: str
    time: str
    policy: Policy
    releases: tuple[ReleasedRecord, ...]
    so_far: StatementRecord
    caps: tuple[CapRecord, ...]
    assumptions: tuple[str, ...]
    report: str | None = None
    amendments: tuple[AmendmentRecord, ...] = ()


class WayRecord(Part):
    """What a law of noise would err by and cost: ε and δ of the answer alone, and its share of the caps."""

    noise: Literal["laplace", "gaussian"]
    error: float
    epsilon: float
    delta: Delta
    share: Annotated[float, Field(description="of `cap`: of a cap on all answers, one in how many would fit")]
    cap: str


class PlannedRecord(Part):
    """One query before it is paid: `error_95` is what an answer stays within with probability 95 %."""

    name: str
    query: str
    error_95: float | None
    rows: int | None
    remark: str = ""
    price: PriceRecord
    noise_scales: dict[str, float]
    statement: StatementRecord
    policy_error: Annotated[
        float | None,
        Field(description="what a guess from the policy alone stays within; where the error is no less"),
    ] = None
    useful_epsilon: Annotated[
        float | None, Field(description="the ε at which the error is a tenth of `policy_error`")
    ] = None
    chosen: Annotated[
        str | None, Field(description="which noise was chosen and why, where the query left it open")
    ] = None
    ways: Annotated[
        tuple[WayRecord, ...], Field(description="both laws of noise, where the policy allows both")
    ] = ()


class PlanRecord(Record):
    """What queries would cost and tell; neither data nor ledger were touched."""

    commands: ClassVar = ("preview", "sql")

    schema_: Literal["leakcap/preview/1"] = Field(alias="schema")
    dataset: str
    policy: Policy
    statistics: tuple[PlannedRecord, ...]
    together: StatementRecord
    caps: Annotated[
        tuple[CapRecord, ...],
        Field(description="what it would take of the caps, were nothing spent before; not told at first"),
    ] = ()
    assumptions: tuple[str, ...]


class DryRow(Part):
    """A row made from the policy alone."""

    keys: dict[str, KeyValue]
    value: Number


class DryRelease(Part):
    """A statistic of a dummy table."""

    name: str
    rows: tuple[DryRow, ...]


class DryRunRecord(Record):
    """Answers on a dummy table; they say nothing about the data."""

    commands: ClassVar = ("sql",)

    schema_: Literal["leakcap/dry-run/1"] = Field(alias="schema")
    dry_run: Literal[True]
    releases: tuple[DryRelease, ...]


class CoefficientRecord(Part):
    """A number of a model; the interval is null where none is known, an end where the noise hides it."""

    name: str
    value: float
    interval: tuple[float | None, float | None] | None


class OrderRecord(Part):
    """At order α: the Rényi divergence between neighbours, and Sibson's capacity about one person."""

    alpha: float
    renyi: Nats
    level: Nats


class AskedRecord(Part):
    """ε at the δ that was asked for."""

    epsilon: Nats
    delta: Delta


class FittedRecord(Part):
    """A fitted model and what it cost."""

    model: str
    coefficients: tuple[CoefficientRecord, ...]
    intervals: str
    noise: str
    guarantee: tuple[OrderRecord, ...]
    asked: AskedRecord | None
    price: PriceRecord
    entry: int
    repeated: bool


class FitRecord(Record):
    """A fitted model, or the demonstration that the lecture's bound is wrong."""

    commands: ClassVar = ("fit",)

    schema_: Literal["leakcap/fit/1"] = Field(alias="schema")
    dataset: str | None
    fit: FittedRecord | None
    so_far: StatementRecord | None
    demonstration: dict[str, float] | None
