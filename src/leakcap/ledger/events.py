"""Rows of the event table: how they are built, read back, and walked from the first to the last."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import metadata
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, and_, select

from leakcap.errors import LedgerError
from leakcap.ledger.chain import START, fingerprint, link
from leakcap.ledger.schema import EVENT
from leakcap.ledger.state import State, load_state
from leakcap.ledger.ticks import Ticks, total, units
from leakcap.ledger.values import Charge, Entry, Head, Spend

__all__ = ["SKEW", "entries_query", "entry_of", "first_row", "release_row", "reserve_rows", "stamp", "walk"]

SKEW = timedelta(minutes=5)
"""A clock this much behind the last entry is drift, and the last entry's time is used; more is refused."""

_NOTHING = Ticks(0, 0, 0, 0)


def stamp(clock: Callable[[], datetime], last: str, label: str) -> str:
    """The time of a new row, in UTC: never before the last row's.

    >>> stamp(lambda: datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:01:00.000000+00:00", "sqlite://")
    '2026-01-01T00:01:00.000000+00:00'
    """
    now = clock().astimezone(UTC)
    if not last or now >= datetime.fromisoformat(last):
        return now.isoformat(timespec="microseconds")
    if datetime.fromisoformat(last) - now <= SKEW:
        return last
    raise LedgerError(
        f"The clock stands before the last entry of ledger `{label}`, made {last}. "
        "Nothing was spent. Set the clock."
    )


def first_row(dataset: str, policy: str, caps: Ticks, time: str) -> dict[str, Any]:
    """The row that binds a ledger to its data set, its policy and its caps."""
    row = {
        "query": "",
        "text": "",
        "analyst": "",
        "details": _owner(dataset, policy, caps),
        **_NOTHING._asdict(),
    }
    return link(_row(1, "open", time, 0, 0) | row, START)


def reserve_rows(charges: Iterable[Charge], state: State, time: str) -> list[dict[str, Any]]:
    """One linked row for each charge, after the state's last."""
    rows: list[dict[str, Any]] = []
    head, batch = state.head, state.entries + 1
    for step, charge in enumerate(charges, 1):
        row = _row(state.rows + step, "reserve", time, state.entries + step, batch) | {
            "query": charge.query,
            "text": charge.text,
            "analyst": charge.analyst,
            "details": charge.details_json,
            **charge.spend.ticks._asdict(),
        }
        rows.append(link(row, head))
        head = rows[-1]["hash"]
    return rows


def release_row(seq: int, previous: str, time: str, entry: Entry) -> dict[str, Any]:
    """The row that says that an entry's answer left."""
    row = {"query": entry.query, "text": "", "analyst": entry.analyst, "details": "{}", **_NOTHING._asdict()}
    return link(_row(seq, "release", time, entry.id, entry.batch) | row, previous)


def entries_query() -> Select[Any]:
    """Every reserved row, oldest first, each with `released`: its release's row number or NULL."""
    release = EVENT.alias("release")
    meets = and_(release.c.kind == "release", release.c.entry == EVENT.c.entry)
    return (
        select(EVENT, release.c.seq.label("released"))
        .join_from(EVENT, release, meets, isouter=True)
        .where(EVENT.c.kind == "reserve")
        .order_by(EVENT.c.seq)
    )


def entry_of(row: RowMapping | dict[str, Any], *, released: bool) -> Entry:
    """The entry that a reserved row records.

    Raises `LedgerError` for a row that leakcap cannot have written.
    """
    try:
        table = row["nats_table"]
        return Entry(
            id=row["entry"],
            time=datetime.fromisoformat(row["time"]),
            query=row["query"],
            text=row["text"],
            analyst=row["analyst"],
            spend=Spend(
                epsilon=units(row["epsilon"]),
                delta=units(row["delta"]),
                nats_person=units(row["nats_person"]),
                nats_table=math.inf if table is None else units(table),
            ),
            state="released" if released else "reserved",
            version=row["software"],
            hash=row["hash"],
            batch=row["batch"],
            details=json.loads(row["details"]),
        )
    except (TypeError, ValueError) as error:
        raise LedgerError(
            f"Row {row['seq']} of the ledger was edited. Restore the ledger from a backup."
        ) from error


def walk(connection: Connection, label: str, anchor: str | None) -> Head:
    """Read the chain from the first row to the last, and `LedgerError` at the first row that is wrong."""
    query = select(EVENT).order_by(EVENT.c.seq).execution_options(yield_per=1000)
    seen = _Seen(label)
    for row in connection.execute(query).mappings():
        try:
            seen.add(row)
        except TypeError as error:
            raise LedgerError(f"Row {seen.seq + 1} of ledger `{label}` holds no ledger's values.") from error
        anchor = None if row["hash"] == anchor else anchor
    state = load_state(connection, label)
    seen.meet(state)
    if anchor is not None:
        raise LedgerError(
            f"No row of ledger `{label}` has the hash {anchor}. "
            "The chain was rewritten, or this is an older copy."
        )
    return Head(state.rows, state.head)


class _Seen:
    """What the walk knows after the rows so far."""

    def __init__(self, label: str) -> None:
        self.label, self.seq, self.entries = label, 0, 0
        self.head, self.time, self.spent = START, "", _NOTHING
        self.owner = ""

    def add(self, row: RowMapping) -> None:
        """Take the next row, or say what is wrong with it."""
        expected = self.seq + 1
        if row["seq"] != expected:
            self._refuse(expected, "is missing")
        if fingerprint({name: value for name, value in row.items() if name != "hash"}) != row["hash"]:
            self._refuse(expected, "was edited")
        if row["previous"] != self.head:
            self._refuse(expected, "does not follow the row before it: one of them was put in or taken out")
        if row["time"] < self.time:
            self._refuse(expected, "is older than the row before it")
        if row["kind"] == "reserve":
            self.entries += 1
            if row["entry"] != self.entries:
                self._refuse(expected, "does not carry the next entry's number")
        self.owner = self.owner or row["details"]
        self.spent = total([self.spent, Ticks(*(row[name] for name in Ticks._fields))])
        self.seq, self.head, self.time = expected, row["hash"], row["time"]

    def meet(self, state: State) -> None:
        """Compare with the state row, which must be the sum of the rows."""
        if self.seq > state.rows:
            self._refuse(state.rows + 1, "was put in: the running totals do not know it")
        if self.owner != _owner(state.dataset, state.policy, state.caps):
            raise LedgerError(f"The data set, policy or caps of ledger `{self.label}` were edited.")
        if (self.head, self.entries, self.time, self.spent) != (
            state.head,
            state.entries,
            state.time,
            state.spent,
        ):
            raise LedgerError(f"The running totals of ledger `{self.label}` do not add up: they were edited.")

    def _refuse(self, seq: int, what: str) -> None:
        raise LedgerError(f"Row {seq} of ledger `{self.label}` {what}. Restore the ledger from a backup.")


def _owner(dataset: str, policy: str, caps: Ticks) -> str:
    owner = {"dataset": dataset, "policy": policy, "caps": caps._asdict()}
    return json.dumps(owner, sort_keys=True, separators=(",", ":"))


def _row(seq: int, kind: str, time: str, entry: int, batch: int) -> dict[str, Any]:
    return {"seq": seq, "kind": kind, "time": time, "entry": entry, "batch": batch, "software": _software()}


@cache
def _software() -> str:
    try:
        return metadata.version("leakcap")
    except metadata.PackageNotFoundError:
        return "unknown"
