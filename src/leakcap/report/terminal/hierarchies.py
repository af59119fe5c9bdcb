"""Counts of a tree on the terminal (Rich): the upper levels as they hang together, with their intervals."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.plain import counted, plain
from leakcap.release.results.pivot import FLAG
from leakcap.release.results.record import figure_held
from leakcap.report.records.hierarchies import HierarchyRecord
from leakcap.report.records.versions import same_as_line
from leakcap.report.terminal.certified import print_certificate
from leakcap.report.terminal.spending import caps_table
from leakcap.report.terminal.tables import print_statement
from leakcap.report.terminal.titles import print_title
from leakcap.report.words.promises import protects
from leakcap.report.words.trees import levels_that_fit, nodes_in_order, stated
from leakcap.report.words.wording import sum_text

__all__ = ["print_hierarchy"]

_ACCENT, _SOFT, _MOST = "cyan", "dim", 60


def print_hierarchy(console: Console, record: HierarchyRecord) -> None:
    """The tree from the top, as many levels as fit, what it cost and tells, and what is left."""
    console.print()
    print_title(console, record.dataset, record.publication, record.name)
    if record.policy is not None:
        console.print(Text(plain(protects(record.policy, exact_totals=bool(record.exact))), style=_SOFT))
    console.print()
    shown = levels_that_fit(record, _MOST)
    console.print(_tree(record, shown))
    hidden = sum(len(level.keys) for level in record.levels[shown:])
    if hidden:
        told = f"… and {counted(hidden, 'node')} more below, in --json and --csv."
        console.print(Text(told, style=_SOFT))
    price = "" if record.rho is None else f"ρ = {sum_text(record.rho)} for all of them. "
    console.print(
        Text(
            f"{price}Each count is the sum of those below it. Intervals: 95 %, of each count by itself.",
            style=_SOFT,
        )
    )
    drowned = sum(len(level.drowned) for level in record.levels[:shown])
    if drowned:
        told = f"{FLAG}: unreliable, because the noise is as large as the count: {counted(drowned, 'node')}."
        console.print(Text(told, style=_SOFT))
    if record.covers != "table":
        told = f"The intervals hold the figure that {figure_held(record.covers)}. {record.about}"
        console.print(Text(plain(told), style=_SOFT))
    if record.repeated:
        console.print("\nRepeated from the ledger, for free. --fresh pays for new noise.")
    if record.exact:
        console.print()
        console.print(Text(plain(record.exact_statement)))
        for one in record.exact:
            console.print(Text(plain(f"Exact in {one.level}: {one.reason}"), style=_SOFT))
    console.print()
    print_statement(console, stated(record), record.caps, every="--json")
    console.print()
    console.print(caps_table(record.caps))
    if record.same_as is not None:
        console.print(Text(plain(same_as_line(record.same_as, record.source)), style=_SOFT))
    print_certificate(console, record.certificate)


def _tree(record: HierarchyRecord, shown: int) -> Table:
    drawn = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    drawn.add_column(Text(plain(", ".join(level.level for level in record.levels[:shown]))))
    drawn.add_column("count", justify="right")
    drawn.add_column("interval", justify="right")
    for depth, place, guide in list(nodes_in_order(record, shown))[:_MOST]:
        level = record.levels[depth]
        name = Text(guide, style=_SOFT).append(plain(str(level.keys[place])), style="default")
        value = f"{level.values[place]:,}"
        if place in level.exact:
            drawn.add_row(name, Text(value, style="bold"), "exact")
            continue
        drowned = place in level.drowned
        count = Text(f"{value} {FLAG}", style=_SOFT) if drowned else Text(value, style="bold " + _ACCENT)
        drawn.add_row(name, count, f"{level.lower[place]:,} to {level.upper[place]:,}")
    return drawn
