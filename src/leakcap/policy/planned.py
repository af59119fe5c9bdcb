"""The plans of a policy, `[[plan]]`: answers that the owner fixes beforehand, paid for together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from leakcap.errors import InvalidParameter
from leakcap.policy.validation import Strict

# A policy that plans nothing does not wait for the laws of slots.
if TYPE_CHECKING:
    from leakcap.ledger import Slot, SlotPlan

__all__ = ["PolicyPlan", "PolicySlot", "check_deltas", "check_plans"]

_OF_A_SLOT = ("count", "epsilon", "nats_table", "noise", "steps", "rho", "descent")


class PolicyDescent(Strict):
    """A gradient descent as `PrivateGradientDescent` takes it; `sample_rate` may be a text, ``"1/100"``."""

    noise_multiplier: float
    sample_rate: float | str
    steps: int


class PolicySlot(Strict):
    """`count` answers, each with at most this ε; `nats_table` is what each may tell about the table;
    `noise` and `steps` ask for Laplace noise on a fine grid. `rho` in place of ε asks for Gaussian noise,
    `descent` for gradient descents."""

    name: str = Field(min_length=1)
    count: int
    epsilon: float | None = None
    nats_table: float | None = None
    noise: Literal["laplace", "gaussian"] | None = None
    steps: int | None = None
    rho: float | None = None
    descent: PolicyDescent | None = None

    def slot(self, neighbours: str) -> Slot:
        """As the ledger takes it, under this neighbouring relation."""
        from leakcap.ledger import PlannedDescent, Slot

        table = math.inf if self.nats_table is None else self.nats_table
        epsilon = math.inf if self.epsilon is None else self.epsilon
        descent = None
        if self.descent is not None:
            told = self.descent
            replaced = neighbours == "replace-one"
            descent = PlannedDescent(told.noise_multiplier, told.sample_rate, told.steps, replaced)
        return Slot(self.name, self.count, epsilon, table, self.noise, self.steps, self.rho, descent)


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

    def ledger_plan(self, neighbours: str = "add-remove-one") -> SlotPlan:
        """As the ledger takes it, under this neighbouring relation."""
        from leakcap.ledger import SlotPlan

        return SlotPlan(self.name, tuple(one.slot(neighbours) for one in self.slots), self.delta)


def check_plans(plans: tuple[PolicyPlan, ...], neighbours: str) -> None:
    """Raise `ValueError` where two plans, or two slots, have one name, or a descent is none under this
    neighbouring relation."""
    slots = [slot.name for plan in plans for slot in plan.slots]
    for names in ([plan.name for plan in plans], slots):
        if len(set(names)) < len(names):
            raise ValueError("each `plan`, and each of its `slots`, needs a name of its own")
    for plan in plans:
        try:
            plan.ledger_plan(neighbours)
        except InvalidParameter as error:
            raise ValueError(f"plan `{plan.name}` under {neighbours} neighbours: {error}") from None


def check_deltas(plans: tuple[PolicyPlan, ...], delta: float | None) -> None:
    """Raise `ValueError` for a plan with a δ where the caps allow none: no cap would hold it."""
    for plan in plans:
        if plan.delta > 0.0 and not delta:
            raise ValueError(
                f"plan `{plan.name}` has a `delta` of {plan.delta:g}, and `caps` has none that it could be a "
                "part of. Give `caps` a `delta`, or leave out that of the plan"
            )
