"""The state rows, sums of all events, so that a check costs the same at a hundred thousand entries; and how
any row has amounts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Select, bindparam, select, update

from leakcap.errors import LedgerError
from leakcap.ledger.caps import Period
from leakcap.ledger.chain import fingerprint
from leakcap.ledger.closed import CLOSING, refuse_closed
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.people import SCOPE
from leakcap.ledger.rules import GROUP, CapsInTicks, period_label, rules_read
from leakcap.ledger.schema import ACCOUNT, EVENT, SECRET, STATE, VALUES_AT_ONCE
from leakcap.ledger.ticks import AMOUNTS, NOTHING, Curve, Ticks
from leakcap.ledger.values import Entry

T = TypeVar("T")

__all__ = [
    "HeldTransaction",
    "State",
    "amounts_of",
    "amounts_row",
    "append",
    "curve_read",
    "curve_text",
    "found_among",
    "held_by",
    "held_state",
    "insert_state",
    "load_account",
    "load_state",
    "replace_state",
    "save_account",
    "seed_of",
    "sums_of",
    "version_of",
    "write_held_rows",
]

# Built once: to put a statement together costs more than to run it.
_LAST = [
    select(column).where(EVENT.c.seq == STATE.c.rows).scalar_subquery().label(f"last_{column.name}")
    for column in (EVENT.c.hash, EVENT.c.kind)
]
_SEED = select(SECRET.c.seed).where(SECRET.c.id == 1)
_STATE = select(STATE, *_LAST, _SEED.scalar_subquery().label("secret_seed"))
_LATEST = select(EVENT.c.data_version).order_by(EVENT.c.seq.desc()).limit(1)
_VERSION = _LATEST.where(EVENT.c.data == bindparam("table"))
_HELD = "leakcap_held"
_LOCKED = _STATE.with_for_update(of=STATE)
_MOVED = update(STATE).where(STATE.c.rows == bindparam("old_rows"), STATE.c.head == bindparam("old_head"))


@dataclass(frozen=True)
class State:
    """Whose ledger it is, its caps, where its chain ends, and what was spent."""

    dataset: str
    policy: str
    rules: CapsInTicks
    rows: int
    time: str
    head: str
    data_versions: int
    spent: Ticks
    closed: bool = False
    """Whether the last row says that nothing is spent any more."""
    seed: str = field(default="", repr=False)
    """The ledger's secret: what certificates show of names is made with it."""

    @property
    def entries(self) -> int:
        """How many spends there are."""
        return self.spent.queries or 0


def load_state(connection: Connection, label: str, *, lock: bool = False) -> State:
    """The state; with `lock` no other writer gets it before this transaction ends. Within `held_state` it is
    read once.

    Raises `LedgerError` where the row was edited by hand or does not meet the last event. (Both are cheap
    alarms against accidents; `verify` looks at every row.) With `lock` also where the ledger is closed.
    """
    holds = held_by(connection)
    if holds is not None and holds.last is not None and (holds.locked or not lock):
        return holds.last
    state = _state_read(connection, label, lock=lock)
    if holds is not None:
        holds.first, holds.last, holds.locked = state, state, lock
    return state


def _state_read(connection: Connection, label: str, *, lock: bool) -> State:
    found = [dict(row) for row in connection.execute(_LOCKED if lock else _STATE).mappings()]
    last = [row.pop("last_hash") for row in found]
    kinds = [row.pop("last_kind") for row in found]
    seeds = [row.pop("secret_seed") for row in found]
    if len(found) != 1 or not _sealed(found[0]):
        raise LedgerError(f"The state of ledger `{label}` was edited. Restore the ledger from a backup.")
    (row,) = found
    if last != [row["head"]]:
        raise LedgerError(
            f"The last row of ledger `{label}`, {row['rows']}, is missing or was edited. "
            "Restore the ledger from a backup."
        )
    if lock and kinds[0] in CLOSING:
        refuse_closed(connection, row["rows"], label)
    return State(
        dataset=row["dataset"],
        policy=row["policy"],
        rules=rules_read(row["caps"]),
        rows=row["rows"],
        time=row["time"],
        head=row["head"],
        data_versions=row["data_versions"],
        spent=sums_of(row),
        closed=kinds[0] in CLOSING,
        seed=seeds[0] or "",
    )


_SPENDING = {"reserve", "request", "release", "repeat"}


@dataclass
class HeldTransaction:
    """What a transaction that several payments share holds in memory: each question to the database waits for
    a server that others wait for, too.

    The state as it was found (`first`), and as it is after what was written (`last`), under a lock or not,
    and rows that are still to be written: at the end, or before anything else is asked of the database, so
    that it is found there (`broken` where they could not be). What was looked up: versions of tables by
    name, and the latest of all of them (`named`); of some memos whether a row is found by them; some entries,
    the kinds and hashes of all rows about them, and whether they were revised.
    """

    first: State | None = None
    last: State | None = None
    locked: bool = False
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    broken: bool = False
    versions: dict[str, int] = field(default_factory=dict)
    named: list[tuple[int, str]] | None = None
    memos: dict[str, bool] = field(default_factory=dict)
    entries: dict[int, Entry] = field(default_factory=dict)
    about: dict[int, set[tuple[str, str]]] = field(default_factory=dict)
    revised: dict[int, bool] = field(default_factory=dict)

    def write_later(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep rows that are to be written; what was looked up stays true with them, or is forgotten."""
        self.rows += rows
        if not {row["kind"] for row in rows} <= _SPENDING:
            self.forget()
        for row in rows:
            if row["kind"] == "release":
                self.entries.pop(row["entry"], None)
            if row["data"] and row["data"] not in self.versions:
                self.named = None
            if row["memo"]:
                self.memos[row["memo"]] = True
            if row["entry"] in self.about:
                self.about[row["entry"]].add((row["kind"], row["hash"]))

    def forget(self) -> None:
        """Believe nothing any more that was looked up."""
        self.named = None
        for found in (self.versions, self.memos, self.entries, self.about, self.revised):
            found.clear()


@contextmanager
def held_state(connection: Connection) -> Iterator[None]:
    """Within, the state is read once and moved on in memory, and rows are kept; at the end both are
    written."""
    found = connection.info[_HELD] = HeldTransaction()
    try:
        yield
        write_held_rows(connection)
    finally:
        connection.info.pop(_HELD, None)
    _require_whole(found)
    if found.first is not None and found.last is not None and found.last is not found.first:
        replace_state(connection, found.first, found.last)


def held_by(connection: Connection) -> HeldTransaction | None:
    """What the transaction holds; None where it holds nothing."""
    return connection.info.get(_HELD)


def write_held_rows(connection: Connection, *_: object) -> None:
    """Write the rows that are held: before any other statement, and at the end."""
    holds = held_by(connection)
    if holds is None:
        return
    _require_whole(holds)
    if not holds.rows:
        return
    rows, holds.rows = holds.rows, []
    try:
        connection.execute(EVENT.insert(), rows)
    except BaseException:
        holds.broken = True
        raise


def found_among(
    connection: Connection, statement: Select[Any], told: dict[T, bool], wanted: Sequence[T]
) -> set[T]:
    """Those of these values that a statement finds, to which some are bound as `wanted`; what is `told` of
    one is not asked for again, and each that is asked for is noted there."""
    rest = [one for one in dict.fromkeys(wanted) if one not in told]
    for first in range(0, len(rest), VALUES_AT_ONCE):
        part = rest[first : first + VALUES_AT_ONCE]
        there = set(connection.execute(statement, {"wanted": part}).scalars())
        told |= {one: one in there for one in part}
    return {one for one in wanted if told[one]}


def _require_whole(holds: HeldTransaction) -> None:
    """Refuse to go on in a transaction that lacks rows, and may have ended by itself."""
    if holds.broken:
        raise LedgerError("What was to be written into the ledger could not be. All of it is undone.")


def seed_of(connection: Connection) -> str:
    """The ledger's secret; empty where it was lost."""
    return connection.execute(_SEED).scalar() or ""


def insert_state(connection: Connection, state: State) -> None:
    """Write the first state."""
    connection.execute(STATE.insert(), _row(state))


def replace_state(connection: Connection, before: State, after: State) -> None:
    """Move the state on, provided that nobody else has."""
    holds = held_by(connection)
    if holds is not None:
        holds.last = after
        if after.policy != before.policy:
            holds.forget()
        return
    place = {"old_rows": before.rows, "old_head": before.head}
    if connection.execute(_MOVED, _row(after) | place).rowcount != 1:
        raise LedgerError("Another process wrote to the ledger at the same moment. Try again.")


def append(connection: Connection, state: State, rows: Sequence[dict[str, Any]], **changes: Any) -> None:
    """Write rows at the chain's end, and move the state on to the last of them."""
    holds = held_by(connection)
    if holds is None:
        connection.execute(EVENT.insert(), list(rows))
    else:
        holds.write_later(rows)
    last = {"rows": rows[-1]["seq"], "time": rows[-1]["time"], "head": rows[-1]["hash"]}
    replace_state(connection, state, replace(state, **last, **changes))


def load_account(
    connection: Connection, scope: str, name: str, label: str, rules: CapsInTicks
) -> tuple[Ticks, bool]:
    """What one analyst, a group of them, or one period, has spent; and whether the account stands already.
    `rules` say who is in the group."""
    place = (ACCOUNT.c.scope == scope, ACCOUNT.c.name == name)
    row = connection.execute(select(ACCOUNT).where(*place)).mappings().one_or_none()
    if row is not None and _sealed(dict(row)):
        return sums_of(dict(row)), True
    if row is not None or _hassums_of(connection, scope, name, rules):
        raise LedgerError(
            f"The account of {scope} `{name}` in ledger `{label}` is missing or was edited. "
            "Restore the ledger from a backup."
        )
    return NOTHING, False


def _hassums_of(connection: Connection, scope: str, name: str, rules: CapsInTicks) -> bool:
    """Whether entries say that an account without a row must have one."""
    spends = select(EVENT.c.seq).where(EVENT.c.kind == "reserve").limit(1)
    if scope == SCOPE:
        # With the first spend every level has its account.
        return connection.execute(spends).scalar() is not None
    if scope == "analyst":
        return connection.execute(spends.where(EVENT.c.analyst == name)).scalar() is not None
    if scope == GROUP:
        whose = (spends.where(EVENT.c.analyst == member) for member in rules.members[name])
        return any(connection.execute(one).scalar() is not None for one in whose)
    if scope.startswith("reference "):
        said = json.dumps({"reference_period": name}, separators=(",", ":"))[1:-1]
        return connection.execute(spends.where(EVENT.c.details.contains(said))).scalar() is not None
    # Time only rises, so a period that has begun would hold the last spend.
    last = select(EVENT.c.time).where(EVENT.c.kind == "reserve").order_by(EVENT.c.seq.desc()).limit(1)
    time = connection.execute(last).scalar()
    return time is not None and period_label(cast(Period, scope), datetime.fromisoformat(time)) == name


def save_account(connection: Connection, scope: str, name: str, spent: Ticks, *, stands: bool) -> None:
    """Move an account on, or open it."""
    row: dict[str, Any] = {"scope": scope, "name": name, **amounts_row(spent), "queries": spent.queries}
    row["seal"] = fingerprint({**row, "seal": None})
    if not stands:
        connection.execute(ACCOUNT.insert(), row)
        return
    mine = update(ACCOUNT).where(ACCOUNT.c.scope == scope, ACCOUNT.c.name == name)
    connection.execute(mine.values(row))


def _row(state: State) -> dict[str, Any]:
    row = {
        "id": 1,
        "dataset": state.dataset,
        "policy": state.policy,
        "caps": state.rules.text,
        "rows": state.rows,
        "time": state.time,
        "head": state.head,
        "data_versions": state.data_versions,
        **amounts_row(state.spent),
        "queries": state.spent.queries,
    }
    return {**row, "seal": fingerprint({**row, "seal": None})}


def _sealed(row: Mapping[str, Any]) -> bool:
    return bool(row["seal"] == fingerprint({**row, "seal": None}))


def sums_of(row: Mapping[str, Any]) -> Ticks:
    """What a row of running sums says was spent."""
    return amounts_of(row, row["queries"])


def amounts_of(row: Mapping[str, Any], queries: int | None) -> Ticks:
    """The amounts of a row of any table, which were asked for by so many queries."""
    return Ticks.of([*(row[name] for name in AMOUNTS), queries], curve_read(row["curve"]))


def amounts_row(ticks: Ticks) -> dict[str, Any]:
    """The amounts as a row has them; how many queries it was stands elsewhere."""
    return dict(zip(AMOUNTS, ticks.numbers, strict=False)) | {"curve": curve_text(ticks.curve)}


def curve_text(curve: Curve) -> str:
    """The curve as a ledger keeps it.

    >>> curve_text(()), curve_text((1, None))
    ('', '1,')
    """
    return ",".join("" if one is None else str(one) for one in curve)


@lru_cache(maxsize=4096)
def curve_read(text: str) -> Curve:
    """The curve that `curve_text` wrote. Raises `LedgerError` for a text that it did not.

    >>> curve_read(""), curve_text(curve_read(",".join(["7"] * len(ORDERS))))[:5]
    ((), '7,7,7')
    """
    if not text:
        return ()
    parts: Sequence[str] = text.split(",")
    good = len(parts) == len(ORDERS) and all(not one or (one.isascii() and one.isdigit()) for one in parts)
    if not good:
        raise LedgerError("A curve in the ledger was edited. Restore the ledger from a backup.")
    return tuple(int(one) if one else None for one in parts)


def version_of(connection: Connection, state: State, data: str) -> int:
    """The number of the table's version: the one it had before, or the next."""
    holds = held_by(connection)
    known = None if holds is None else holds.versions.get(data)
    if known is None and data:
        known = connection.execute(_VERSION, {"table": data}).scalar()
    if known is not None:
        if holds is not None:
            holds.versions[data] = int(known)
        return int(known)
    # A table without a name is taken to be the latest version.
    return state.data_versions + 1 if data else max(state.data_versions, 1)
