"""A ledger that knows requests: asked again under its key, one finds what it paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, select

from leakcap.errors import LedgerError
from leakcap.ledger import answer_cache, events, revising
from leakcap.ledger.accounts import refusals_logged
from leakcap.ledger.chain import texts_of
from leakcap.ledger.requested import (
    found_request,
    require_same_request,
    reused,
    row_of_request,
)
from leakcap.ledger.requests import AnsweredEntry, Asked, RecordedRequest
from leakcap.ledger.schema import EVENT
from leakcap.ledger.spending import LedgerSpender, log_charged, require_plain
from leakcap.ledger.state import State, append, load_state
from leakcap.ledger.told import Answer
from leakcap.ledger.values import Charge, Entry

__all__ = ["RequestingLedger"]

# Old SQLites take no more than 999 values with a statement.
_AT_ONCE = 500
_NEW_KEY = "Nothing was spent. Ask under a new key, which is paid for."
_ABOUT = select(EVENT.c.entry, EVENT.c.kind, EVENT.c.hash).where(
    EVENT.c.entry.in_(bindparam("entries", expanding=True))
)
_RESERVED = select(EVENT).where(EVENT.c.kind == "reserve", EVENT.c.entry == bindparam("entry"))


class RequestingLedger(LedgerSpender):
    """What a service asks of a ledger beside, whose clients ask again where no answer came back."""

    def asked_before(
        self, asked: Asked, *, data: str, recall: bool = False
    ) -> tuple[list[AnsweredEntry] | None, list[Answer | None]]:
        """For each charge of a request that was made before its entry, and the answer that left; None where
        the request is new, and then beside it, to `recall` them, what `recall` would return. Spends nothing.

        Raises `RequestReused` where the key stands for something else, and `LedgerError` where an answer was
        replaced, withdrawn or given up, or may not be computed any more: under another policy, or of another
        state of the table.
        """
        with self._database.reading() as connection:
            state = self._governed(connection)
            found = self._found(connection, state, asked, data)
            again = recall and found is None
            return found, self._recalled(connection, state, asked.charges, data) if again else []

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
            revising.require_valid(connection, list(asked.recalled.values()), self.url)
            paid = self._pay(connection, state, asked, charges, data)
            numbers = asked.entries([entry.id for entry in paid])
            made = {entry.id: AnsweredEntry(entry, None) for entry in paid}
            recalled = [number for number in dict.fromkeys(numbers) if number not in made]
            made |= dict(zip(recalled, self._answered(connection, recalled), strict=True))
            found = [made[number] for number in numbers]
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
        if not 0 < len(as_reserved) <= _AT_ONCE:
            return []
        rows = connection.execute(_ABOUT, {"entries": [entry.id for entry in reserved]})
        same = {tuple(row) for row in rows} == as_reserved
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
