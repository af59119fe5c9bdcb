"""What was spent over time, by analyst and by kind, in bars for the terminal (Rich). It computes sums
only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.ledger import Account, Amendment, Balance, Entry, OdometerReading, SlotUse
from leakcap.numeric.rounding import sum_up
from leakcap.plain import plain
from leakcap.report.words.publication import cap_name
from leakcap.report.words.wording import at_least, sum_text

__all__ = [
    "balances_table",
    "print_accounts",
    "print_amendment",
    "print_amendments",
    "print_entries",
    "print_slots",
    "print_spending",
    "print_told",
]

_WIDTH = 24
_SOFT, _WARM, _FILL = "dim", "red", "cyan"
_MOST = 12
_STATES = {"released": "", "reserved": "not released", "acknowledged": "lost", "planned": "plan"}


def print_accounts(console: Console, dataset: str, accounts: Sequence[Account]) -> None:
    """Every account under its caps: everything, then analysts and the present period."""
    console.print(Text(plain(dataset), style="bold"))
    for account in accounts:
        title = "" if account.scope == "everything" else f"{account.scope} {account.name or '(unnamed)'}"
        if title:
            console.print(Text(plain(f"\n{title}"), style="bold"))
        console.print(balances_table([b for b in account.balances if b.cap is not None or not title]))


def print_told(console: Console, told: Sequence[OdometerReading]) -> None:
    """What all answers so far tell together, a line for each δ."""
    for one in told:
        odds = f"All answers so far together: ε at most {at_least(one.epsilon)}"
        console.print(Text(f"\n{odds}, but with a probability of {one.delta:.6g}.", style="bold"))


def print_slots(console: Console, slots: Sequence[SlotUse]) -> None:
    """What each slot of a plan may still answer, at no further cost."""
    if not slots:
        return
    console.print(Text("\nPaid for beforehand", style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for title in ("slot", "plan", "used", "of", "each at most"):
        table.add_column(title, justify="right" if title in ("used", "of") else "left")
    for one in slots:
        cells = (one.slot.name, one.plan, f"{one.used:,}", f"{one.slot.count:,}", f"ε {one.slot.epsilon:g}")
        table.add_row(*(Text(plain(cell)) for cell in cells))
    console.print(table)


def print_spending(console: Console, entries: Sequence[Entry]) -> None:
    """ε over time, by analyst and by kind of statistic."""
    if not entries:
        console.print(Text("\nNothing was spent yet.", style=_SOFT))
        return
    when, every = _moments(entries)
    _bars(console, "ε over time", entries, when, every=every)
    _bars(console, "ε by analyst", entries, lambda entry: entry.analyst or "(unnamed)")
    _bars(console, "ε by kind", entries, lambda entry: entry.text.partition(" ")[0] or entry.query)


def print_entries(console: Console, entries: Sequence[Entry]) -> None:
    """One line for each spend, its query and who asked."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for title in ("#", "query", "ε", "δ", "nats, person", "nats, table", ""):
        table.add_column(title, justify="left" if title == "query" else "right", no_wrap=title != "query")
    for entry in entries:
        query = Text(plain(entry.query))
        who = f", {entry.analyst}" if entry.analyst else ""
        who += f", from slot {entry.slot}" if entry.slot else ""
        query.append(plain(f"\n{entry.text}\n{entry.time:%Y-%m-%d %H:%M} UTC{who}"), style=_SOFT)
        state = _STATES[entry.state]
        spend = entry.spend
        amounts = (spend.epsilon, spend.delta, spend.nats_person, spend.nats_table)
        table.add_row(str(entry.id or ""), query, *map(_amount, amounts), Text(state, style=_WARM))
    console.print()
    console.print(table)


def print_amendments(console: Console, amendments: Sequence[Amendment]) -> None:
    """Every amendment of the policy: when, who, why, what changed."""
    for amendment in amendments:
        by = f", by {amendment.by}" if amendment.by else ""
        title = f"\nThe policy was amended on {amendment.time:%Y-%m-%d %H:%M} UTC{by}: {amendment.reason}"
        console.print(Text(plain(title), style="bold"))
        console.print(_changes(amendment))
        console.print(Text(plain(amendment.carried), style=_SOFT))


def print_amendment(
    console: Console, dataset: str, amendment: Amendment, balances: Sequence[Balance], *, preview: bool
) -> None:
    """One amendment, made or to be made, and every cap under it."""
    console.print(Text(plain(dataset), style="bold"))
    if preview:
        console.print(Text("\nA preview of an amendment: nothing was changed yet.", style="bold"))
        console.print(_changes(amendment))
        console.print(Text(plain(amendment.carried), style=_SOFT))
    else:
        print_amendments(console, [amendment])
    console.print(Text("\nUnder the new policy", style="bold"))
    console.print(balances_table(balances))
    if not preview:
        told = "Whoever still has the old policy is refused from now on: hand out the new one."
        console.print(Text(f"\n{told}", style=_SOFT))


def _changes(amendment: Amendment) -> Table:
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
    entries: Sequence[Entry],
    group: Callable[[Entry], str],
    *,
    every: Sequence[str] = (),
) -> None:
    """A bar for each group, largest first; or for `every` one of them in this order, the empty ones too."""
    sums: dict[str, list[float]] = {name: [] for name in every}
    for entry in entries:
        sums.setdefault(group(entry), []).append(entry.spend.epsilon)
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


def _moments(entries: Sequence[Entry]) -> tuple[Callable[[Entry], str], list[str]]:
    """Days, months or years, so that the bars are few; and all of them, also those without a spend."""
    first, last = entries[0].time.date(), entries[-1].time.date()
    days = (last - first).days
    form = "%Y-%m-%d" if days < _MOST else "%Y-%m" if days < 30 * _MOST else "%Y"
    names = dict.fromkeys((first + timedelta(days=day)).strftime(form) for day in range(days + 1))
    return lambda entry: entry.time.strftime(form), list(names)


def balances_table(balances: Sequence[Balance]) -> Table:
    """Every cap with what was spent of it, what is left, and a bar."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for title in ("cap", "spent", "left", "of", ""):
        table.add_column(title, justify="left" if title in ("cap", "") else "right", no_wrap=True)
    for balance in balances:
        name = cap_name(balance.name, balance.unit)
        if balance.cap is None:
            table.add_row(name, _amount(balance.spent), "", Text("not capped", style=_SOFT), "")
            continue
        # A cap of nothing of which nothing was spent is not used up: it is kept.
        share = min(balance.spent / balance.cap, 1.0) if balance.cap else float(balance.spent > 0)
        # Nothing is drawn full, or empty, that is not.
        full = _WIDTH if share == 1.0 else min(_WIDTH - 1, math.ceil(share * _WIDTH))
        bar = Text("█" * full, style=_WARM if share > 0.8 else _FILL)
        bar.append("░" * (_WIDTH - full), style=_SOFT)
        left = "" if balance.left is None else at_least(balance.left)
        table.add_row(name, _amount(balance.spent), left, at_least(balance.cap), bar)
    return table


def _amount(value: float) -> str:
    return sum_text(value)
