"""A ledger that knows requests: asked again under its key, one finds what it paid for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

from sqlalchemy import Connection, bindparam, select

from leakcap.errors import LedgerError
from leakcap.ledger import answer_cache, events, revising
from leakcap.ledger.accounts import refusals_logged
from leakcap.ledger.chain import texts_of
from leakcap.ledger.requested import (
    found_request,
    memo_of,
    require_same_request,
    reused,
    row_of_request,
    rows_about,
)
from leakcap.ledger.requests import AnsweredEntry, Asked, Foreseen, RecordedRequest
from leakcap.ledger.schema import EVENT
from leakcap.ledger.spending import LedgerSpender, log_charged, require_plain
from leakcap.ledger.state import State, append, held_state, load_state
from leakcap.ledger.told import Answer
from leakcap.ledger.values import Charge, Entry

__all__ = ["RequestingLedger"]

_NEW_KEY = "Nothing was spent. Ask under a new key, which is paid for."
_RESERVED = select(EVENT).where(EVENT.c.kind == "reserve", EVENT.c.entry == bindparam("entry"))


class RequestingLedger(LedgerSpender):
    """What a service asks of a ledger beside, whose clients ask again where no answer came back."""

    @contextmanager
    def one_transaction(self, *, writes: bool, foreseen: Sequence[Foreseen] = ()) -> Iterator[None]:
        """Within, all that this thread asks of the ledger is one transaction: what several spends and
        requests have to write is committed at its end, or none of it is. Where `BudgetExceeded` is caught
        within, nothing of what was refused is written. What is `foreseen` is looked for at once."""
        if writes:
            self._require_writable()
        with self._database.one_transaction(writes=writes) as connection, held_state(connection):
            self._look_ahead(connection, foreseen, lock=writes)
            yield

    def _look_ahead(self, connection: Connection, foreseen: Sequence[Foreseen], *, lock: bool) -> None:
        # First the lock: what is found after it stays so until the transaction ends. What was paid for is
        # recorded under another policy, too.
        state, memos, numbers = load_state(connection, self.url, lock=lock), list[str](), list[int]()
        if any(one.asked is not None for one in foreseen):
            state = self._governed(connection, lock=lock)
        for one in foreseen:
            numbers += one.repeated
            if one.asked is not None:
                numbers += [answer.entry for answer in one.asked.recalled.values()]
                keys = self._keys(connection, state, one.asked.charges, one.data) if one.data else []
                memos += [memo_of(one.asked.request.key), *chain.from_iterable(keys)]
        answer_cache.known_memos(connection, memos)
        rows_about(connection, [entry.id for one in foreseen for entry in one.entries])
        self._entries(connection, tuple(dict.fromkeys(numbers)))
        revising.revised_among(connection, numbers)

    def asked_before(
        self, asked: Asked, *, data: str, recall: bool = False, to_pay: bool = False
    ) -> tuple[list[AnsweredEntry] | None, list[Answer | None]]:
        """For each charge of a request that was made before its entry, and the answer that left; None where
        the request is new, and then beside it, to `recall` them, what `recall` would return. Spends nothing.
        Whoever is about `to_pay` for what is not known is refused where that plainly passes a cap: nobody has
        to prepare it, and waits for a turn to spend.

        Raises `RequestReused` where the key stands for something else, and `LedgerError` where an answer was
        replaced, withdrawn or given up, or may not be computed any more: under another policy, or of another
        state of the table.
        """
        with self._database.reading() as connection:
            state = self._governed(connection)
            keys = self._keys(connection, state, asked.charges, data) if recall else []
            own = memo_of(asked.request.key)
            # Of a new question nothing is known, which one look into the index says.
            known = answer_cache.known_memos(connection, [own, *chain.from_iterable(keys)])
            if own in known and (found := self._found(connection, state, asked, data)) is not None:
                return found, []
            recalled = self._recalled(connection, state, asked.charges, keys, known)
            if to_pay and not any(one is not None and one.revised for one in recalled):
                told = {i: one for i, one in enumerate(recalled) if one is not None}
                unpaid = replace(asked, recalled=told).paid_places
                self._require_room(connection, state, [asked.charges[place] for place in unpaid])
            return None, recalled

    def reserve_request(self, asked: Asked, *, data: str) -> tuple[list[AnsweredEntry], bool]:
        """Commit what a request has to pay, together with its key; or find what was committed under it. For
        each charge its entry, and whether the request is new. Raises as `reserve` and `asked_before` do.
        """
        charges = [asked.charges[place] for place in asked.paid_places]
        require_plain(asked.charges, data)
        self._require_writable()
        self._before_spend()
        with refusals_logged(charges), self._database.writing() as connection:
            state = self._governed(connection, lock=True)
            known = self._found(connection, state, asked, data)
            if known is not None:
                return known, False
            recalled = {answer.entry: answer for answer in asked.recalled.values()}
            revising.require_valid(connection, list(recalled), self.url)
            paid = self._pay(connection, state, asked, charges, data)
            entries = {entry.id: entry for entry in (*paid, *self._entries(connection, tuple(recalled)))}
            numbers = asked.entries([entry.id for entry in paid])
            found = [AnsweredEntry(entries[number], recalled.get(number)) for number in numbers]
        log_charged(paid)
        return found, True

    def release_once(
        self,
        answers: Mapping[int, Sequence[Sequence[float | str]]],
        *,
        again: bool,
        reserved: Sequence[Entry] = (),
    ) -> dict[int, Answer]:
        """Record that the answers of these entries left, but for those whose answer left before: these are
        returned, and stand in the place of the ones given.

        `again` says that the entries were found as somebody else had left them. Then one whose run went on is
        refused: what was seen of that run and this answer would be two. `reserved` are the entries as this
        process has just reserved them; they are read again only where one stands otherwise. Raises
        `LedgerError` as `mark_released` does.
        """
        texts = texts_of(answers)
        self._require_writable()
        self._before_release()
        with self._database.writing() as connection:
            state = load_state(connection, self.url, lock=True)
            time, rows = events.stamp(self._clock, state.time, self.url), list[dict[str, Any]]()
            stood = dict[int, Answer]()
            for one in self._still(connection, reserved) or self._answered(connection, list(answers)):
                if one.entry.state == "released":
                    stood[one.entry.id] = self._require_answer(one)
                    continue
                self._require_reserved(one.entry)
                if again:
                    self._require_not_begun(connection, one.entry)
                place = (state.rows + len(rows) + 1, rows[-1]["hash"] if rows else state.head)
                asker, answer = one.entry.analyst, texts[one.entry.id]
                rows.append(events.note_row("release", place, time, one.entry, analyst=asker, answer=answer))
            if rows:
                append(connection, state, rows)
        return stood

    def _pay(
        self, connection: Connection, state: State, asked: Asked, charges: Sequence[Charge], data: str
    ) -> list[Entry]:
        """What a request has to pay, and its row, in this transaction."""

        def last(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
            time = rows[-1]["time"] if rows else events.stamp(self._clock, state.time, self.url)
            return row_of_request(asked, state, time, rows, self._own, self._beside)

        if charges:
            return self._booked(connection, state, charges, data, last=last)
        append(connection, state, [last(())])
        return []

    def _answered(self, connection: Connection, ids: Sequence[int]) -> list[AnsweredEntry]:
        """The entries of these numbers, each with its answer where one left."""
        found = {
            entry.id: AnsweredEntry(
                entry,
                answer_cache.of_entry(connection, entry.id, self.url) if entry.state == "released" else None,
            )
            for entry in self._entries(connection, tuple(dict.fromkeys(ids)))
        }
        return [found[id_] for id_ in ids]

    def _still(self, connection: Connection, reserved: Sequence[Entry]) -> list[AnsweredEntry]:
        """The entries, where each stands as it was reserved and nothing was written about it; else none."""
        as_reserved = {(entry.id, "reserve", entry.hash) for entry in reserved}
        rows = rows_about(connection, [entry.id for entry in reserved])
        same = {(entry, *row) for entry, about in rows.items() for row in about} == as_reserved
        return [AnsweredEntry(entry, None) for entry in reserved] if same else []

    def _found(
        self, connection: Connection, state: State, asked: Asked, data: str
    ) -> list[AnsweredEntry] | None:
        known = found_request(connection, asked.request.key, self.url)
        if known is None:
            return None
        require_same_request(known, asked, self._beside, self.url)
        found = self._answered(connection, known.entries)
        for charge, one in zip(asked.charges, found, strict=True):
            row = dict(connection.execute(_RESERVED, {"entry": one.entry.id}).mappings().one())
            answer_cache.require_unedited(row, self.url)
            self._require_same_question(connection, state, known, charge, row)
            self._require_repeatable(connection, known, one, row, data)
        return found

    def _require_same_question(
        self,
        connection: Connection,
        state: State,
        known: RecordedRequest,
        charge: Charge,
        row: Mapping[str, Any],
    ) -> None:
        """That an entry answers this question, as it is meant and priced now, on the account of whoever
        asks."""
        same = known.policy == self._own
        alike = row["text"] == charge.text and answer_cache.agree(
            row, charge, charge.spend.ticks(state.rules.alpha)
        )
        if same and not alike:
            raise reused(known, f"was used with another question `{row['query']}`", self.url)
        if not same and not (alike and self._means_the_same(connection, state, charge, row)):
            raise LedgerError(
                f"The policy was amended since request {known.key[:12]} of ledger `{self.url}` was made, and "
                f"question `{charge.query}` means or costs something else under the one that governs now. "
                f"{_NEW_KEY}"
            )
        if state.rules.by_analyst and row["analyst"] != charge.analyst:
            raise LedgerError(
                f"Entry {row['entry']} of ledger `{self.url}`, which answers request {known.key[:12]}, is on "
                f"the account of another analyst. {_NEW_KEY}"
            )

    def _means_the_same(
        self, connection: Connection, state: State, charge: Charge, row: Mapping[str, Any]
    ) -> bool:
        """Whether a question that was paid for under another policy is this one: what it is remembered under
        says so, and where the table had no name nothing does."""
        if not row["data"]:
            return False
        theirs = replace(charge, analyst=row["analyst"])
        tags = self._tags(connection, state)
        return row["memo"] in {
            theirs.cache_key(row["data"], tag, own=own) for tag in tags for own in (False, True)
        }

    def _require_repeatable(
        self,
        connection: Connection,
        known: RecordedRequest,
        one: AnsweredEntry,
        row: Mapping[str, Any],
        data: str,
    ) -> None:
        """That an answer that left is valid, or that one that has not may be computed now."""
        entry, called = one.entry, f"Entry {one.entry.id} of ledger `{self.url}`"
        if became := answer_cache.became_of(connection, entry.id, self.url):
            raise LedgerError(
                f"The recorded answer to `{entry.query}`, entry {entry.id}, was {became} {_NEW_KEY}"
            )
        if entry.state == "released":
            return
        if entry.state == "acknowledged":
            note = "was acknowledged as lost, and its answer may not leave"
            raise LedgerError(f"{called}, which request {known.key[:12]} paid for, {note}. {_NEW_KEY}")
        if known.policy != self._own:
            why = "has no answer yet, and the policy was amended since it was paid for"
            raise LedgerError(f"{called} {why}. {_NEW_KEY}")
        if row["data"] != data:
            why = "has no answer yet, and the table has changed since it was paid for"
            raise LedgerError(f"{called} {why}. {_NEW_KEY}")
        self._require_not_begun(connection, entry)

    def _require_not_begun(self, connection: Connection, entry: Entry) -> None:
        if answer_cache.runs_by_step(connection, entry.id, self.url):
            raise LedgerError(
                f"The run that entry {entry.id} of ledger `{self.url}` paid for has been seen, and does not "
                "begin anew. Resume it from its last step."
            )

    def _require_answer(self, one: AnsweredEntry) -> Answer:
        if one.answer is None:
            raise LedgerError(
                f"Entry {one.entry.id} of ledger `{self.url}` was released, and its answer was not recorded. "
                f"{_NEW_KEY}"
            )
        return one.answer
