"""The versions of what was published: of which data, what became of each, and who said that data is the same.

All of it is read from the chain. What an answer was published as, what its owner called the data, and whose
word it was that the data is a version that the ledger knew, stand among the details of its row.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Connection, bindparam, func, select

from leakcap.errors import LedgerError
from leakcap.ledger.details import SAME_AS, SOURCE, STREAM, dataset_told
from leakcap.ledger.editions import Edition
from leakcap.ledger.events import entries_query, entry_of
from leakcap.ledger.revising import revisions_of
from leakcap.ledger.schema import EVENT
from leakcap.ledger.sharing import admitted_policies
from leakcap.ledger.told import DataVersion, PublishedVersion, Revision, SaidSame
from leakcap.ledger.values import Entry

__all__ = ["data_version_of", "state_name_of", "versions_of"]

_REPEATS = (
    select(
        EVENT.c.entry,
        EVENT.c.analyst,
        EVENT.c.details,
        func.count().label("times"),
        func.min(EVENT.c.time).label("first"),
        func.max(EVENT.c.time).label("last"),
    )
    .where(EVENT.c.kind == "repeat")
    .group_by(EVENT.c.entry, EVENT.c.analyst, EVENT.c.details)
    .order_by(func.min(EVENT.c.seq))
)
_STEPPED = select(EVENT.c.entry).where(EVENT.c.kind == "progress").distinct()
_STATES = (
    select(EVENT.c.data, EVENT.c.details)
    .where(EVENT.c.kind == "reserve", EVENT.c.data != "", EVENT.c.data_version == bindparam("version"))
    .order_by(EVENT.c.seq)
)


_Place: TypeAlias = tuple[str, Edition, int]


@dataclass
class _Found:
    """What was seen of a version so far."""

    sources: dict[str, None] = field(default_factory=dict)
    times: list[datetime] = field(default_factory=list)
    words: dict[tuple[str, str], tuple[datetime, int]] = field(default_factory=dict)
    answers: set[int] = field(default_factory=set)
    repeated: int = 0

    def asked(self, told: Mapping[str, Any], by: str, times: Iterable[datetime], answers: int) -> None:
        """Answers that were asked of data that was called so, or said to be the same."""
        self.times += times
        source = str(told.get(SOURCE, ""))
        if SAME_AS not in told:
            self.sources |= {source: None} if source else {}
            return
        since, before = self.words.get((source, by), (self.times[-1], 0))
        self.words[source, by] = (min(since, *times), before + answers)

    def version(self, place: _Place, revisions: Sequence[Revision]) -> PublishedVersion:
        """All that was seen, as a version, of whose answers some were revised."""
        revised = [one for one in revisions if one.entry in self.answers]
        gone = [one for one in revised if one.replaced_by is None]
        replaced = [one for one in revised if one.replaced_by is not None]
        return PublishedVersion(
            *place,
            sources=tuple(self.sources),
            first=min(self.times),
            last=max(self.times),
            answers=len(self.answers),
            repeated=self.repeated,
            replaced=len(replaced),
            replaced_by=tuple(dict.fromkeys(one.by_edition or Edition() for one in replaced)),
            withdrawn=len(gone),
            reasons=tuple(dict.fromkeys(one.reason for one in revised)),
            same_as=tuple(SaidSame(*word, *counted) for word, counted in self.words.items()),
        )


def versions_of(connection: Connection, own: str, admitted: Collection[str]) -> list[PublishedVersion]:
    """All that there are, in the order in which their first answers were asked; `own` is the ledger's own
    data set, `admitted` are those beside it."""
    entries, found = _entries(connection), dict[_Place, _Found]()
    going_on = set(connection.execute(_STEPPED).scalars())

    def place_of(entry: Entry, told: Mapping[str, Any]) -> _Place:
        dataset = _dataset(entry.dataset, admitted) or own
        return dataset, Edition.of(told) or Edition(), entry.data_version

    for entry in entries.values():
        seen = found.setdefault(place_of(entry, entry.details), _Found())
        stepped = STREAM in entry.details and entry.id in going_on
        left = {entry.id} if entry.state == "released" or stepped else set()
        seen.asked(entry.details, entry.analyst, [entry.time], len(left))
        seen.answers |= left
    for row in connection.execute(_REPEATS).mappings():
        entry, told = entries[row["entry"]], json.loads(row["details"])
        # A repeat of before occasions were recorded counts for what the answer was published as.
        seen = found.setdefault(place_of(entry, told or entry.details), _Found())
        times = [datetime.fromisoformat(row[name]) for name in ("first", "last")]
        seen.asked(told, row["analyst"], times, row["times"])
        seen.repeated += row["times"]
        seen.answers.add(entry.id)
    revisions = revisions_of(connection)
    return [seen.version(place, revisions) for place, seen in found.items()]


def data_version_of(connection: Connection, number: int, dataset: str) -> DataVersion:
    """What is known of a version of the table of one data set, empty for the ledger's own."""
    entries, admitted = _entries(connection), admitted_policies(connection)
    mine = {
        entry.id: entry.details
        for entry in entries.values()
        if (entry.data_version, _dataset(entry.dataset, admitted)) == (number, dataset)
    }
    # What was repeated was published too, and of data that may have another name by now.
    repeats = connection.execute(_REPEATS).mappings()
    asked = [*mine.values(), *(json.loads(row["details"]) for row in repeats if row["entry"] in mine)]
    sources, periods = dict[str, None](), set[str]()
    for told in asked:
        source, edition = str(told.get(SOURCE, "")), Edition.of(told)
        if source and SAME_AS not in told:
            sources[source] = None
        if edition is not None and edition.period:
            periods.add(edition.period)
    return DataVersion(number, tuple(sources), tuple(sorted(periods)))


def state_name_of(connection: Connection, number: int, dataset: str, label: str) -> str:
    """The name of the state that has this version's number, of the table of one data set, empty for the
    ledger's own. Raises `LedgerError` where there is none."""
    admitted = admitted_policies(connection)
    for row in connection.execute(_STATES, {"version": number}):
        if _dataset(dataset_told(row.details), admitted) == dataset:
            return str(row.data)
    whose = f" of data set `{dataset}`" if dataset else ""
    raise LedgerError(
        f"Ledger `{label}` knows no version {number} of the table{whose}. `leakcap ledger export` lists them."
    )


def _dataset(told: str, admitted: Collection[str]) -> str:
    """The data set that an entry says that it paid for; empty for the ledger's own."""
    # What was charged before data sets could be admitted may have a detail of this name.
    return told if told in admitted else ""


def _entries(connection: Connection) -> dict[int, Entry]:
    """Whatever was asked, by its number: neither plans nor what a restored ledger lacks."""
    found = map(entry_of, connection.execute(entries_query()).mappings())
    return {entry.id: entry for entry in found if entry.id and entry.state not in ("planned", "lost")}
