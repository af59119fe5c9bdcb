"""Tables that share one budget, before they are paid: what they would cost and err by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field

from leakcap.release.columns.people import Covers
from leakcap.statement.record import Nats, Part, Rho

# Whoever previews no tables does not wait for them.
if TYPE_CHECKING:
    from leakcap.tables.question import PlannedTables

__all__ = ["PlannedTableRecord", "PlannedWorkloadRecord"]


class PlannedTableRecord(Part):
    """A table before it is paid, or a margin of one."""

    columns: tuple[str, ...]
    asked: bool
    cells: int
    error_95: Annotated[float, Field(description="half the width of every cell's interval, or of the widest")]


class PlannedWorkloadRecord(Part):
    """Tables that share one budget before it is paid: what they would cost and err by."""

    name: str
    query: str
    rho: Rho
    nats_person: Nats
    root_mean_square: float
    covers: Covers
    about: str
    tables: tuple[PlannedTableRecord, ...]

    @classmethod
    def of(cls, planned: PlannedTables) -> Self:
        """From the policy alone; touches no data."""
        from leakcap.tables.answer import error_of_cells
        from leakcap.tables.charge import charge_of_tables

        plan, spend = planned.plan, charge_of_tables(planned).spend
        return cls(
            name=planned.question.name,
            query=planned.text,
            rho=spend.rho,
            nats_person=spend.nats_person,
            root_mean_square=plan.root_mean_square,
            covers=planned.counted.coverage.covers,
            about=planned.about,
            tables=tuple(
                PlannedTableRecord(
                    columns=plan.workload.named(table),
                    asked=table in plan.workload.weights,
                    cells=plan.workload.cells_of(table),
                    error_95=error_of_cells(plan, table),
                )
                for table in plan.workload.closure
            ),
        )
