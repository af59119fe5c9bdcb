"""A year of publications on the terminal (Rich)."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.records import CapRecord, MonthRecord, PlanRecord
from leakcap.report.terminal.spending import print_slots
from leakcap.report.terminal.workloads import print_planned_workload
from leakcap.report.words.publication import cap_name
from leakcap.report.words.wording import at_least, sum_text

__all__ = ["print_plan"]


def print_plan(console: Console, record: PlanRecord) -> None:
    """Accuracy, months with what is left, the month where it breaks, and the prices that keep the year."""
    console.print(Text(plain(f"\n{record.dataset}"), style="bold"))
    _print_accuracy(console, record)
    for planned in record.workloads:
        print_planned_workload(console, planned)
    _print_months(console, record.months)
    if record.slots:
        print_slots(console, record.slots)
    taken = sum(month.taken for month in record.months)
    broken = next((month for month in record.months if not month.taken), None)
    if broken is None:
        fit = "The publication fits" if taken == 1 else f"All {taken:,} publications fit"
        console.print(Text(f"\n{fit} under the caps."))
    else:
        told = f"\n{broken.month} would be refused. {broken.reason or ''}"
        console.print(Text(plain(told), style="red"))
        _print_even(console, record)
    if record.new_ledger is not None:
        told = f"There is no ledger at `{record.new_ledger}` yet: this is the plan for a new one."
        console.print(Text(plain(told)))
    console.print(Text("Nothing was read from the data, and nothing was spent.", style="dim"))


def _print_accuracy(console: Console, record: PlanRecord) -> None:
    even = record.breaks is not None and bool(record.even)
    if not record.statistics:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("each month")
    for head in ("± at 95 %", "price", *(("± that keeps the year",) if even else ())):
        table.add_column(head, justify="right")
    for place, one in enumerate(record.statistics):
        price = f"slot {one.slot}" if one.slot else f"ε {sum_text(one.epsilon)}"
        kept = (_error(record.even[place].error_95),) if even else ()
        name = f"{one.name} ({one.remark})" if one.remark else one.name
        table.add_row(Text(plain(name)), _error(one.error_95), Text(plain(price)), *kept)
    console.print(table)
    for one in record.statistics:
        if one.useless is not None:
            console.print(Text(plain(one.useless), style="red"))


def _error(error: float | None) -> str:
    return "no bound" if error is None else f"± {sum_text(error)}"


def _print_months(console: Console, months: tuple[MonthRecord, ...]) -> None:
    first = months[0]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("month")
    table.add_column("published")
    # A cap of nothing has nothing left, ever.
    caps = [(cap, "") for cap in first.caps if cap.limit]
    caps += [(cap, ", period") for cap in first.period if cap.limit]
    for cap, whose in caps:
        table.add_column(f"{cap_name(cap.cap, cap.unit)}{whose}: left", justify="right")
    for month in months:
        left = [_left(month.period if whose else month.caps, cap) for cap, whose in caps]
        said = Text("yes") if month.taken else Text("refused", style="red")
        table.add_row(month.month, said, *left)
    console.print()
    console.print(table)


def _left(caps: tuple[CapRecord, ...], wanted: CapRecord) -> str:
    found = next(cap for cap in caps if cap.cap == wanted.cap)
    return at_least(math.inf if found.left is None else found.left)


def _print_even(console: Console, record: PlanRecord) -> None:
    count = len(record.months)
    if record.share is None:
        console.print("No smaller price keeps all months under the caps.")
        return
    which = "it fits" if count == 1 else f"all {count:,} fit"
    console.print(
        f"At {record.share * 100:.1f} % of these prices {which}: with the errors of the last column above"
        f"{', and these of the tables' if record.even_workloads else ''}."
    )
    for planned in record.even_workloads:
        print_planned_workload(console, planned)
