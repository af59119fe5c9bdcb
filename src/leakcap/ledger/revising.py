"""Revisions and withdrawals: what replaced a published answer, why, and who said so.

A statistical office revises what it has published: an answer is replaced by another one about the same
reference period; or it is withdrawn, and nothing takes its place. Both are rows of the chain about an answer
that left. What was spent stays spent: whoever saw the old answer knows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select

from leakcap.errors import InvalidQuery, LedgerError
from leakcap.ledger.details import STREAM
from leakcap.ledger.editions import Edition
from leakcap.ledger.events import entries_query, entry_of, note_row
from leakcap.ledger.schema import EVENT, REVISING
from leakcap.ledger.state import State, found_among, held_by
from leakcap.ledger.told import Revision
from leakcap.ledger.values import Entry

__all__ = [
    "Revision",
    "pairs_of",
    "require_valid",
    "revised_among",
    "revision_of",
    "revision_rows",
    "revisions_of",
    "valid_of",
]

_ABOUT = select(EVENT).where(EVENT.c.kind.in_(REVISING)).order_by(EVENT.c.seq)
_OF = select(EVENT.c.entry).where(
    EVENT.c.kind.in_(REVISING), EVENT.c.entry.in_(bindparam("wanted", expanding=True))
)


def revision_rows(
    connection: Connection,
    state: State,
    time: str,
    pairs: Sequence[tuple[Entry, Entry | None]],
    label: str,
    *,
    reason: str,
    by: str,
) -> list[dict[str, Any]]:
    """A row for each pair of an answer and the one that replaces it, None where it is withdrawn.

    A stream may be revised while it goes on, which ends it. Raises `LedgerError` for an answer that never
    left or was revised before, and for a replacement that may be none: withdrawn, older, or about another
    reference period.
    """
    wanted = [one.id for pair in pairs for one in pair if one is not None]
    gone = set(connection.execute(_OF, {"wanted": wanted}).scalars())
    rows: list[dict[str, Any]] = []
    for old, new in pairs:
        _require_pair(old, new, gone, label)
        gone.add(old.id)
        place = (state.rows + len(rows) + 1, rows[-1]["hash"] if rows else state.head)
        told: dict[str, Any] = {"reason": reason} | ({} if new is None else {"replaced_by": new.id})
        kind = "withdraw" if new is None else "revise"
        rows.append(note_row(kind, place, time, old, analyst=by, details=told))
    return rows


def _require_pair(old: Entry, new: Entry | None, gone: set[int], label: str) -> None:
    for one in (old, new):
        if one is not None and not _leaves(one):
            raise LedgerError(
                f"Entry {one.id} of ledger `{label}` was never released: there is no answer to revise. "
                "`leakcap ledger repair` settles what did not leave."
            )
    if old.id in gone:
        raise LedgerError(
            f"Entry {old.id} of ledger `{label}` was replaced or withdrawn before. `leakcap budget` lists "
            "revisions; the answer that replaced it may be revised."
        )
    if new is None:
        return
    if new.id in gone or new.id <= old.id:
        why = "was withdrawn or replaced itself" if new.id in gone else "is not a later one"
        raise LedgerError(
            f"Entry {new.id} cannot replace entry {old.id} of ledger `{label}`: it {why}. Name the answer "
            "that is valid now."
        )
    if new.dataset != old.dataset:
        sets = [
            f"data set `{one.dataset}`" if one.dataset else "the ledger's own data set" for one in (new, old)
        ]
        raise LedgerError(
            f"Entry {new.id} is about {sets[0]}, entry {old.id} of ledger `{label}` about {sets[1]}. An "
            "answer is replaced by one about the same data set."
        )
    was, now = (one.edition.period if one.edition else "" for one in (old, new))
    if was != now and was and now:
        raise LedgerError(
            f"Entry {new.id} is about {now}, entry {old.id} of ledger `{label}` about {was}. An answer is "
            "replaced by one about the same reference period."
        )


def _leaves(entry: Entry) -> bool:
    """Whether an answer left, or leaves step by step."""
    return entry.state == "released" or STREAM in entry.details


def pairs_of(entries: Sequence[Entry], gone: set[int], old: Edition, version: str) -> dict[int, int]:
    """For each answer of an edition that is valid the one of the same name, title and data set in another
    `version` of it.

    What the other version repeats from the ledger, or leaves out, stays as it is. Raises `InvalidQuery` where
    there is nothing to replace, and where `old` has no title and several publications are meant.
    """
    replaced = {_named(one): one.id for one in _matching(entries, gone, old, version)}
    found = {one.id: replaced[_named(one)] for one in valid_of(entries, gone, old) if _named(one) in replaced}
    found = {was: now for was, now in found.items() if was < now}
    if not found:
        raise InvalidQuery(
            f"No answer of version {old.version} for {old.period} has one of the same name in version "
            f"{version}. `leakcap budget --all` lists what was published as what."
        )
    return found


def valid_of(entries: Sequence[Entry], gone: set[int], wanted: Edition) -> list[Entry]:
    """The answers of an edition that left and are none of those `gone`.

    An empty title of `wanted` stands for the only one that there is. Raises `InvalidQuery` where there are
    several, or answers about several data sets.
    """
    found = _matching(entries, gone, wanted)
    if not wanted.title and len({_named(one)[:2] for one in found}) > 1:
        raise InvalidQuery(
            f"Version {wanted.version} for {wanted.period} is several publications: "
            f"{', '.join(sorted({_publication(one) for one in found}))}. Name one by its title (`--title`), "
            "or name the entries."
        )
    return found


def _matching(entries: Sequence[Entry], gone: set[int], wanted: Edition, version: str = "") -> list[Entry]:
    """The same without a look at how many publications they are; of another `version`, where one is given."""
    asked = (wanted.period, version or wanted.version)
    return [
        one
        for one in entries
        if _leaves(one)
        and one.id not in gone
        and one.edition is not None
        and (one.edition.period, one.edition.version) == asked
        and wanted.title in ("", one.edition.title)
    ]


def _named(entry: Entry) -> tuple[str, str, str]:
    """What an answer is called: its data set, its publication's title, and its own name."""
    return entry.dataset, "" if entry.edition is None else entry.edition.title, entry.query


def _publication(entry: Entry) -> str:
    dataset, title, _ = _named(entry)
    said = f"`{title}`" if title else "one without a title"
    return f"{said} about data set `{dataset}`" if dataset else said


def require_valid(connection: Connection, ids: Sequence[int], label: str) -> None:
    """Raise `LedgerError` where the answer of one of these entries was replaced or withdrawn."""
    if gone := revised_among(connection, ids):
        raise LedgerError(
            f"The answer of entry {min(gone)} of ledger `{label}` was replaced or withdrawn, and is not "
            "repeated as valid. Ask again: the refusal then says why."
        )


def revised_among(connection: Connection, ids: Sequence[int]) -> set[int]:
    """Those of these entries whose answer was replaced or withdrawn; within a transaction that others share
    each is asked for once."""
    holds = held_by(connection)
    return found_among(connection, _OF, {} if holds is None else holds.revised, ids)


def revisions_of(connection: Connection) -> list[Revision]:
    """All that were recorded, oldest first."""
    rows = [dict(row) for row in connection.execute(_ABOUT).mappings()]
    if not rows:
        return []
    entries = (entry_of(row) for row in connection.execute(entries_query()).mappings())
    known = {one.id: one for one in entries if one.id}
    return [
        revision_of(row, known[row["entry"]], known.get(json.loads(row["details"]).get("replaced_by", 0)))
        for row in rows
    ]


def revision_of(row: Mapping[str, Any], old: Entry, new: Entry | None) -> Revision:
    """What a row records of an answer and of the one that replaces it."""
    return Revision(
        entry=old.id,
        query=old.query,
        edition=old.edition,
        replaced_by=None if new is None else new.id,
        by_edition=None if new is None else new.edition,
        time=datetime.fromisoformat(row["time"]),
        by=row["analyst"],
        reason=str(json.loads(row["details"])["reason"]),
        hash=row["hash"],
    )
