"""Released values as CSV: every digit, and nothing that a spreadsheet would run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leakcap.plain import csv_text
from leakcap.release.numbers.answers import own_heads
from leakcap.release.results.pivot import FLAG, Layout, wide_columns
from leakcap.release.results.record import ReleasedRecord
from leakcap.release.results.workbook import file_names

__all__ = ["values_text", "write_each", "write_values"]

_ABOUT = ("confidence", "covers")
_NUMBERS = ("value", "lower", "upper", "confidence", "flag", "covers")


def write_values(releases: Sequence[ReleasedRecord], path: Path) -> None:
    """Write the file; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(values_text(releases), encoding="utf-8")


def write_each(releases: Sequence[ReleasedRecord], folder: Path) -> None:
    """Write one file per release, named after it, into this folder, which is made if it is not there.

    One that is laid out has a line for each line of its pivot.
    """
    for release, name in zip(releases, file_names([one.name for one in releases]), strict=True):
        path = folder / f"{name}.csv"
        if release.layout is None:
            write_values([release], path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_laid_out(release, release.layout), encoding="utf-8")


def _laid_out(release: ReleasedRecord, layout: Layout) -> str:
    heads, lines = wide_columns(release.rows(), layout, release.flags)
    return csv_text([[*heads, *own_heads(heads, _ABOUT)], *(_filled(release, line) for line in lines)])


def _filled(release: ReleasedRecord, line: Sequence[object]) -> list[object]:
    return [*("" if cell is None else cell for cell in line), release.confidence, release.covers or ""]


def values_text(releases: Sequence[ReleasedRecord]) -> str:
    """The releases of a record, one line per value: statistic, keys, the value and its interval in full.

    `flag` is u where the noise drowns a value; `covers` is whose figure the interval holds: that of the
    table, or that of the rows kept. A name of ours that a column of keys bears gets an underscore.

    >>> print(values_text([]))
    "statistic","value","lower","upper","confidence","flag","covers"
    <BLANKLINE>
    """
    names = dict.fromkeys(name for r in releases for row in r.values for name in row.keys or {})
    statistic, *numbers = own_heads(names, ("statistic", *_NUMBERS))
    lines: list[tuple[object, ...]] = [(statistic, *names, *numbers)]
    for release in releases:
        for row in release.values:
            keys = row.keys or {}
            cells = (release.name, *(keys.get(name, "") for name in names), row.value)
            flag = FLAG if row.drowned else ""
            lines.append((*cells, *row.interval, release.confidence, flag, release.covers or ""))
    return csv_text(lines)
