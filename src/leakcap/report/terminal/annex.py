"""The annex on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.plain import counted, plain
from leakcap.report.records import revision_lines
from leakcap.report.records.annex import AnnexRecord
from leakcap.report.words.certified import hash_words
from leakcap.report.words.layers import NOT_STATED
from leakcap.report.words.risks import game_exception, game_success

__all__ = ["print_annex"]


def print_annex(console: Console, record: AnnexRecord) -> None:
    """Risks, layers with their hazards, and what is on record."""
    console.print(Text(plain(f"\n{record.dataset}"), style="bold"))
    _print_games(console, record)
    for layer in record.layers:
        console.print(Text(f"\n{layer.title}", style="bold"))
        console.print(Text(layer.question, style="dim"))
        for known in layer.known:
            console.print(Text(plain(f"• {known}")))
        if layer.owner is None:
            console.print(Text(f"• {NOT_STATED}", style="red"))
        else:
            console.print(Text(plain(f"• The owner: {layer.owner}")))
        for one in layer.hazards:
            console.print(Text(plain(f"  Hazard: {one.hazard} {one.here}"), style="dim"))
    _print_record(console, record)


def _print_games(console: Console, record: AnnexRecord) -> None:
    if not record.games:
        console.print("Nothing was published yet, so nothing can be won.")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head, side in (
        ("risk", "left"),
        ("the attacker tries", "left"),
        ("without", "right"),
        ("at most", "right"),
    ):
        table.add_column(head, justify="right" if side == "right" else "left")
    for game in record.games:
        table.add_row(game.risk, game.title, game_success(game.blind), game_success(game.success))
    console.print(table)
    for told in filter(None, map(game_exception, record.games)):
        console.print(Text(told, style="red"))


def _print_record(console: Console, record: AnnexRecord) -> None:
    console.print(Text("\nOn record", style="bold"))
    noises = ", ".join(f"{one.mechanism} ({one.answers:,})" for one in record.mechanisms)
    for what, told in (
        ("software", f"leakcap {', '.join(record.software)}"),
        ("noise", noises or "none drawn yet"),
        ("randomness", record.randomness),
        ("ledger", f"{record.anchor.rows:,} rows; the chain holds; anchor {record.anchor.head}"),
        *([("certificate", hash_words(record.anchor.certificate))] if record.anchor.certificate else []),
    ):
        console.print(Text(plain(f"{what}: {told}")), soft_wrap=True)
    for one in record.asked_by:
        when = f"{one.first[:10]} to {one.last[:10]}"
        console.print(
            Text(plain(f"asked by: {one.analyst or '(unnamed)'}, {counted(one.spends, 'spend')}, {when}"))
        )
    for told in revision_lines(record.revisions):
        console.print(Text(plain(f"revised: {told}")))
    for change in record.amendments:
        console.print(
            Text(plain(f"policy changed {change.time[:10]} by {change.by or '(unnamed)'}: {change.reason}"))
        )
