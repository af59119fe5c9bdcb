"""What queries would cost and how far off they would be, on the terminal (Rich)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.terminal.plain_tables import ACCENT, SOFT, WARM, name_cell, plain_table
from leakcap.report.words.promises import not_counted
from leakcap.report.words.publication import CAPS, cap_name, off_by, shared
from leakcap.report.words.wording import at_least, sum_text

if TYPE_CHECKING:
    from leakcap.release.asking.planned import WayRecord
    from leakcap.report.records import PreviewRecord

__all__ = ["print_preview"]


def _ways(ways: Sequence[WayRecord]) -> str:
    """What each law of noise would err by, and how much of the caps it would take."""
    return ", ".join(
        f"{way.noise} {off_by(way.error)} for {sum_text(100.0 * way.share, 3)} % of the `{way.cap}` cap"
        for way in ways
    )


def print_preview(console: Console, record: PreviewRecord) -> None:
    """Accuracy and price of each query, before anything is spent."""
    table = plain_table("statistic", "95 % error", "ε", "nats, person", "nats, table")
    for p in record.statistics:
        price = p.price
        table.add_row(
            name_cell(p.name),
            Text(off_by(p.error), style="bold " + ACCENT),
            f"{price.epsilon:g}",
            _nats(price.nats_person),
            _nats(price.nats_table),
        )
    console.print(table)
    for p in record.statistics:
        if p.remark:
            console.print(Text(plain(f"`{p.name}`: {off_by(p.error)} {p.remark}."), style=SOFT))
        if p.useless is not None:
            console.print(Text(plain(p.useless), style=WARM))
        if p.chosen is not None:
            console.print(Text(plain(f"`{p.name}`: {p.chosen}."), style=SOFT))
        elif p.ways:
            console.print(Text(plain(f"`{p.name}`: {_ways(p.ways)}."), style=SOFT))
    if record.workloads:
        from leakcap.report.terminal.workloads import print_planned_workload

        for planned in record.workloads:
            print_planned_workload(console, planned)
    names = [p.name for p in record.statistics]
    notes = [p.assumed for p in record.statistics], [p.about for p in record.statistics]
    for words in (words for one in notes for words in shared(names, one)):
        console.print(Text(plain(words), style=SOFT))
    if record.offered is not None:
        console.print(Text(plain(record.offered), style=SOFT))
    total = record.together.exposure
    with_slack = f" with δ = {total.delta:g}" if total.delta else ""
    words = f"All together ε = {total.epsilon:g}{with_slack}{_of_the_cap(record)}."
    for told in (f"{words} Nothing was read and nothing was spent.", not_counted(record.policy)):
        if told:
            console.print(Text(plain(told), style=SOFT))


def _of_the_cap(record: PreviewRecord) -> str:
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
