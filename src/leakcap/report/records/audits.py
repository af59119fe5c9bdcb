"""What is printed of an audit: the evidence, what it certifies, and whether a claim stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part, Unbounded

if TYPE_CHECKING:
    from leakcap.audit import Audit, Judgement

__all__ = ["AuditRecord", "ClaimRecord"]


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
    claimed: Unbounded
    floor: float
    ceiling: Unbounded
    verdict: str
    needed: int | None
    sentence: str | None = None

    @classmethod
    def of(cls, judgement: Judgement) -> Self:
        """What was judged."""
        return cls(
            claim=repr(judgement.claim),
            quantity=judgement.quantity,
            claimed=judgement.claimed,
            floor=judgement.floor,
            ceiling=judgement.ceiling,
            verdict=str(judgement.verdict),
            needed=judgement.needed,
            sentence=str(judgement),
        )


class CertifiedRecord(Part):
    """A certified point: the pair is not (ε, δ)-private below it."""

    epsilon: Unbounded
    delta: float


_DELTAS, _EPSILONS = (1e-6, 1e-3), (0.0, 1.0)


class AuditRecord(Record):
    """What samples prove of a mechanism: each number is a lower bound at the stated confidence."""

    commands: ClassVar = ("audit",)

    schema_: Literal["leakcap/audit/1"] = Field(alias="schema")
    mechanism: str
    inputs: tuple[str, str]
    confidence: float
    samples: tuple[int, int]
    looks: int
    epsilon: Unbounded
    information_nats: Unbounded
    maximal_leakage_nats: Unbounded
    curve: tuple[CurveRecord, ...]
    evidence: tuple[EvidenceRecord, ...]
    failures: dict[str, tuple[int, int]]
    claim: ClaimRecord | None = None
    at_delta: Annotated[
        tuple[CertifiedRecord, ...], Field(description="the ε that is certified at each of these δ")
    ] = ()
    at_epsilon: Annotated[
        tuple[CertifiedRecord, ...], Field(description="the δ that is certified at each of these ε")
    ] = ()

    @classmethod
    def of(cls, mechanism: str, inputs: tuple[str, str], audit: Audit) -> Self:
        """What an audit certified of a mechanism on two inputs."""
        curve = tuple(
            CurveRecord(likely=one.likely, unlikely=one.unlikely, event=one.evidence.event)
            for one in audit.curve
        )
        evidence = tuple(
            EvidenceRecord(
                event=one.event,
                speaks_for=one.speaks_for,
                first=(one.first, one.first_runs),
                second=(one.second, one.second_runs),
            )
            for one in audit.evidence
        )
        judged = audit.judgement
        return cls.made(
            mechanism=mechanism,
            inputs=inputs,
            confidence=audit.confidence,
            samples=audit.samples,
            looks=audit.looks,
            epsilon=audit.epsilon.lower,
            information_nats=audit.information.lower,
            maximal_leakage_nats=audit.maximal_leakage.lower,
            curve=curve,
            evidence=evidence,
            failures=dict(audit.failures),
            at_delta=tuple(
                CertifiedRecord(epsilon=audit.epsilon_at(delta), delta=delta) for delta in _DELTAS
            ),
            at_epsilon=tuple(
                CertifiedRecord(epsilon=epsilon, delta=audit.delta(epsilon)) for epsilon in _EPSILONS
            ),
            **({} if judged is None else {"claim": ClaimRecord.of(judged)}),
        )
