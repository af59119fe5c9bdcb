"""What is printed by commands that release, or would: statistics, previews, dry runs and fitted models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Amendment, Balance, DataVersion, Revision
from leakcap.release import Policy, Preview, Release
from leakcap.release.asking.offered import cut_offered
from leakcap.release.asking.planned import PlannedRecord
from leakcap.release.results.exposure import balances_of_plan, exposure_of_plan
from leakcap.release.results.publication import Publication
from leakcap.release.results.record import KeyValue, PriceRecord, ReleasedRecord
from leakcap.report.records.amendments import AmendmentRecord
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.revisions import RevisionRecord
from leakcap.report.records.tables import PlannedWorkloadRecord, WorkloadRecord
from leakcap.report.records.versions import SameAsRecord
from leakcap.report.words.promises import assumptions
from leakcap.statement import Statement, statement_of
from leakcap.statement.record import Delta, Nats, Number, Part, StatementRecord, Unbounded

if TYPE_CHECKING:
    from leakcap.models.summary import Summary
    from leakcap.release import RowLimit
    from leakcap.tables.answer import ReleasedTables
    from leakcap.tables.question import PlannedTables

__all__ = [
    "CoefficientRecord",
    "DryRunRecord",
    "FitRecord",
    "FittedRecord",
    "PreviewRecord",
    "ReleaseRecord",
]


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


class RowLimitRecord(Part):
    """One value of `max_rows`, were the policy to have it."""

    max_rows: int
    errors: Annotated[
        dict[str, Unbounded], Field(description="of each query; null where it does not go with this limit")
    ]
    rows_cut: Annotated[
        int | None, Field(description="how many rows are left out at most; null where no answer says so")
    ] = None
    share_cut: Annotated[
        float | None,
        Field(description="which part of people loses rows at most; null where no answer says so"),
    ] = None


class PreviewRecord(Record):
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
    row_limits: Annotated[
        tuple[RowLimitRecord, ...], Field(description="other values of `max_rows`, where they were asked for")
    ] = ()
    offered: Annotated[
        str | None, Field(description="what counting the rows cut would cost, where that is not asked for")
    ] = None
    workloads: Annotated[
        tuple[PlannedWorkloadRecord, ...],
        Field(description="tables that share one budget, where such are asked for"),
    ] = ()

    @classmethod
    def of(
        cls,
        policy: Policy,
        previews: Sequence[Preview],
        limits: Sequence[RowLimit] = (),
        workloads: Sequence[PlannedTables] = (),
    ) -> Self:
        """A preview: accuracy, price and statement of each query, and of all together."""
        prices = [preview.price for preview in previews]
        each = [preview.exposure for preview in previews]
        offered = cut_offered(previews, policy)
        beside = []
        if workloads:
            from leakcap.tables.charge import charge_of_tables

            beside = [charge_of_tables(planned) for planned in workloads]
        return cls.made(
            **({} if offered is None else {"offered": offered}),
            **({"row_limits": tuple(RowLimitRecord(**asdict(one)) for one in limits)} if limits else {}),
            dataset=policy.dataset,
            policy=policy.model_dump(mode="json"),
            statistics=tuple(preview.record for preview in previews),
            together=statement_of(exposure_of_plan(prices, each, policy, beside)).record(),
            caps=tuple(map(CapRecord.of, balances_of_plan(prices, policy, beside))),
            **({"workloads": tuple(map(PlannedWorkloadRecord.of, workloads))} if workloads else {}),
            assumptions=tuple(assumptions(policy)),
        )


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

    @classmethod
    def of(cls, dataset: str, fit: Summary, total: Statement) -> Self:
        """A fit, and what everything in its ledger tells."""
        return cls.made(dataset=dataset, fit=FittedRecord.of(fit), so_far=total.record(), demonstration=None)

    @classmethod
    def demonstrated(cls, facts: dict[str, float]) -> Self:
        """No fit: the figures of the demonstration."""
        return cls.made(dataset=None, fit=None, so_far=None, demonstration=facts)
