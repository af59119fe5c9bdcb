"""The whole chain, read from the first row to the last, and every sum made a second time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger.chain import START, row_hash
from leakcap.ledger.details import floor_read
from leakcap.ledger.events import owner_text, regime_of, ticks_of
from leakcap.ledger.measured import covered
from leakcap.ledger.plan_price import proven
from leakcap.ledger.policies import texts_of_all
from leakcap.ledger.schema import ACCOUNT, EVENT
from leakcap.ledger.slots import plan_read
from leakcap.ledger.state import State, load_state, sums_of
from leakcap.ledger.sums import Regime, RunningSums
from leakcap.ledger.ticks import NOTHING, Ticks
from leakcap.ledger.values import Head

__all__ = ["proven_sums", "verify_chain"]

_OF_AN_ENTRY = ("release", "repeat", "acknowledge", "progress")


def verify_chain(connection: Connection, label: str, anchor: str | None) -> Head:
    """Read the chain from the first row to the last, and `LedgerError` at the first row that is wrong."""
    state = proven_sums(connection, label, anchor)[0]
    return Head(state.rows, state.head)


def proven_sums(connection: Connection, label: str, anchor: str | None = None) -> tuple[State, RunningSums]:
    """The state and the sums that follow from a chain that was read from the first row to the last."""
    query = select(EVENT).order_by(EVENT.c.seq).execution_options(yield_per=1000)
    seen = _Seen(label, texts_of_all(connection))
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


class _Seen:
    """What the walk knows after the rows so far."""

    def __init__(self, label: str, texts: Mapping[str, str]) -> None:
        self.label, self.texts = label, texts
        self.seq, self.entries, self.versions = 0, 0, 0
        self.head, self.time, self.sums = START, "", RunningSums()
        self.owner = ""

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
        elif row["kind"] in _OF_AN_ENTRY and not 1 <= row["entry"] <= self.entries:
            self._refuse(expected, "speaks of an entry that is not there")
        self._count(row)
        self.versions = max(self.versions, row["data_version"])
        self.seq, self.head, self.time = expected, row["hash"], row["time"]

    def meet(self, state: State) -> None:
        """Compare with the state row, which must be the sum of the rows."""
        if self.seq > state.rows:
            self._refuse(state.rows + 1, "was put in: the running totals do not know it")
        if self.owner != owner_text(state.dataset, state.policy, state.rules):
            raise LedgerError(f"The data set, policy or caps of ledger `{self.label}` were edited.")
        found = (self.head, self.time, self.sums.spent, self.versions)
        if found != (state.head, state.time, state.spent, state.data_versions):
            raise LedgerError(f"The running totals of ledger `{self.label}` do not add up: they were edited.")

    def _count(self, row: Mapping[str, Any]) -> None:
        if not self.sums.regimes:
            self.sums.begin(self._owned(row))
        elif row["kind"] == "amend":
            self._amend(row)
        elif row["kind"] == "reserve":
            self._spend(row)
        elif row["kind"] == "plan":
            self._plan(row)
        elif ticks_of(row) != NOTHING:
            self._refuse(self.seq + 1, "spends, and is no spend")
        elif row["kind"] == "repeat":
            self.sums.repeat(row["analyst"], row["entry"])

    def _spend(self, row: Mapping[str, Any]) -> None:
        floor, ticks = floor_read(row["details"]), ticks_of(row)
        if floor != self.sums.floor(ticks) or (self.sums.levels and floor is None):
            self._refuse(self.seq + 1, "counts people whose own caps have no room")
        if row["event"] and not self._covered(row["event"], ticks):
            self._refuse(self.seq + 1, "was charged less than its event")
        slot = row["slot"]
        if slot:
            self._take(slot, row["slot_use"], ticks, row["event"])
        self.sums.spend(row["analyst"], row["time"], ticks, floor, slot)

    def _covered(self, event: str, charged: Ticks) -> bool:
        try:
            return covered(event, charged)
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
