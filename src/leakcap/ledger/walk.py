"""The whole chain, read from the first row to the last, and every sum made a second time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from leakcap.errors import LedgerError
from leakcap.ledger.chain import START, row_hash
from leakcap.ledger.events import owner_text, ticks_of
from leakcap.ledger.rules import Rules, period_label, rules_read
from leakcap.ledger.schema import ACCOUNT, EVENT
from leakcap.ledger.state import State, load_state
from leakcap.ledger.ticks import NOTHING, Ticks, total
from leakcap.ledger.values import Head

__all__ = ["places", "walk"]


def walk(connection: Connection, label: str, anchor: str | None) -> Head:
    """Read the chain from the first row to the last, and `LedgerError` at the first row that is wrong."""
    query = select(EVENT).order_by(EVENT.c.seq).execution_options(yield_per=1000)
    seen = _Seen(label)
    with connection.execute(query) as result:
        for row in map(dict, result.mappings()):
            try:
                seen.add(row)
            except (TypeError, ValueError, AttributeError) as error:
                message = f"Row {seen.seq + 1} of ledger `{label}` holds no ledger's values."
                raise LedgerError(message) from error
            anchor = None if row["hash"] == anchor else anchor
    state = load_state(connection, label)
    seen.meet(state)
    accounts = connection.execute(select(ACCOUNT)).mappings().all()
    if seen.accounts != {(row["scope"], row["name"]): _amounts(dict(row)) for row in accounts}:
        raise LedgerError(
            f"The accounts of analysts or periods in ledger `{label}` do not add up: they were edited."
        )
    if anchor is not None:
        raise LedgerError(
            f"No row of ledger `{label}` has the hash {anchor}. "
            "The chain was rewritten, or this is an older copy."
        )
    return Head(state.rows, state.head)


class _Seen:
    """What the walk knows after the rows so far."""

    def __init__(self, label: str) -> None:
        self.label, self.seq, self.entries, self.versions = label, 0, 0, 0
        self.head, self.time, self.spent = START, "", NOTHING
        self.owner = ""
        self.rules: Rules | None = None
        self.accounts: dict[tuple[str, str], Ticks] = {}

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
        elif row["kind"] in ("release", "repeat", "acknowledge") and not 1 <= row["entry"] <= self.entries:
            self._refuse(expected, "speaks of an entry that is not there")
        if self.rules is None:
            self._open(row)
        self._book(row)
        self.versions = max(self.versions, row["data_version"])
        self.seq, self.head, self.time = expected, row["hash"], row["time"]

    def meet(self, state: State) -> None:
        """Compare with the state row, which must be the sum of the rows."""
        if self.seq > state.rows:
            self._refuse(state.rows + 1, "was put in: the running totals do not know it")
        if self.owner != owner_text(state.dataset, state.policy, state.rules):
            raise LedgerError(f"The data set, policy or caps of ledger `{self.label}` were edited.")
        found = (self.head, self.time, self.spent, self.versions)
        if found != (state.head, state.time, state.spent, state.data_versions):
            raise LedgerError(f"The running totals of ledger `{self.label}` do not add up: they were edited.")

    def _open(self, row: Mapping[str, Any]) -> None:
        owner = json.loads(row["details"])
        self.rules = rules_read(json.dumps(owner["caps"]))
        self.owner = owner_text(owner["dataset"], owner["policy"], self.rules)

    def _book(self, row: Mapping[str, Any]) -> None:
        ticks = ticks_of(row)
        self.spent = total([self.spent, ticks])
        if row["kind"] != "reserve" or self.rules is None:
            return
        for place in places(self.rules, row["analyst"], row["time"]):
            self.accounts[place] = total([self.accounts.get(place, NOTHING), ticks])

    def _refuse(self, seq: int, what: str) -> None:
        raise LedgerError(f"Row {seq} of ledger `{self.label}` {what}. Restore the ledger from a backup.")


def places(rules: Rules, analyst: str, time: str) -> list[tuple[str, str]]:
    """The accounts, beside the one of everything, that a spend is booked on: scope and name.

    >>> rules = rules_read('{"each_period":{"epsilon":1},"period":"month"}')
    >>> places(rules, "ng", "2026-03-01T12:00:00+00:00")
    [('month', '2026-03')]
    """
    found = [("analyst", analyst)] if rules.of_analyst(analyst) is not None else []
    if rules.period is not None:
        found.append((rules.period, period_label(rules.period, datetime.fromisoformat(time))))
    return found


def _amounts(row: Mapping[str, Any]) -> Ticks:
    return Ticks(*(row[name] for name in Ticks._fields))
