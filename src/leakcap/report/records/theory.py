"""What is printed by commands that release nothing: channels, audits, attacks and conversions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part

__all__ = [
    "AttackRecord",
    "AuditRecord",
    "ChannelRecord",
    "ClaimRecord",
    "ConvertRecord",
    "DaleniusRecord",
    "FindingRecord",
    "MeasureRecord",
]


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


class PosteriorRecord(Part):
    """A belief after some output, and how likely it is to come to that."""

    probability: float
    posterior: tuple[float, ...]


class ChannelRecord(Record):
    """Everything that a channel leaks."""

    commands: ClassVar = ("channel",)

    schema_: Literal["leakcap/channel/1"] = Field(alias="schema")
    file: str
    shape: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    prior: tuple[float, ...]
    gain: str
    neighbours: str = "all"
    measures: tuple[MeasureRecord, ...]
    hyper: tuple[PosteriorRecord, ...] | None = None


class DaleniusRecord(Record):
    """What a channel leaks about another secret: `shape` counts its values, the secrets and the outputs."""

    commands: ClassVar = ("dalenius",)

    schema_: Literal["leakcap/dalenius/1"] = Field(alias="schema")
    file: str
    correlation: str
    shape: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
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
    got_lower: float | None = None
    got_upper: float | None = None
    above_by_chance: bool | None = None

    def own(self) -> dict[str, Any]:
        """The figures that only this attack has."""
        return dict(self.__pydantic_extra__ or {})


class AttackRecord(Record):
    """Attacks carried out."""

    commands: ClassVar = tuple(
        f"attack {name}"
        for name in (
            "guess", "wifi", "copies", "membership", "skew", "households", "chain", "family", "samples",
            "knowledge", "floor", "games", "timing", "lecture", "linkage", "reused", "delta", "surprise",
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
