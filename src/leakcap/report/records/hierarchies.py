"""What `leakcap hierarchy` prints: counts at every level of a tree, with intervals, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Balance, DataVersion
from leakcap.policy.document import Policy
from leakcap.release.columns.people import Covers
from leakcap.release.results.publication import Publication
from leakcap.release.results.record import KeyValue
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.certificates import CertificateRecord
from leakcap.report.records.versions import SameAsRecord
from leakcap.statement import Statement
from leakcap.statement.record import Nats, Part, Rho, StatementRecord
from leakcap.tables import ReleasedHierarchy

__all__ = ["HierarchyRecord", "LevelRecord"]


class LevelRecord(Part):
    """A level, as columns: an entry of each list for each of its nodes, in the tree's order."""

    level: str
    keys: tuple[KeyValue, ...]
    parents: Annotated[
        tuple[int, ...],
        Field(description="the place of each node's parent in the level above, from 0; empty at the top"),
    ]
    values: Annotated[
        tuple[int, ...], Field(description="whole counts, each the sum of those of the nodes below")
    ]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    estimates: Annotated[
        tuple[float, ...],
        Field(description="the best linear unbiased estimates, before they were made whole and not negative"),
    ]
    standard_deviations: Annotated[tuple[float, ...], Field(description="of the estimates, at most")]
    drowned: Annotated[
        tuple[int, ...],
        Field(description="places of the nodes whose noise is as large as the count, so that it may be 0"),
    ] = ()
    exact: Annotated[
        tuple[int, ...], Field(description="places of the nodes whose counts were published exactly")
    ] = ()
    variance: Annotated[
        float | None, Field(description="of the noise of one node; null where the level got none")
    ]


class ExactRecord(Part):
    """Totals that were published exactly, by law: named in the question, never read from the data."""

    level: str
    counts: dict[str, int]
    reason: str
    minimum: int


class HierarchyRecord(Record):
    """Counts at every level of a tree: whole numbers that add up, with an interval for each."""

    commands: ClassVar = ("hierarchy",)

    schema_: Literal["leakcap/hierarchy/1"] = Field(alias="schema")
    dataset: str
    name: str
    rho: Rho
    nats_person: Nats
    entry: int
    repeated: bool
    covers: Annotated[Covers, Field(description="whose figure the intervals hold")]
    about: Annotated[str, Field(description="what a reader has to know of `covers`, in words; often empty")]
    levels: tuple[LevelRecord, ...]
    exact: Annotated[tuple[ExactRecord, ...], Field(description="totals that are exact by law")] = ()
    exact_nats: Annotated[
        float,
        Field(description="what the exact totals tell alone of one record, all others known; no ε holds"),
    ] = 0.0
    exact_statement: Annotated[
        str, Field(description="what the exact totals tell alone, in words; empty where there is none")
    ] = ""
    so_far: StatementRecord
    caps: tuple[CapRecord, ...]
    policy: Policy | None = None
    publication: Publication | None = None
    source: Annotated[str, Field(description="what its owner called the data; empty for a data frame")] = ""
    same_as: SameAsRecord | None = None
    certificate: CertificateRecord | None = None

    @classmethod
    def of(
        cls,
        found: ReleasedHierarchy,
        total: Statement,
        balances: Sequence[Balance],
        publication: Publication | None = None,
        *,
        source: str = "",
        same_as: DataVersion | None = None,
        certificate: CertificateRecord | None = None,
    ) -> Self:
        """What was released; `total` is about everything in the ledger."""
        planned = found.planned
        levels = tuple(
            LevelRecord(
                level=own.level,
                keys=own.labels,
                parents=tuple(parents.tolist()),
                values=tuple(own.values.tolist()),
                lower=tuple(own.lower.tolist()),
                upper=tuple(own.upper.tolist()),
                estimates=tuple(own.estimates.tolist()),
                standard_deviations=tuple(own.standard_deviation.tolist()),
                drowned=tuple(own.drowned.nonzero()[0].tolist()),
                exact=tuple(own.exact.nonzero()[0].tolist()),
                variance=None if variance is None else float(variance),
            )
            for own, parents, variance in zip(
                found.levels, planned.hierarchy.parents, planned.plan.variances, strict=True
            )
        )
        coverage, invariants = planned.leaves.counted.coverage, planned.invariants
        return cls.made(
            dataset=planned.policy.dataset,
            name=planned.question.name,
            rho=found.spend.rho,
            nats_person=found.spend.nats_person,
            entry=found.entry,
            repeated=found.repeated,
            covers=coverage.covers,
            about=coverage.about,
            levels=levels,
            exact=tuple(ExactRecord(**one.model_dump()) for one in invariants.reasons),
            exact_nats=invariants.nats,
            exact_statement=invariants.statement,
            so_far=total.record(),
            caps=tuple(map(CapRecord.of, balances)),
            policy=planned.policy.model_dump(mode="json"),
            **({} if publication is None else {"publication": publication}),
            **({"source": source} if source else {}),
            **({} if same_as is None else {"same_as": SameAsRecord.of(same_as)}),
            **({} if certificate is None else {"certificate": certificate}),
        )
