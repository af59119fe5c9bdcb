"""An audit on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.audit import Audit, Verdict
from leakcap.report.words.wording import at_least

__all__ = ["print_audit"]

_STYLE = {Verdict.VIOLATED: "bold red", Verdict.CONSISTENT: "bold cyan", Verdict.UNDECIDED: "bold yellow"}


def print_audit(console: Console, title: str, audit: Audit) -> None:
    """The certified bounds, the evidence and the verdict."""
    console.print()
    console.print(Text(title, style="bold"))
    runs = f"{audit.samples[0]:,} and {audit.samples[1]:,} runs"
    looks = f", {audit.looks} looks" if audit.looks > 1 else ""
    console.print(Text(f"{runs}{looks}; each bound at confidence {audit.confidence:.6g}", style="dim"))
    console.print()
    console.print(_bounds(audit))
    for evidence in audit.evidence:
        console.print(
            Text(f"evidence for the {evidence.speaks_for} input: {evidence}"),
            soft_wrap=not console.is_terminal,
        )
    for name, (first, second) in audit.failures.items():
        console.print(
            Text(f"{name} {first:,} times on the first input, {second:,} times on the second", style="red"),
            soft_wrap=not console.is_terminal,
        )
    if audit.judgement is not None:
        console.print()
        console.print(
            Text(str(audit.judgement), style=_STYLE[audit.judgement.verdict]),
            soft_wrap=not console.is_terminal,
        )


def _bounds(audit: Audit) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("leak of this pair", "at least", ""):
        table.add_column(column)
    table.add_row("ε (pure DP)", at_least(audit.epsilon.lower), "nats")
    for delta in (1e-6, 1e-3):
        table.add_row(f"ε at δ = {delta:g}", at_least(audit.epsilon_at(delta)), "nats")
    table.add_row("δ at ε = 0 (total variation)", at_least(audit.delta(0.0)), "")
    table.add_row("δ at ε = 1", at_least(audit.delta(1.0)), "")
    table.add_row("information (MI-DP)", at_least(audit.information.lower), "nats")
    table.add_row("maximal leakage", at_least(audit.maximal_leakage.lower), "nats")
    return table
