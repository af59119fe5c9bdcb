"""The ledger: open it, reserve before noise is drawn, mark as released, ask what is left."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from sqlalchemy import Connection

from leakcap.errors import LedgerError, require
from leakcap.ledger import events
from leakcap.ledger.database import Database, connect
from leakcap.ledger.limits import balances, refuse_excess
from leakcap.ledger.schema import EVENT, create, require_version
from leakcap.ledger.state import State, insert_state, load_state, replace_state
from leakcap.ledger.ticks import Ticks, total, units
from leakcap.ledger.values import Balance, Caps, Charge, Entry, Head, Totals, require_text

__all__ = ["Ledger"]

_HEX = re.compile(r"[0-9a-f]{8,128}")
_SHOWN = 12


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """The durable record of what a data set's answers have given away.

    One ledger belongs to one data set under one policy, and every process that answers from that data
    opens the same one. `reserve` commits a spend before any noise is drawn; a crash after it costs
    budget, never privacy.

    >>> from leakcap.ledger import Spend
    >>> with Ledger.open("sqlite://", dataset="patients", policy="ab12cd34", caps=Caps(0.9)) as ledger:
    ...     entry, = ledger.reserve([Charge("malignant", "count", Spend(epsilon=0.1))])
    ...     ledger.mark_released([entry.id])
    ...     ledger.balances()[0].left
    0.8
    """

    def __init__(self, database: Database, *, read_only: bool, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._read_only = read_only
        self._clock = clock

    @classmethod
    def open(
        cls, url: str, *, dataset: str, policy: str, caps: Caps, clock: Callable[[], datetime] = _now
    ) -> Self:
        """Open the ledger, or create it where there is none.

        `policy` is the policy's fingerprint, in hex; `clock` gives the present as an aware datetime.
        Raises `LedgerError` where the ledger was made for another data set, policy or caps, or cannot
        be used.
        """
        require_text(dataset, "dataset", "Ledger")
        require(bool(dataset), "dataset", "Ledger", "be a name", dataset)
        fingerprint = isinstance(policy, str) and _HEX.fullmatch(policy) is not None
        require(fingerprint, "policy", "Ledger", "be a fingerprint of 8 to 128 hex digits", policy)
        database = connect(url)
        try:
            with database.writing() as connection:
                if create(connection):
                    time = events.stamp(clock, "", database.label)
                    _begin(connection, dataset, policy, caps.ticks, time)
                require_version(connection, database.label)
                state = load_state(connection, database.label)
                _require_owner(state, dataset, policy, caps.ticks, database.label)
            database.use_wal()
        except BaseException:
            database.close()
            raise
        return cls(database, read_only=False, clock=clock)

    @classmethod
    def read(cls, url: str) -> Self:
        """Open an existing ledger for looking only. Creates nothing, and needs no permission to write."""
        database = connect(url, read_only=True)
        try:
            with database.reading() as connection:
                require_version(connection, database.label)
                load_state(connection, database.label)
        except BaseException:
            database.close()
            raise
        return cls(database, read_only=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database. A ledger in memory is gone."""
        self._database.close()

    @property
    def url(self) -> str:
        """Where the ledger is, without a password."""
        return self._database.label

    @property
    def dataset(self) -> str:
        """Whose spending this records."""
        return self._state().dataset

    @property
    def policy(self) -> str:
        """The fingerprint of the policy that it was made for."""
        return self._state().policy

    def require_owner(self, *, dataset: str, policy: str, caps: Caps) -> None:
        """Raise `LedgerError` unless the ledger was made for this data set, policy and caps.

        `open` asks this itself; whoever takes a ledger that another opened has to ask.
        """
        _require_owner(self._state(), dataset, policy, caps.ticks, self.url)

    def check(self, charges: Iterable[Charge]) -> None:
        """Raise `BudgetExceeded` if the charges together would pass a cap now. Spends nothing."""
        asked = _asked(tuple(charges))
        state = self._state()
        refuse_excess(state.spent, asked, state.caps, state.dataset)

    def reserve(self, charges: Iterable[Charge]) -> list[Entry]:
        """Commit the spends: all of them or, with `BudgetExceeded` naming every cap passed, none.

        When this returns, the spend is on the disk; only then may noise be drawn.
        """
        batch = tuple(charges)
        asked = _asked(batch)
        self._require_writable()
        # Totals only grow: what does not fit now never will, so a refusal needs no turn among the writers.
        self.check(batch)
        with self._database.writing() as connection:
            state = load_state(connection, self.url, lock=True)
            spent = refuse_excess(state.spent, asked, state.caps, state.dataset)
            time = events.stamp(self._clock, state.time, self.url)
            rows = events.reserve_rows(batch, state, time)
            connection.execute(EVENT.insert(), rows)
            after = replace(
                state,
                rows=state.rows + len(rows),
                entries=state.entries + len(rows),
                time=time,
                head=rows[-1]["hash"],
                spent=spent,
            )
            replace_state(connection, state, after)
        return [events.entry_of(row, released=False) for row in rows]

    def mark_released(self, ids: Iterable[int]) -> None:
        """Record that the answers of these entries left, each once, in a transaction of its own.

        Raises `LedgerError` for an entry that is not there or was released before.
        """
        wanted = tuple(ids)
        self._require_writable()
        with self._database.writing() as connection:
            state = load_state(connection, self.url, lock=True)
            time = events.stamp(self._clock, state.time, self.url)
            rows, head = [], state.head
            for step, id_ in enumerate(wanted, 1):
                entry = self._reserved(connection, id_)
                require(wanted.count(id_) == 1, "ids", "mark_released", "name each entry once", id_)
                rows.append(events.release_row(state.rows + step, head, time, entry))
                head = rows[-1]["hash"]
            if rows:
                connection.execute(EVENT.insert(), rows)
                after = replace(state, rows=state.rows + len(rows), time=time, head=head)
                replace_state(connection, state, after)

    def entries(self) -> list[Entry]:
        """Every committed spend, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(events.entries_query()).mappings()
            return [events.entry_of(row, released=row["released"] is not None) for row in rows]

    def unreleased(self) -> list[Entry]:
        """What was reserved and never released: paid for, and no answer known to have left."""
        return [entry for entry in self.entries() if entry.state == "reserved"]

    def totals(self) -> Totals:
        """All that was ever committed."""
        state = self._state()
        epsilon, delta, person, table = (
            float("inf") if sum_ is None else units(sum_) for sum_ in state.spent
        )
        return Totals(epsilon, delta, person, table, state.entries)

    def balances(self) -> list[Balance]:
        """For every currency its cap, what was spent and what is left."""
        state = self._state()
        return balances(state.spent, state.caps)

    def head(self) -> Head:
        """The chain's end. Kept elsewhere, it anchors the chain: see `verify`."""
        state = self._state()
        return Head(state.rows, state.head)

    def verify(self, *, anchor: str | None = None) -> Head:
        """Read the whole chain and return its end.

        Raises `LedgerError` naming the first row that was edited, taken out, put in or moved, or the
        totals when they do not add up. With `anchor`, the hash of an earlier `head` kept elsewhere, it
        also finds a chain rewritten from before that row on.
        """
        with self._database.reading() as connection:
            return events.walk(connection, self.url, anchor)

    def _state(self) -> State:
        with self._database.reading() as connection:
            return load_state(connection, self.url)

    def _reserved(self, connection: Connection, id_: int) -> Entry:
        query = events.entries_query().where(EVENT.c.entry == id_)
        row = connection.execute(query).mappings().one_or_none()
        if row is None:
            raise LedgerError(f"Ledger `{self.url}` has no entry {id_}. Release what `reserve` returned.")
        if row["released"] is not None:
            raise LedgerError(
                f"Entry {id_} of ledger `{self.url}` was released before. An answer leaves once."
            )
        return events.entry_of(row, released=False)

    def _require_writable(self) -> None:
        if self._read_only:
            raise LedgerError(
                f"Ledger `{self.url}` was opened for reading. Use `Ledger.open` to spend from it."
            )


def _asked(charges: tuple[Charge, ...]) -> Ticks:
    require(bool(charges), "charges", "Ledger", "hold at least one charge", list(charges))
    return total(charge.spend.ticks for charge in charges)


def _begin(connection: Connection, dataset: str, policy: str, caps: Ticks, time: str) -> None:
    row = events.first_row(dataset, policy, caps, time)
    connection.execute(EVENT.insert(), row)
    nothing = Ticks(0, 0, 0, 0)
    insert_state(connection, State(dataset, policy, caps, 1, 0, time, row["hash"], nothing))


def _require_owner(state: State, dataset: str, policy: str, caps: Ticks, label: str) -> None:
    advice = "What it records stays spent; name another ledger only for other data."
    if state.dataset != dataset:
        raise LedgerError(
            f"The ledger `{label}` belongs to dataset `{state.dataset}`, not `{dataset}`. {advice}"
        )
    if state.policy != policy:
        raise LedgerError(
            f"The ledger `{label}` was made for another policy ({state.policy[:_SHOWN]}, "
            f"this one is {policy[:_SHOWN]}). Bring that policy back. {advice}"
        )
    if state.caps != caps:
        raise LedgerError(f"The ledger `{label}` was made with other caps. Bring those back. {advice}")
