"""Plans and their slots in the database: what was paid for, and how often each slot was used."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, func, select

from leakcap.errors import LedgerError
from leakcap.ledger.schema import EVENT
from leakcap.ledger.slots import SlotPlan, SlotUse, plan_read, plan_text, taken
from leakcap.ledger.state import State
from leakcap.ledger.ticks import Ticks
from leakcap.ledger.values import Charge

__all__ = ["plans_of", "require_new", "slots_of", "standing", "uses_of"]

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
    """Which use of its slot each charge is; nothing is read where none names a slot."""
    if not any(charge.slot for charge in charges):
        return []
    wanted = [
        (charge.slot, charge.query, own, charge.spend.event_text)
        for charge, own in zip(charges, asked, strict=True)
    ]
    return taken(slots_of(connection), wanted, label)


def standing(connection: Connection, plan: SlotPlan) -> bool:
    """Whether this very plan was paid for before."""
    return any(plan_text(one) == plan_text(plan) for one in plans_of(connection))


def require_new(connection: Connection, state: State, plan: SlotPlan, label: str) -> None:
    """Raise `LedgerError` where the ledger has another plan, or a slot, of the same name, or where people
    have caps of their own."""
    if state.rules.each_person:
        raise LedgerError(
            f"Under the policy of ledger `{label}` people have caps of their own (`caps.each_person`), which "
            "are caps on ε added up. A plan is not. Nothing was spent."
        )
    for one in plans_of(connection):
        both = {slot.name for slot in one.slots} & {slot.name for slot in plan.slots}
        if one.name == plan.name or both:
            raise LedgerError(
                f"Ledger `{label}` has {'another plan' if one.name == plan.name else 'a plan with a slot'} "
                f"called `{plan.name if one.name == plan.name else min(both)}`, which was paid for. Nothing "
                "was spent. Take another name."
            )
