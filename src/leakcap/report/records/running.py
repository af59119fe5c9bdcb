"""What `leakcap running` prints: counts by period and their totals, with intervals, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Balance
from leakcap.policy.document import Policy
from leakcap.release.columns.people import Covers
from leakcap.release.results.publication import Publication
from leakcap.release.results.record import KeyValue
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.certificates import CertificateRecord
from leakcap.running import ReleasedRunningCount
from leakcap.statement import Statement
from leakcap.statement.record import Nats, Part, Rho, StatementRecord

__all__ = ["PeriodCountRecord", "RunningRecord", "SeriesRecord"]

_OF_TIME = (
    "A row counts in the period of its date. Intervals are about rows that were in the table when their "
    "period was answered and stay there; later ones enter the totals step by step. "
)
_OF_ROWS = (
    "A row whose date changes after its period was answered counts as two rows. The promise is to a row: "
    "whoever has a row in the table of each period has as many rows."
)


def _of_time(policy: Policy) -> str:
    """Which rows the intervals are about, and what the promise rests on."""
    if policy.id_column is None:
        return _OF_TIME + _OF_ROWS
    return (
        f"{_OF_TIME}What is promised to each {policy.id_column} holds while rows that were counted stay in "
        "the table as they are until the last period; whoever asked has said that they do (`rows_stay`)."
    )


class PeriodCountRecord(Part):
    """A period: its count and the total from the first period to its end, with intervals at 95 % or more."""

    period: str
    count: float
    lower: float
    upper: float
    total: float
    total_lower: float
    total_upper: float


class SeriesRecord(Part):
    """The periods of the rows with these keys, in the order of `by`; without `by` there are none."""

    keys: tuple[KeyValue, ...]
    steps: tuple[PeriodCountRecord, ...]


class RunningRecord(Record):
    """A running count so far, paid for once for its whole horizon."""

    commands: ClassVar = ("running",)

    schema_: Literal["leakcap/running/1"] = Field(alias="schema")
    dataset: str
    name: str
    rho: Rho
    nats_person: Nats
    entry: int
    new: Annotated[int, Field(description="how many periods were answered now; the others were repeated")]
    period: Annotated[str, Field(description="the column whose periods are counted")]
    first: str
    horizon: Annotated[int, Field(description="how many periods the charge pays for")]
    by: tuple[str, ...]
    worst: Annotated[
        float, Field(description="the error of the last total in units of one count's noise, at most")
    ]
    worst_deviation: Annotated[float, Field(description="its standard deviation, at most")]
    covers: Annotated[Covers, Field(description="whose figure the intervals hold")]
    about: Annotated[str, Field(description="what a reader has to know of `covers`, in words; often empty")]
    of_time: Annotated[
        str, Field(description="which rows the intervals are about; what the promise rests on")
    ]
    series: tuple[SeriesRecord, ...]
    so_far: StatementRecord
    caps: tuple[CapRecord, ...]
    policy: Policy
    publication: Publication | None = None
    source: Annotated[str, Field(description="what its owner called the data; empty for a data frame")] = ""
    certificate: CertificateRecord | None = None

    @classmethod
    def of(
        cls,
        found: ReleasedRunningCount,
        total: Statement,
        balances: Sequence[Balance],
        publication: Publication | None = None,
        *,
        source: str = "",
        certificate: CertificateRecord | None = None,
    ) -> Self:
        """What was released; `total` is about everything in the ledger."""
        planned, asked = found.planned, found.planned.question
        series = []
        for keys in planned.series:
            steps = []
            for period in found.answered:
                count, so_far = found.count(period, *keys), found.total(period, *keys)
                numbers = (count.value, count.low, count.high, so_far.value, so_far.low, so_far.high)
                names = ("count", "lower", "upper", "total", "total_lower", "total_upper")
                steps.append(PeriodCountRecord(period=period, **dict(zip(names, numbers, strict=True))))
            series.append(SeriesRecord(keys=keys, steps=tuple(steps)))
        coverage = planned.counted.coverage
        return cls.made(
            dataset=planned.policy.dataset,
            name=asked.name,
            rho=found.spend.rho,
            nats_person=found.spend.nats_person,
            entry=found.entry,
            new=found.new,
            period=asked.period,
            first=asked.first,
            horizon=asked.steps,
            by=asked.by,
            worst=planned.plan.factor.worst,
            worst_deviation=found.worst_deviation,
            covers=coverage.covers,
            about=coverage.about,
            of_time=_of_time(planned.policy),
            series=tuple(series),
            so_far=total.record(),
            caps=tuple(map(CapRecord.of, balances)),
            policy=planned.policy.model_dump(mode="json"),
            **({} if publication is None else {"publication": publication}),
            **({"source": source} if source else {}),
            **({} if certificate is None else {"certificate": certificate}),
        )
