"""What a new ledger would say to its first charges, before there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime

from leakcap.ledger import planning
from leakcap.ledger.accounts import batch_of, booked, refusals_logged, ticks_asked
from leakcap.ledger.caps import Caps
from leakcap.ledger.chain import START
from leakcap.ledger.database import connect
from leakcap.ledger.limits import Balance, balances
from leakcap.ledger.rules import rules_of
from leakcap.ledger.slots import SlotPlan, SlotUse
from leakcap.ledger.state import State
from leakcap.ledger.ticks import NOTHING, Ticks
from leakcap.ledger.values import Charge

__all__ = ["UnbegunLedger"]


class UnbegunLedger:
    """A ledger that nobody has begun: whose it would be, under which caps, with which plans paid for.

    Nothing of it is made, recorded or logged as spent. Raises what `Ledger.open` and `Ledger.plan` would
    raise of its place and of the plans.
    """

    def __init__(self, url: str, *, dataset: str, policy: str, caps: Caps, plans: Sequence[SlotPlan]) -> None:
        with closing(connect(url)) as database:
            self._label = database.label
        self._time = datetime.now(UTC).isoformat(timespec="microseconds")
        rules = rules_of(caps)
        state = State(dataset, policy, rules, 1, self._time, START, 0, NOTHING)
        for plan in planning.new_among([], rules, plans, self._label):
            _, state = planning.paid(state, plan, self._time)
        self._state = state
        self._slots = {slot.name: SlotUse(plan.name, slot, 0) for plan in plans for slot in plan.slots}

    def check(self, charges: Iterable[Charge]) -> None:
        """Raise what `Ledger.check` would of these charges, the first that it gets."""
        batch, state = batch_of(charges), self._state
        with refusals_logged(batch):
            asked = ticks_asked(batch, state)
            planning.uses_among(self._slots, batch, asked, self._label)
            booked(_nothing, state, batch, asked, self._time, self._label)

    def slots(self) -> list[SlotUse]:
        """Every slot of the plans, none used."""
        return list(self._slots.values())

    def balances(self) -> list[Balance]:
        """For every currency its cap, and what the plans leave of it."""
        rules = self._state.rules
        return balances(self._state.spent, rules.whole, rules.alpha)


def _nothing(scope: str, name: str) -> tuple[Ticks, bool]:
    """No account stands yet."""
    return NOTHING, False
