"""What is printed by commands that release nothing: channels, audits, attacks and conversions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part, Unbounded

if TYPE_CHECKING:
    from leakcap.attack import Finding
    from leakcap.audit import Audit, Judgement
    from leakcap.channel import Channel
    from leakcap.definition import Definition, Implication, Route
    from leakcap.leakage import Hyper
    from leakcap.leakage.findings import Leak

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
    lower: Unbounded
    upper: Unbounded
    unit: str
    formula: str
    source: str
    method: str

    @classmethod
    def of(cls, leak: Leak) -> Self:
        """A measure that was taken."""
        bound = leak.bound
        return cls(
            section=leak.section,
            measure=leak.name,
            lower=bound.lower,
            upper=bound.upper,
            unit=bound.unit,
            formula=leak.formula,
            source=bound.source or leak.source,
            method=bound.method,
        )


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
    secrets: Annotated[
        tuple[str, ...] | None, Field(description="the secrets by name, beside the beliefs about them")
    ] = None

    @classmethod
    def of(
        cls,
        file: str,
        channel: Channel,
        leaks: Sequence[Leak],
        *,
        prior: Sequence[float],
        gain: str,
        neighbours: str,
        hyper: Hyper | None = None,
    ) -> Self:
        """What was measured of the channel in a file, and the beliefs that its outputs lead to."""
        known: dict[str, Any] = {}
        if hyper is not None:
            beliefs = [{"probability": p, "posterior": tuple(after.tolist())} for p, after in hyper]
            known = {"hyper": tuple(beliefs), "secrets": tuple(map(str, hyper.secrets))}
        return cls.made(
            file=file,
            shape=channel.shape,
            prior=tuple(prior),
            gain=gain,
            neighbours=neighbours,
            measures=tuple(map(MeasureRecord.of, leaks)),
            **known,
        )


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

    @classmethod
    def of(
        cls,
        files: tuple[str, str],
        channel: Channel,
        about: Channel,
        leaks: Sequence[Leak],
        *,
        prior: Sequence[float],
        gain: str,
    ) -> Self:
        """What was measured of the channel in the first file, about the secret in the second."""
        return cls.made(
            file=files[0],
            correlation=files[1],
            shape=(about.shape[0], *channel.shape),
            prior=tuple(prior),
            gain=gain,
            measures=tuple(map(MeasureRecord.of, leaks)),
        )


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
            "knowledge", "floor", "games", "timing", "lecture", "linkage", "reused", "delta", "surprise",
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


class StepRecord(Part):
    """One implication of a route."""

    from_: str = Field(alias="from")
    to: str
    formula: str
    source: str
    attained_by: str | None


class LooserRecord(Part):
    """An implication that says less."""

    formula: str
    source: str


class ConvertRecord(Record):
    """What follows from a guarantee."""

    commands: ClassVar = ("convert",)

    schema_: Literal["leakcap/convert/1"] = Field(alias="schema")
    from_: str = Field(alias="from")
    to: str
    value: Unbounded
    tight: bool
    steps: tuple[StepRecord, ...]
    looser: Annotated[
        tuple[LooserRecord, ...], Field(description="what was published before and says less")
    ] = ()

    @classmethod
    def of(cls, route: Route[Definition], looser: Sequence[Implication] = ()) -> Self:
        """A route from a guarantee to what follows from it."""
        steps = [
            {
                "from": repr(step.source),
                "to": repr(step.target),
                "formula": step.edge.formula,
                "source": step.edge.citation,
                "attained_by": step.edge.attained_by or None,
            }
            for step in route.steps
        ]
        others = [{"formula": edge.formula, "source": edge.citation} for edge in looser]
        return cls.made(
            **{"from": repr(route.source)},
            to=repr(route.target),
            value=route.target.threshold,
            tight=route.tight,
            steps=tuple(steps),
            **({"looser": tuple(others)} if others else {}),
        )
