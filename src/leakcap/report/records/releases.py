"""What is printed by commands that release, or would: statistics, dry runs and fitted models."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Amendment, Balance, DataVersion, Revision
from leakcap.release import Policy, Release
from leakcap.release.results.publication import Publication
from leakcap.release.results.record import KeyValue, PriceRecord, ReleasedRecord
from leakcap.report.records.amendments import AmendmentRecord
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.certificates import CertificateRecord
from leakcap.report.records.revisions import RevisionRecord
from leakcap.report.records.tables import WorkloadRecord
from leakcap.report.records.versions import SameAsRecord
from leakcap.report.words.promises import assumptions
from leakcap.statement import Statement
from leakcap.statement.record import Delta, Nats, Number, Part, StatementRecord, Unbounded

if TYPE_CHECKING:
    from leakcap.models.summary import Summary
    from leakcap.tables.answer import ReleasedTables

__all__ = [
    "CoefficientRecord",
    "DryRunRecord",
    "FitRecord",
    "FittedRecord",
    "ReleaseRecord",
]


class ReleaseRecord(Record):
    """What a release published, what it leaks, and what is left."""

    commands: ClassVar = ("release", "sql", "job")

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
    publication: Publication | None = None
    revisions: Annotated[
        tuple[RevisionRecord, ...],
        Field(description="of what was published under this title for this period; of all where it has none"),
    ] = ()
    source: Annotated[str, Field(description="what its owner called the data; empty for a data frame")] = ""
    same_as: SameAsRecord | None = None
    workloads: Annotated[
        tuple[WorkloadRecord, ...],
        Field(description="tables that share one budget, where such are asked for"),
    ] = ()
    certificate: CertificateRecord | None = None

    @classmethod
    def of(
        cls,
        policy: Policy,
        releases: Sequence[Release],
        total: Statement,
        balances: Sequence[Balance],
        amendments: Sequence[Amendment] = (),
        publication: Publication | None = None,
        revisions: Sequence[Revision] = (),
        *,
        source: str = "",
        same_as: DataVersion | None = None,
        workloads: Sequence[ReleasedTables] = (),
        certificate: CertificateRecord | None = None,
        **more: str | None,
    ) -> Self:
        """What a run gave; `total` is about every query in the ledger, those of earlier runs included."""
        return cls.made(
            dataset=policy.dataset,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            policy=policy.model_dump(mode="json"),
            releases=tuple(release.record for release in releases),
            so_far=total.record(),
            caps=tuple(map(CapRecord.of, balances)),
            assumptions=tuple(assumptions(policy)),
            amendments=tuple(map(AmendmentRecord.of, amendments)),
            **({} if publication is None else {"publication": publication}),
            **_revised(revisions, publication),
            **({"source": source} if source else {}),
            **({} if same_as is None else {"same_as": SameAsRecord.of(same_as)}),
            **({"workloads": tuple(map(WorkloadRecord.of_released, workloads))} if workloads else {}),
            **({} if certificate is None else {"certificate": certificate}),
            **more,
        )


def _revised(revisions: Sequence[Revision], publication: Publication | None) -> dict[str, object]:
    """Those of the same title and reference period; nothing where there are none."""
    about = None if publication is None else publication.edition
    found = [
        RevisionRecord.of(one)
        for one in revisions
        if about is None
        or (one.edition and (one.edition.title, one.edition.period) == (about.title, about.period))
    ]
    return {"revisions": tuple(found)} if found else {}


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

    @classmethod
    def of(cls, releases: Sequence[Release]) -> Self:
        """What a dry run gave."""
        return cls.made(
            dry_run=True,
            releases=[
                {"name": one.name, "rows": [{"keys": row.keys, "value": row.value} for row in one.rows]}
                for one in releases
            ],
        )


class CoefficientRecord(Part):
    """A number of a model; the interval is null where none is known, an end where the noise hides it."""

    name: str
    value: float
    interval: tuple[Unbounded, Unbounded] | None


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

    @classmethod
    def of(cls, fit: Summary) -> Self:
        """A summary of a fit."""
        spend = fit.spend
        return cls.model_validate(
            {
                "model": fit.title,
                "coefficients": [
                    {"name": one.name, "value": one.value, "interval": one.interval}
                    for one in fit.coefficients
                ],
                "intervals": fit.intervals,
                "noise": fit.noise,
                "guarantee": [{"alpha": o.alpha, "renyi": o.renyi, "level": o.level} for o in fit.orders],
                "asked": None
                if fit.asked is None
                else dict(zip(("epsilon", "delta"), fit.asked, strict=True)),
                "price": {
                    "epsilon": spend.epsilon,
                    "delta": spend.delta,
                    "nats_person": spend.nats_person,
                    "nats_table": spend.nats_table,
                    "rho": spend.rho,
                },
                "entry": fit.entry,
                "repeated": fit.repeated,
            }
        )


class FitRecord(Record):
    """A fitted model, or the demonstration that the lecture's bound is wrong."""

    commands: ClassVar = ("fit",)

    schema_: Literal["leakcap/fit/1"] = Field(alias="schema")
    dataset: str | None
    fit: FittedRecord | None
    so_far: StatementRecord | None
    demonstration: dict[str, float] | None
    certificate: CertificateRecord | None = None

    @classmethod
    def of(
        cls, dataset: str, fit: Summary, total: Statement, certificate: CertificateRecord | None = None
    ) -> Self:
        """A fit, and what everything in its ledger tells."""
        return cls.made(
            dataset=dataset,
            fit=FittedRecord.of(fit),
            so_far=total.record(),
            demonstration=None,
            **({} if certificate is None else {"certificate": certificate}),
        )

    @classmethod
    def demonstrated(cls, facts: dict[str, float]) -> Self:
        """No fit: the figures of the demonstration."""
        return cls.made(dataset=None, fit=None, so_far=None, demonstration=facts)
