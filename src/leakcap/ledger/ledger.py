"""The ledger: open it, amend it, pay for plans, and record what became of an answer."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sqlalchemy import select

from leakcap.errors import LedgerError, require
from leakcap.ledger import amending, answer_cache, events, planning, revising
from leakcap.ledger.amending import Proposed
from leakcap.ledger.caps import Caps
from leakcap.ledger.chain import require_reason, require_text, texts_of
from leakcap.ledger.continuing import document_of
from leakcap.ledger.database import connect
from leakcap.ledger.incoming import OutsideSpends, charges_of, read_spends
from leakcap.ledger.opening import begin, begin_anew, existing, require_owned, unused
from leakcap.ledger.policies import keep_text, texts_of_all
from leakcap.ledger.requests import Request
from leakcap.ledger.rules import rules_of
from leakcap.ledger.schema import EVENT, SECRET, create, require_version
from leakcap.ledger.slots import SlotPlan
from leakcap.ledger.spending import now
from leakcap.ledger.state import append, load_state, replace_state
from leakcap.ledger.streaming import StreamingLedger
from leakcap.ledger.succession import settled
from leakcap.ledger.told import Revision
from leakcap.ledger.values import Charge, Entry

__all__ = ["Ledger"]

_log = logging.getLogger(__name__)
_HEX = re.compile(r"[0-9a-f]{8,128}")


class Ledger(StreamingLedger):
    """The durable record of what a data set's answers have given away.

    One ledger belongs to one data set under one policy at a time (`amend`), and every process that answers
    from that data opens the same one. `reserve` commits a spend before any noise is drawn; a crash after it
    costs budget, never privacy.

    >>> from leakcap.ledger import Charge, Spend
    >>> with Ledger.open("sqlite://", dataset="patients", policy="ab12cd34", caps=Caps(0.9)) as ledger:
    ...     entry, = ledger.reserve([Charge("malignant", "count", Spend(epsilon=0.1))])
    ...     ledger.mark_released([entry.id])
    ...     ledger.balances()[0].left
    0.8
    """

    @classmethod
    def open(
        cls,
        url: str,
        *,
        dataset: str,
        policy: str,
        caps: Caps,
        text: str = "",
        clock: Callable[[], datetime] = now,
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
                else:
                    require_version(connection, database.label)
                state = settled(connection, database.label, clock)
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
        beside = "" if state.dataset == dataset else dataset
        return cls(database, policy, read_only=False, clock=clock, dataset=beside)

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
        if dataset != (self._beside or state.dataset):
            raise LedgerError(
                f"The ledger `{self.url}` was not opened for data set `{dataset}`. Open it for that."
            )

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
        if self._clock is not now:
            raise LedgerError("A ledger with a clock of its own cannot be pickled. Open it without `clock`.")
        return {
            "url": self._database.address(),
            "policy": self._own,
            "read_only": self._read_only,
            "head": self._state().head,
            "dataset": self._beside,
        }

    def __setstate__(self, told: Mapping[str, Any]) -> None:
        """Open the same ledger. One that is not there is not made: it would be a fresh budget."""
        database, _ = existing(told["url"], read_only=told["read_only"])
        own = {"read_only": told["read_only"], "dataset": told["dataset"]}
        Ledger.__init__(self, database, told["policy"], **own)
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
            found = connection.execute(select(SECRET.c.seed).where(SECRET.c.id == 1)).scalars().all()
        if len(found) != 1:
            raise LedgerError(f"The ledger `{self.url}` has lost its seed. Restore it from a backup.")
        return str(found[0])

    def plan(self, plan: SlotPlan) -> None:
        """Pay for a plan, all of it now: what is then answered from its slots costs nothing more.

        The same plan is paid for once. Raises `BudgetExceeded` where it would pass a cap on everything, and
        `LedgerError` where another plan has its name, or one of its slots'. Accounts of analysts and periods
        are charged answer by answer. See `docs/ledger.md`.

        >>> from leakcap.ledger import Caps, Charge, Slot, Spend
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

    def spend(
        self,
        told: OutsideSpends | str | Path | Mapping[str, Any],
        *,
        key: str = "",
        analyst: str = "",
        slot: str = "",
    ) -> list[Entry]:
        """Charge what other software spent on the same data: all of it or, where a cap would be passed,
        nothing. `told` is a file of events, what JSON it holds, or `OutsideSpends`.

        What was released elsewhere is out whatever this ledger says; refused, it is counted nowhere. With a
        `key`, here or in the file, the same spends are charged once. A ledger that keeps its policy's text
        holds them against its neighbours and unit.

        >>> from leakcap.ledger import OutsideSpend, OutsideSpends, outside_event
        >>> training = OutsideSpend("digits", outside_event([(1.1, 0.01, 200)]), delta=1e-6)
        >>> caps = Caps(epsilon=2.0, delta=1e-5, delta_of_answers=5e-6)
        >>> with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps) as ledger:
        ...     entry, = ledger.spend(OutsideSpends([training], "add-remove-one"), key="run 3")
        ...     again, = ledger.spend(OutsideSpends([training], "add-remove-one"), key="run 3")
        ...     round(entry.spend.epsilon, 6), again.id == entry.id
        (0.884996, True)
        """
        spends = told if isinstance(told, OutsideSpends) else read_spends(told)
        charges = self.charges_of(spends, analyst=analyst, slot=slot)
        named = key or spends.key
        request = Request.of(analyst, named, spends.text) if named else None
        entries = self.reserve(charges, request=request)
        left = [entry.id for entry in entries if entry.state == "reserved"]
        self.mark_released(left, answers={one: [["spent elsewhere"]] for one in left})
        with self._database.reading() as connection:
            return self._entries(connection, tuple(entry.id for entry in entries))

    def charges_of(self, told: OutsideSpends, *, analyst: str = "", slot: str = "") -> list[Charge]:
        """What `spend` would charge, held against neighbours and unit of the policy; spends nothing."""
        return charges_of(told, self.declared(), analyst=analyst, slot=slot)

    def declared(self) -> tuple[str, str] | None:
        """The neighbours of the policy that governs, and what a neighbour has more or less of: ``row``, or
        the column that says whose a row is; None where the ledger does not keep its text."""
        with self._database.reading() as connection:
            self._governed(connection)
            text = texts_of_all(connection).get(self._own)
        document = None if text is None else document_of(text, self._own)
        if document is None:
            return None
        unit = document.get("unit", "row")
        return str(document.get("neighbours")), str(unit.get("id") if isinstance(unit, dict) else unit)

    def mark_progress(
        self, entry: int, step: tuple[int, int], values: Sequence[Sequence[float | str]], *, analyst: str = ""
    ) -> None:
        """Record that the run that an entry paid for went on from one step to another, and what was seen of
        it. It is no query, costs nothing, and no cap stops it.

        From each step a run goes on once. Raises `LedgerError` where it did so before, and for an entry that
        is not there, was released, withdrawn, replaced or acknowledged as lost.
        """
        require_text(analyst, "analyst", "mark_progress")
        (answer,) = texts_of({entry: values}).values()
        self._require_writable()
        with self._database.writing() as connection:
            state = load_state(connection, self.url, lock=True)
            (paid,) = self._entries(connection, (entry,))
            if became := answer_cache.became_of(connection, entry, self.url):
                raise LedgerError(f"Entry {entry} of ledger `{self.url}` was {became} It goes on no more.")
            if answer_cache.went_on(connection, entry, step[0], self.url):
                raise LedgerError(
                    f"Entry {entry} went on from step {step[0]} in another run. This one may not be seen; "
                    "resume it to go on from there."
                )
            self._require_reserved(paid)
            time = events.stamp(self._clock, state.time, self.url)
            row = events.progress_row(state, time, paid, step, analyst=analyst, answer=answer)
            append(connection, state, [row])

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

    def revise(
        self, replaced: Mapping[int, int], *, reason: str, by: str = "", preview: bool = False
    ) -> list[Revision]:
        """Record that these released entries were replaced, each by the released entry that it maps to; with
        `preview` only say what would be recorded.

        Nothing is given back, and a replaced answer is no longer repeated. Raises `LedgerError` for an entry
        that is not there, never left or was revised before, and for a replacement that is withdrawn, not
        later, or about another reference period.
        """
        return self._revise("revise", list(replaced.items()), reason, by, preview)

    def withdraw(
        self, ids: Iterable[int], *, reason: str, by: str = "", preview: bool = False
    ) -> list[Revision]:
        """Record that the answers of these released entries were withdrawn, and nothing replaces them; with
        `preview` only say what would be recorded. A stream may be withdrawn while it goes on, which ends it.

        Nothing is given back, and a withdrawn answer is no longer repeated. Raises `LedgerError` as `revise`
        does.
        """
        return self._revise("withdraw", [(one, None) for one in dict.fromkeys(ids)], reason, by, preview)

    def _revise(
        self, owner: str, pairs: Sequence[tuple[int, int | None]], reason: str, by: str, preview: bool
    ) -> list[Revision]:
        require_reason(reason, by, owner)
        require(bool(pairs), "entries", owner, "name at least one entry", list(pairs))
        self._require_writable()
        with self._database.writing() as connection:
            state = load_state(connection, self.url, lock=True)
            ids = tuple(dict.fromkeys(one for pair in pairs for one in pair if one is not None))
            known = dict(zip(ids, self._entries(connection, ids), strict=True))
            found = [(known[old], None if new is None else known[new]) for old, new in pairs]
            time = events.stamp(self._clock, state.time, self.url)
            rows = revising.revision_rows(connection, state, time, found, self.url, reason=reason, by=by)
            if not preview:
                append(connection, state, rows)
        return [revising.revision_of(row, *pair) for row, pair in zip(rows, found, strict=True)]
