"""The plans of a policy, `[[plan]]`: answers that the owner fixes beforehand, paid for together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from leakcap.errors import InvalidParameter
from leakcap.ledger import Slot, SlotPlan
from leakcap.policy.declared import Strict

__all__ = ["PolicyPlan", "PolicySlot", "check_plans"]

_OF_A_SLOT = ("count", "epsilon", "nats_table", "noise", "steps", "rho")


class PolicySlot(Strict):
    """So many answers, each of this ε at most; `nats_table` is what each may tell about the table;
    `noise` and `steps` ask for Laplace noise on a fine grid. `rho` in place of ε asks for Gaussian noise."""

    name: str = Field(min_length=1)
    count: int
    epsilon: float | None = None
    nats_table: float | None = None
    noise: Literal["laplace", "gaussian"] | None = None
    steps: int | None = None
    rho: float | None = None

    @property
    def slot(self) -> Slot:
        """As the ledger takes it."""
        table = math.inf if self.nats_table is None else self.nats_table
        epsilon = math.inf if self.epsilon is None else self.epsilon
        return Slot(self.name, self.count, epsilon, table, self.noise, self.steps, self.rho)


class PolicyPlan(Strict):
    """Answers that are fixed beforehand: `slots`, or `count` and `epsilon` of one slot that is called as the
    plan is. They are composed exactly at `delta`, a part of what `delta_of_answers` leaves.

    >>> PolicyPlan.model_validate({"name": "monthly", "count": 12, "epsilon": 0.1}).slots[0].name
    'monthly'
    """

    name: str = Field(min_length=1)
    delta: float = 0.0
    slots: Annotated[tuple[PolicySlot, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _one_slot(cls, content: object) -> object:
        if not isinstance(content, Mapping) or "slots" in content:
            return content
        own = {name: content[name] for name in _OF_A_SLOT if name in content}
        rest = {name: value for name, value in content.items() if name not in _OF_A_SLOT}
        return {**rest, "slots": ({"name": content.get("name"), **own},)}

    @field_validator("slots", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _checked(self) -> Self:
        try:
            self.ledger_plan()
        except InvalidParameter as error:
            raise ValueError(str(error)) from None
        return self

    def ledger_plan(self) -> SlotPlan:
        """As the ledger takes it."""
        return SlotPlan(self.name, tuple(one.slot for one in self.slots), self.delta)


def check_plans(plans: tuple[PolicyPlan, ...]) -> None:
    """Raise `ValueError` where two plans, or two slots, have one name."""
    slots = [slot.name for plan in plans for slot in plan.slots]
    for names in ([plan.name for plan in plans], slots):
        if len(set(names)) < len(names):
            raise ValueError("each `plan`, and each of its `slots`, needs a name of its own")
