"""What is printed of attacks: what each got, and what the theory allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part, Unbounded

if TYPE_CHECKING:
    from leakcap.attack import Finding

__all__ = ["AttackRecord", "FindingRecord"]


class FindingRecord(Part):
    """What an attack got, what the theory allows at most, and figures of its own."""

    model_config = ConfigDict(extra="allow", frozen=True)

    attack: str
    got: Unbounded
    at_most: Unbounded
    ratio: Unbounded
    unit: str
    stopped_by: str
    got_lower: Unbounded = None
    got_upper: Unbounded = None
    above_by_chance: bool | None = None

    @classmethod
    def of(cls, finding: Finding, *, guarded: bool | None = None) -> Self:
        """What an attack came back with; `guarded` says whether with its guard, where it was played twice."""
        return cls.model_validate(finding.to_dict() | ({} if guarded is None else {"guarded": guarded}))

    def own(self) -> dict[str, Any]:
        """The figures that only this attack has."""
        return dict(self.__pydantic_extra__ or {})


class AttackRecord(Record):
    """Attacks carried out."""

    commands: ClassVar = tuple(
        f"attack {name}"
        for name in (
            "guess", "wifi", "copies", "membership", "skew", "households", "chain", "family", "samples",
            "knowledge", "floor", "games", "timing", "lecture", "linkage", "link", "suppressed", "tables",
            "builder", "reused", "delta", "surprise", "blackbox",
        )
    )  # fmt: skip

    schema_: Literal["leakcap/attack/1"] = Field(alias="schema")
    findings: tuple[FindingRecord, ...] = Field(min_length=1)

    @classmethod
    def of(cls, found: Sequence[Finding]) -> Self:
        """Attacks, each carried out once."""
        return cls.made(findings=tuple(map(FindingRecord.of, found)))

    @classmethod
    def of_pairs(cls, pairs: Sequence[tuple[Finding, Finding]]) -> Self:
        """Attacks without their guard and with it."""
        return cls.made(
            findings=tuple(
                FindingRecord.of(finding, guarded=guarded)
                for pair in pairs
                for guarded, finding in zip((False, True), pair, strict=True)
            )
        )
