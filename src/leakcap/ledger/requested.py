"""Requests in the database: the row that says which entries answer one, and how it is found again.

It is found by its `memo`, by the index that finds remembered answers. So there is no table beside the chain
that could disagree with it, and whatever copies the chain copies the requests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select

from leakcap.errors import RequestReused
from leakcap.ledger.answer_cache import require_unedited
from leakcap.ledger.chain import fingerprint
from leakcap.ledger.details import DATASET
from leakcap.ledger.events import request_row
from leakcap.ledger.requests import Asked, RecordedRequest
from leakcap.ledger.schema import EVENT, OF_AN_ENTRY, VALUES_AT_ONCE
from leakcap.ledger.state import State, held_by

__all__ = [
    "found_request",
    "memo_of",
    "recorded_request",
    "requests_of",
    "require_same_request",
    "reused",
    "row_of_request",
    "rows_about",
]

_ALL = select(EVENT).where(EVENT.c.kind == "request").order_by(EVENT.c.seq)
# By kinds, too: the index of entries begins with them.
_ABOUT = select(EVENT.c.entry, EVENT.c.kind, EVENT.c.hash).where(
    EVENT.c.kind.in_(("reserve", *OF_AN_ENTRY)), EVENT.c.entry.in_(bindparam("entries", expanding=True))
)
_BY_KEY = _ALL.where(EVENT.c.memo == bindparam("memo"))


def memo_of(key: str) -> str:
    """What the row of a request is found by. It is no key of an answer that is remembered."""
    return fingerprint({"request": key})


def rows_about(connection: Connection, entries: Sequence[int]) -> dict[int, set[tuple[str, str]]]:
    """Kind and hash of each row about each of these entries; within a transaction that others share they are
    asked for once."""
    holds, found = held_by(connection), dict[int, set[tuple[str, str]]]()
    if holds is not None:
        found = {entry: holds.about[entry] for entry in entries if entry in holds.about}
    rest = [entry for entry in entries if entry not in found]
    found |= {entry: set() for entry in rest}
    for first in range(0, len(rest), VALUES_AT_ONCE):
        wanted = {"entries": rest[first : first + VALUES_AT_ONCE]}
        for entry, kind, digest in connection.execute(_ABOUT, wanted):
            found[entry].add((kind, digest))
    if holds is not None:
        holds.about |= {entry: found[entry] for entry in rest}
    return found


def found_request(connection: Connection, key: str, label: str) -> RecordedRequest | None:
    """The request with this key; None where none was made."""
    memo, holds = memo_of(key), held_by(connection)
    if holds is not None and holds.memos.get(memo) is False:
        return None
    row = connection.execute(_BY_KEY, {"memo": memo}).mappings().first()
    if row is None:
        return None
    require_unedited(dict(row), label)
    return recorded_request(dict(row))


def requests_of(connection: Connection) -> list[RecordedRequest]:
    """All that were made, oldest first."""
    return [recorded_request(dict(row)) for row in connection.execute(_ALL).mappings()]


def recorded_request(row: Mapping[str, Any]) -> RecordedRequest:
    """What a row of kind ``request`` says."""
    told = json.loads(row["details"])
    return RecordedRequest(
        key=told["request"],
        digest=told["digest"],
        time=datetime.fromisoformat(row["time"]),
        analyst=row["analyst"],
        policy=told["policy"],
        dataset=told.get(DATASET, ""),
        entries=tuple(told["entries"]),
        paid=tuple(told["paid"]),
        hash=row["hash"],
    )


def row_of_request(
    asked: Asked, state: State, time: str, paid: Sequence[Mapping[str, Any]], policy: str, dataset: str
) -> dict[str, Any]:
    """The row that follows what a request `paid`, or the state's last where it paid nothing."""
    numbers = [row["entry"] for row in paid]
    told = {
        "request": asked.request.key,
        "digest": asked.request.digest,
        "entries": asked.entries(numbers),
        "paid": numbers,
        "policy": policy,
        **({DATASET: dataset} if dataset else {}),
    }
    place = (state.rows + len(paid) + 1, paid[-1]["hash"] if paid else state.head)
    return request_row(place, time, told, analyst=asked.analyst, memo=memo_of(asked.request.key))


def require_same_request(known: RecordedRequest, asked: Asked, dataset: str, label: str) -> None:
    """Raise `RequestReused` unless a request asks what was asked under its key, of whom and by whom."""
    what = (
        ("by another analyst", known.analyst != asked.analyst),
        ("of another data set", known.dataset != dataset),
        ("with another content", known.digest != asked.request.digest),
        ("with another number of questions", len(known.entries) != len(asked.charges)),
    )
    for how, differs in what:
        if differs:
            raise reused(known, f"was used {how}", label)


def reused(known: RecordedRequest, how: str, label: str) -> RequestReused:
    """The error for a key that stands for something else."""
    return RequestReused(
        f"The key of this request, {known.key[:12]}, {how} in ledger `{label}`, on "
        f"{known.time.isoformat(timespec='seconds')[:19]} UTC. Nothing was spent. Give a new request a new "
        "key; to ask again, ask exactly as before.",
        key=known.key,
        entries=known.entries,
    )
