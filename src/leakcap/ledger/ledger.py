"""The ledger: open it, reserve before noise is drawn, mark as released, ask what is left."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Self

from sqlalchemy import Connection, select

from leakcap.errors import BudgetExceeded, LedgerError, require
from leakcap.ledger import amending, answer_cache, events, planning
from leakcap.ledger.accounts import book
from leakcap.ledger.amending import Proposed
from leakcap.ledger.caps import Caps
from leakcap.ledger.chain import require_text
from leakcap.ledger.continuing import document_of
from leakcap.ledger.database import Database, connect
from leakcap.ledger.opening import begin, begin_anew, existing, require_owned, unused
from leakcap.ledger.policies import keep_text, meanings_of, require_governing
from leakcap.ledger.reading import LedgerReader
from leakcap.ledger.rules import rules_of
from leakcap.ledger.schema import EVENT, SECRET, create, require_version
from leakcap.ledger.slots import SlotPlan
from leakcap.ledger.state import State, load_state, replace_state
from leakcap.ledger.ticks import Ticks
from leakcap.ledger.values import Answer, Charge, Entry

__all__ = ["Ledger"]

_log = logging.getLogger(__name__)
_HEX = re.compile(r"[0-9a-f]{8,128}")
# Old SQLites take no more than 999 values with a statement.
_AT_ONCE = 500


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger(LedgerReader):
    """The durable record of what a data set's answers have given away.

    One ledger belongs to one data set under one policy at a time (`amend`), and every process that answers
    from that data opens the same one. `reserve` commits a spend before any noise is drawn; a crash after it
    costs budget, never privacy.

    >>> from leakcap.ledger import Spend
    >>> with Ledger.open("sqlite://", dataset="patients", policy="ab12cd34", caps=Caps(0.9)) as ledger:
    ...     entry, = ledger.reserve([Charge("malignant", "count", Spend(epsilon=0.1))])
    ...     ledger.mark_released([entry.id])
    ...     ledger.balances()[0].left
    0.8
    """

    def __init__(
        self, database: Database, policy: str, *, read_only: bool, clock: Callable[[], datetime] = _now
    ) -> None:
        super().__init__(database, clock)
        self._read_only = read_only
        # The policy of whoever opened it: once another governs, this object spends no more.
        self._own = policy
        self._meanings: tuple[str, ...] | None = None

    @classmethod
    def open(
        cls,
        url: str,
        *,
        dataset: str,
        policy: str,
        caps: Caps,
        text: str = "",
        clock: Callable[[], datetime] = _now,
    ) -> Self:
        """Open the ledger, or create it where there is none.

        `policy` is the policy's fingerprint, in hex, and `text` what it is the SHA-256 of, the policy as
        canonical JSON, which is kept; `clock` gives the present as an aware datetime. A ledger in which
        nothing was ever spent takes a corrected policy as it is. Raises `LedgerError` where it was made for
        another data set, or records spends under another policy or other caps, or cannot be used.
        """
        require_text(dataset, "dataset", "Ledger")
        require(bool(dataset), "dataset", "Ledger", "be a name", dataset)
        fingerprint = isinstance(policy, str) and _HEX.fullmatch(policy) is not None
        require(fingerprint, "policy", "Ledger", "be a fingerprint of 8 to 128 hex digits", policy)
        require_text(text, "text", "Ledger")
        own = not text or document_of(text, policy) is not None
        require(own, "text", "Ledger", "be the JSON of which `policy` is the SHA-256", text[:40])
        database, rules = connect(url), rules_of(caps)
        try:
            with database.writing() as connection:
                if create(connection):
                    begin(connection, dataset, policy, rules, events.stamp(clock, "", database.label))
                require_version(connection, database.label)
                state = load_state(connection, database.label)
                database.require_no_lost_log(state.head)
                if unused(connection, state) and state.dataset == dataset:
                    state = begin_anew(connection, state, policy, rules)
                require_owned(connection, state, dataset, policy, rules, database.label)
                if text:
                    keep_text(connection, policy, text)
            database.use_wal()
        except BaseException:
            database.close()
            raise
        return cls(database, policy, read_only=False, clock=clock)

    @classmethod
    def read(cls, url: str) -> Self:
        """Open an existing ledger for looking only. Creates nothing, and needs no permission to write."""
        return cls(*existing(url, read_only=True), read_only=True)

    @classmethod
    def resume(cls, url: str) -> Self:
        """Open an existing ledger under the caps that it has, to write notes into it: see `acknowledge`."""
        return cls(*existing(url, read_only=False), read_only=False)

    def require_owner(self, *, dataset: str, policy: str, caps: Caps) -> None:
        """Raise `LedgerError` unless the ledger has this data set, policy and caps, and had them when opened.

        `open` asks this itself; whoever takes a ledger that another opened has to ask.
        """
        with self._database.reading() as connection:
            state = self._governed(connection)
            require_owned(connection, state, dataset, policy, rules_of(caps), self.url)

    def amend(self, proposed: Proposed) -> Self:
        """Let a new policy govern from here on, with all that was spent counting against its caps.

        One transaction: whoever reserves does so before it under the old caps, or after it under the new
        ones. This object, and all others that were opened under the old policy, spend no more; what is
        returned, on the same database, does. Plans that are new are paid for in it. Raises `LedgerError`
        where the new policy may not continue the accounts, and `BudgetExceeded` where a plan does not fit:
        see `docs/ledger.md`.
        """
        self._require_writable()
        with self._database.writing() as connection:
            before = load_state(connection, self.url, lock=True)
            planned = amending.plan(connection, proposed, self._clock, self.url)
            amending.commit(connection, before, planned)
        for row in planned.rows[1:]:
            _log.info("charged: plan %a, epsilon %s", row["query"], row["epsilon"])
        return type(self)(self._database, proposed.policy, read_only=False, clock=self._clock)

    def __getstate__(self) -> dict[str, Any]:
        """Where it is and what it was, for a pickle: no password, no seed, no number of it."""
        if self._clock is not _now:
            raise LedgerError("A ledger with a clock of its own cannot be pickled. Open it without `clock`.")
        return {
            "url": self._database.address(),
            "policy": self._own,
            "read_only": self._read_only,
            "head": self._state().head,
        }

    def __setstate__(self, told: Mapping[str, Any]) -> None:
        """Open the same ledger. One that is not there is not made: it would be a fresh budget."""
        database, _ = existing(told["url"], read_only=told["read_only"])
        Ledger.__init__(self, database, told["policy"], read_only=told["read_only"])
        with database.reading() as connection:
            known = connection.execute(select(EVENT.c.seq).where(EVENT.c.hash == told["head"])).first()
        if known is None:
            database.close()
            raise LedgerError(
                f"The ledger `{database.label}` lacks the last entry of when it was pickled: it is another, "
                "or an older copy. Bring back the one that was."
            )

    @cached_property
    def seed(self) -> str:
        """The ledger's secret, 128 bits in hex. It chooses among the rows of people who have too many."""
        with self._database.reading() as connection:
            found = connection.execute(select(SECRET.c.seed)).scalars().all()
        if len(found) != 1:
            raise LedgerError(f"The ledger `{self.url}` has lost its seed. Restore it from a backup.")
        return str(found[0])

    def check(self, charges: Iterable[Charge]) -> None:
        """Raise `BudgetExceeded` if the charges together would pass a cap now. Spends nothing."""
        batch = _batch(charges)
        with _refusals_logged(batch), self._database.reading() as connection:
            state = self._governed(connection)
            time = events.stamp(self._clock, state.time, self.url)
            asked = _asked(batch, state)
            self._uses(connection, batch, asked)
            book(connection, state, batch, asked, time, self.url)

    def plan(self, plan: SlotPlan) -> None:
        """Pay for a plan, all of it now: what is then answered from its slots costs nothing more.

        The same plan is paid for once. Raises `BudgetExceeded` where it would pass a cap on everything, and
        `LedgerError` where another plan has its name, or one of its slots'. Accounts of analysts and periods
        are charged answer by answer. See `docs/ledger.md`.

        >>> from leakcap.ledger import Caps, Slot, Spend
        >>> caps = Caps(epsilon=2.5, delta=1e-6, delta_of_answers=1e-6)
        >>> with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps) as ledger:
        ...     ledger.plan(SlotPlan("year", [Slot("monthly", 12, epsilon=0.2)], delta=1e-6))
        ...     _ = ledger.reserve([Charge("january", "count", Spend(epsilon=0.2), slot="monthly")])
        ...     ledger.slots()[0].left, ledger.totals().epsilon
        (11, 2.3986893)
        """
        require(isinstance(plan, SlotPlan), "plan", "Ledger.plan", "be a `SlotPlan`", plan)
        self._require_writable()
        with self._database.writing() as connection:
            state = self._governed(connection, lock=True)
            if not planning.due(connection, state.rules, [plan], self.url):
                return
            row, after = planning.paid(state, plan, events.stamp(self._clock, state.time, self.url))
            connection.execute(EVENT.insert(), row)
            replace_state(connection, state, after)
        _log.info("charged: plan %a, epsilon %s", plan.name, row["epsilon"])

    def reserve(self, charges: Iterable[Charge], *, data: str = "") -> list[Entry]:
        """Commit the spends: all of them or, with `BudgetExceeded` naming every cap passed, none.

        When this returns, the spend is on the disk; only then may noise be drawn. `data` names the table as
        it is now; a name that is new starts a new version of the table under the same budgets. Without a
        name the answers are not remembered. It must not be computed from the table's contents: see
        `docs/ledger.md`.
        """
        batch = _batch(charges)
        require_text(data, "data", "reserve")
        self._require_writable()
        with _refusals_logged(batch), self._database.writing() as connection:
            state = self._governed(connection, lock=True)
            time = events.stamp(self._clock, state.time, self.url)
            asked = _asked(batch, state)
            uses = self._uses(connection, batch, asked)
            booked = book(connection, state, batch, asked, time, self.url)
            version = answer_cache.version_of(connection, state, data)
            tags = self._tags(connection, state)
            table = (data, version)
            rows = events.reserve_rows(
                batch, asked, state, time, table, meaning=tags[0], floors=booked.floors, uses=uses
            )
            for account in booked.accounts:
                account.save(connection)
            versions = max(version, state.data_versions)
            _append(connection, state, rows, time, spent=booked.spent, data_versions=versions)
        # With a spend in the ledger no other policy can be its first any more.
        self._meanings = tags
        entries = [events.entry_of(row) for row in rows]
        for entry in entries:
            _log.info("charged: entry %d, %a, epsilon %r", entry.id, entry.query, entry.spend.epsilon)
        return entries

    def mark_released(
        self, ids: Iterable[int], *, answers: Mapping[int, Sequence[Sequence[float | str]]] | None = None
    ) -> None:
        """Record that the answers of these entries left, each once, in a transaction of its own.

        `answers` are the released values, by entry, to be remembered: see `recall`. Raises `LedgerError`
        for an entry that is not there, was released before or was acknowledged as lost, and
        `InvalidParameter` for an answer to none of them.
        """
        wanted, texts = tuple(ids), answer_cache.texts_of(answers or {})
        for id_ in wanted:
            require(wanted.count(id_) == 1, "ids", "mark_released", "name each entry once", id_)
        for id_ in texts:
            require(id_ in wanted, "answers", "mark_released", "be of entries that are among `ids`", id_)

        def note(entry: Entry, place: tuple[int, str], time: str) -> dict[str, Any]:
            self._require_reserved(entry)
            answer = texts.get(entry.id, "")
            return events.note_row("release", place, time, entry, analyst=entry.analyst, answer=answer)

        self._note(wanted, note)

    def mark_progress(
        self, entry: int, step: tuple[int, int], values: Sequence[Sequence[float | str]], *, analyst: str = ""
    ) -> None:
        """Record that the run that an entry paid for went on from one step to another, and what was seen of
        it. It is no query, costs nothing, and no cap stops it.

        From each step a run goes on once. Raises `LedgerError` where it did so before, and for an entry that
        is not there, was released or was acknowledged as lost.
        """
        require_text(analyst, "analyst", "mark_progress")
        (answer,) = answer_cache.texts_of({entry: values}).values()
        self._require_writable()
        with self._database.writing() as connection:
            state = load_state(connection, self.url, lock=True)
            (paid,) = self._entries(connection, (entry,))
            if step[0] in answer_cache.steps_of(connection, entry, self.url):
                raise LedgerError(
                    f"Entry {entry} went on from step {step[0]} in another run. This one may not be seen; "
                    "resume it to go on from there."
                )
            self._require_reserved(paid)
            time = events.stamp(self._clock, state.time, self.url)
            row = events.progress_row(state, time, paid, step, analyst=analyst, answer=answer)
            _append(connection, state, [row], time)

    def recall(self, charges: Iterable[Charge], *, data: str) -> list[Answer | None]:
        """For each charge the latest recorded answer to the same query at the same price, or None. Spends
        nothing.

        The same: normalised text, what was `asked`, and table (`data`), and the same analyst where analysts
        have caps of their own; spend and details agree but for the last digits of what was computed. What was
        reserved and never released has no answer.
        """
        with self._database.reading() as connection:
            state = self._governed(connection)
            tags = self._tags(connection, state)
            return [answer_cache.find(connection, state, charge, data, self.url, tags) for charge in charges]

    def version_asked(self, charges: Iterable[Charge], *, data: str) -> int | None:
        """The latest version of the table, other than `data`, about which all of these have recorded
        answers; None where there is none. Spends nothing.
        """
        batch = _batch(charges)
        with self._database.reading() as connection:
            state = self._governed(connection)
            tags = self._tags(connection, state)
            for version, name in answer_cache.versions(connection):
                known = (
                    answer_cache.find(connection, state, charge, name, self.url, tags) for charge in batch
                )
                if name != data and all(answer is not None for answer in known):
                    return version
        return None

    def mark_repeated(self, ids: Iterable[int], *, analyst: str = "") -> None:
        """Record that the recorded answers of these entries left once more, to whom and when. Costs
        nothing.

        Raises `LedgerError` for an entry that is not there, or whose answer never left, and where the policy
        was amended since it was recalled: on whose account it stands may be another matter by now.
        """
        require_text(analyst, "analyst", "mark_repeated")

        def note(entry: Entry, place: tuple[int, str], time: str) -> dict[str, Any]:
            if entry.state != "released":
                raise LedgerError(
                    f"Entry {entry.id} of ledger `{self.url}` was never released, so that it has no answer "
                    "to repeat. Repeat what `recall` returned."
                )
            return events.note_row("repeat", place, time, entry, analyst=analyst)

        repeated = tuple(ids)
        self._note(repeated, note, governed=True)
        for id_ in repeated:
            _log.info("repeated: entry %d, for free", id_)

    def acknowledge(self, ids: Iterable[int], *, note: str = "", analyst: str = "") -> None:
        """Record that somebody looked into these reserved entries and that no answer of theirs left.

        They stay spent, and can no longer be released. Raises `LedgerError` for an entry that is not there,
        was released or acknowledged before.
        """
        require_text(note, "note", "acknowledge")
        require_text(analyst, "analyst", "acknowledge")

        def row(entry: Entry, place: tuple[int, str], time: str) -> dict[str, Any]:
            self._require_reserved(entry)
            details = {"note": note}
            return events.note_row("acknowledge", place, time, entry, analyst=analyst, details=details)

        self._note(tuple(dict.fromkeys(ids)), row)

    def _governed(self, connection: Connection, *, lock: bool = False) -> State:
        """The state, provided that the policy governs under which this object was opened."""
        state = load_state(connection, self.url, lock=lock)
        if state.policy != self._own:
            require_governing(connection, state, self._own, self.url)
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
        found = self._meanings or meanings_of(connection)
        if state.entries or not unused(connection, state):
            self._meanings = found
        return found

    def _note(
        self,
        ids: tuple[int, ...],
        make: Callable[[Entry, tuple[int, str], str], dict[str, Any]],
        *,
        governed: bool = False,
    ) -> None:
        """Append a row about each entry, in one transaction; `governed`, under this object's policy only."""
        self._require_writable()
        if not ids:
            return
        with self._database.writing() as connection:
            state = load_state(connection, self.url, lock=True)
            if governed:
                require_governing(connection, state, self._own, self.url)
            time = events.stamp(self._clock, state.time, self.url)
            rows: list[dict[str, Any]] = []
            for step, entry in enumerate(self._entries(connection, ids), 1):
                place = (state.rows + step, rows[-1]["hash"] if rows else state.head)
                rows.append(make(entry, place, time))
            _append(connection, state, rows, time)

    def _entries(self, connection: Connection, ids: tuple[int, ...]) -> list[Entry]:
        """The entries of these numbers, in this order."""
        query, known = events.some_entries_query(), dict[int, Entry]()
        for first in range(0, len(ids), _AT_ONCE):
            wanted = {"wanted": list(dict.fromkeys(ids[first : first + _AT_ONCE]))}
            found = connection.execute(query, wanted).mappings()
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


@contextmanager
def _refusals_logged(batch: Sequence[Charge]) -> Iterator[None]:
    """Log which caps refuse the batch."""
    try:
        yield
    except BudgetExceeded as error:
        caps, names = ", ".join(one.cap for one in error.passed), [charge.query for charge in batch]
        _log.info("refused: %a, cap %s", names, caps)
        raise


def _batch(charges: Iterable[Charge]) -> tuple[Charge, ...]:
    batch = tuple(charges)
    require(bool(batch), "charges", "Ledger", "hold at least one charge", list(batch))
    return batch


def _asked(charges: Sequence[Charge], state: State) -> list[Ticks]:
    return [charge.spend.ticks(state.rules.alpha) for charge in charges]


def _append(
    connection: Connection, state: State, rows: list[dict[str, Any]], time: str, **changes: Any
) -> None:
    connection.execute(EVENT.insert(), rows)
    after = replace(state, rows=rows[-1]["seq"], time=time, head=rows[-1]["hash"], **changes)
    replace_state(connection, state, after)
