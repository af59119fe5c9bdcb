"""What a ledger says to whoever may only look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate, islice
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, select

from leakcap.cards import bar, card
from leakcap.ledger import amending, answer_cache, planning
from leakcap.ledger.amending import Planned, Proposed
from leakcap.ledger.continuing import document_of
from leakcap.ledger.database import Database
from leakcap.ledger.events import entries_query
from leakcap.ledger.limits import balances
from leakcap.ledger.odometer import odometer
from leakcap.ledger.people import SCOPE, Levels, cap_of
from leakcap.ledger.policies import counting_of, texts_of_all
from leakcap.ledger.rehearsal import Rehearsed, rehearse
from leakcap.ledger.rules import CapsInTicks, period_label
from leakcap.ledger.schema import ACCOUNT
from leakcap.ledger.slots import SlotUse
from leakcap.ledger.state import State, load_account, load_state
from leakcap.ledger.ticks import AMOUNTS, NOTHING, Ticks, decimal, units_left, units_spent
from leakcap.ledger.values import (
    Account,
    Amendment,
    Answer,
    Balance,
    Charge,
    Entry,
    Head,
    OdometerReading,
    ProgressStep,
    Totals,
)
from leakcap.ledger.verification import verify_chain

__all__ = ["LedgerReader"]


class LedgerReader:
    """A ledger's answers to questions about itself; `Ledger` adds what writes."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self.url = database.label
        """Where the ledger is, without a password."""

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
    def dataset(self) -> str:
        """Whose spending this records."""
        return self._state().dataset

    @property
    def policy(self) -> str:
        """The fingerprint of the policy that governs."""
        return self._state().policy

    @property
    def policy_text(self) -> str:
        """The policy that governs, as canonical JSON; empty where the ledger was made without its text."""
        with self._database.reading() as connection:
            policy = load_state(connection, self.url).policy
            text = texts_of_all(connection).get(policy, "")
        return text if text and document_of(text, policy) is not None else ""

    def entries(self) -> list[Entry]:
        """Every committed spend and plan, oldest first; after an amendment with what it counts for now."""
        with self._database.reading() as connection:
            counting = counting_of(connection)
            return [counting.entry(row) for row in connection.execute(entries_query()).mappings()]

    def amendments(self) -> list[Amendment]:
        """Every amendment of the policy, oldest first."""
        with self._database.reading() as connection:
            return amending.amendments(connection)

    def propose(self, proposed: Proposed) -> Planned:
        """What an amendment would change, without making it. Raises what `Ledger.amend` would."""
        with self._database.reading() as connection:
            return amending.plan(connection, proposed, self._clock, self.url)

    def slots(self) -> list[SlotUse]:
        """Every slot of every plan, and how often it was used."""
        with self._database.reading() as connection:
            return list(planning.slots_of(connection).values())

    def unreleased(self) -> list[Entry]:
        """What was reserved, never released and not acknowledged: paid for, no answer known to have left."""
        return [entry for entry in self.entries() if entry.state == "reserved"]

    def answer(self, entry: int) -> Answer | None:
        """What was recorded when this entry's answer left; None where it has not, or nothing was recorded."""
        with self._database.reading() as connection:
            return answer_cache.of_entry(connection, entry, self.url)

    def steps(self, entry: int) -> dict[int, ProgressStep]:
        """What `mark_progress` recorded of this entry's run, by the step that it went on from."""
        with self._database.reading() as connection:
            return answer_cache.steps_of(connection, entry, self.url)

    def state_of(self, version: int) -> str:
        """The name that the table's state had in this version. Raises `LedgerError` where there is none."""
        with self._database.reading() as connection:
            return answer_cache.name_of(connection, version, self.url)

    def totals(self) -> Totals:
        """All that was ever committed."""
        state = self._state()
        spent = state.spent._asdict()
        amounts = {n: float("inf") if spent[n] is None else units_spent(spent[n]) for n in AMOUNTS}
        return Totals(**amounts, entries=state.entries)

    def odometer(self, delta: float) -> OdometerReading:
        """What all answers so far tell together about a unit of privacy, whatever the caps are.

        But with probability `delta` (and the answers' own δ, which are added), the loss was never above
        `epsilon`: it holds after every answer at once, however each was chosen. Raises `InvalidParameter`.
        Source: Whitehouse, Ramdas, Rogers & Wu 2023.
        """
        return odometer(self._state().spent, delta)

    def balances(self) -> list[Balance]:
        """For every currency its cap, what was spent and what is left, all spending together."""
        state = self._state()
        return balances(state.spent, state.rules.whole, state.rules.alpha)

    def accounts(self) -> list[Account]:
        """Every account: everything, then each analyst's with caps of its own, the present period's, and
        those of the levels of people's own caps."""
        with self._database.reading() as connection:
            state = load_state(connection, self.url)
            rules, spent = state.rules, {("everything", ""): state.spent}
            caps = {("everything", ""): rules.whole}
            mine = select(ACCOUNT.c.name).where(ACCOUNT.c.scope == "analyst").order_by(ACCOUNT.c.name)
            names = {*rules.analysts, *connection.execute(mine).scalars()}
            for name in sorted(names):
                limits = rules.of_analyst(name)
                if limits is not None:
                    caps["analyst", name] = limits
                    spent["analyst", name] = load_account(connection, "analyst", name, self.url)[0]
            if rules.period is not None and rules.of_period is not None:
                place = (rules.period, period_label(rules.period, self._present(state)))
                caps[place] = rules.of_period
                spent[place] = load_account(connection, *place, self.url)[0]
            people = self._people(connection, rules)
        return [
            *(
                Account(scope, name, tuple(balances(spent.get((scope, name), NOTHING), limits, rules.alpha)))
                for (scope, name), limits in caps.items()
            ),
            *people,
        ]

    def _people(self, connection: Connection, rules: CapsInTicks) -> list[Account]:
        """The accounts of the levels of people's own caps, in ε; what is left must be left above too."""
        names = {level: decimal(level) for level in rules.each_person}
        spent = {l: load_account(connection, SCOPE, name, self.url)[0] for l, name in names.items()}
        levels = Levels(rules.each_person, spent)
        return [
            Account(
                SCOPE,
                name,
                (replace(balances(spent[level], cap_of(level))[0], left=units_left(levels.left(level))),),
            )
            for level, name in names.items()
        ]

    def rehearse(self, batches: Sequence[tuple[datetime, Sequence[Charge]]]) -> list[Rehearsed]:
        """What would become of these batches, asked one after the other at these times; nothing is recorded.

        A time before the last entry's, or before that of an earlier batch, counts as that. Raises
        `LedgerError` where a charge names a slot that is not there or does not admit it.
        """
        with self._database.reading() as connection:
            state = load_state(connection, self.url)
            # No entry is before the one that it follows: see `reserve`.
            times = accumulate((moment.astimezone(UTC) for moment, _ in batches), max, initial=_last(state))

            def load(scope: str, name: str) -> tuple[Ticks, bool]:
                return load_account(connection, scope, name, self.url)

            slots = planning.slots_of(connection)
            later = [
                (time, charges) for time, (_, charges) in zip(islice(times, 1, None), batches, strict=True)
            ]
            return rehearse(state, slots, load, later, self.url)

    def present(self) -> datetime:
        """The present moment (UTC); the last entry's time where the clock is behind it."""
        return self._present(self._state())

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
            return verify_chain(connection, self.url, anchor)

    def _repr_html_(self) -> str:
        """The balances as a notebook shows them."""
        rows: list[tuple[str, ...]] = []
        for b in self.balances():
            if b.cap is None or b.left is None:
                rows.append((b.name, f"{b.spent:.6g}", "not capped", "", b.unit))
            else:
                share = b.spent / b.cap if b.cap else float(b.spent > 0)
                rows.append((b.name, f"{b.spent:.12g}", f"{b.left:.12g}", bar(share), b.unit))
        note = f"{self.totals().entries:,} spends"
        return card(f"Ledger of {self.dataset}", rows, heads=("", "spent", "left", "", "unit"), note=note)

    def _present(self, state: State) -> datetime:
        # Never before the last entry's, so that a clock that lags a little shows no fresh account.
        return max(self._clock().astimezone(UTC), _last(state))

    def _state(self) -> State:
        with self._database.reading() as connection:
            return load_state(connection, self.url)


def _last(state: State) -> datetime:
    return datetime.fromisoformat(state.time)
