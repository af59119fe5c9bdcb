"""A ledger that spends: what is paid before noise is drawn, which answers left, and which left once more."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from leakcap.errors import LedgerError, require
from leakcap.ledger import answer_cache, events, planning, revising
from leakcap.ledger.accounts import batch_of, book, refusals_logged, ticks_asked
from leakcap.ledger.chain import require_text, texts_of
from leakcap.ledger.closed import refuse_closed
from leakcap.ledger.database import Database
from leakcap.ledger.details import SOURCE, STREAM
from leakcap.ledger.opening import unused
from leakcap.ledger.policies import meanings_of, require_governing
from leakcap.ledger.reading import LedgerReader
from leakcap.ledger.requests import AnsweredEntry, Asked, Request
from leakcap.ledger.schema import VALUES_AT_ONCE
from leakcap.ledger.state import State, append, held_by, load_state, version_of
from leakcap.ledger.ticks import Ticks
from leakcap.ledger.told import Answer
from leakcap.ledger.values import Charge, Entry

__all__ = ["LedgerSpender", "log_charged", "now", "require_plain"]

# Under this name the ledger logs, whichever of its files a line is from.
_log = logging.getLogger("leakcap.ledger.ledger")


def now() -> datetime:
    """The present (UTC), where no other clock is given."""
    return datetime.now(UTC)


def _at_once() -> None:
    """Nothing is held back."""


class LedgerSpender(LedgerReader, ABC):
    """What a release asks of a ledger; `Ledger` adds how it is opened and amended, plans, runs in several
    steps, and revisions. It spends only while the policy under which it was opened governs.
    """

    def __init__(
        self,
        database: Database,
        policy: str,
        *,
        read_only: bool,
        clock: Callable[[], datetime] = now,
        dataset: str = "",
    ) -> None:
        super().__init__(database, clock, dataset)
        self._read_only = read_only
        # The policy of whoever opened it: once another governs, this object spends no more.
        self._own = policy
        self._meanings: tuple[str, ...] | None = None
        self._before_spend: Callable[[], None] = _at_once
        self._before_release: Callable[[], None] = _at_once

    @contextmanager
    def held_back(
        self, *, before_spend: Callable[[], None] | None = None, before_release: Callable[[], None]
    ) -> Iterator[None]:
        """Within, call this before a spend is committed, and before it is recorded that answers left.

        Whoever may look into the ledger sees when both were written. Where that must not say how long rows
        were read, the functions return at times that hang on nothing that was read; what they raise keeps the
        row from being written, as a process that ends there would.
        """
        former = self._before_spend, self._before_release
        self._before_spend, self._before_release = before_spend or _at_once, before_release
        try:
            yield
        finally:
            self._before_spend, self._before_release = former

    def check(self, charges: Iterable[Charge]) -> None:
        """Raise `BudgetExceeded` if the charges together would pass a cap now. Spends nothing."""
        batch = batch_of(charges)
        with self._database.reading() as connection:
            self._require_room(connection, self._governed(connection), batch)

    def _require_room(self, connection: Connection, state: State, batch: Sequence[Charge]) -> None:
        """Raise `BudgetExceeded` if the charges together would pass a cap in this state."""
        if not batch:
            return
        with refusals_logged(batch):
            time = events.stamp(self._clock, state.time, self.url)
            asked = ticks_asked(batch, state)
            self._uses(connection, batch, asked)
            book(connection, state, batch, asked, time, self.url)

    def reserve(
        self, charges: Iterable[Charge], *, data: str = "", request: Request | None = None
    ) -> list[Entry]:
        """Commit the spends: all of them or, with `BudgetExceeded` naming every cap passed, none.

        When this returns, the spend is on the disk; only then may noise be drawn. `data` names the table as
        it is now; a name that is new starts a new version of the table under the same budgets. Without a
        name the answers are not remembered. It must not be computed from the table's contents: see
        `docs/ledger.md`.

        With a `request` the same entries are returned when it is asked again, and nothing is paid; an answer
        that has left is read by `answer`. Raises `RequestReused` where its key stands for something else.
        """
        batch = batch_of(charges)
        if request is not None:
            return [one.entry for one in self.reserve_request(Asked(request, batch), data=data)[0]]
        require_plain(batch, data)
        self._require_writable()
        self._before_spend()
        with refusals_logged(batch), self._database.writing() as connection:
            state = self._governed(connection, lock=True)
            entries = self._booked(connection, state, batch, data)
        log_charged(entries)
        return entries

    @abstractmethod
    def reserve_request(self, asked: Asked, *, data: str) -> tuple[list[AnsweredEntry], bool]:
        """Commit what a request has to pay, or find what was committed under its key: see
        `RequestingLedger`."""

    def _booked(
        self,
        connection: Connection,
        state: State,
        batch: Sequence[Charge],
        data: str,
        memo: str = "",
        *,
        last: Callable[[Sequence[dict[str, Any]]], dict[str, Any]] | None = None,
    ) -> list[Entry]:
        """The batch, written in this transaction; `memo` is what it is remembered under where that is not
        the table's state, and `last` makes a row that follows those of the batch."""
        time = events.stamp(self._clock, state.time, self.url)
        asked = ticks_asked(batch, state)
        uses = self._uses(connection, batch, asked)
        booked = book(connection, state, batch, asked, time, self.url)
        version = version_of(connection, state, data)
        tags = self._tags(connection, state)
        rows = events.reserve_rows(
            batch,
            asked,
            state,
            time,
            (data, version),
            meaning=tags[0],
            floors=booked.floors,
            uses=uses,
            dataset=self._beside,
            memo=memo,
        )
        for account in booked.accounts:
            account.save(connection)
        versions = max(version, state.data_versions)
        written = rows if last is None else [*rows, last(rows)]
        append(connection, state, written, spent=booked.spent, data_versions=versions)
        # With a spend in the ledger no other policy can be its first any more.
        self._meanings = tags
        return [events.entry_of(row) for row in rows]

    def mark_released(
        self, ids: Iterable[int], *, answers: Mapping[int, Sequence[Sequence[float | str]]] | None = None
    ) -> None:
        """Record that the answers of these entries left, each once, in a transaction of its own.

        `answers` are the released values, by entry, to be remembered: see `recall`. Raises `LedgerError`
        for an entry that is not there, was released before or was acknowledged as lost, and
        `InvalidParameter` for an answer to none of them.
        """
        wanted, texts = tuple(ids), texts_of(answers or {})
        for id_ in wanted:
            require(wanted.count(id_) == 1, "ids", "mark_released", "name each entry once", id_)
        for id_ in texts:
            require(id_ in wanted, "answers", "mark_released", "be of entries that are among `ids`", id_)

        def note(entry: Entry, place: tuple[int, str], time: str) -> dict[str, Any]:
            self._require_reserved(entry)
            answer = texts.get(entry.id, "")
            return events.note_row("release", place, time, entry, analyst=entry.analyst, answer=answer)

        self._before_release()
        self._note(wanted, note)

    def recall(self, charges: Iterable[Charge], *, data: str) -> list[Answer | None]:
        """For each charge the latest recorded answer to the same query at the same price, or None. Spends
        nothing.

        The same: normalised text, what was `asked`, and table (`data`), and the same analyst where analysts
        have caps of their own; spend and details agree but for the last digits of what was computed. What was
        reserved and never released has no answer.
        """
        with self._database.reading() as connection:
            state, batch = self._governed(connection), tuple(charges)
            return self._recalled(connection, state, batch, self._keys(connection, state, batch, data))

    def _recalled(
        self,
        connection: Connection,
        state: State,
        charges: Sequence[Charge],
        keys: Sequence[Sequence[str]],
        known: Set[str] | None = None,
    ) -> list[Answer | None]:
        """The recorded answer of each charge under one of its keys, of which only those that are `known` are
        looked for; None for all where there are no keys."""
        if not keys:
            return []
        return [
            answer_cache.find(
                connection, state, charge, [key for key in own if known is None or key in known], self.url
            )
            for charge, own in zip(charges, keys, strict=True)
        ]

    def _keys(
        self, connection: Connection, state: State, charges: Sequence[Charge], data: str
    ) -> list[list[str]]:
        """What an answer to each charge about this table is remembered under; nothing without a table."""
        tags, own = self._tags(connection, state), state.rules.by_analyst
        return [[charge.cache_key(data, tag, own=own) for tag in tags if data] for charge in charges]

    def version_asked(self, charges: Iterable[Charge], *, data: str) -> int | None:
        """The latest version of the table, other than `data`, about which all of these have recorded
        answers; None where there is none. Spends nothing.
        """
        batch = batch_of(charges)
        with self._database.reading() as connection:
            state = self._governed(connection)
            for version, name in answer_cache.versions(connection):
                if name == data:
                    continue
                keys = self._keys(connection, state, batch, name)
                known = self._recalled(connection, state, batch, keys)
                if all(one is not None and not one.revised for one in known):
                    return version
        return None

    def mark_repeated(
        self, ids: Iterable[int], *, analyst: str = "", asked: Mapping[int, Charge] | None = None
    ) -> None:
        """Record that the recorded answers of these entries left once more, to whom and when; of those that
        are in `asked`, by their numbers, also as what they are published now, and of which data. Costs
        nothing.

        Raises `LedgerError` for an entry that is not there, or whose answer never left, or was replaced or
        withdrawn since it was recalled; and where the policy was amended since then: on whose account it
        stands may be another matter by now.
        """
        require_text(analyst, "analyst", "mark_repeated")

        def note(entry: Entry, place: tuple[int, str], time: str) -> dict[str, Any]:
            # Of a stream the steps left one by one, before the whole of it.
            if entry.state != "released" and STREAM not in entry.details:
                raise LedgerError(
                    f"Entry {entry.id} of ledger `{self.url}` was never released, so that it has no answer "
                    "to repeat. Repeat what `recall` returned."
                )
            told = occasions.get(entry.id)
            return events.note_row("repeat", place, time, entry, analyst=analyst, details=told)

        repeated = tuple(ids)
        # Who says nothing is recorded as such: a row without details is of before occasions were recorded.
        occasions = {id_: charge.occasion or {SOURCE: ""} for id_, charge in (asked or {}).items()}
        self._note(repeated, note, governed=True)
        for id_ in repeated:
            _log.info("repeated: entry %d, for free", id_)

    def _governed(self, connection: Connection, *, lock: bool = False) -> State:
        """The state, provided that the policy governs under which this object was opened."""
        state = load_state(connection, self.url, lock=lock)
        if state.closed:
            refuse_closed(connection, state.rows, self.url)
        if state.policy != self._own or self._beside:
            require_governing(connection, state, self._own, self.url, self._beside)
        return state

    def _uses(
        self, connection: Connection, charges: Sequence[Charge], asked: Sequence[Ticks]
    ) -> Sequence[int]:
        """Which use of its slot each charge is; nothing is read where none names a slot."""
        if not any(charge.slot for charge in charges):
            return ()
        return planning.uses_of(connection, charges, asked, self.url)

    def _tags(self, connection: Connection, state: State) -> tuple[str, ...]:
        """What this object's policy remembers answers under. They stay the same as long as it governs, once
        there is anything in the ledger that keeps another from being its first policy.
        """
        found = self._meanings or meanings_of(connection, self._beside)
        if state.policy == self._own and (state.entries or not unused(connection, state)):
            self._meanings = found
        return found

    def _note(
        self,
        ids: tuple[int, ...],
        make: Callable[[Entry, tuple[int, str], str], dict[str, Any]],
        *,
        governed: bool = False,
    ) -> None:
        """Append a row about each entry, in one transaction; `governed`, as of an answer that is repeated:
        under this object's policy only, and where it is valid still."""
        self._require_writable()
        if not ids:
            return
        with self._database.writing() as connection:
            state = load_state(connection, self.url, lock=True)
            if governed:
                require_governing(connection, state, self._own, self.url, self._beside)
                revising.require_valid(connection, ids, self.url)
            time = events.stamp(self._clock, state.time, self.url)
            rows: list[dict[str, Any]] = []
            for step, entry in enumerate(self._entries(connection, ids), 1):
                place = (state.rows + step, rows[-1]["hash"] if rows else state.head)
                rows.append(make(entry, place, time))
            append(connection, state, rows)

    def _entries(self, connection: Connection, ids: tuple[int, ...]) -> list[Entry]:
        """The entries of these numbers, in this order; within a transaction that others share each is asked
        for once."""
        holds = held_by(connection)
        known = dict[int, Entry]() if holds is None else holds.entries
        rest = [id_ for id_ in dict.fromkeys(ids) if id_ not in known]
        for first in range(0, len(rest), VALUES_AT_ONCE):
            wanted = {"wanted": rest[first : first + VALUES_AT_ONCE]}
            found = connection.execute(events.some_entries_query(), wanted).mappings()
            known |= {row["entry"]: events.entry_of(row) for row in found}
        for id_ in ids:
            if id_ not in known:
                raise LedgerError(f"Ledger `{self.url}` has no entry {id_}. Release what `reserve` returned.")
        return [known[id_] for id_ in ids]

    def _require_reserved(self, entry: Entry) -> None:
        if entry.state == "released":
            raise LedgerError(
                f"Entry {entry.id} of ledger `{self.url}` was released before. An answer leaves once."
            )
        if entry.state == "acknowledged":
            raise LedgerError(
                f"Entry {entry.id} of ledger `{self.url}` was acknowledged as lost. Its answer may not "
                "leave; ask again."
            )

    def _require_writable(self) -> None:
        if self._read_only:
            raise LedgerError(
                f"Ledger `{self.url}` was opened for reading. Use `Ledger.open` to spend from it."
            )


def require_plain(batch: Sequence[Charge], data: str) -> None:
    """Refuse the charge of a stream, and a state's name that cannot be stored."""
    for charge in batch:
        plain = STREAM not in charge.details
        require(plain, "details", "Charge", f"leave `{STREAM}` to `reserve_stream`", STREAM)
    require_text(data, "data", "reserve")


def log_charged(entries: Sequence[Entry]) -> None:
    """A line in the log for each new entry."""
    for entry in entries:
        _log.info("charged: entry %d, %a, epsilon %r", entry.id, entry.query, entry.spend.epsilon)
