"""Released values as CSV: every digit, and nothing that a spreadsheet would run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leakcap.plain import csv_text
from leakcap.release.numbers.answers import own_heads
from leakcap.release.results.pivot import FLAG, Layout, wide_columns
from leakcap.release.results.record import ReleasedRecord
from leakcap.release.results.workbook import file_names
from leakcap.report.records.tables import WorkloadRecord
from leakcap.report.render.margins import table_lines
from leakcap.report.words.margined import name_of

__all__ = ["values_text", "write_each", "write_values"]

_CONFIDENCE = 0.95
_ABOUT = ("confidence", "covers")
_NUMBERS = ("value", "lower", "upper", "confidence", "flag", "covers")


def write_values(
    releases: Sequence[ReleasedRecord], path: Path, workloads: Sequence[WorkloadRecord] = ()
) -> None:
    """Write the file; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(values_text(releases, workloads), encoding="utf-8")


def write_each(
    releases: Sequence[ReleasedRecord], folder: Path, workloads: Sequence[WorkloadRecord] = ()
) -> None:
    """Write one file per release, named after it, into this folder, which is made if it is not there.

    One that is laid out has a line for each line of its pivot. Of a workload each table and margin has a
    file, named after the workload and its columns.
    """
    tables = [(one, table) for one in workloads for table in one.every]
    titles = [
        *(one.name for one in releases),
        *(f"{one.name} {name_of(table)}" for one, table in tables),
    ]
    names = file_names(titles)
    for (workload, table), name in zip(tables, names[len(releases) :], strict=True):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.csv").write_text(csv_text(table_lines(workload, table)), encoding="utf-8")
    for release, name in zip(releases, names[: len(releases)], strict=True):
        path = folder / f"{name}.csv"
        if release.layout is None:
            write_values([release], path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_laid_out(release, release.layout), encoding="utf-8")


def _laid_out(release: ReleasedRecord, layout: Layout) -> str:
    heads, lines = wide_columns(release.rows(), layout, release.flags)
    # A line may have cells of both: about the table, and about the population.
    mixed = any(row.covers is not None for row in release.values)
    about = [release.confidence, "" if mixed else release.covers or ""]
    filled = ([*("" if cell is None else cell for cell in line), *about] for line in lines)
    return csv_text([[*heads, *own_heads(heads, _ABOUT)], *filled])


def values_text(releases: Sequence[ReleasedRecord], workloads: Sequence[WorkloadRecord] = ()) -> str:
    """The releases of a record, one line per value: statistic, keys, the value and its interval in full.

    Of a workload every table and margin has its lines; columns that it lacks are empty there.

    `flag` is u where the noise drowns a value; `covers` is whose figure the interval holds: that of the
    table, that of the rows kept, or the population's. A name of ours that a column of keys bears gets an
    underscore.

    >>> print(values_text([]))
    "statistic","value","lower","upper","confidence","flag","covers"
    <BLANKLINE>
    """
    names = dict.fromkeys(name for r in releases for row in r.values for name in row.keys or {})
    names |= dict.fromkeys(name for one in workloads for table in one.tables for name in table.columns)
    statistic, *numbers = own_heads(names, ("statistic", *_NUMBERS))
    lines: list[tuple[object, ...]] = [(statistic, *names, *numbers)]
    for release in releases:
        for row in release.values:
            keys = row.keys or {}
            cells = (release.name, *(keys.get(name, "") for name in names), row.value)
            flag = FLAG if row.drowned else ""
            lines.append(
                (*cells, *row.interval, release.confidence, flag, row.covers or release.covers or "")
            )
    for one in workloads:
        for table in one.every:
            for cell in table.cells:
                own = dict(zip(table.columns, cell.keys, strict=True))
                name = f"{one.name}, cumulative" if table.up_to else one.name
                said = (name, *(own.get(name, "") for name in names), cell.value, cell.lower, cell.upper)
                lines.append((*said, _CONFIDENCE, FLAG if cell.drowned else "", one.covers))
    return csv_text(lines)
