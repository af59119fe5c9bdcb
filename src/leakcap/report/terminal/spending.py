"""What was spent over time, by analyst and by kind, in bars for the terminal (Rich). It computes sums
only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.ledger import Edition
from leakcap.numeric.rounding import sum_up
from leakcap.plain import plain
from leakcap.report.words.publication import cap_name
from leakcap.report.words.wording import at_least, sum_text

if TYPE_CHECKING:
    from leakcap.report.records import (
        AmendmentRecord,
        AmendRecord,
        BudgetRecord,
        CapRecord,
        DatasetRecord,
        EntryRecord,
        SlotRecord,
        ToldRecord,
    )

__all__ = [
    "caps_table",
    "print_accounts",
    "print_amendment",
    "print_amendments",
    "print_datasets",
    "print_entries",
    "print_slots",
    "print_spending",
    "print_told",
]

_WIDTH = 24
_SOFT, _WARM, _FILL = "dim", "red", "cyan"
_MOST = 12
_STATES = {
    "released": "",
    "reserved": "not released",
    "acknowledged": "lost",
    "planned": "plan",
    "lost": "not listed",
}


def print_accounts(console: Console, record: BudgetRecord) -> None:
    """Every account under its caps: everything, then analysts and the present period."""
    console.print(Text(plain(record.dataset), style="bold"))
    console.print(caps_table(record.caps))
    for account in record.accounts:
        title = f"{account.scope} {account.name or '(unnamed)'}"
        console.print(Text(plain(f"\n{title}"), style="bold"))
        console.print(caps_table([cap for cap in account.caps if cap.limit is not None]))


def print_told(console: Console, told: Sequence[ToldRecord]) -> None:
    """What all answers so far tell together, a line for each δ."""
    for one in told:
        odds = f"All answers so far together: ε at most {at_least(one.epsilon)}"
        console.print(Text(f"\n{odds}, but with a probability of {one.delta:.6g}.", style="bold"))


def print_datasets(console: Console, datasets: Sequence[DatasetRecord]) -> None:
    """What the answers from each of several data sets cost by themselves."""
    if not datasets:
        return
    console.print(Text("\nData sets about the same people", style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for title in ("data set", "spends", "ε added up"):
        table.add_column(title, justify="left" if title == "data set" else "right")
    for one in datasets:
        cells = (one.dataset, f"{one.entries:,}", "no bound" if one.epsilon is None else one.epsilon)
        table.add_row(*(Text(plain(cell)) for cell in cells))
    console.print(table)


def print_slots(console: Console, slots: Sequence[SlotRecord]) -> None:
    """What each slot of a plan may still answer, at no further cost."""
    if not slots:
        return
    console.print(Text("\nPaid for beforehand", style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for title in ("slot", "plan", "used", "of", "each at most"):
        table.add_column(title, justify="right" if title in ("used", "of") else "left")
    for one in slots:
        cells = (one.name, one.plan, f"{one.used:,}", f"{one.count:,}", one.each)
        table.add_row(*(Text(plain(cell)) for cell in cells))
    console.print(table)


def print_spending(console: Console, entries: Sequence[EntryRecord]) -> None:
    """ε over time, by analyst and by kind of statistic."""
    if not entries:
        console.print(Text("\nNothing was spent yet.", style=_SOFT))
        return
    when, every = _moments(entries)
    _bars(console, "ε over time", entries, when, every=every)
    _bars(console, "ε by analyst", entries, lambda entry: entry.analyst or "(unnamed)")
    _bars(console, "ε by kind", entries, lambda entry: entry.query.partition(" ")[0] or entry.name)


def print_entries(console: Console, entries: Sequence[EntryRecord]) -> None:
    """One line for each spend, its query and who asked."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for title in ("#", "query", "ε", "δ", "nats, person", "nats, table", ""):
        table.add_column(title, justify="left" if title == "query" else "right", no_wrap=title != "query")
    for entry in entries:
        query = Text(plain(entry.name))
        who = f", {entry.analyst}" if entry.analyst else ""
        who += f", from slot {entry.slot}" if entry.slot else ""
        edition = Edition(entry.publication, entry.period, entry.version).line
        who += f"\n{edition}" if edition else ""
        query.append(plain(f"\n{entry.query}\n{_moment(entry.time):%Y-%m-%d %H:%M} UTC{who}"), style=_SOFT)
        stream = entry.state == "reserved" and entry.query.startswith("running count of ")
        state = "stream" if stream else _STATES[entry.state]
        amounts = (entry.epsilon, entry.delta, entry.nats_person, entry.nats_table)
        table.add_row(str(entry.id or ""), query, *map(_amount, amounts), Text(state, style=_WARM))
    console.print()
    console.print(table)


def print_amendments(console: Console, amendments: Sequence[AmendmentRecord]) -> None:
    """Every amendment of the policy: when, who, why, what changed."""
    for amendment in amendments:
        by = f", by {amendment.by}" if amendment.by else ""
        when = f"{_moment(amendment.time):%Y-%m-%d %H:%M} UTC"
        title = f"\nThe policy was amended on {when}{by}: {amendment.reason}"
        console.print(Text(plain(title), style="bold"))
        console.print(_changes(amendment))
        console.print(Text(plain(amendment.carried), style=_SOFT))


def print_amendment(console: Console, record: AmendRecord) -> None:
    """One amendment, made or to be made, and every cap under it."""
    console.print(Text(plain(record.dataset), style="bold"))
    if record.preview:
        console.print(Text("\nA preview of an amendment: nothing was changed yet.", style="bold"))
        console.print(_changes(record.amendment))
        console.print(Text(plain(record.amendment.carried), style=_SOFT))
    else:
        print_amendments(console, [record.amendment])
    console.print(Text("\nUnder the new policy", style="bold"))
    console.print(caps_table(record.caps))
    if not record.preview:
        told = "Whoever still has the old policy is refused from now on: hand out the new one."
        console.print(Text(f"\n{told}", style=_SOFT))


def _changes(amendment: AmendmentRecord) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for title in ("field", "before", "after", ""):
        table.add_column(title, no_wrap=title == "")
    for change in amendment.changes:
        loud = change.field.startswith("caps.") and change.effect in ("raised", "removed")
        texts = (change.field, change.before, change.after)
        table.add_row(
            *(Text(plain(text)) for text in texts), Text(change.effect, style=_WARM if loud else _SOFT)
        )
    return table


def _bars(
    console: Console,
    title: str,
    entries: Sequence[EntryRecord],
    group: Callable[[EntryRecord], str],
    *,
    every: Sequence[str] = (),
) -> None:
    """A bar for each group, largest first; or for `every` one of them in this order, the empty ones too."""
    sums: dict[str, list[float]] = {name: [] for name in every}
    for entry in entries:
        sums.setdefault(group(entry), []).append(math.inf if entry.epsilon is None else entry.epsilon)
    rows = [(name, sum_up(amounts), len(amounts)) for name, amounts in sums.items()]
    rows = rows[-_MOST:] if every else sorted(rows, key=lambda row: -row[1])[:_MOST]
    # Gaussian noise has no ε of its own: its bar is as long as the longest.
    largest = max((amount for _, amount, _ in rows if math.isfinite(amount)), default=1.0)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for justify in ("left", "left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    for name, amount, count in ((plain(n), a, c) for n, a, c in rows):
        full = max(1, round(min(1.0, amount / largest if largest else 1.0) * _WIDTH)) if amount else 0
        many = f"{count:,} quer{'y' if count == 1 else 'ies'}"
        table.add_row(Text(name), Text("█" * full, style=_FILL), sum_text(amount), Text(many, style=_SOFT))
    console.print(Text(plain(f"\n{title}"), style="bold"))
    console.print(table)
    if len(sums) > len(rows):
        which = "earlier" if every else "smaller"
        console.print(Text(f"and {len(sums) - len(rows)} {which}", style=_SOFT))


def _moments(entries: Sequence[EntryRecord]) -> tuple[Callable[[EntryRecord], str], list[str]]:
    """Days, months or years, so that the bars are few; and all of them, also those without a spend."""
    first, last = (_moment(entry.time).date() for entry in (entries[0], entries[-1]))
    days = (last - first).days
    form = "%Y-%m-%d" if days < _MOST else "%Y-%m" if days < 30 * _MOST else "%Y"
    names = dict.fromkeys((first + timedelta(days=day)).strftime(form) for day in range(days + 1))
    return lambda entry: _moment(entry.time).strftime(form), list(names)


def caps_table(caps: Sequence[CapRecord]) -> Table:
    """Every cap with what was spent of it, what is left, and a bar."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for title in ("cap", "spent", "left", "of", ""):
        table.add_column(title, justify="left" if title in ("cap", "") else "right", no_wrap=True)
    for cap in caps:
        name, spent = cap_name(cap.cap, cap.unit), math.inf if cap.spent is None else cap.spent
        if cap.limit is None:
            table.add_row(name, _amount(spent), "", Text("not capped", style=_SOFT), "")
            continue
        # A cap of nothing of which nothing was spent is not used up: it is kept.
        share = min(spent / cap.limit, 1.0) if cap.limit else float(spent > 0)
        # Nothing is drawn full, or empty, that is not.
        full = _WIDTH if share == 1.0 else min(_WIDTH - 1, math.ceil(share * _WIDTH))
        bar = Text("█" * full, style=_WARM if share > 0.8 else _FILL)
        bar.append("░" * (_WIDTH - full), style=_SOFT)
        # A δ has so many zeros that its last digits say nothing.
        digits = 3 if cap.cap == "delta" else 6
        left = "" if cap.left is None else at_least(cap.left, digits)
        table.add_row(name, _amount(spent), left, at_least(cap.limit), bar)
    return table


def _amount(value: float | None) -> str:
    return sum_text(math.inf if value is None else value)


def _moment(time: str) -> datetime:
    return datetime.fromisoformat(time)
