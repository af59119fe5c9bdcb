"""What a ledger would say to batches still to come: which caps would refuse each. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from leakcap.errors import BudgetExceeded, Passed
from leakcap.ledger.accounts import booked
from leakcap.ledger.limits import Balance, balances
from leakcap.ledger.planning import uses_among
from leakcap.ledger.slots import SlotUse
from leakcap.ledger.state import State
from leakcap.ledger.ticks import NOTHING, Ticks
from leakcap.ledger.values import Charge

__all__ = ["Rehearsed", "rehearse"]


@dataclass(frozen=True)
class Rehearsed:
    """What the ledger would do with a batch: the reason for a refusal (empty if it would be taken), and the
    balances afterwards.

    `balances` are those of everything afterwards, `period` those of the calendar period that it falls into
    (none where periods have no caps), or of the first that it is about, where they count by reference.
    """

    moment: datetime
    refused: str
    passed: tuple[Passed, ...]
    balances: tuple[Balance, ...]
    period: tuple[Balance, ...]


def rehearse(
    state: State,
    slots: Mapping[str, SlotUse],
    load: Callable[[str, str], tuple[Ticks, bool]],
    batches: Sequence[tuple[datetime, Sequence[Charge]]],
    label: str,
) -> list[Rehearsed]:
    """One batch after the other, by the rules of `reserve`; one that is refused spends nothing."""
    known, accounts, found = dict(slots), dict[tuple[str, str], tuple[Ticks, bool]](), []

    def account(scope: str, name: str) -> tuple[Ticks, bool]:
        place = (scope, name)
        return accounts[place] if place in accounts else load(scope, name)

    rules = state.rules
    for moment, charges in batches:
        time = moment.isoformat()
        asked = [charge.spend.ticks(rules.alpha) for charge in charges]
        refused = ""
        passed: tuple[Passed, ...] = ()
        try:
            uses = uses_among(known, charges, asked, label)
            after = booked(account, state, charges, asked, time, label)
        except BudgetExceeded as error:
            refused, passed = str(error), tuple(error.passed)
        else:
            state = replace(state, spent=after.spent)
            accounts |= {(one.scope, one.name): (one.spent, one.stands) for one in after.accounts}
            for charge, use in zip(charges, uses, strict=True):
                if charge.slot:
                    known[charge.slot] = replace(known[charge.slot], used=use)
        period: tuple[Balance, ...] = ()
        if rules.period is not None and rules.of_period is not None:
            reference = charges[0].reference if charges else ""
            places = rules.places("", time, reference)
            spent = next((account(*one)[0] for one in places if one[0] == rules.period_scope), NOTHING)
            period = tuple(balances(spent, rules.of_period, rules.alpha))
        whole = tuple(balances(state.spent, rules.whole, rules.alpha))
        found.append(Rehearsed(moment, refused, passed, whole, period))
    return found
