"""What the commands print with `--json`, field by field: a report is drawn from this and from nothing else.

Every record names its own shape and version in `schema`, as in ``leakcap/release/1``. Fields may be added
within a version; a field that goes or changes its meaning makes a new one. ∞, which JSON cannot say, is null.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from leakcap.bound import Bound
from leakcap.errors import InvalidParameter
from leakcap.release import Policy
from leakcap.statement import Exposure, Statement, statement_of

__all__ = [
    "AttackRecord",
    "AuditRecord",
    "BudgetRecord",
    "ChannelRecord",
    "ConvertRecord",
    "DryRunRecord",
    "FindingRecord",
    "FitRecord",
    "PlanRecord",
    "Record",
    "ReleaseRecord",
    "ReportRecord",
    "StatementRecord",
    "records",
]

Nats: TypeAlias = Annotated[float | None, Field(description="nats; null stands for no bound")]
Epsilon: TypeAlias = Annotated[float, Field(ge=0.0, description="ε of differential privacy, in nats")]
Delta: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0, description="δ, a probability")]
Number: TypeAlias = int | float
KeyValue: TypeAlias = bool | int | float | str


class Part(BaseModel):
    """A piece of a record."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Record(Part):
    """What one or several commands print. `commands` are those, without `leakcap`."""

    commands: ClassVar[tuple[str, ...]] = ()


class Ends(Part):
    """lower ≤ truth ≤ upper."""

    lower: float | None
    upper: float | None


class LineRecord(Part):
    """One line of a leakage statement."""

    key: str
    label: str
    unit: Literal["nats", "probability", "ratio"]
    lower: float | None
    upper: float | None
    sentence: str
    formula: str
    source: str
    bits: Ends | None = None
    detail: dict[str, Number] = Field(default_factory=dict)


class Information(Ends):
    """MI-DP of the mechanisms themselves, in nats, and how it was found."""

    lower: float
    method: str
    source: str


class ExposureRecord(Part):
    """What was spent, from which every line of the statement follows."""

    epsilon: Epsilon
    epsilon_contents: Epsilon
    delta: Delta
    delta_contents: Delta
    nats_person: Information
    nats_table: Nats
    units: int | None


class StatementRecord(Part):
    """What something lets an attacker do."""

    title: str
    queries: int
    neighbours: Literal["replace-one", "add-remove-one"]
    unit: str
    exposure: ExposureRecord
    lines: tuple[LineRecord, ...]

    def statement(self) -> Statement:
        """The statement, made anew from its numbers; `InvalidParameter` where its sentences do not follow."""
        e, detail = self.exposure, {line.key: line.detail for line in self.lines}
        exposure = Exposure(
            title=self.title,
            epsilon=e.epsilon,
            epsilon_contents=e.epsilon_contents,
            nats=Bound(
                e.nats_person.lower,
                _infinite(e.nats_person.upper),
                e.nats_person.method,
                e.nats_person.source,
            ),
            table_nats=_infinite(e.nats_table),
            relation=self.neighbours,
            unit=self.unit,
            units=e.units,
            queries=self.queries,
            delta=e.delta,
            delta_contents=e.delta_contents,
        )
        asked = {name: int(detail.get(key, {}).get(field, 0)) for name, key, field in _ASKED}
        made = statement_of(exposure, **asked)
        told = [line.sentence for line in self.lines]
        if told != [line.sentence for line in made.lines]:
            raise InvalidParameter(
                f"The sentences about `{self.title}` do not follow from its numbers: the file was edited, or "
                "another version of leakcap wrote it. Make it anew."
            )
        return made


_ASKED = (("family", "family", "k"), ("guesses", "one_in_k", "k"), ("more", "more", "more"))


def _infinite(value: float | None) -> float:
    return math.inf if value is None else value


class CapRecord(Part):
    """A cap, what was spent of it and what is left; null where nothing is capped, or no bound is known."""

    cap: str
    unit: str
    limit: float | None
    spent: float | None
    left: float | None


class AccountRecord(Part):
    """An analyst's or a period's account."""

    scope: str
    name: str
    caps: tuple[CapRecord, ...]


class PriceRecord(Part):
    """What a query costs, at most."""

    epsilon: Epsilon
    delta: Delta
    nats_person: Nats
    nats_table: Nats


class RowRecord(Part):
    """A group's value, and the interval that holds the truth with the stated confidence."""

    keys: dict[str, KeyValue] | None = None
    value: Number
    interval: tuple[Number, Number]


class NoiseRecord(Part):
    """The noise: its law, and the scale of each noisy part in the column's unit or in rows."""

    mechanism: str
    scales: dict[str, float]


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


class PlanRecord(Record):
    """What queries would cost and tell; neither data nor ledger were touched."""

    commands: ClassVar = ("preview", "sql")

    schema_: Literal["leakcap/preview/1"] = Field(alias="schema")
    dataset: str
    policy: Policy
    statistics: tuple[PlannedRecord, ...]
    together: StatementRecord
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
    """At order α: the Rényi divergence between neighbours, and the level-α capacity."""

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


class MeasureRecord(Part):
    """One measure of a channel."""

    section: str
    measure: str
    lower: float | None
    upper: float | None
    unit: str
    formula: str
    source: str
    method: str


class ChannelRecord(Record):
    """Everything that a channel leaks."""

    commands: ClassVar = ("channel",)

    schema_: Literal["leakcap/channel/1"] = Field(alias="schema")
    file: str
    shape: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    prior: tuple[float, ...]
    gain: str
    measures: tuple[MeasureRecord, ...]


class CurveRecord(Part):
    """An event with P ≥ `likely` under one input and P ≤ `unlikely` under the other."""

    likely: float
    unlikely: float
    event: str


class EvidenceRecord(Part):
    """An event and how often it came: times and runs under each input."""

    event: str
    speaks_for: str
    first: tuple[int, int]
    second: tuple[int, int]


class ClaimRecord(Part):
    """A claim and the verdict on it."""

    claim: str
    quantity: str
    claimed: float | None
    floor: float
    ceiling: float | None
    verdict: str
    needed: int | None


class AuditRecord(Record):
    """What samples prove of a mechanism: each number is a lower bound at the stated confidence."""

    commands: ClassVar = ("audit",)

    schema_: Literal["leakcap/audit/1"] = Field(alias="schema")
    mechanism: str
    inputs: tuple[str, str]
    confidence: float
    samples: tuple[int, int]
    looks: int
    epsilon: float | None
    information_nats: float | None
    maximal_leakage_nats: float | None
    curve: tuple[CurveRecord, ...]
    evidence: tuple[EvidenceRecord, ...]
    failures: dict[str, tuple[int, int]]
    claim: ClaimRecord | None = None


class FindingRecord(Part):
    """What an attack got, what the theory allows at most, and figures of its own."""

    model_config = ConfigDict(extra="allow", frozen=True)

    attack: str
    got: float | None
    at_most: float | None
    ratio: float | None
    unit: str
    stopped_by: str

    def own(self) -> dict[str, Any]:
        """The figures that only this attack has."""
        return dict(self.__pydantic_extra__ or {})


class AttackRecord(Record):
    """Attacks carried out."""

    commands: ClassVar = tuple(
        f"attack {name}"
        for name in (
            "guess", "wifi", "copies", "membership", "skew", "households", "chain", "family", "samples",
            "knowledge", "floor", "games", "timing", "lecture", "reused", "delta", "surprise",
        )
    )  # fmt: skip

    schema_: Literal["leakcap/attack/1"] = Field(alias="schema")
    findings: tuple[FindingRecord, ...] = Field(min_length=1)


class StepRecord(Part):
    """One implication of a route."""

    from_: str = Field(alias="from")
    to: str
    formula: str
    source: str
    attained_by: str | None


class ConvertRecord(Record):
    """What follows from a guarantee."""

    commands: ClassVar = ("convert",)

    schema_: Literal["leakcap/convert/1"] = Field(alias="schema")
    from_: str = Field(alias="from")
    to: str
    value: float | None
    tight: bool
    steps: tuple[StepRecord, ...]


class EntryRecord(Part):
    """One spend in the ledger."""

    id: int
    time: str
    name: str
    query: str
    analyst: str
    state: Literal["reserved", "released", "acknowledged"]
    data_version: int
    epsilon: Epsilon
    delta: Delta
    nats_person: Nats
    nats_table: Nats
    nats_level: Nats


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


class MigrateRecord(Record):
    """The ledger's schema before and now."""

    commands: ClassVar = ("ledger migrate",)

    schema_: Literal["leakcap/ledger-migrate/1"] = Field(alias="schema")
    before: int
    now: int


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
    data_version: int
    details: str | dict[str, Any]
    software: str


class ExportRecord(Record):
    """The audit trail."""

    commands: ClassVar = ("ledger export",)

    schema_: Literal["leakcap/ledger-export/1"] = Field(alias="schema")
    entries: tuple[TrailRow, ...]


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
