"""Tables and sentences for the terminal (Rich)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.plots.release import label
from leakcap.report.terminal.certified import print_certificate
from leakcap.report.terminal.crossed import MOST_ROWS, crossed_in, value_cells
from leakcap.report.terminal.plain_tables import SOFT, WARM, name_cell, plain_table
from leakcap.report.terminal.spending import caps_table
from leakcap.report.terminal.titles import print_title
from leakcap.report.terminal.workloads import print_workload
from leakcap.report.words.promises import not_counted, protects
from leakcap.report.words.publication import (
    ROUNDED,
    may_come,
    none_shown,
    scales,
    shared,
    unreliable,
)
from leakcap.report.words.wording import in_short
from leakcap.statement.restated import restated

if TYPE_CHECKING:
    from leakcap.report.records import CapRecord, ReleasedRecord, ReleaseRecord
    from leakcap.statement import Statement

__all__ = [
    "print_new_ledger",
    "print_release",
    "print_statement",
    "print_values",
]


def print_new_ledger(console: Console, url: str) -> None:
    """What stands before the first spend of a ledger."""
    words = f"A new ledger begins: {url}. What other ledgers tell about the same people is not counted in it."
    console.print(Text(plain(f"\n{words}"), style=WARM), soft_wrap=not console.is_terminal)


def print_release(
    console: Console, record: ReleaseRecord, *, explain: bool = False, every: str = "--explain"
) -> None:
    """The released values and what everything so far leaks; `every` is what shows all lines of it."""
    # A preview prints neither, and does not wait for their records.
    from leakcap.report.records.revisions import revision_lines
    from leakcap.report.records.versions import same_as_line

    console.print()
    print_title(console, record.dataset, record.publication)
    console.print(Text(plain(protects(record.policy)), style=SOFT))
    console.print()
    print_values(console, record.releases, scale=explain)
    for workload in record.workloads:
        console.print()
        console.print(Text(plain(workload.name), style="bold"))
        print_workload(console, workload)
    for words in (ROUNDED, not_counted(record.policy)):
        if words:
            console.print(Text(plain(words), style=SOFT))
    console.print()
    print_statement(console, restated(record.so_far), record.caps, explain=explain, every=every)
    console.print()
    console.print(caps_table(record.caps))
    if record.same_as is not None:
        console.print(Text(plain(same_as_line(record.same_as, record.source)), style=SOFT))
    for told in revision_lines(record.revisions):
        console.print(Text(plain(told), style=WARM))
    for amendment in record.amendments:
        when = datetime.fromisoformat(amendment.time)
        words = f"The policy was amended on {when:%Y-%m-%d}: {amendment.reason}"
        console.print(Text(plain(words), style=SOFT))
    print_certificate(console, record.certificate)


def print_values(console: Console, releases: Sequence[ReleasedRecord], *, scale: bool = False) -> None:
    """The values alone, with their intervals, and what was done to them afterwards."""
    crossed = [crossed_in(release, console.width) for release in releases]
    console.print(_values(releases, scale, [found is not None for found in crossed]))
    for found in crossed:
        if found is not None:
            console.print()
            console.print(found)
    if told_of := unreliable(releases):
        console.print(Text(plain(told_of), style=SOFT))
    for told in ([one.counted for one in releases], [one.about for one in releases]):
        for words in shared([one.name for one in releases], told):
            console.print(Text(plain(words), style=SOFT))
    for release in releases:
        if release.post_processed is not None:
            words = f"{plain(release.name)}: {release.post_processed} (post-processing, which costs nothing)"
            console.print(Text(words, style=SOFT))


def _values(releases: Sequence[ReleasedRecord], scale: bool, crossed: Sequence[bool]) -> Table:
    table = plain_table("statistic", "value", "95 % interval", *(["noise scale"] if scale else []), "ε")
    for release, apart in zip(releases, crossed, strict=True):
        price = (*([scales(release.noise.scales)] if scale else []), f"{release.price.epsilon:g}")
        if not release.grouped:
            table.add_row(name_cell(release.name), *value_cells(release.values[0], release.places), *price)
            continue
        table.add_row(name_cell(release.name), "", "", *price)
        if apart:
            table.add_row(Text("  in a table of its own, below", style=SOFT))
            continue
        if not release.values:
            table.add_row(Text(f"  {none_shown(release)}", style=SOFT))
        for row in release.values[:MOST_ROWS]:
            table.add_row(Text("  " + plain(label(row.keys or {}))), *value_cells(row, release.places), "")
        if len(release.values) > MOST_ROWS:
            more = len(release.values) - MOST_ROWS
            table.add_row(Text(f"  … {more} more, in the report, --csv and --json", style=SOFT))
    return table


def print_statement(
    console: Console,
    statement: Statement,
    caps: Sequence[CapRecord] = (),
    *,
    explain: bool = False,
    every: str = "--explain",
) -> None:
    """The four sentences that a person needs first, after what has to stand above them; with `explain` all of
    them, with formula and source.

    What would come after more of the same is told only where the caps allow it.
    """
    left = [(cap.cap, cap.left) for cap in caps]
    lines = [line for line in statement.lines if line.key != "more" or may_come(statement, left)]
    parts: list[RenderableType] = [Text(statement.caveat)] if statement.caveat else []
    if explain:
        for line in lines:
            text = Text(f"• {line.sentence}")
            text.append(f"\n    {line.formula}\n    {line.source}", style=SOFT)
            parts.append(text)
    else:
        parts += [Text(f"• {sentence}") for sentence in in_short(statement)]
        parts.append(Text(f"{every} shows all {len(lines)} lines, with formulas and sources.", style=SOFT))
    title = Text(plain(f"What {statement.exposure.title} lets an attacker do"))
    console.print(Panel(Group(*parts), title=title, title_align="left", border_style=SOFT, padding=(1, 2)))
