"""Published entries of the registry of deployments on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.records.registry import RegistryRecord
from leakcap.report.words.risks import game_success
from leakcap.report.words.wording import sum_text
from leakcap.statement.deployments import PublishedEntry

__all__ = ["print_registry"]


def print_registry(console: Console, record: RegistryRecord) -> None:
    """Each entry with what its parameters mean, and what is open; then what was refused."""
    for entry in record.entries:
        _print_entry(console, entry)
    for one in record.refused:
        console.print(Text(plain(f"\n{one.file}: {one.reason}"), style="red"))
    console.print(Text(f"\n{len(record.entries):,} read, {len(record.refused):,} refused.", style="dim"))


def _print_entry(console: Console, entry: PublishedEntry) -> None:
    whose = ", ".join(part for part in (entry.name, *entry.curators, entry.published) if part)
    console.print(Text(plain(f"\n{whose}"), style="bold"))
    given = [("ε", entry.epsilon), ("δ", entry.delta), ("ρ", entry.rho)]
    parts = [f"{name} = {value:g}" for name, value in given if value is not None]
    promise = [entry.variant or "variant not named", *parts, f"unit: {entry.unit or 'not named'}"]
    console.print(Text(plain("; ".join(promise)), style="dim"))
    if entry.guess is not None and entry.nats is not None and entry.advantage is not None:
        lift = "" if entry.odds is None else f" No odds change by more than a factor of {_up(entry.odds)}."
        told = (
            f"A fifty-fifty guess between two adjacent tables is right {game_success(entry.guess)} of the "
            f"time at most (advantage {_up(entry.advantage)}; {_up(entry.nats)} nats about a yes-or-no fact)."
        )
        console.print(Text(told + lift))
    if entry.at_delta is not None:
        epsilon, delta = entry.at_delta
        console.print(Text(f"From ρ follows ε = {_up(epsilon)} at δ = {delta:g}."))
    for remark in entry.remarks:
        console.print(Text(plain(f"• {remark}")))


def _up(value: float) -> str:
    return sum_text(value, 3)
