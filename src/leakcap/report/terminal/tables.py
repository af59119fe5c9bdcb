"""Tables and sentences for the terminal (Rich)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.plots.release import label
from leakcap.report.terminal.spending import caps_table
from leakcap.report.words.crossed import crossed_table
from leakcap.report.words.promises import not_counted, protects
from leakcap.report.words.publication import CAPS, ROUNDED, cap_name, may_come, off_by, scales, shared
from leakcap.report.words.wording import at_least, in_short, sum_text, to_its_noise
from leakcap.statement.restated import restated

if TYPE_CHECKING:
    from leakcap.release.asking.planned import WayRecord
    from leakcap.report.records import CapRecord, PlanRecord, ReleasedRecord, ReleaseRecord
    from leakcap.statement import Statement

__all__ = [
    "MOST_ROWS",
    "plain_table",
    "print_new_ledger",
    "print_preview",
    "print_release",
    "print_statement",
    "print_values",
]

MOST_ROWS = 20
_MOST_ACROSS = 4
_NAME = 34
_ACCENT, _WARM, _SOFT = "cyan", "red", "dim"


def print_new_ledger(console: Console, url: str) -> None:
    """What stands before the first spend of a ledger."""
    words = f"A new ledger begins: {url}. What other ledgers tell about the same people is not counted in it."
    console.print(Text(plain(f"\n{words}"), style=_WARM), soft_wrap=not console.is_terminal)


def print_release(
    console: Console, record: ReleaseRecord, *, explain: bool = False, every: str = "--explain"
) -> None:
    """The released values and what everything so far leaks; `every` is what shows all lines of it."""
    console.print()
    named = record.publication
    console.print(Text(plain(record.dataset if named is None else named.title), style="bold"))
    if named is not None:
        told = ". ".join(part for part in (record.dataset, named.line) if part)
        console.print(Text(plain(told), style=_SOFT))
    console.print(Text(plain(protects(record.policy)), style=_SOFT))
    console.print()
    print_values(console, record.releases, scale=explain)
    for words in (ROUNDED, not_counted(record.policy)):
        if words:
            console.print(Text(plain(words), style=_SOFT))
    console.print()
    print_statement(console, restated(record.so_far), record.caps, explain=explain, every=every)
    console.print()
    console.print(caps_table(record.caps))
    for amendment in record.amendments:
        when = datetime.fromisoformat(amendment.time)
        words = f"The policy was amended on {when:%Y-%m-%d}: {amendment.reason}"
        console.print(Text(plain(words), style=_SOFT))


def print_values(console: Console, releases: Sequence[ReleasedRecord], *, scale: bool = False) -> None:
    """The values alone, with their intervals, and what was done to them afterwards."""
    crossed = [_crossed(release, console.width) for release in releases]
    console.print(_values(releases, scale, crossed))
    for table in crossed:
        if table is not None:
            console.print()
            console.print(table)
    for told in ([one.counted for one in releases], [one.about for one in releases]):
        for words in shared([one.name for one in releases], told):
            console.print(Text(plain(words), style=_SOFT))
    for release in releases:
        if release.post_processed is not None:
            words = f"{plain(release.name)}: {release.post_processed} (post-processing, which costs nothing)"
            console.print(Text(words, style=_SOFT))


def _values(releases: Sequence[ReleasedRecord], scale: bool, crossed: Sequence[Table | None]) -> Table:
    table = plain_table("statistic", "value", "95 % interval", *(["noise scale"] if scale else []), "ε")
    for release, apart in zip(releases, crossed, strict=True):
        price = (*([scales(release.noise.scales)] if scale else []), f"{release.price.epsilon:g}")
        if not release.grouped:
            row = release.values[0]
            table.add_row(_name(release.name), *_cells(row.value, row.interval), *price)
            continue
        table.add_row(_name(release.name), "", "", *price)
        if apart is not None:
            table.add_row(Text("  in a table of its own, below", style=_SOFT))
            continue
        if not release.values:
            table.add_row(Text("  no group had enough people to appear", style=_SOFT))
        for row in release.values[:MOST_ROWS]:
            table.add_row(Text("  " + plain(label(row.keys or {}))), *_cells(row.value, row.interval), "")
        if len(release.values) > MOST_ROWS:
            more = len(release.values) - MOST_ROWS
            table.add_row(Text(f"  … {more} more, in the report, --csv and --json", style=_SOFT))
    return table


def _crossed(release: ReleasedRecord, room: int) -> Table | None:
    """The crossed table that is shown in place of one line per value; None if it does not fit in `room`."""
    found = crossed_table(release, _MOST_ACROSS)
    if found is None or len(found.rows) > MOST_ROWS:
        return None
    table = plain_table(plain(found.corner), *map(plain, found.heads))
    table.title, table.title_justify, table.title_style = Text(plain(release.name)), "left", "bold"
    widths = [len(found.corner), *map(len, found.heads)]
    for head, cells in found.rows:
        shown = [to_its_noise(row.value, *row.interval) for row in cells]
        texts = [Text(plain(head))]
        texts += [
            Text.assemble((value, "bold " + _ACCENT), f" ({low} to {high})") for value, low, high in shown
        ]
        table.add_row(*texts)
        widths = [max(width, text.cell_len) for width, text in zip(widths, texts, strict=True)]
    return table if sum(widths) + 2 * len(widths) <= room else None


def _name(name: str) -> Text:
    """A name of which no line but the first could be taken for another."""
    return Text(textwrap.fill(plain(name), _NAME, subsequent_indent="      "))


def _cells(value: float, interval: tuple[float, float]) -> tuple[Text, str]:
    shown, low, high = to_its_noise(value, *interval)
    return Text(shown, style="bold " + _ACCENT), f"{low} to {high}"


def print_statement(
    console: Console,
    statement: Statement,
    caps: Sequence[CapRecord] = (),
    *,
    explain: bool = False,
    every: str = "--explain",
) -> None:
    """The four sentences that a person needs first; with `explain` all of them, with formula and source.

    What would come after more of the same is told only where the caps allow it.
    """
    left = [(cap.cap, cap.left) for cap in caps]
    lines = [line for line in statement.lines if line.key != "more" or may_come(statement, left)]
    parts: list[RenderableType] = []
    if explain:
        for line in lines:
            text = Text(f"• {line.sentence}")
            text.append(f"\n    {line.formula}\n    {line.source}", style=_SOFT)
            parts.append(text)
    else:
        parts += [Text(f"• {sentence}") for sentence in in_short(statement)]
        parts.append(Text(f"{every} shows all {len(lines)} lines, with formulas and sources.", style=_SOFT))
    title = Text(plain(f"What {statement.exposure.title} lets an attacker do"))
    console.print(Panel(Group(*parts), title=title, title_align="left", border_style=_SOFT, padding=(1, 2)))


def _ways(ways: Sequence[WayRecord]) -> str:
    """What each law of noise would err by, and how much of the caps it would take."""
    return ", ".join(
        f"{way.noise} {off_by(way.error)} for {sum_text(100.0 * way.share, 3)} % of the `{way.cap}` cap"
        for way in ways
    )


def print_preview(console: Console, record: PlanRecord) -> None:
    """Accuracy and price of each query, before anything is spent."""
    table = plain_table("statistic", "95 % error", "ε", "nats, person", "nats, table")
    for p in record.statistics:
        price = p.price
        table.add_row(
            _name(p.name),
            Text(off_by(p.error), style="bold " + _ACCENT),
            f"{price.epsilon:g}",
            _nats(price.nats_person),
            _nats(price.nats_table),
        )
    console.print(table)
    for p in record.statistics:
        if p.remark:
            console.print(Text(plain(f"`{p.name}`: {off_by(p.error)} {p.remark}."), style=_SOFT))
        if p.useless is not None:
            console.print(Text(plain(p.useless), style=_WARM))
        if p.chosen is not None:
            console.print(Text(plain(f"`{p.name}`: {p.chosen}."), style=_SOFT))
        elif p.ways:
            console.print(Text(plain(f"`{p.name}`: {_ways(p.ways)}."), style=_SOFT))
    for words in shared([p.name for p in record.statistics], [p.about for p in record.statistics]):
        console.print(Text(plain(words), style=_SOFT))
    if record.offered is not None:
        console.print(Text(plain(record.offered), style=_SOFT))
    total = record.together.exposure
    with_slack = f" with δ = {total.delta:g}" if total.delta else ""
    words = f"All together ε = {total.epsilon:g}{with_slack}{_of_the_cap(record)}."
    for told in (f"{words} Nothing was read and nothing was spent.", not_counted(record.policy)):
        if told:
            console.print(Text(plain(told), style=_SOFT))


def _of_the_cap(record: PlanRecord) -> str:
    """What a cap on all answers together would be charged, which is another number than the statement's."""
    for cap in record.caps:
        name = cap_name(cap.cap, cap.unit)
        if (
            cap.cap == "epsilon"
            and name != CAPS["epsilon"]
            and cap.limit is not None
            and cap.spent is not None
        ):
            taken = f"{sum_text(cap.spent)} of the {at_least(cap.limit)}"
            return f", which is what the statement says; of the cap on {name}, {taken} would be used"
    return ""


def _nats(value: float | None) -> str:
    return "no bound" if value is None else f"{value:.4g}"


def plain_table(*titles: str) -> Table:
    """A plain table: text in the second column, numbers to the right in the others."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for index, title in enumerate(titles):
        text = index == (1 if titles[0] == "#" else 0)
        # As text: a title may be a released key, and what Rich would read as its markup is none.
        table.add_column(Text(title), justify="left" if text else "right", no_wrap=not text)
    return table
