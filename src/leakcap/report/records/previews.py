"""What `leakcap preview` prints: what queries would cost and tell. No other command's records are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.release import Policy, Preview
from leakcap.release.asking.offered import cut_offered
from leakcap.release.asking.planned import PlannedRecord
from leakcap.release.results.exposure import balances_of_plan, exposure_of_plan
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.planned_tables import PlannedWorkloadRecord
from leakcap.report.words.promises import assumptions
from leakcap.statement import statement_of
from leakcap.statement.record import Part, StatementRecord, Unbounded

if TYPE_CHECKING:
    from leakcap.release import RowLimit
    from leakcap.tables.question import PlannedTables

__all__ = ["PreviewRecord"]


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
