"""The accounts that a batch is booked on: everything, its analysts, their groups, the present period; all
caps at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection

from leakcap.errors import BudgetExceeded, LedgerError, Passed, require
from leakcap.ledger.editions import calendar_days
from leakcap.ledger.people import SCOPE, Levels, require_room_asked
from leakcap.ledger.rules import GROUP, excess, refuse, unallowed_delta
from leakcap.ledger.state import State, load_account, save_account
from leakcap.ledger.ticks import Ticks, decimal, total
from leakcap.ledger.values import Charge

__all__ = ["Booked", "BookedBatch", "batch_of", "book", "booked", "refusals_logged", "ticks_asked"]

_log = logging.getLogger("leakcap.ledger.ledger")


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


@dataclass(frozen=True)
class BookedBatch:
    """A batch as it would be booked: the new totals and accounts, and from which level of people's own caps
    on each charge counts people (None where people have none)."""

    spent: Ticks
    accounts: list[Booked]
    floors: list[int | None]


def book(
    connection: Connection,
    state: State,
    charges: Sequence[Charge],
    asked: Sequence[Ticks],
    time: str,
    label: str,
) -> BookedBatch:
    """The batch, nothing of it written yet; `BudgetExceeded` naming every cap that any would pass."""

    def load(scope: str, name: str) -> tuple[Ticks, bool]:
        return load_account(connection, scope, name, label, state.rules)

    return booked(load, state, charges, asked, time, label)


def booked(
    load: Callable[[str, str], tuple[Ticks, bool]],
    state: State,
    charges: Sequence[Charge],
    asked: Sequence[Ticks],
    time: str,
    label: str,
) -> BookedBatch:
    """The same; `load` reads an account by scope and name."""
    _require_period(state, charges, label)
    whole = total(t.on_everything(c.slot) for c, t in zip(charges, asked, strict=True))
    passed = excess(state.spent, whole, state.rules.whole, f"dataset `{state.dataset}`")
    passed += unallowed_delta(whole, state.rules.whole, f"dataset `{state.dataset}`")
    parts: dict[tuple[str, str], list[Ticks]] = {}
    for charge, ticks in zip(charges, asked, strict=True):
        groups = [(GROUP, name) for name in state.rules.groups_of(charge.analyst)]
        for place in [*groups, *state.rules.places(charge.analyst, time, charge.reference)]:
            parts.setdefault(place, []).append(ticks)
    mine_after = []
    for (scope, name), amounts in parts.items():
        spent, stands = load(scope, name)
        mine = total(amounts)
        caps = state.rules.held_by(scope, name)
        assert caps is not None
        whose = {scope if scope in ("analyst", GROUP) else "period": name}
        passed += excess(spent, mine, caps, f"{scope} `{name}`", **whose)
        if state.rules.whole.epsilon is None and state.rules.whole.delta is None:
            # Elsewhere the cap on everything holds the δ of every account.
            passed += unallowed_delta(mine, caps, f"{scope} `{name}`", **whose)
        mine_after.append(Booked(scope, name, total([spent, mine]), stands))
    floors, levels, more = _people(load, state, charges, asked, label)
    refuse(passed, more)
    return BookedBatch(total([state.spent, whole]), [*mine_after, *levels], floors)


def _require_period(state: State, charges: Sequence[Charge], label: str) -> None:
    """Where periods count by reference every answer has to say which it is about."""
    if not state.rules.by_reference:
        return
    for charge in charges:
        if calendar_days(charge.reference) is None:
            said = f"says `{charge.reference}`" if charge.reference else "says none"
            raise LedgerError(
                f"The caps of ledger `{label}` count by reference period, and query `{charge.query}` {said}. "
                "Nothing was spent. Say a year, quarter, month, week or day in `publication.period`, as in "
                "2026, 2026-Q1, 2026-03, 2026-W10 or 2026-03-05."
            )


def _people(
    load: Callable[[str, str], tuple[Ticks, bool]],
    state: State,
    charges: Sequence[Charge],
    asked: Sequence[Ticks],
    label: str,
) -> tuple[list[int | None], list[Booked], list[tuple[Passed, str]]]:
    """Whom each charge counts, the accounts of the levels of people's own caps, and what has no room."""
    rules = state.rules.each_person
    if not rules:
        return [None] * len(charges), [], []
    loaded = {level: load(SCOPE, decimal(level)) for level in rules}
    levels = Levels(rules, {level: spent for level, (spent, _) in loaded.items()})
    floors: list[int | None] = []
    for charge, ticks in zip(charges, asked, strict=True):
        require_room_asked(ticks, counts_by_cap=charge.counts_by_cap, label=label)
        floors.append(levels.charge(ticks))
        if floors[-1] is None:
            return floors, [], levels.excess(ticks)
    booked = [Booked(SCOPE, decimal(one), levels.of(one), stands) for one, (_, stands) in loaded.items()]
    return floors, booked, []


@contextmanager
def refusals_logged(batch: Sequence[Charge]) -> Iterator[None]:
    """Log which caps refuse the batch."""
    try:
        yield
    except BudgetExceeded as error:
        caps, names = ", ".join(one.cap for one in error.passed), [charge.query for charge in batch]
        _log.info("refused: %a, cap %s", names, caps)
        raise


def batch_of(charges: Iterable[Charge]) -> tuple[Charge, ...]:
    """The charges, of which there is at least one."""
    batch = tuple(charges)
    require(bool(batch), "charges", "Ledger", "hold at least one charge", list(batch))
    return batch


def ticks_asked(charges: Sequence[Charge], state: State) -> list[Ticks]:
    """What each charge costs in this ledger."""
    return [charge.spend.ticks(state.rules.alpha) for charge in charges]
