"""An audit on the terminal (Rich)."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.audit import Evidence, Verdict
from leakcap.report.records import AuditRecord
from leakcap.report.words.wording import at_least

__all__ = ["print_audit"]

_STYLE = {Verdict.VIOLATED: "bold red", Verdict.CONSISTENT: "bold cyan", Verdict.UNDECIDED: "bold yellow"}


def print_audit(console: Console, title: str, record: AuditRecord) -> None:
    """The certified bounds, the evidence and the verdict."""
    console.print()
    console.print(Text(title, style="bold"))
    runs = f"{record.samples[0]:,} and {record.samples[1]:,} runs"
    looks = f", {record.looks} looks" if record.looks > 1 else ""
    console.print(Text(f"{runs}{looks}; each bound at confidence {record.confidence:.6g}", style="dim"))
    console.print()
    console.print(_bounds(record))
    for seen in record.evidence:
        evidence = Evidence(seen.event, seen.speaks_for, *seen.first, *seen.second)
        console.print(
            Text(f"evidence for the {evidence.speaks_for} input: {evidence}"),
            soft_wrap=not console.is_terminal,
        )
    for name, (first, second) in record.failures.items():
        console.print(
            Text(f"{name} {first:,} times on the first input, {second:,} times on the second", style="red"),
            soft_wrap=not console.is_terminal,
        )
    if record.claim is not None:
        console.print()
        console.print(
            Text(record.claim.sentence or "", style=_STYLE[Verdict(record.claim.verdict)]),
            soft_wrap=not console.is_terminal,
        )


def _bounds(record: AuditRecord) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("leak of this pair", "at least", ""):
        table.add_column(column)
    table.add_row("ε (pure DP)", _shown(record.epsilon), "nats")
    for one in record.at_delta:
        table.add_row(f"ε at δ = {one.delta:g}", _shown(one.epsilon), "nats")
    for one in record.at_epsilon:
        told = " (total variation)" if one.epsilon == 0.0 else ""
        table.add_row(f"δ at ε = {one.epsilon:g}{told}", at_least(one.delta), "")
    table.add_row("information (MI-DP)", _shown(record.information_nats), "nats")
    table.add_row("maximal leakage", _shown(record.maximal_leakage_nats), "nats")
    return table


def _shown(value: float | None) -> str:
    return at_least(math.inf if value is None else value)
