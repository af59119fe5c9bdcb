"""What `leakcap tables` prints: tables and their margins, with intervals, and what they cost."""

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
from leakcap.report.records.versions import SameAsRecord
from leakcap.statement import Statement
from leakcap.statement.record import Nats, Part, Rho, StatementRecord
from leakcap.tables import ReleasedTables

__all__ = ["TableRecord", "TablesRecord"]


class CellRecord(Part):
    """A cell: its keys, the estimate, and an interval that holds the exact count at 95 % or more."""

    keys: tuple[KeyValue, ...]
    value: float
    lower: float
    upper: float
    drowned: Annotated[
        bool, Field(description="whether the noise is as large as the count, so that it may be 0")
    ] = False


class TableRecord(Part):
    """A table, or a margin of one, or the total, which has no columns."""

    columns: tuple[str, ...]
    asked: Annotated[bool, Field(description="whether it was asked for; else it is a margin")]
    standard_deviation: Annotated[float, Field(description="of each cell, at most")]
    cells: tuple[CellRecord, ...]


class TablesRecord(Record):
    """Tables that share one budget: estimates that agree in every margin."""

    commands: ClassVar = ("tables",)

    schema_: Literal["leakcap/tables/1"] = Field(alias="schema")
    dataset: str
    name: str
    rho: Rho
    nats_person: Nats
    entry: int
    repeated: bool
    root_mean_square: Annotated[float, Field(description="the error of a cell, weighted, at most")]
    excess: Annotated[
        float,
        Field(description="the squared error over the least of any linear mechanism with Gaussian noise"),
    ]
    covers: Annotated[Covers, Field(description="whose figure the intervals hold")]
    about: Annotated[str, Field(description="what a reader has to know of `covers`, in words; often empty")]
    tables: tuple[TableRecord, ...]
    so_far: StatementRecord
    caps: tuple[CapRecord, ...]
    policy: Policy | None = None
    publication: Publication | None = None
    source: Annotated[str, Field(description="what its owner called the data; empty for a data frame")] = ""
    same_as: SameAsRecord | None = None

    @classmethod
    def of(
        cls,
        found: ReleasedTables,
        total: Statement,
        balances: Sequence[Balance],
        publication: Publication | None = None,
        *,
        source: str = "",
        same_as: DataVersion | None = None,
    ) -> Self:
        """What was released; `total` is about everything in the ledger."""
        plan, workload = found.plan, found.plan.workload
        tables = []
        for table in workload.closure:
            one = found.table(*workload.named(table))
            cells = tuple(
                CellRecord(
                    keys=keys,
                    value=cell.value,
                    lower=cell.low,
                    upper=cell.high,
                    **({"drowned": True} if drowned else {}),
                )
                for (keys, cell), drowned in zip(one.cells, one.drowned.tolist(), strict=True)
            )
            tables.append(
                TableRecord(
                    columns=one.columns,
                    asked=table in workload.weights,
                    standard_deviation=one.standard_deviation,
                    cells=cells,
                )
            )
        return cls.made(
            dataset=found.planned.policy.dataset,
            name=found.planned.question.name,
            rho=found.spend.rho,
            nats_person=found.spend.nats_person,
            entry=found.entry,
            repeated=found.repeated,
            root_mean_square=plan.root_mean_square,
            excess=found.excess,
            covers=found.planned.counted.coverage.covers,
            about=found.planned.counted.coverage.about,
            tables=tuple(tables),
            so_far=total.record(),
            caps=tuple(map(CapRecord.of, balances)),
            policy=found.planned.policy.model_dump(mode="json"),
            **({} if publication is None else {"publication": publication}),
            **({"source": source} if source else {}),
            **({} if same_as is None else {"same_as": SameAsRecord.of(same_as)}),
        )
