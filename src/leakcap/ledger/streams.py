"""Streams in the database: one charge for a whole horizon, found again by its name.

A stream is an entry that was reserved. What is published of it stands in rows of kind ``progress``, one for
each step, so that a step is answered once whoever asks. A restored ledger lets no reserved entry go on: what
was published after the backup was made is not in it, and other noise for the same step would not be paid for.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, select

from leakcap.errors import LedgerError
from leakcap.ledger.answer_cache import became_of
from leakcap.ledger.chain import fingerprint, row_hash
from leakcap.ledger.details import STREAM, as_asked, dataset_told
from leakcap.ledger.events import some_entries_query
from leakcap.ledger.schema import EVENT
from leakcap.ledger.state import State
from leakcap.ledger.values import Charge

__all__ = ["asked_alike", "find_stream", "keys_of_stream", "stream_key"]

_GIVEN = (STREAM, "asked", "neighbours", "unit", "rows", "series")

_RESERVED = select(EVENT).where(EVENT.c.kind == "reserve").order_by(EVENT.c.seq)
_BY_KEY = _RESERVED.where(EVENT.c.memo == bindparam("key"))
_BY_NAME = _RESERVED.where(EVENT.c.query == bindparam("name"), EVENT.c.details.contains(f'"{STREAM}":'))


def keys_of_stream(charge: Charge, analyst: str, meaning: str, dataset: str) -> tuple[str, str]:
    """What a stream that this analyst began may be found by: where analysts have no accounts of their own,
    and where they have."""
    return _key(charge, None, meaning, dataset), _key(charge, analyst, meaning, dataset)


def stream_key(charge: Charge, state: State, meaning: str, dataset: str) -> str:
    """What a stream is found by: its name, of which analyst where they have accounts of their own, and of
    which data set; `meaning` tells policies apart under which its text means something else."""
    return _key(charge, charge.analyst if state.rules.by_analyst else None, meaning, dataset)


def _key(charge: Charge, analyst: str | None, meaning: str, dataset: str) -> str:
    return fingerprint({STREAM: charge.query, "analyst": analyst, "meaning": meaning, "dataset": dataset})


def find_stream(
    connection: Connection, state: State, charge: Charge, label: str, meanings: Sequence[str], dataset: str
) -> dict[str, Any] | None:
    """The entry of a stream that was paid for; None where its name is new.

    Raises `LedgerError` where a stream of this name was begun as another question, at another price or under
    a policy that meant something else, and where it was replaced or withdrawn.
    """
    # An amendment may have begun or ended the accounts of analysts since the stream was begun.
    now = charge.analyst if state.rules.by_analyst else None
    before = None if state.rules.by_analyst else charge.analyst
    for meaning, analyst in itertools.product(meanings, (now, before)):
        key = _key(charge, analyst, meaning, dataset)
        row = connection.execute(_BY_KEY, {"key": key}).mappings().first()
        if row is None or (state.rules.by_analyst and row["analyst"] != charge.analyst):
            continue
        if row_hash(dict(row)) != row["hash"]:
            raise LedgerError(
                f"Row {row['seq']} of ledger `{label}` was edited. Restore the ledger from a backup."
            )
        if row["text"] != charge.text or not asked_alike(row["details"], charge):
            raise _another(charge, row, f"as `{row['text']}`, for {_asked(row['details'])}")
        if became := became_of(connection, row["entry"], label):
            raise LedgerError(
                f"Stream `{charge.query}`, entry {row['entry']}, was {became} Nothing was spent. For new "
                "answers, which are paid for, give the stream another `name`."
            )
        found = connection.execute(some_entries_query(), {"wanted": [row["entry"]]}).mappings().one()
        return dict(found)
    for row in connection.execute(_BY_NAME, {"name": charge.query}).mappings():
        own = row["analyst"] == charge.analyst or not state.rules.by_analyst
        if own and dataset_told(row["details"]) == dataset:
            raise _another(charge, row, "under a policy in which it means something else")
    return None


def asked_alike(details: str, charge: Charge) -> bool:
    """Whether the same was asked at the same price. Numbers that were computed are no part of it: another
    processor may find another last digit, and what was paid for is what the entry says."""
    told = as_asked(json.loads(details))
    return all(told.get(name) == charge.details.get(name) for name in _GIVEN)


def _asked(details: str) -> str:
    return str(json.loads(details).get("asked"))


def _another(charge: Charge, row: Any, how: str) -> LedgerError:
    return LedgerError(
        f"Stream `{charge.query}` was begun in entry {row['entry']} {how}. Nothing was spent. Ask as it was "
        "asked then, or give the stream another `name`, which is paid for."
    )
