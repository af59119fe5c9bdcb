"""What was done with a ledger as a whole, as its chain has it: moved, restored, shared, closed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from leakcap.ledger.events import ticks_of
from leakcap.ledger.schema import EVENT
from leakcap.ledger.ticks import Ticks, decimal
from leakcap.ledger.transfers import CustodyEvent
from leakcap.plain import counted

__all__ = ["amount_lost", "custody_of"]

_KINDS = ("close", "continue", "backup", "restore", "lost", "admit")
_ABOUT = select(EVENT).where(EVENT.c.kind.in_(_KINDS)).order_by(EVENT.c.seq)


def custody_of(connection: Connection) -> list[CustodyEvent]:
    """All of it, oldest first."""
    return [_event(dict(row)) for row in connection.execute(_ABOUT).mappings()]


def amount_lost(lost: Ticks) -> str:
    """What was lost, in words; empty where that is nothing in any currency."""
    if lost.epsilon is None:
        return "no bound on ε is known"
    if lost.epsilon:
        return f"ε {decimal(lost.epsilon)} in all"
    return "no ε" if any((*lost.numbers, *lost.curve)) else ""


def _event(row: Mapping[str, Any]) -> CustodyEvent:
    told = json.loads(row["details"])
    kind, what = _said(row, told)
    when = datetime.fromisoformat(row["time"])
    return CustodyEvent(when, row["analyst"], kind, what, str(told.get("reason", "")), row["hash"])


def _said(row: Mapping[str, Any], told: Mapping[str, Any]) -> tuple[str, str]:
    """What it is called, and in words. The key with which a ledger goes on is not told."""
    if row["kind"] == "close":
        if "to" in told:
            return "moved", f"moved from `{told['from']}` to `{told['to']}`"
        return "closed", "closed: only a record from then on"
    if row["kind"] == "continue":
        return "arrived", "goes on where it was moved to"
    if row["kind"] == "backup":
        return "backup", f"a backup of `{told['of']}`"
    if row["kind"] == "restore":
        lost = f". {told['lost']}" if told["lost"] else ""
        return "restored", f"put back from the backup of {str(told['backup'])[:19]} UTC{lost}"
    if row["kind"] == "lost":
        ticks = ticks_of(row)
        what = counted(ticks.queries, "spend") if ticks.queries else "costs that the anchor knew"
        return "lost", f"booked for {what} that it lacks: {amount_lost(ticks)}"
    return "admitted", f"data set `{told['dataset']}` pays from it, under policy {str(told['policy'])[:12]}"
