"""Released values as CSV: every digit, and nothing that a spreadsheet would run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leakcap.plain import csv_text
from leakcap.release.results.record import ReleasedRecord
from leakcap.release.results.workbook import file_names

__all__ = ["values_text", "write_each", "write_values"]

_NUMBERS = ("value", "lower", "upper", "confidence", "covers")


def write_values(releases: Sequence[ReleasedRecord], path: Path) -> None:
    """Write the file; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(values_text(releases), encoding="utf-8")


def write_each(releases: Sequence[ReleasedRecord], folder: Path) -> None:
    """Write one file per release, named after it, into this folder, which is made if it is not there."""
    for release, name in zip(releases, file_names([one.name for one in releases]), strict=True):
        write_values([release], folder / f"{name}.csv")


def values_text(releases: Sequence[ReleasedRecord]) -> str:
    """The releases of a record, one line per value: statistic, keys, the value and its interval in full.

    `covers` is whose figure the interval holds: that of the table, or that of the rows kept.

    >>> print(values_text([]))
    "statistic","value","lower","upper","confidence","covers"
    <BLANKLINE>
    """
    names = dict.fromkeys(name for r in releases for row in r.values for name in row.keys or {})
    heads = {name: f"{name}_" if name in ("statistic", *_NUMBERS) else name for name in names}
    lines: list[tuple[object, ...]] = [("statistic", *heads.values(), *_NUMBERS)]
    for release in releases:
        for row in release.values:
            keys = row.keys or {}
            cells = (release.name, *(keys.get(name, "") for name in names), row.value)
            lines.append((*cells, *row.interval, release.confidence, release.covers or ""))
    return csv_text(lines)
