"""The whole chain, read from the first row to the last, and every sum made a second time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, select

from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger.chain import START, row_hash, text_hash
from leakcap.ledger.closed import CLOSING
from leakcap.ledger.contents import contents_fault
from leakcap.ledger.details import STREAM, dataset_told, floor_read
from leakcap.ledger.editions import Edition
from leakcap.ledger.events import owner_text, regime_of, ticks_of
from leakcap.ledger.measured import charge_covers
from leakcap.ledger.plan_price import proven
from leakcap.ledger.policies import texts_of_all
from leakcap.ledger.requested import memo_of, recorded_request
from leakcap.ledger.schema import ACCOUNT, EVENT, OF_AN_ENTRY, REVISING
from leakcap.ledger.shown import shown_of
from leakcap.ledger.slots import plan_read
from leakcap.ledger.state import State, load_state, seed_of, sums_of
from leakcap.ledger.sums import Regime, RunningSums
from leakcap.ledger.ticks import NOTHING, Ticks
from leakcap.ledger.told import Head

__all__ = ["proven_sums", "verify_chain"]

_SPENDING = frozenset(("reserve", "plan", "lost"))
_KNOWN = _SPENDING | {*OF_AN_ENTRY, *CLOSING, "amend", "admit", "continue", "request", "restore"}
"""The kinds of all rows but the first, which alone opens the ledger."""


def verify_chain(connection: Connection, label: str, anchor: str | None) -> Head:
    """Read the chain from the first row to the last, and `LedgerError` at the first row that is wrong."""
    state = proven_sums(connection, label, anchor)[0]
    return Head(state.rows, state.head)


def proven_sums(connection: Connection, label: str, anchor: str | None = None) -> tuple[State, RunningSums]:
    """The state and the sums that follow from a chain that was read from the first row to the last."""
    query = select(EVENT).order_by(EVENT.c.seq).execution_options(yield_per=1000)
    seen = _Seen(label, texts_of_all(connection), seed_of(connection))
    with connection.execute(query) as result:
        for row in map(dict, result.mappings()):
            try:
                seen.add(row)
            except (TypeError, ValueError, AttributeError, KeyError) as error:
                message = f"Row {seen.seq + 1} of ledger `{label}` holds no ledger's values."
                raise LedgerError(message) from error
            anchor = None if row["hash"] == anchor else anchor
    state = load_state(connection, label)
    seen.meet(state)
    accounts = connection.execute(select(ACCOUNT)).mappings().all()
    if seen.sums.accounts != {(row["scope"], row["name"]): sums_of(row) for row in map(dict, accounts)}:
        raise LedgerError(
            f"The accounts of analysts, periods or people's own caps in ledger `{label}` do not add up: they "
            "were edited."
        )
    if anchor is not None:
        raise LedgerError(
            f"No row of ledger `{label}` has the hash {anchor}. "
            "The chain was rewritten, or this is an older copy."
        )
    return state, seen.sums


Value = TypeVar("Value")


class _Seen:
    """What the walk knows after the rows so far."""

    def __init__(self, label: str, texts: Mapping[str, str], seed: str) -> None:
        self.label, self.texts, self.seed = label, texts, seed
        self.seq, self.entries, self.versions = 0, 0, 0
        self.head, self.time, self.sums = START, "", RunningSums()
        self.owner = ""
        self.closed: dict[str, Any] | None = None
        # A stream leaves step by step: it may be revised before it is released.
        self.left, self.revised = set[int](), set[int]()
        self.beside = dict[int, str]()
        # The batch that was reserved last, while no other row follows it, and the keys of requests.
        self.batch, self.keys = list[tuple[int, str]](), set[str]()

    def add(self, row: Mapping[str, Any]) -> None:
        """Take the next row, or say what is wrong with it."""
        expected = self.seq + 1
        if row["seq"] != expected:
            self._refuse(expected, "is missing")
        if row_hash(row) != row["hash"]:
            self._refuse(expected, "was edited")
        if row["previous"] != self.head:
            self._refuse(expected, "does not follow the row before it: one of them was put in or taken out")
        if row["time"] < self.time:
            self._refuse(expected, "is older than the row before it")
        if row["kind"] == "reserve":
            self.entries += 1
            if row["entry"] != self.entries:
                self._refuse(expected, "does not carry the next entry's number")
        elif row["kind"] in OF_AN_ENTRY and not 1 <= row["entry"] <= self.entries:
            self._refuse(expected, "speaks of an entry that is not there")
        self._require_not_past_the_end(row)
        self._count(row)
        if row["shown"] != shown_of(row, self.seed):
            self._refuse(expected, "shows another analyst or other caps to certificates than it has")
        if row["kind"] != "reserve":
            self.batch.clear()
        self.versions = max(self.versions, row["data_version"])
        self.seq, self.head, self.time = expected, row["hash"], row["time"]

    def meet(self, state: State) -> None:
        """Compare with the state row, which must be the sum of the rows."""
        if self.seq > state.rows:
            self._refuse(state.rows + 1, "was put in: the ledger's sums do not know it")
        if self.owner != owner_text(state.dataset, state.policy, state.rules):
            raise LedgerError(f"The data set, policy or caps of ledger `{self.label}` were edited.")
        found = (self.head, self.time, self.sums.spent, self.versions)
        if found != (state.head, state.time, state.spent, state.data_versions):
            raise LedgerError(f"The sums of ledger `{self.label}` do not add up: they were edited.")

    def _require_not_past_the_end(self, row: Mapping[str, Any]) -> None:
        """After what closes a ledger only its successor goes on, which has the key."""
        goes_on = row["kind"] == "continue"
        if goes_on and (
            self.closed is None
            or text_hash(str(json.loads(row["details"])["key"])) != self.closed.get("lock")
        ):
            self._refuse(self.seq + 1, "goes on where no ledger was moved from")
        if self.closed is not None and not goes_on:
            self._refuse(self.seq + 1, "stands after the ledger was closed")
        self.closed = json.loads(row["details"]) if row["kind"] in CLOSING else None

    def _count(self, row: Mapping[str, Any]) -> None:
        if row["kind"] not in (_KNOWN if self.sums.regimes else ("open",)):
            self._refuse(self.seq + 1, "is of a kind that does not stand there")
        if row["kind"] in _SPENDING and _negative(ticks_of(row)):
            self._refuse(self.seq + 1, "spends less than nothing")
        if not self.sums.regimes:
            self.sums.begin(self._owned(row))
        elif row["kind"] == "amend":
            self._amend(row)
        elif row["kind"] == "reserve":
            self._spend(row)
        elif row["kind"] == "plan":
            self._plan(row)
        elif row["kind"] == "admit":
            told = json.loads(row["details"])
            self.sums.admit(told["dataset"], told["policy"], self.texts)
        elif row["kind"] == "lost":
            lost = ticks_of(row)
            self.entries += lost.queries or 0
            self.sums.lose(lost, row["time"])
        elif ticks_of(row) != NOTHING or row["event"] or row["slot"]:
            self._refuse(self.seq + 1, "spends, and is no spend")
        elif row["kind"] == "repeat":
            self.sums.repeat(row["analyst"], row["entry"])
        elif row["kind"] == "release":
            self.left.add(row["entry"])
        elif row["kind"] == "request":
            self._request(row)
        elif row["kind"] in REVISING:
            self._revise(row["entry"], json.loads(row["details"]).get("replaced_by"), row["kind"])

    def _revise(self, entry: int, new: int | None, kind: str) -> None:
        valid = self.left - self.revised if (new is None) == (kind == "withdraw") else set[int]()
        if entry not in valid or (new is not None and (new not in valid or new <= entry)):
            self._refuse(self.seq + 1, "revises an answer that was not valid, or by one that was not")
        if new is not None and self.beside.get(entry) != self.beside.get(new):
            self._refuse(self.seq + 1, "replaces an answer by one about another data set")
        self.revised.add(entry)

    def _request(self, row: Mapping[str, Any]) -> None:
        """A key stands for one request, which paid for the batch before it and knew valid answers beside."""
        told = recorded_request(row)
        if told.key in self.keys or row["memo"] != memo_of(told.key):
            self._refuse(self.seq + 1, "is a request whose key stands for another one, or for none")
        if told.paid and list(told.paid) != [entry for entry, _ in self.batch]:
            self._refuse(self.seq + 1, "is a request that paid for other entries than those before it")
        if any(analyst != told.analyst for _, analyst in self.batch[: len(told.paid)]):
            self._refuse(self.seq + 1, "is a request that another analyst paid for")
        known = set(told.entries) - set(told.paid)
        if not set(told.paid) <= set(told.entries) or not known <= self.left - self.revised:
            self._refuse(self.seq + 1, "is a request with an answer that was not valid, or not there")
        self.keys.add(told.key)

    def _spend(self, row: Mapping[str, Any]) -> None:
        floor, ticks = floor_read(row["details"]), ticks_of(row)
        if floor != self.sums.floor(ticks) or (self.sums.levels and floor is None):
            self._refuse(self.seq + 1, "counts people whose own caps have no room")
        event, alpha = row["event"], self.sums.regimes[-1].rules.alpha
        if event and not self._computed(lambda: charge_covers(event, ticks)):
            self._refuse(self.seq + 1, "was charged less than its event")
        told = json.loads(row["details"])
        if fault := self._computed(lambda: contents_fault(event, told, ticks, alpha)):
            self._refuse(self.seq + 1, fault)
        # Before data sets could be admitted, a detail of this name was the caller's own.
        dataset = dataset_told(row["details"]) if self.sums.admitted else ""
        if dataset and dataset not in self.sums.admitted:
            self._refuse(self.seq + 1, "pays for a data set that was not admitted")
        if dataset:
            self.beside[self.entries] = dataset
        if row["batch"] == row["entry"]:
            self.batch.clear()
        self.batch.append((row["entry"], row["analyst"]))
        if STREAM in json.loads(row["details"]):
            self.left.add(self.entries)
        slot = row["slot"]
        if slot:
            self._take(slot, row["slot_use"], ticks, row["event"])
        edition = Edition.of(json.loads(row["details"])) or Edition()
        self.sums.spend(row["analyst"], row["time"], ticks, floor, slot, edition.period)

    def _computed(self, compute: Callable[[], Value]) -> Value:
        """What is computed of the next row again; `LedgerError` by its number where that cannot be."""
        try:
            return compute()
        except InvalidParameter as error:
            raise LedgerError(f"Row {self.seq + 1} of ledger `{self.label}`: {error}") from None

    def _take(self, slot: str, use: int, ticks: Ticks, event: str) -> None:
        known = self.sums.slots.get(slot)
        if known is None or use != known.used + 1 or use > known.slot.count:
            self._refuse(self.seq + 1, f"uses slot `{slot}`, which has no such answer left")
        elif not known.slot.admits(ticks, event):
            self._refuse(self.seq + 1, f"uses slot `{slot}`, which does not admit it")

    def _plan(self, row: Mapping[str, Any]) -> None:
        plan, charged = plan_read(row["details"]), ticks_of(row)
        if any(one.name in self.sums.slots for one in plan.slots):
            self._refuse(self.seq + 1, "has a slot that another plan has")
        if not proven(plan, self.sums.regimes[-1].rules.alpha, charged):
            self._refuse(self.seq + 1, "was charged less than its plan")
        self.sums.plan(plan, charged)

    def _amend(self, row: Mapping[str, Any]) -> None:
        told, now = json.loads(row["details"]), self.sums.regimes[-1].policy
        if told["before"] != now:
            self._refuse(self.seq + 1, "amends another policy than the one that governed")
        self.sums.amend(self._owned(row), self.texts)
        if ticks_of(row) != self.sums.spent._replace(queries=0):
            self._refuse(self.seq + 1, "does not carry over what was spent before it")

    def _owned(self, row: Mapping[str, Any]) -> Regime:
        dataset, regime = regime_of(row)
        self.owner = owner_text(dataset, regime.policy, regime.rules)
        return regime

    def _refuse(self, seq: int, what: str) -> None:
        raise LedgerError(f"Row {seq} of ledger `{self.label}` {what}. Restore the ledger from a backup.")


def _negative(ticks: Ticks) -> bool:
    """Whether any amount would give back what others spent."""
    return any(one is not None and one < 0 for one in (*ticks.numbers, *ticks.curve))
