"""Plans and their slots in the database: what was paid for, and how often each slot was used."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from leakcap.errors import BudgetExceeded, LedgerError, Passed
from leakcap.ledger.events import plan_row
from leakcap.ledger.plan_price import charge_of
from leakcap.ledger.rules import CapsInTicks, excess, refuse, unallowed_delta
from leakcap.ledger.schema import EVENT
from leakcap.ledger.slots import Slot, SlotPlan, SlotUse, plan_read, plan_text
from leakcap.ledger.state import State
from leakcap.ledger.ticks import Ticks, total, units
from leakcap.ledger.values import Charge

__all__ = ["due", "new_among", "paid", "plans_of", "slots_of", "uses_among", "uses_of"]

_PLANS = select(EVENT.c.details).where(EVENT.c.kind == "plan").order_by(EVENT.c.seq)
_USED = select(func.max(EVENT.c.slot_use)).where(EVENT.c.slot == bindparam("named"))


def plans_of(connection: Connection) -> list[SlotPlan]:
    """Every plan that was paid for, oldest first."""
    return [plan_read(text) for text in connection.execute(_PLANS).scalars()]


def slots_of(connection: Connection) -> dict[str, SlotUse]:
    """Every slot by its name."""
    return {
        slot.name: SlotUse(plan.name, slot, connection.execute(_USED, {"named": slot.name}).scalar() or 0)
        for plan in plans_of(connection)
        for slot in plan.slots
    }


def uses_of(
    connection: Connection, charges: Sequence[Charge], asked: Sequence[Ticks], label: str
) -> list[int]:
    """Which use of its slot each charge is, 0 where it names none."""
    return uses_among(slots_of(connection), charges, asked, label)


def uses_among(
    known: Mapping[str, SlotUse], charges: Sequence[Charge], asked: Sequence[Ticks], label: str
) -> list[int]:
    """The same; `known` says how far each slot is used up."""
    wanted = [
        (charge.slot, charge.query, own, charge.spend.event_text)
        for charge, own in zip(charges, asked, strict=True)
    ]
    return _taken(known, wanted, label)


def due(connection: Connection, rules: CapsInTicks, wanted: Sequence[SlotPlan], label: str) -> list[SlotPlan]:
    """Those of the plans that were not paid for before. Raises `LedgerError` where another plan has the name
    of one, or of a slot of it, or where people have caps of their own."""
    return new_among(plans_of(connection), rules, wanted, label)


def new_among(
    known: Sequence[SlotPlan], rules: CapsInTicks, wanted: Sequence[SlotPlan], label: str
) -> list[SlotPlan]:
    """The same; `known` are those that were paid for."""
    known, found = list(known), []
    for plan in wanted:
        if not any(plan_text(one) == plan_text(plan) for one in known):
            _require_new(known, rules, plan, label)
            known.append(plan)
            found.append(plan)
    return found


def paid(state: State, plan: SlotPlan, time: str) -> tuple[dict[str, Any], State]:
    """The row that pays for a plan, and the state after it. Raises `BudgetExceeded` where it passes a cap."""
    charged = charge_of(plan, state.rules.alpha)
    try:
        owner = f"dataset `{state.dataset}`"
        beyond = unallowed_delta(charged, state.rules.whole, owner)
        refuse(excess(state.spent, charged, state.rules.whole, owner) + beyond)
    except BudgetExceeded as error:
        raise error.saying(f"Plan `{plan.name}` does not fit. {error}") from None
    row = plan_row(state, time, plan, charged)
    spent = total([state.spent, charged])
    return row, replace(state, rows=row["seq"], time=time, head=row["hash"], spent=spent)


def _require_new(known: Sequence[SlotPlan], rules: CapsInTicks, plan: SlotPlan, label: str) -> None:
    if rules.each_person:
        raise LedgerError(
            f"Under the policy of ledger `{label}` people have caps of their own (`caps.each_person`), which "
            "are caps on ε added up. A plan is not. Nothing was spent."
        )
    for one in known:
        both = {slot.name for slot in one.slots} & {slot.name for slot in plan.slots}
        if one.name == plan.name or both:
            raise LedgerError(
                f"Ledger `{label}` has {'another plan' if one.name == plan.name else 'a plan with a slot'} "
                f"called `{plan.name if one.name == plan.name else min(both)}`, which was paid for. Nothing "
                "was spent. Take another name."
            )


def _taken(
    known: Mapping[str, SlotUse], wanted: Sequence[tuple[str, str, Ticks, str]], label: str
) -> list[int]:
    """For each charge that is asked from a slot, which use of it this is, from 1; for others 0.

    `wanted` are a slot's name, a query's, its own price and its event. Raises `BudgetExceeded` for a slot
    that is used up, `LedgerError` for one that is not there, or does not admit the query.
    """
    used = {name: one.used for name, one in known.items()}
    places = []
    for name, query, own, event in wanted:
        if not name:
            places.append(0)
            continue
        if name not in known:
            raise LedgerError(
                f"Ledger `{label}` has no slot `{name}` for query `{query}`. Nothing was spent. "
                f"{_slots_there(known)}"
            )
        slot = known[name].slot
        if not slot.admits(own, event):
            raise LedgerError(
                f"Slot `{name}` admits {slot.law.limits}{_table(slot)}; query `{query}` asks for "
                f"{slot.law.asked(own, event)}{_of_the_table(own, slot)}. Nothing was spent. "
                "Ask for less, or without the slot."
            )
        used[name] += 1
        if used[name] > slot.count:
            raise BudgetExceeded(
                f"Slot `{name}` of plan `{known[name].plan}` has {known[name].left} of {slot.count} answers "
                "left. Nothing was spent. Ask without the slot.",
                passed=[
                    Passed(
                        f"slot {name}",
                        slot.count,
                        known[name].left,
                        sum(1 for one in wanted if one[0] == name),
                    )
                ],
            )
        places.append(used[name])
    return places


def _table(slot: Slot) -> str:
    return "" if math.isinf(slot.nats_table) else f", and {slot.nats_table:g} nats about the table"


def _of_the_table(own: Ticks, slot: Slot) -> str:
    if math.isinf(slot.nats_table):
        return ""
    table = "no bound" if own.nats_table is None else f"{units(own.nats_table):g} nats"
    return f", with {table} about the table"


def _slots_there(known: Mapping[str, SlotUse]) -> str:
    return f"Its slots are {', '.join(known)}." if known else "It has no plan."
