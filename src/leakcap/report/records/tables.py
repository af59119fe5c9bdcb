"""What `leakcap tables` prints: tables and their margins, with intervals, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Balance, DataVersion
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.release.columns.people import Covers
from leakcap.release.results.publication import Publication
from leakcap.release.results.record import KeyValue
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.certificates import CertificateRecord
from leakcap.report.records.versions import SameAsRecord
from leakcap.statement import Statement
from leakcap.statement.record import Nats, Part, Rho, StatementRecord

# Whoever previews no tables does not wait for them.
if TYPE_CHECKING:
    from leakcap.tables.answer import Estimate, ReleasedTable, ReleasedTables

__all__ = [
    "BetweenRecord",
    "CellRecord",
    "ChoiceRecord",
    "TableRecord",
    "TablesRecord",
    "WorkloadRecord",
    "choice_told",
]


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
    asked: Annotated[bool, Field(description="whether it was asked for, or chosen; else it is a margin")]
    standard_deviation: Annotated[float, Field(description="of each cell, at most")]
    up_to: Annotated[
        tuple[str, ...],
        Field(description="columns of which a cell stands for all keys from the first one to its own"),
    ] = ()
    cells: tuple[CellRecord, ...]


class ChoiceRecord(Part):
    """How tables were chosen by a private score."""

    among: Annotated[int, Field(description="how many tables there were to choose from")]
    chosen: Annotated[
        tuple[tuple[str, ...], ...],
        Field(description="the chosen tables, in order; single columns are always released"),
    ]


class BetweenRecord(Part):
    """The count of several cells together: of each column a key, or a first and a last one."""

    keys: dict[str, tuple[KeyValue, ...]]
    value: float
    lower: float
    upper: float

    @classmethod
    def of(cls, cells: Mapping[str, Key | tuple[Key, Key]], found: Estimate) -> Self:
        """What was asked for, and what the tables say."""
        keys: dict[str, tuple[KeyValue, ...]] = {
            name: own if isinstance(own, tuple) else (own,) for name, own in cells.items()
        }
        return cls(keys=keys, value=found.value, lower=found.low, upper=found.high)


class WorkloadRecord(Part):
    """Tables that share one budget: estimates that agree in every margin, and what they cost."""

    name: str
    rho: Rho
    nats_person: Nats
    entry: int
    repeated: bool
    root_mean_square: Annotated[float, Field(description="the error of a cell, weighted, at most")]
    excess: Annotated[
        float,
        Field(
            description="the squared error over the least of any linear mechanism with Gaussian noise of the "
            "same ρ; where tables were chosen, of the ρ of their noise alone"
        ),
    ]
    covers: Annotated[Covers, Field(description="whose figure the intervals hold")]
    about: Annotated[
        str, Field(description="which rows the tables are about, and what a reader has to know of `covers`")
    ]
    query: Annotated[str, Field(description="the question in words; empty in records of before")] = ""
    question: Annotated[
        dict[str, Any] | None,
        Field(description="the question as `TablesQuestion` reads it; null in records of before"),
    ] = None
    choice: Annotated[
        ChoiceRecord | None,
        Field(
            description="how the tables were chosen by a private score among those of `question`; absent "
            "where all were released. Intervals hold for all tables to choose from at once"
        ),
    ] = None
    within: Annotated[
        dict[str, str],
        Field(description="by column the one that its keys lie within: only pairs that can occur are cells"),
    ] = Field(default_factory=dict)
    tables: tuple[TableRecord, ...]
    cumulative: Annotated[
        tuple[TableRecord, ...],
        Field(description="tables by columns that are asked as prefixes, added up along them"),
    ] = ()

    @property
    def every(self) -> tuple[TableRecord, ...]:
        """Tables, margins, and what is added up."""
        return (*self.tables, *self.cumulative)

    @classmethod
    def of_released(cls, found: ReleasedTables) -> WorkloadRecord:
        """What was released."""
        return WorkloadRecord(**_facts(found))

    @property
    def drowned(self) -> int:
        """How many cells of the tables that were asked for the noise drowns."""
        return sum(cell.drowned for table in self.tables if table.asked for cell in table.cells)


def _facts(found: ReleasedTables) -> dict[str, Any]:
    plan, workload = found.plan, found.plan.workload
    tables = [
        _told(found.table(*workload.named(table)), table in workload.weights) for table in workload.closure
    ]
    added = [name for name, kind in workload.kinds.items() if kind == "prefixes"]
    asked = [workload.named(table) for table in workload.closure if table in workload.weights]
    cumulative = [
        _told(found.table(*names, cumulative=[name for name in names if name in added]), True)
        for names in asked
        if set(names) & set(added)
    ]
    return {
        "name": found.planned.question.name,
        "rho": found.spend.rho,
        "nats_person": found.spend.nats_person,
        "entry": found.entry,
        "repeated": found.repeated,
        "root_mean_square": plan.root_mean_square,
        "excess": found.excess,
        "covers": found.planned.counted.coverage.covers,
        "about": found.planned.about,
        "query": found.text,
        "question": found.planned.question.model_dump(mode="json", exclude_none=True),
        **choice_told(found),
        **({"within": {name: own.outer for name, own in workload.within.items()}} if workload.within else {}),
        "tables": tuple(tables),
        **({"cumulative": tuple(cumulative)} if cumulative else {}),
    }


def choice_told(found: ReleasedTables) -> dict[str, ChoiceRecord]:
    """The field `choice` of a record, where the tables were chosen; nothing where all were asked for."""
    if found.among == 1:
        return {}
    from leakcap.synthesis.choosing import ChosenTables

    assert isinstance(found, ChosenTables)
    return {"choice": ChoiceRecord(among=len(found.choice.candidates), chosen=found.chosen)}


def _told(one: ReleasedTable, asked: bool) -> TableRecord:
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
    return TableRecord(
        columns=one.columns,
        asked=asked,
        standard_deviation=one.standard_deviation,
        **({"up_to": one.cumulative} if one.cumulative else {}),
        cells=cells,
    )


class TablesRecord(WorkloadRecord, Record):
    """Tables that share one budget, what everything so far tells, and what is left.

    `leakcap tables` prints it; of tables that were chosen `leakcap synthesize --tables` writes it."""

    commands: ClassVar = ("tables",)

    schema_: Literal["leakcap/tables/1"] = Field(alias="schema")
    dataset: str
    so_far: StatementRecord
    caps: tuple[CapRecord, ...]
    policy: Policy | None = None
    publication: Publication | None = None
    source: Annotated[str, Field(description="what its owner called the data; empty for a data frame")] = ""
    same_as: SameAsRecord | None = None
    between: Annotated[
        tuple[BetweenRecord, ...], Field(description="counts of several keys, where asked for")
    ] = ()
    certificate: CertificateRecord | None = None

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
        between: Sequence[tuple[Mapping[str, Key | tuple[Key, Key]], Estimate]] = (),
        certificate: CertificateRecord | None = None,
    ) -> Self:
        """What was released, chosen tables too; `total` is about everything in the ledger."""
        return cls.made(
            dataset=found.planned.policy.dataset,
            **_facts(found),
            so_far=total.record(),
            caps=tuple(map(CapRecord.of, balances)),
            policy=found.planned.policy.model_dump(mode="json"),
            **({} if publication is None else {"publication": publication}),
            **({"source": source} if source else {}),
            **({} if same_as is None else {"same_as": SameAsRecord.of(same_as)}),
            **({"between": tuple(BetweenRecord.of(*one) for one in between)} if between else {}),
            **({} if certificate is None else {"certificate": certificate}),
        )
