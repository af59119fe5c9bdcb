"""The log of administrative acts: written in the transaction of what it tells, each row hashed with the last.

Whoever edits the database can rewrite the whole chain, so that its head is worth writing down elsewhere, as
the ledger's is (an anchor).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from leakcap.ledger.chain import START, fingerprint
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import StoreError
from leakcap.service.store.schema import ACTS, HEAD
from leakcap.service.store.times import moment_of, stored_time

__all__ = ["Act", "ActLog", "VerifiedActs", "append_act"]

_FORMAT = 1


@dataclass(frozen=True)
class Act:
    """One administrative act; `subject` and `dataset` are empty where it concerns none."""

    seq: int
    time: datetime
    by: str
    act: str
    subject: str
    dataset: str
    details: Mapping[str, Any]
    hash: str


@dataclass(frozen=True)
class VerifiedActs:
    """A chain of acts that holds: how many there are, and the last one's hash."""

    rows: int
    head: str


def append_act(
    connection: Connection,
    now: datetime,
    by: str,
    act: str,
    *,
    subject: str = "",
    dataset: str = "",
    details: Mapping[str, Any] | None = None,
) -> None:
    """Write down an act in the caller's transaction, which waits here for others that write one."""
    head = connection.execute(select(HEAD).where(HEAD.c.id == 1).with_for_update()).one()
    row = {
        "seq": head.seq + 1,
        "format": _FORMAT,
        "time": stored_time(now),
        "by": by,
        "act": act,
        "subject": subject,
        "dataset": dataset,
        "details": json.dumps(dict(details or {}), sort_keys=True, separators=(",", ":")),
        "previous": head.hash,
    }
    row["hash"] = fingerprint(row)
    connection.execute(ACTS.insert().values(row))
    connection.execute(HEAD.update().values(seq=row["seq"], hash=row["hash"]))


class ActLog:
    """What was done to people, roles, tokens, data sets and jobs, and by whom."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def all(self, *, dataset: str | None = None, after: int = 0, most: int = 1000) -> tuple[Act, ...]:
        """The acts after number `after`, first ones first, `most` at a time; of one data set, if given."""
        asked = select(ACTS).where(ACTS.c.seq > after).order_by(ACTS.c.seq).limit(most)
        if dataset is not None:
            asked = asked.where(ACTS.c.dataset == dataset)
        with self._database.reading() as connection:
            return tuple(_act(row) for row in connection.execute(asked))

    def verify(self) -> VerifiedActs:
        """Check every row, its place and the head. Raises `StoreError` naming the first that is wrong."""
        seq, previous = 0, START
        with self._database.reading() as connection:
            for row in connection.execute(select(ACTS).order_by(ACTS.c.seq)):
                seq += 1
                fields = dict(row._mapping)
                whole = fields.pop("hash") == fingerprint(fields)
                if (row.seq, row.previous) != (seq, previous) or not whole:
                    raise StoreError(
                        f"Act {seq} of the store `{self._database.label}` was changed, or one before it is "
                        "missing. Compare it with a backup."
                    )
                previous = row.hash
            head = connection.execute(select(HEAD)).all()
        if [(one.seq, one.hash) for one in head] != [(seq, previous)]:
            raise StoreError(
                f"The store `{self._database.label}` has {seq} acts, and its head is another's. Compare it "
                "with a backup."
            )
        return VerifiedActs(seq, previous)


def _act(row: Any) -> Act:
    return Act(
        row.seq,
        moment_of(row.time),
        row.by,
        row.act,
        row.subject,
        row.dataset,
        json.loads(row.details),
        row.hash,
    )
