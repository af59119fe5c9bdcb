"""Recorded answers and versions of the table: what may be said again for free.

Only released values are recorded, in the row that says that they left, so that the chain covers them too.

Queries are told apart by what was asked, never by a number that was computed. What follows from a question,
its price in nats or its error, is computed in floating point, and the last digit of a logarithm may differ
between processors. So the key of a query is made of text and of exact numbers that somebody gave.
Computed numbers stand beside it in the ledger; there they need only agree to six digits: processors
differ by less, mechanisms of different scales by more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, select

from leakcap.errors import LedgerError
from leakcap.ledger.chain import row_hash
from leakcap.ledger.details import as_asked, people_from
from leakcap.ledger.schema import EVENT, REVISING
from leakcap.ledger.state import State, found_among, held_by
from leakcap.ledger.ticks import AMOUNTS, Ticks
from leakcap.ledger.told import Answer, ProgressStep
from leakcap.ledger.values import Charge

__all__ = [
    "agree",
    "became_of",
    "find",
    "known_memos",
    "of_entry",
    "require_unedited",
    "runs_by_step",
    "versions",
    "went_on",
]

_NEAR = 1e-6

# Built once: to put a statement together costs more than to run it.
_LEFT = EVENT.alias("released_row")
_ASKED = (
    select(EVENT, _LEFT.c.seq.label("left"))
    .select_from(EVENT.join(_LEFT, _LEFT.c.entry == EVENT.c.entry))
    .where(EVENT.c.kind == "reserve", _LEFT.c.kind == "release", _LEFT.c.answer != "")
    .order_by(EVENT.c.seq.desc())
)
# Fresh noise may have been paid for many times; of the latest the last one that costs the same is told.
_BY_KEY = _ASKED.where(EVENT.c.memo == bindparam("key")).limit(100)
_KNOWN = select(EVENT.c.memo).where(EVENT.c.memo.in_(bindparam("wanted", expanding=True))).distinct()
_RESERVED = select(EVENT).where(EVENT.c.entry == bindparam("entry"), EVENT.c.kind == "reserve")
_REVISED = select(EVENT).where(EVENT.c.entry == bindparam("entry"), EVENT.c.kind.in_(REVISING))
_WENT_ON = select(EVENT).where(
    EVENT.c.entry == bindparam("entry"), EVENT.c.kind == "progress", EVENT.c.batch == bindparam("step")
)
_ROW = select(EVENT).where(EVENT.c.seq == bindparam("place"))
_NAMED = select(EVENT.c.data, EVENT.c.data_version).where(EVENT.c.kind == "reserve", EVENT.c.data != "")
# A refusal looks back so far, and no further.
_VERSIONS = _NAMED.distinct().order_by(EVENT.c.data_version.desc()).limit(100)


def find(
    connection: Connection,
    state: State,
    charge: Charge,
    keys: Iterable[str],
    label: str,
) -> Answer | None:
    """The latest recorded answer to the same query at the same price under one of these keys, the latest
    policy's first; one that was replaced or withdrawn only where no other is valid."""
    price, revised = charge.spend.ticks(state.rules.alpha), None
    for asked in _candidates(connection, keys):
        if not agree(asked, charge, price):
            continue
        row = dict(connection.execute(_ROW, {"place": asked.pop("left")}).mappings().one())
        # The row that says what was asked counts as much as the one that says what left.
        for seen in (asked, row):
            require_unedited(seen, label)
        people, said = people_from(json.loads(asked["details"])), became_of(connection, row["entry"], label)
        answer = Answer(row["entry"], json.loads(row["answer"]), people, said)
        if not said:
            return answer
        revised = revised or answer
    return revised


def became_of(connection: Connection, entry: int, label: str) -> str:
    """What became of an entry's answer, where it was replaced or withdrawn; empty where it is valid."""
    found = connection.execute(_REVISED, {"entry": entry}).mappings().first()
    if found is None:
        return ""
    require_unedited(dict(found), label)
    told = json.loads(found["details"])
    what = f"replaced by entry {told['replaced_by']}" if "replaced_by" in told else "withdrawn"
    return f"{what} on {found['time'][:10]}: {str(told['reason']).rstrip('.')}."


def known_memos(connection: Connection, memos: Sequence[str]) -> set[str]:
    """Which of these keys some row is found by, of an answer or of a request; within a transaction that
    others share each is asked for once."""
    holds = held_by(connection)
    return found_among(connection, _KNOWN, {} if holds is None else holds.memos, memos)


def _candidates(connection: Connection, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
    """What was asked in the same words and answered, latest first."""
    for key in keys:
        yield from map(dict, connection.execute(_BY_KEY, {"key": key}).mappings().all())


def of_entry(connection: Connection, entry: int, label: str) -> Answer | None:
    """The answer recorded with an entry's release."""
    query = select(EVENT).where(EVENT.c.entry == entry, EVENT.c.kind == "release", EVENT.c.answer != "")
    found = connection.execute(query).mappings().one_or_none()
    if found is None:
        return None
    asked = connection.execute(_RESERVED, {"entry": entry}).mappings().one()
    for seen in (asked, found):
        require_unedited(dict(seen), label)
    people, said = people_from(json.loads(asked["details"])), became_of(connection, entry, label)
    return Answer(entry, json.loads(found["answer"]), people, said)


def runs_by_step(connection: Connection, entry: int, label: str) -> dict[int, ProgressStep]:
    """What was seen of an entry's run, by the step that it went on from."""
    query = select(EVENT).where(EVENT.c.entry == entry, EVENT.c.kind == "progress").order_by(EVENT.c.seq)
    steps = {}
    for row in map(dict, connection.execute(query).mappings()):
        require_unedited(row, label)
        steps[row["batch"]] = ProgressStep(int(json.loads(row["details"])["to"]), json.loads(row["answer"]))
    return steps


def went_on(connection: Connection, entry: int, step: int, label: str) -> bool:
    """Whether an entry's run went on from this step. One row is read: to read those of all steps for each
    step is work that grows with their square."""
    found = connection.execute(_WENT_ON, {"entry": entry, "step": step}).mappings().first()
    if found is None:
        return False
    require_unedited(dict(found), label)
    return True


def require_unedited(row: Mapping[str, Any], label: str) -> None:
    """Raise `LedgerError` for a row that is not what its link in the chain says."""
    if row_hash(dict(row)) != row["hash"]:
        raise LedgerError(
            f"Row {row['seq']} of ledger `{label}` was edited. Restore the ledger from a backup."
        )


def versions(connection: Connection) -> list[tuple[int, str]]:
    """The latest versions of the table by number and name, the last one first; within a transaction that
    others share they are asked for once, and it has no new ones but its own."""
    holds = held_by(connection)
    if holds is not None and holds.named is not None:
        return holds.named
    found = [(row.data_version, row.data) for row in connection.execute(_VERSIONS)]
    if holds is not None:
        holds.named = found
    return found


def agree(row: Mapping[str, Any], charge: Charge, price: Ticks) -> bool:
    """Whether a row was charged what the charge costs, for the same mechanism, up to the last digits of
    computed numbers.

    >>> from leakcap.ledger.values import Spend
    >>> one = Charge("n", "count", Spend(0.1, nats_person=0.005), details={"scale": 10.0})
    >>> price = one.spend.ticks(None)
    >>> row = dict(zip(AMOUNTS, price.numbers, strict=False)) | {"details": '{"scale":10.000000000001}'}
    >>> agree(row, one, price), agree(row | {"details": '{"scale":11.0}'}, one, price)
    (True, False)
    """
    # Whom an answer counts, and what it is published as, is no part of the question.
    found = as_asked(json.loads(row["details"]))
    amounts = zip((row[name] for name in AMOUNTS), price.numbers, strict=False)
    return (
        found.keys() == charge.details.keys()
        and all(_near(found[name], value) for name, value in charge.details.items())
        and all(_near(was, now, within=1) for was, now in amounts)
    )


def _near(one: object, other: object, *, within: float = 0.0) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        exact = isinstance(one, int) and isinstance(other, int) and not within
        return one == other if exact else math.isclose(one, other, rel_tol=_NEAR, abs_tol=within)
    return one == other
