"""The audit trail for other programs: who, when, which query, what it cost, which guarantees, which software.

Neither answers nor the table's fingerprint are exported, and no row holds a value of the data or noise.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from typing import Any, Literal

from leakcap.ledger.ticks import AMOUNTS
from leakcap.ledger.values import Entry

__all__ = ["export"]

_WHAT = ("id", "time", "analyst", "query", "text", "state")
_COLUMNS = (*_WHAT, *AMOUNTS, "data_version", "details", "software")
# What a spreadsheet would run as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(entries: Iterable[Entry], form: Literal["csv", "json"]) -> str:
    """The entries as CSV with a heading, or as a JSON list. Where no bound is known JSON says null, CSV inf.

    In CSV, text that a spreadsheet would take for a formula gets an apostrophe before it.

    >>> export([], "json")
    '[]'
    """
    rows = [_row(entry) for entry in entries]
    if form == "json":
        for row in rows:
            row |= {name: row[name] if math.isfinite(row[name]) else None for name in AMOUNTS}
        return json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False)
    sheet = io.StringIO()
    writer = csv.DictWriter(sheet, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        row["details"] = json.dumps(row["details"], sort_keys=True, ensure_ascii=False)
        writer.writerow({name: _plain(value) for name, value in row.items()})
    return sheet.getvalue()


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "time": entry.time.isoformat(timespec="seconds"),
        "analyst": entry.analyst,
        "query": entry.query,
        "text": entry.text,
        "state": entry.state,
        **{name: getattr(entry.spend, name) for name in AMOUNTS},
        "data_version": entry.data_version,
        "details": dict(entry.details),
        "software": entry.version,
    }


def _plain(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
