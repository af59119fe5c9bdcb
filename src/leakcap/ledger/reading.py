"""What a ledger says to whoever may only look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate, islice
from types import TracebackType
from typing import Any, Self

from leakcap.cards import card
from leakcap.ledger import amending, answer_cache, answered, planning
from leakcap.ledger.amending import Planned, Proposed
from leakcap.ledger.anchors import Anchor
from leakcap.ledger.care import custody_of
from leakcap.ledger.certifying import CertifiedChain
from leakcap.ledger.continuing import document_of
from leakcap.ledger.curve import epsilon_proved
from leakcap.ledger.database import Database
from leakcap.ledger.details import STREAM
from leakcap.ledger.events import entries_query
from leakcap.ledger.limits import Balance, balance_rows, balances
from leakcap.ledger.odometer import OdometerReading, odometer
from leakcap.ledger.policies import counting_of, texts_of_all
from leakcap.ledger.rehearsal import Rehearsed, rehearse
from leakcap.ledger.requested import found_request, requests_of
from leakcap.ledger.requests import RecordedRequest
from leakcap.ledger.revising import revisions_of
from leakcap.ledger.sharing import admitted_policies
from leakcap.ledger.slots import SlotUse
from leakcap.ledger.standing import accounts_of
from leakcap.ledger.state import State, load_account, load_state
from leakcap.ledger.ticks import AMOUNTS, NOTHING, Ticks, total, units_spent
from leakcap.ledger.told import (
    Account,
    Amendment,
    Answer,
    DatasetSpending,
    DataVersion,
    Head,
    ProgressStep,
    PublishedVersion,
    Revision,
    Totals,
)
from leakcap.ledger.transfers import CustodyEvent
from leakcap.ledger.values import Charge, Entry
from leakcap.ledger.verification import verify_chain
from leakcap.ledger.versions import data_version_of, state_name_of, versions_of
from leakcap.plain import counted

__all__ = ["LedgerReader"]


class LedgerReader:
    """A ledger's answers to questions about itself; `Ledger` adds what writes."""

    def __init__(self, database: Database, clock: Callable[[], datetime], dataset: str = "") -> None:
        self._database = database
        # The data set that it was opened for, where that is not the ledger's own.
        self._beside = dataset
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
        """Let go of the database. A file or a server is opened again by whoever uses this again, and should
        be closed again; a ledger in memory is gone."""
        self._database.close()

    @property
    def dataset(self) -> str:
        """Whose spending this records; of several data sets the one that it was opened for, else the
        ledger's own."""
        return self._beside or self._state().dataset

    @property
    def policy(self) -> str:
        """The fingerprint of the policy that governs `dataset`."""
        return self.policy_of(self.dataset) or ""

    def policy_of(self, dataset: str) -> str | None:
        """The fingerprint of the policy under which a data set pays; None where it does not pay from here."""
        with self._database.reading() as connection:
            state = load_state(connection, self.url)
            known = {**admitted_policies(connection), state.dataset: [state.policy]}
        return known[dataset][-1] if dataset in known else None

    @property
    def by_analyst(self) -> bool:
        """Whether analysts have accounts of their own, under the caps that govern all data sets."""
        return self._state().rules.by_analyst

    def datasets(self) -> list[DatasetSpending]:
        """Every data set that pays from this ledger, its own first, and what its answers cost by themselves:
        the caps are on all of them together."""
        with self._database.reading() as connection:
            names = [load_state(connection, self.url).dataset, *admitted_policies(connection)]
        entries = [entry for entry in self.entries() if entry.id]
        return [
            # What was charged before data sets could be admitted may have a detail of this name.
            DatasetSpending.of(
                name,
                [one for one in entries if (one.dataset if one.dataset in names else names[0]) == name],
            )
            for name in names
        ]

    @property
    def policy_text(self) -> str:
        """The policy that governs, as canonical JSON; empty where the ledger was made without its text."""
        with self._database.reading() as connection:
            state = load_state(connection, self.url)
            policy = admitted_policies(connection)[self._beside][-1] if self._beside else state.policy
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

    def revisions(self) -> list[Revision]:
        """Every answer that was replaced or withdrawn, in the order in which that was recorded."""
        with self._database.reading() as connection:
            return revisions_of(connection)

    def versions(self) -> list[PublishedVersion]:
        """Every version of every publication, in the order of their first answers: of which data, what became
        of it, and what was said to be the same data."""
        with self._database.reading() as connection:
            own = load_state(connection, self.url).dataset
            return versions_of(connection, own, admitted_policies(connection))

    def custody(self) -> list[CustodyEvent]:
        """What was done with the ledger as a whole, oldest first: moves, restorations, admissions."""
        with self._database.reading() as connection:
            return custody_of(connection)

    def request(self, key: str) -> RecordedRequest | None:
        """What was asked under a key; None where nothing was."""
        with self._database.reading() as connection:
            return found_request(connection, key, self.url)

    def requests(self) -> list[RecordedRequest]:
        """Every request, oldest first, and which entries answer it."""
        with self._database.reading() as connection:
            return requests_of(connection)

    def propose(self, proposed: Proposed) -> Planned:
        """What an amendment would change, without making it. Raises what `Ledger.amend` would."""
        with self._database.reading() as connection:
            return amending.plan(connection, proposed, self._clock, self.url)

    def slots(self) -> list[SlotUse]:
        """Every slot of every plan, and how often it was used."""
        with self._database.reading() as connection:
            return list(planning.slots_of(connection).values())

    def unreleased(self) -> list[Entry]:
        """What was reserved, never released and not acknowledged: paid for, no answer known to have left.

        A stream is none of these: its steps leave one after the other.
        """
        open_ = (entry for entry in self.entries() if entry.state == "reserved")
        return [entry for entry in open_ if STREAM not in entry.details]

    def answer(self, entry: int) -> Answer | None:
        """What was recorded when this entry's answer left; None where it has not, or nothing was recorded."""
        with self._database.reading() as connection:
            return answer_cache.of_entry(connection, entry, self.url)

    def entries_answering(self, charge: Charge, *, dataset: str = "") -> tuple[int, ...]:
        """The entries that paid for what a charge asks, at its price, oldest first, whatever state the data
        was in; `dataset` is one beside the ledger's own. For whoever shows answers without the data."""
        with self._database.reading() as connection:
            state = load_state(connection, self.url)
            return answered.entries_answering(connection, state, charge, self.url, dataset)

    def steps(self, entry: int) -> dict[int, ProgressStep]:
        """What `mark_progress` recorded of this entry's run, by the step that it went on from."""
        with self._database.reading() as connection:
            return answer_cache.runs_by_step(connection, entry, self.url)

    def state_of(self, version: int) -> str:
        """The name that the state of this data set's table had in this version. Raises `LedgerError` where
        there is none."""
        with self._database.reading() as connection:
            return state_name_of(connection, version, self._beside, self.url)

    def data_version(self, version: int) -> DataVersion:
        """What is known of a version of this data set's table: how its owner called the data, and for which
        reference periods answers about it were published."""
        with self._database.reading() as connection:
            return data_version_of(connection, version, self._beside)

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
        state = self._state()
        found = odometer(state.spent, delta)
        chain = CertifiedChain(self._database, state)
        return replace(found, proved=partial(chain.of_all, found.epsilon, delta))

    def certificate(self, delta: float = 1e-9) -> dict[str, Any]:
        """That all charges come to `odometer(delta)` at most, and passed no cap: JSON for `leakcap-verify`.

        It shows each row's amounts, event, day, and a pseudonym of who asked; of the question, the answer and
        the names it has a salted digest. The whole chain is verified first. Raises `InvalidParameter`, and
        `LedgerError` for a chain that does not hold or is too long for a certificate.

        >>> from leakcap.ledger import Caps, Charge, Ledger, Spend
        >>> with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(epsilon=0.9)) as ledger:
        ...     _ = ledger.reserve([Charge("n", "count", Spend(epsilon=0.1))] * 3)
        ...     found = ledger.certificate(1e-9)
        >>> found["kind"], round(float.fromhex(found["claim"]["upper"]), 12), len(found["witness"]["rows"])
        ('filter', 0.3, 4)
        """
        return self.odometer(delta).certificate()

    def balances(self) -> list[Balance]:
        """For every currency its cap, what was spent and what is left, all spending together."""
        state = self._state()
        chain = CertifiedChain(self._database, state)
        proved = partial(chain.of_balance, "everything", "")
        return balances(state.spent, state.rules.whole, state.rules.alpha, proved)

    def epsilon_over_time(self) -> list[float]:
        """What `balances` said was spent of ε after each of `entries`, under the caps that govern now."""
        rules, so_far, found = self._state().rules, NOTHING, []
        for entry in self.entries():
            so_far = total([so_far, entry.spend.ticks(rules.alpha).on_everything(entry.slot)])
            ticks = epsilon_proved(so_far.epsilon, so_far.curve, rules.whole.curve)
            found.append(float("inf") if ticks is None else units_spent(ticks))
        return found

    def accounts(self) -> list[Account]:
        """Every account: everything, then each analyst's with caps of its own, the present period's (where
        periods count by reference, that of each one that answers were about), and those of the levels of
        people's own caps."""
        with self._database.reading() as connection:
            state = load_state(connection, self.url)
            proved = CertifiedChain(self._database, state).of_balance
            return accounts_of(connection, state, lambda: self._present(state), self.url, proved)

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
                return load_account(connection, scope, name, self.url, state.rules)

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

    def anchor(self) -> Anchor:
        """The chain's end, and what was spent until then: what `restore` can book, should later spends be
        lost."""
        state = self._state()
        return Anchor.of(state.dataset, state.policy, state.rows, state.head, state.spent)

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
        rows = balance_rows(self.balances())
        note = counted(self.totals().entries, "spend")
        return card(f"Ledger of {self.dataset}", rows, heads=("", "spent", "left", "", "unit"), note=note)

    def _present(self, state: State) -> datetime:
        # Never before the last entry's, so that a clock that lags a little shows no fresh account.
        return max(self._clock().astimezone(UTC), _last(state))

    def _state(self) -> State:
        with self._database.reading() as connection:
            return load_state(connection, self.url)


def _last(state: State) -> datetime:
    return datetime.fromisoformat(state.time)
