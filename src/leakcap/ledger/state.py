"""The state row: the sum of all events, so that a check costs the same at a hundred thousand entries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, select, update

from leakcap.errors import LedgerError
from leakcap.ledger.chain import fingerprint
from leakcap.ledger.schema import EVENT, STATE
from leakcap.ledger.ticks import Ticks

__all__ = ["State", "insert_state", "load_state", "replace_state"]


@dataclass(frozen=True)
class State:
    """Whose ledger it is, its caps, where its chain ends, and what was spent."""

    dataset: str
    policy: str
    caps: Ticks
    rows: int
    entries: int
    time: str
    head: str
    spent: Ticks


def load_state(connection: Connection, label: str, *, lock: bool = False) -> State:
    """The state; with `lock` no other writer gets it before this transaction ends.

    Raises `LedgerError` where the row was edited by hand or does not meet the last event. (Both are cheap
    alarms against accidents; `verify` looks at every row.)
    """
    query = select(STATE).with_for_update() if lock else select(STATE)
    found = connection.execute(query).mappings().all()
    if len(found) != 1 or found[0]["seal"] != fingerprint({**found[0], "seal": None}):
        raise LedgerError(f"The state of ledger `{label}` was edited. Restore the ledger from a backup.")
    row = found[0]
    last = connection.execute(select(EVENT.c.hash).where(EVENT.c.seq == row["rows"])).scalar()
    if last != row["head"]:
        raise LedgerError(
            f"The last row of ledger `{label}`, {row['rows']}, is missing or was edited. "
            "Restore the ledger from a backup."
        )
    return State(
        dataset=row["dataset"],
        policy=row["policy"],
        caps=Ticks(*(row[f"cap_{name}"] for name in Ticks._fields)),
        rows=row["rows"],
        entries=row["entries"],
        time=row["time"],
        head=row["head"],
        spent=Ticks(*(row[name] for name in Ticks._fields)),
    )


def insert_state(connection: Connection, state: State) -> None:
    """Write the first state."""
    connection.execute(STATE.insert(), _row(state))


def replace_state(connection: Connection, before: State, after: State) -> None:
    """Move the state on, provided that nobody else has."""
    unmoved = update(STATE).where(STATE.c.rows == before.rows, STATE.c.head == before.head)
    if connection.execute(unmoved.values(_row(after))).rowcount != 1:
        raise LedgerError("Another process spent at the same moment. Nothing was spent; try again.")


def _row(state: State) -> dict[str, Any]:
    fields = asdict(state)
    caps, spent = fields.pop("caps"), fields.pop("spent")
    row = {"id": 1, **fields, **dict(zip(Ticks._fields, spent, strict=True))}
    row |= {f"cap_{name}": cap for name, cap in zip(Ticks._fields, caps, strict=True)}
    return {**row, "seal": fingerprint({**row, "seal": None})}
