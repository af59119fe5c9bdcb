"""Ledgers from which nothing is spent any more: what was moved elsewhere, what is a backup, what is only a
record. The last row of each says so, and nothing but a successor's first row may follow it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from sqlalchemy import Connection, select

from leakcap.errors import LedgerError
from leakcap.ledger.schema import EVENT

__all__ = ["CLOSING", "closing_row", "refuse_closed"]

CLOSING = frozenset({"close", "backup"})
"""The kinds of rows after which nothing is spent."""


def closing_row(connection: Connection, seq: int) -> dict[str, Any]:
    """The last row of a closed ledger, its details read."""
    row = dict(connection.execute(select(EVENT).where(EVENT.c.seq == seq)).mappings().one())
    return row | {"details": json.loads(row["details"])}


def refuse_closed(connection: Connection, seq: int, label: str) -> NoReturn:
    """Raise `LedgerError`, saying why nothing is spent from a ledger that its last row closes."""
    raise LedgerError(_said(closing_row(connection, seq), label))


def _said(row: Mapping[str, Any], label: str) -> str:
    when, told = row["time"][:19], row["details"]
    if row["kind"] == "backup":
        return (
            f"`{label}` is a backup, made at {when} UTC, and nothing is spent from a backup. Use the ledger "
            "itself, or put it back with `leakcap ledger restore`."
        )
    if "to" in told:
        return (
            f"The ledger `{label}` was closed at {when} UTC, when it was moved to `{told['to']}`. Open that "
            "one; nothing is spent here any more."
        )
    return (
        f"The ledger `{label}` was restored at {when} UTC without all that had been spent, and is only a "
        "record: nothing is spent from it any more."
    )
