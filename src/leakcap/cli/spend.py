"""`leakcap spend`: what other software spent, charged to a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.asked import address
from leakcap.cli.printing import Json, print_record, say
from leakcap.plain import counted

__all__ = ["spend"]


def spend(
    file: Annotated[Path, typer.Argument(help="A file of events (JSON).", show_default=False)],
    ledger: Annotated[
        str,
        typer.Option("--ledger", help="A ledger's URL or path, or a query file (.toml).", show_default=False),
    ],
    key: Annotated[
        str, typer.Option(help="A second spend of the same under this key costs nothing.", show_default=False)
    ] = "",
    analyst: Annotated[
        str, typer.Option(help="On whose account; empty where analysts have none.", show_default=False)
    ] = "",
    slot: Annotated[str, typer.Option(help="The slot of a plan that paid for it.", show_default=False)] = "",
    preview: Annotated[bool, typer.Option("--preview", help="Say what it would cost, and stop.")] = False,
    json_: Json = False,
) -> None:
    """Charge what other software spent on the same data: trainings, measurements, tables of losses.

    All of the file is charged, or nothing where a cap would be passed. It says the neighbours and the unit
    that its numbers are about. What was released elsewhere is out whatever the ledger says.

    Example: leakcap spend examples/outside/events.json --ledger examples/outside/ward.db
    """
    from leakcap.ledger import Ledger, read_spends
    from leakcap.report.records import SpendRecord

    told = read_spends(file)
    with Ledger.resume(address(ledger)) as book:
        if preview:
            book.check(book.charges_of(told, analyst=analyst, slot=slot))
            record = SpendRecord.previewed(book.charges_of(told, analyst=analyst, slot=slot))
        else:
            before = book.totals().entries
            entries = book.spend(told, key=key, analyst=analyst, slot=slot)
            record = SpendRecord.of(entries, repeated=book.totals().entries == before)
    if json_:
        print_record(record)
        return
    what = counted(len(record.spends), "spend")
    if record.preview:
        say(f"{what} would be charged, and fit. Nothing was spent.")
    elif record.repeated:
        say(f"{what} had been charged under this key before. Nothing more was spent.")
    else:
        say(f"{what} charged.")
    for one in record.spends:
        number = "" if one.id is None else f"entry {one.id}, "
        epsilon = "a Rényi curve, no ε without a δ" if one.epsilon is None else f"ε {one.epsilon:.6g}"
        delta = f", δ {one.delta:g}" if one.delta else ""
        say(f"  {number}{one.name}: {epsilon}{delta}")
