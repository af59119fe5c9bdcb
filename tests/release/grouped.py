"""A statistic's plan for so many groups that are all alike, so that many answers are drawn at once."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from leakcap.release.columns.axis import Axis
from leakcap.release.columns.cells import Cells
from leakcap.release.measurements.permute_and_flip import TopMeasurement
from leakcap.release.plan import Plan

__all__ = ["of_groups"]


def of_groups(plan: Plan, groups: int) -> Plan:
    """The same with an axis of groups in front; the noise and what it costs are left as they are."""
    axis = Axis("run", exp.column("run"), {run: run for run in range(groups)}, "integer")
    parts = [
        replace(part, sizes=part.sizes * groups) if isinstance(part, TopMeasurement) else part
        for part in plan.parts
    ]
    return replace(plan, cells=Cells((axis, *plan.cells.axes)), parts=tuple(parts))
