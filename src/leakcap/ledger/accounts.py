"""The accounts that a batch is booked on: everything, its analysts, the present period; all caps at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from leakcap.ledger.limits import excess, refuse
from leakcap.ledger.state import State, load_account, save_account
from leakcap.ledger.sums import places
from leakcap.ledger.ticks import Ticks, total
from leakcap.ledger.values import Charge

__all__ = ["Booked", "book"]


@dataclass(frozen=True)
class Booked:
    """One account after a batch."""

    scope: str
    name: str
    spent: Ticks
    stands: bool

    def save(self, connection: Connection) -> None:
        """Write it."""
        save_account(connection, self.scope, self.name, self.spent, stands=self.stands)


def book(
    connection: Connection,
    state: State,
    charges: Sequence[Charge],
    asked: Sequence[Ticks],
    time: str,
    label: str,
) -> tuple[Ticks, list[Booked]]:
    """The new totals and accounts, none written yet; `BudgetExceeded` naming every cap that any would
    pass."""
    whole = total(asked)
    passed = excess(state.spent, whole, state.rules.whole, f"dataset `{state.dataset}`")
    parts: dict[tuple[str, str], list[Ticks]] = {}
    for charge, ticks in zip(charges, asked, strict=True):
        for place in places(state.rules, charge.analyst, time):
            parts.setdefault(place, []).append(ticks)
    booked = []
    for (scope, name), amounts in parts.items():
        spent, stands = load_account(connection, scope, name, label)
        mine = total(amounts)
        caps = state.rules.of_analyst(name) if scope == "analyst" else state.rules.each_period
        assert caps is not None
        whose = {"analyst" if scope == "analyst" else "period": name}
        passed += excess(spent, mine, caps, f"{scope} `{name}`", **whose)
        booked.append(Booked(scope, name, total([spent, mine]), stands))
    refuse(passed)
    return total([state.spent, whole]), booked
