"""Rows of the event table: how they are built and read back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from importlib import metadata
from typing import Any

from sqlalchemy import RowMapping, Select, and_, bindparam, select

from leakcap.errors import LedgerError
from leakcap.ledger.chain import START, link
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.details import DATASET, FROM
from leakcap.ledger.rules import CapsInTicks, rules_read
from leakcap.ledger.schema import EVENT
from leakcap.ledger.shown import pseudonym, shown_caps
from leakcap.ledger.slots import SlotPlan, plan_event, plan_text
from leakcap.ledger.state import State, amounts_of, amounts_row
from leakcap.ledger.sums import Regime
from leakcap.ledger.ticks import AMOUNTS, NOTHING, Curve, Ticks, decimal, units
from leakcap.ledger.values import Charge, Entry, Spend

__all__ = [
    "SKEW",
    "Version",
    "amend_row",
    "entries_query",
    "entry_of",
    "first_row",
    "mark_row",
    "note_row",
    "owner_text",
    "plan_row",
    "progress_row",
    "regime_of",
    "request_row",
    "reserve_rows",
    "some_entries_query",
    "stamp",
    "ticks_of",
]

_FREE = Spend(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, (0.0,) * len(ORDERS))
"""What an answer from a slot costs: the plan was paid for."""

LOST = "spends that a restored ledger lacks"
"""What they are called among the entries."""

_TEXTS = ("query", "text", "analyst", "data", "memo", "answer", "slot", "event", "shown")

SKEW = timedelta(minutes=5)
"""A clock this much behind the last entry is drift, and the last entry's time is used; more is refused."""

Version = tuple[str, int]
"""A table's fingerprint and the number of its version."""


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
        f"The clock stands before the last entry of ledger `{label}`, made {last}. Set the clock."
    )


def first_row(dataset: str, policy: str, rules: CapsInTicks, time: str, seed: str) -> dict[str, Any]:
    """The row that binds a ledger to its data set, its policy and its caps."""
    row = _row(1, "open", time, 0, 0) | {"details": owner_text(dataset, policy, rules)}
    return link(row | {"shown": shown_caps(dataset, policy, rules, seed)}, START)


def amend_row(
    state: State, time: str, regime: Regime, carried: Ticks, *, by: str, reason: str
) -> dict[str, Any]:
    """The row from which on another policy governs; its amounts are what all spends so far count for then."""
    row = _row(state.rows + 1, "amend", time, 0, state.rows + 1)
    owner = json.loads(owner_text(state.dataset, regime.policy, regime.rules))
    row |= {"analyst": by, "details": _json(owner | {"before": state.policy, "reason": reason})}
    row |= {"shown": shown_caps(state.dataset, regime.policy, regime.rules, state.seed)}
    return link(row | amounts_row(carried), state.head)


def plan_row(state: State, time: str, plan: SlotPlan, charged: Ticks) -> dict[str, Any]:
    """The row that pays for a plan; its slots' answers cost nothing more."""
    row = _row(state.rows + 1, "plan", time, 0, state.rows + 1)
    row |= {"query": plan.name, "text": f"plan: {plan.text}", "details": plan_text(plan)}
    row |= {"event": plan_event(plan)}
    return link(row | amounts_row(charged), state.head)


def mark_row(
    state: State, kind: str, time: str, details: Mapping[str, Any], *, by: str = "", lost: Ticks = NOTHING
) -> dict[str, Any]:
    """A row about the ledger as a whole: that it was closed, goes on here, is a backup, was restored. `lost`
    is what a restored ledger books for spends that it lacks; else it spends nothing."""
    row = _row(state.rows + 1, kind, time, 0, state.rows + 1) | {"analyst": by, "details": _json(details)}
    row["query"] = "" if lost == NOTHING else LOST
    row["shown"] = str(details["entries"]) if kind == "lost" else ""
    return link(row | amounts_row(lost), state.head)


def regime_of(row: Mapping[str, Any]) -> tuple[str, Regime]:
    """The data set, policy and caps that a row of kind ``open`` or ``amend`` binds."""
    owner = json.loads(row["details"])
    return owner["dataset"], Regime(owner["policy"], rules_read(json.dumps(owner["caps"])))


def reserve_rows(
    charges: Sequence[Charge],
    asked: Sequence[Ticks],
    state: State,
    time: str,
    data: Version,
    *,
    meaning: str = "",
    floors: Sequence[int | None] = (),
    uses: Sequence[int] = (),
    dataset: str = "",
    memo: str = "",
) -> list[dict[str, Any]]:
    """One linked row for each charge, after the state's last; `floors` are from which level of people's own
    caps on each counts people, `uses` which use of its slot each is; `dataset` is one beside the
    ledger's own, `memo` what it is remembered under where that does not hang on the table's state."""
    rows: list[dict[str, Any]] = []
    head, batch = state.head, state.entries + 1
    for step, (charge, ticks) in enumerate(zip(charges, asked, strict=True), 1):
        row = _row(state.rows + step, "reserve", time, state.entries + step, batch) | {
            "query": charge.query,
            "text": charge.text,
            "analyst": charge.analyst,
            "details": _details(charge, floors[step - 1] if floors else None, dataset),
            "data": data[0],
            "data_version": data[1],
            "memo": memo or charge.cache_key(data[0], meaning, own=state.rules.by_analyst),
            "slot": charge.slot,
            "event": charge.spend.event_text,
            "slot_use": uses[step - 1] if uses else 0,
            "shown": pseudonym(state.seed, "analyst", charge.analyst),
            **amounts_row(ticks),
        }
        rows.append(link(row, head))
        head = rows[-1]["hash"]
    return rows


def _details(charge: Charge, floor: int | None, dataset: str) -> str:
    own = charge.occasion | ({DATASET: dataset} if dataset else {})
    if floor is None and not own:
        return charge.details_json
    return _json({**charge.details, **own, **({} if floor is None else {FROM: decimal(floor)})})


def note_row(
    kind: str,
    place: tuple[int, str],
    time: str,
    entry: Entry,
    *,
    analyst: str = "",
    details: Mapping[str, Any] | None = None,
    answer: str = "",
) -> dict[str, Any]:
    """The row that says what became of an entry: released, repeated, acknowledged, revised. It spends
    nothing.

    `place` is the row's number and the hash of the row before.
    """
    row = _row(place[0], kind, time, entry.id, place[0] if kind == "repeat" else entry.batch)
    row |= {"query": entry.query, "analyst": analyst, "details": _json(details or {}), "answer": answer}
    return link(row, place[1])


def request_row(
    place: tuple[int, str], time: str, details: Mapping[str, Any], *, analyst: str, memo: str
) -> dict[str, Any]:
    """The row that says which entries answer a request; it spends nothing. `memo` is what the request is
    found by."""
    row = _row(place[0], "request", time, 0, place[0])
    return link(row | {"analyst": analyst, "details": _json(details), "memo": memo}, place[1])


def progress_row(
    state: State, time: str, entry: Entry, step: tuple[int, int], *, analyst: str, answer: str
) -> dict[str, Any]:
    """The row that says that the run of an entry went on from one step to another, and what was seen of it.

    It is no query and spends nothing. The step that it left is its batch, so that the table's own index lets
    one row leave each step.
    """
    row = _row(state.rows + 1, "progress", time, entry.id, step[0])
    row |= {"query": entry.query, "analyst": analyst, "details": _json({"to": step[1]}), "answer": answer}
    return link(row, state.head)


@cache
def entries_query() -> Select[Any]:
    """Every reserved row, every plan and what a restored ledger lacks, oldest first, each with the row
    numbers of its release and its acknowledgement."""
    release, noted = EVENT.alias("released_row"), EVENT.alias("noted_row")
    left = and_(release.c.kind == "release", release.c.entry == EVENT.c.entry)
    seen = and_(noted.c.kind == "acknowledge", noted.c.entry == EVENT.c.entry)
    return (
        select(EVENT, release.c.seq.label("released"), noted.c.seq.label("acknowledged"))
        .select_from(EVENT.outerjoin(release, left).outerjoin(noted, seen))
        .where(EVENT.c.kind.in_(("reserve", "plan", "lost")))
        .order_by(EVENT.c.seq)
    )


@cache
def some_entries_query() -> Select[Any]:
    """The same for the entries in a list of numbers that is bound to `wanted`; a server plans it in half the
    time that it would take for joins."""

    def place(kind: str, name: str) -> Any:
        row = EVENT.alias(f"{name}_row")
        return (
            select(row.c.seq)
            .where(row.c.kind == kind, row.c.entry == EVENT.c.entry)
            .scalar_subquery()
            .label(name)
        )

    return (
        select(EVENT, place("release", "released"), place("acknowledge", "acknowledged"))
        .where(EVENT.c.kind == "reserve", EVENT.c.entry.in_(bindparam("wanted", expanding=True)))
        .order_by(EVENT.c.seq)
    )


def ticks_of(row: Mapping[str, Any]) -> Ticks:
    """The amounts of a row; a reserved row is one query, and one of lost spends has their number."""
    queries = json.loads(row["details"])["entries"] if row["kind"] == "lost" else row["kind"] == "reserve"
    return amounts_of(row, int(queries))


def entry_of(found: RowMapping | dict[str, Any]) -> Entry:
    """The entry that a reserved row records.

    Raises `LedgerError` for a row that leakcap cannot have written.
    """
    row = dict(found)
    try:
        own = spend_of(ticks_of(row), row["event"])
        left, noted = row.get("released"), row.get("acknowledged")
        return Entry(
            id=row["entry"],
            time=datetime.fromisoformat(row["time"]),
            query=row["query"],
            text=row["text"],
            analyst=row["analyst"],
            spend=_FREE if row["slot"] else own,
            state="planned"
            if row["kind"] == "plan"
            else "lost"
            if row["kind"] == "lost"
            else "released"
            if left is not None
            else "reserved"
            if noted is None
            else "acknowledged",
            version=row["software"],
            hash=row["hash"],
            batch=row["batch"],
            details=json.loads(row["details"]),
            data_version=row["data_version"],
            slot=row["slot"],
            own=own,
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise LedgerError(
            f"Row {row['seq']} of the ledger was edited. Restore the ledger from a backup."
        ) from error


@lru_cache(maxsize=1024)
def spend_of(ticks: Ticks, event: str) -> Spend:
    """Ticks as a spend again, which nobody can change: many rows of a ledger say the same."""
    amounts = {name: _units(one) for name, one in zip(AMOUNTS, ticks.numbers, strict=False)}
    return Spend(**amounts, curve=_curve_units(ticks.curve), event=event)


def _units(ticks: int | None) -> float:
    return math.inf if ticks is None else units(ticks)


@lru_cache(maxsize=4096)
def _curve_units(curve: Curve) -> tuple[float, ...]:
    return tuple(map(_units, curve))


def owner_text(dataset: str, policy: str, rules: CapsInTicks) -> str:
    """Canonical JSON of data set, policy and caps."""
    return _json({"dataset": dataset, "policy": policy, "caps": json.loads(rules.text)})


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _row(seq: int, kind: str, time: str, entry: int, batch: int) -> dict[str, Any]:
    row = {"seq": seq, "kind": kind, "time": time, "entry": entry, "batch": batch, "software": _software()}
    texts = dict.fromkeys(_TEXTS, "")
    numbers = {"data_version": 0, "slot_use": 0}
    return row | texts | amounts_row(NOTHING) | {"details": "{}"} | numbers


@cache
def _software() -> str:
    try:
        return metadata.version("leakcap")
    except metadata.PackageNotFoundError:
        return "unknown"
