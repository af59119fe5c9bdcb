"""Tables and sentences for the terminal (Rich)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from leakcap.release import Preview, Release
from leakcap.report.channel import Finding
from leakcap.report.plain import plain
from leakcap.report.plots import label
from leakcap.report.promises import protects
from leakcap.report.publication import Publication, figures, number, scales
from leakcap.report.spending import balances_table
from leakcap.report.wording import outward
from leakcap.statement import Statement

__all__ = ["print_findings", "print_preview", "print_publication", "print_statement", "print_values"]

MOST_ROWS = 20
_ACCENT, _WARM, _SOFT = "cyan", "red", "dim"


def print_publication(console: Console, publication: Publication, *, explain: bool = False) -> None:
    """The released values and what everything so far leaks."""
    console.print()
    console.print(Text(plain(publication.policy.dataset), style="bold"))
    console.print(Text(plain(protects(publication.policy)), style=_SOFT))
    console.print()
    print_values(console, publication.releases)
    console.print()
    print_statement(console, publication.total, explain=explain)
    console.print()
    console.print(balances_table(publication.balances))
    for amendment in publication.amendments:
        words = f"The policy was amended on {amendment.time:%Y-%m-%d}: {amendment.reason}"
        console.print(Text(plain(words), style=_SOFT))


def print_values(console: Console, releases: Sequence[Release]) -> None:
    """The values alone, with their intervals, and what was done to them afterwards."""
    console.print(_values(releases))
    changed = [release for release in releases if release.processed is not None]
    for release in changed:
        words = f"{plain(release.name)}: {release.processed} (post-processing, which costs nothing)"
        console.print(Text(words, style=_SOFT))


def _values(releases: Sequence[Release]) -> Table:
    table = _table("statistic", "value", "95 % interval", "noise scale", "ε")
    for release in releases:
        price = (scales(release), f"{release.price.epsilon:g}")
        if not release.grouped:
            table.add_row(
                Text(plain(release.name)), *_cells(release.rows[0].value, release.rows[0].interval), *price
            )
            continue
        table.add_row(Text(plain(release.name)), "", "", *price)
        if not release.rows:
            table.add_row(Text("  no group had enough people to appear", style=_SOFT))
        for row in release.rows[:MOST_ROWS]:
            table.add_row(Text("  " + plain(label(row.keys))), *_cells(row.value, row.interval), "", "")
        if len(release.rows) > MOST_ROWS:
            table.add_row(
                Text(f"  … {len(release.rows) - MOST_ROWS} more, in the report and in --json", style=_SOFT)
            )
    return table


def _cells(value: float, interval: tuple[float, float]) -> tuple[Text, str]:
    return Text(number(value), style="bold " + _ACCENT), " to ".join(outward(*interval))


def print_statement(console: Console, statement: Statement, *, explain: bool = False) -> None:
    """The sentences with their numbers; with `explain` also formula and source."""
    parts: list[RenderableType] = []
    for line in statement.lines:
        text = Text("• ")
        text.append(line.sentence)
        text.append("  " + figures(statement, line.key), style=_ACCENT)
        if explain:
            text.append(f"\n    {line.formula}\n    {line.source}", style=_SOFT)
        parts.append(text)
    title = Text(plain(f"What {statement.exposure.title} lets an attacker do"))
    console.print(Panel(Group(*parts), title=title, title_align="left", border_style=_SOFT, padding=(1, 2)))


def print_preview(console: Console, previews: Sequence[Preview]) -> None:
    """Accuracy and price of each query, before anything is spent."""
    table = _table("statistic", "95 % error", "ε", "nats, person", "nats, table")
    for p in previews:
        price = p.price
        table_nats = "no bound" if price.nats_table == float("inf") else f"{price.nats_table:.4g}"
        name = Text(plain(p.name))
        name.append(f"\n{p.remark}" if p.remark else "", style=_SOFT)
        table.add_row(
            name,
            Text(f"± {number(float(f'{p.error:.6g}'))}", style="bold " + _ACCENT),
            f"{price.epsilon:g}",
            f"{price.nats_person.upper:.4g}",
            table_nats,
        )
    total = sum(p.price.epsilon for p in previews)
    console.print(table)
    console.print(Text(f"All together ε = {total:g}. Nothing was read and nothing was spent.", style=_SOFT))


def print_findings(console: Console, title: str, findings: Sequence[Finding]) -> None:
    """What a channel leaks, section by section."""
    console.print(Text(plain(title), style="bold"))
    section = ""
    table = _table("", "value", "bits", "unit")
    table.columns[0].no_wrap = True
    for f in findings:
        if f.section != section:
            section = f.section
            table.add_row(Text(section, style=_SOFT))
        bound = f.bound
        wide = bound.width > 1e-9 * max(1.0, abs(bound.upper))
        value = f"{bound.lower:.10g} to {bound.upper:.10g}" if wide else f"{bound.upper:.10g}"
        bits = f"{bound.bits.upper:.6g}" if bound.unit == "nats" and math.isfinite(bound.upper) else ""
        table.add_row(
            Text("  " + f.name), Text(value, style="bold " + _ACCENT), bits, Text(bound.unit, style=_SOFT)
        )
    console.print(table)


def _table(*titles: str) -> Table:
    """A plain table: text in the second column, numbers to the right in the others."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for index, title in enumerate(titles):
        text = index == (1 if titles[0] == "#" else 0)
        table.add_column(title, justify="left" if text else "right", no_wrap=not text)
    return table
