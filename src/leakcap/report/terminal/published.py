"""What became of publications, on the terminal (Rich): versions, of which data, revisions."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.ledger import Edition
from leakcap.plain import plain
from leakcap.report.records import (
    CustodyRecord,
    RevisionRecord,
    VersionRecord,
    custody_lines,
    fate_of,
    revision_lines,
    said_same_lines,
)

__all__ = ["print_custody", "print_revisions", "print_versions"]

_SOFT, _WARM = "dim", "red"


def print_versions(console: Console, versions: Sequence[VersionRecord]) -> None:
    """A line for each version of each publication: of which data, how many answers, what became of them."""
    if not any(one.publication or one.period or one.sources or one.same_as for one in versions):
        return
    console.print(Text("\nVersions", style="bold"))
    several = len({one.dataset for one in versions}) > 1
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    numbers = ("table", "answers", "repeats")
    for title in ("publication", "since", "table", "data", *numbers[1:]):
        table.add_column(title, justify="right" if title in numbers else "left")
    for one in versions:
        named = Text(plain(Edition(one.publication, one.period, one.version).line or "(not named)"))
        if several:
            named.append(plain(f"\n{one.dataset}"), style=_SOFT)
        if fate := fate_of(one):
            named.append(plain(f"\n{fate}"), style=_WARM)
        for said in said_same_lines(one):
            named.append(plain(f"\n{said}"), style=_SOFT)
        counts = (f"{one.answers:,}", f"{one.repeated:,}")
        cells = (one.first[:10], f"{one.data_version:,}", ", ".join(one.sources), *counts)
        table.add_row(named, *(Text(plain(cell)) for cell in cells))
    console.print(table)


def print_revisions(console: Console, revisions: Sequence[RevisionRecord]) -> None:
    """Every answer that was replaced or withdrawn: when, who, why."""
    if revisions:
        console.print(Text("\nRevisions and withdrawals; what was spent stays spent", style="bold"))
    for told in revision_lines(revisions):
        console.print(Text(plain(told)))


def print_custody(console: Console, events: Sequence[CustodyRecord]) -> None:
    """What was done with the ledger as a whole: when, who, why."""
    if events:
        console.print(Text("\nThe ledger itself", style="bold"))
    for told in custody_lines(events):
        console.print(Text(plain(told)))
