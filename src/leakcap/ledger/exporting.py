"""The audit trail for other programs: who, when, which query, what it cost, which guarantees, which software.

Neither answers nor the table's fingerprint are exported, and no row holds a value of the data or noise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from leakcap.ledger.curve import ORDERS
from leakcap.ledger.requests import RecordedRequest
from leakcap.ledger.ticks import AMOUNTS
from leakcap.ledger.told import Amendment, Revision
from leakcap.ledger.transfers import CustodyEvent
from leakcap.ledger.values import Entry
from leakcap.plain import csv_text, json_text

__all__ = ["export"]

_WHAT = ("id", "time", "analyst", "query", "text", "state")
_COLUMNS = (*_WHAT, *AMOUNTS, "curve", "event", "slot", "data_version", "details", "software")


def export(
    entries: Iterable[Entry],
    form: Literal["csv", "json"],
    amendments: Iterable[Amendment] = (),
    revisions: Iterable[Revision] = (),
    custody: Iterable[CustodyEvent] = (),
    requests: Iterable[RecordedRequest] = (),
) -> str:
    """The entries as CSV with a heading, or as a JSON list. Where no bound is known JSON says null, CSV inf.

    Amendments of the policy stand among them, in the order of time: without an id, in state ``amended``;
    revisions likewise, in state ``revised`` or ``withdrawn``, with the entry's number in their details, and
    what was done with the ledger as a whole, in states such as ``moved``, ``restored`` and ``admitted``; what
    was lost is among the entries; requests, in state ``request``, with the entries that answer them and those
    that they paid for. In CSV, text that a spreadsheet would take for a formula gets an apostrophe
    before it; control characters are written out in both.

    >>> export([], "json")
    '[]'
    """
    spends = [(entry.time, 0, _row(entry)) for entry in entries]
    both = [*spends, *((one.time, 1, _amended(one)) for one in amendments)]
    both += ((one.time, 2, _revised(one)) for one in revisions)
    # What was lost stands among the entries, with its amounts.
    both += ((one.time, 3, _cared(one)) for one in custody if one.kind != "lost")
    both += ((one.time, 4, _requested(one)) for one in requests)
    rows = [row for *_, row in sorted(both, key=lambda timed: timed[:2])]
    if form == "json":
        for row in rows:
            row |= {name: row[name] if math.isfinite(row[name]) else None for name in AMOUNTS}
        return json_text(rows, indent=2)
    for row in rows:
        row["event"] = json.dumps(row["event"], sort_keys=True) if row["event"] else ""
        row["details"] = json.dumps(row["details"], sort_keys=True, ensure_ascii=False)
        row["curve"] = " ".join(f"{point['order']:g}:{point['nats']!r}" for point in row["curve"])
    return csv_text([_COLUMNS, *([row[name] for name in _COLUMNS] for row in rows)])


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "time": entry.time.isoformat(timespec="seconds"),
        "analyst": entry.analyst,
        "query": entry.query,
        "text": entry.text,
        "state": entry.state,
        **{name: getattr(entry.spend, name) for name in AMOUNTS},
        "curve": [
            {"order": order, "nats": nats}
            for order, nats in zip(ORDERS, entry.spend.curve or (), strict=True)
        ],
        "event": json.loads(entry.own.event) if entry.own.event else None,
        "slot": entry.slot,
        "data_version": entry.data_version,
        "details": dict(entry.details),
        "software": entry.version,
    }


def _amended(amendment: Amendment) -> dict[str, Any]:
    told = {
        "before": amendment.before,
        "policy": amendment.policy,
        "reason": amendment.reason,
        "carried": amendment.carried,
    }
    changed = "; ".join(change.text for change in amendment.changes)
    return _note(amendment.time, amendment.by, "amendment of the policy", changed, "amended", told)


def _revised(revision: Revision) -> dict[str, Any]:
    told: dict[str, Any] = {"entry": revision.entry, "reason": revision.reason}
    told |= {} if revision.replaced_by is None else {"replaced_by": revision.replaced_by}
    state = "withdrawn" if revision.replaced_by is None else "revised"
    return _note(revision.time, revision.by, revision.query, revision.what, state, told)


def _cared(event: CustodyEvent) -> dict[str, Any]:
    told = {"reason": event.reason} if event.reason else {}
    return _note(event.time, event.by, "care of the ledger", event.what, event.kind, told)


def _requested(request: RecordedRequest) -> dict[str, Any]:
    told: dict[str, Any] = {"key": request.key, "digest": request.digest}
    told |= {"entries": list(request.entries), "paid": list(request.paid)}
    text = f"entries {', '.join(map(str, dict.fromkeys(request.entries)))}"
    return _note(request.time, request.analyst, "request", text, "request", told)


def _note(
    time: datetime, by: str, query: str, text: str, state: str, details: Mapping[str, Any]
) -> dict[str, Any]:
    """A row that spends nothing."""
    return {
        "id": None,
        "time": time.isoformat(timespec="seconds"),
        "analyst": by,
        "query": query,
        "text": text,
        "state": state,
        **dict.fromkeys(AMOUNTS, 0.0),
        "curve": [],
        "event": None,
        "slot": "",
        "data_version": None,
        "details": dict(details),
        "software": "",
    }
