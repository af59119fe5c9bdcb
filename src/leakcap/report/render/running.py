"""Counts by period and their totals as CSV: every digit, and nothing that a spreadsheet would run."""

from __future__ import annotations

from pathlib import Path

from leakcap.plain import csv_text
from leakcap.release.numbers.answers import own_heads
from leakcap.report.records.running import RunningRecord

__all__ = ["step_lines", "write_steps"]

_NUMBERS = ("count", "count_lower", "count_upper", "total", "total_lower", "total_upper", "covers")


def write_steps(record: RunningRecord, path: Path) -> None:
    """Write the file; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_text(step_lines(record)), encoding="utf-8")


def step_lines(record: RunningRecord) -> list[list[object]]:
    """The heads and a line for each period of each series: its keys, the period, and the count and the total
    since the first period with their intervals.

    A name of ours that a column bears gets an underscore.
    """
    names = [*record.by, record.period]
    lines: list[list[object]] = [[*names, *own_heads(names, _NUMBERS)]]
    for series in record.series:
        for step in series.steps:
            count = [step.count, step.lower, step.upper]
            total = [step.total, step.total_lower, step.total_upper]
            lines.append([*series.keys, step.period, *count, *total, record.covers])
    return lines
