"""A plan: answers that were fixed beforehand, composed exactly, and paid for as one charge.

A plan has slots: a name, how many answers it may give, and the ε that each has at most. Whatever an ε-DP
answer is, it is a function of randomised response with odds e^ε and of nothing else about the unit (Kairouz,
Oh & Viswanath 2015, theorem 3.4). So all answers from slots, in whatever order and about whatever they are
asked, are a function of one draw of all the plan's randomised responses, made when the plan was paid for (or
of Laplace or Gaussian noise, where slots say so). To
what comes after, the plan is one answer that was given then: it may be charged with the (ε, δ) of all slots
together, which the accountant computes to many digits, and with the sum of their curves, and every theorem
about charges one after the other holds for it. Slots that are never used tell nothing.

The proof in full stands in `docs/ledger.md`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal

from leakcap.errors import require
from leakcap.ledger.chain import require_text
from leakcap.ledger.gaussian_laws import GaussianNoise, PlannedDescent
from leakcap.ledger.slot_laws import AnyPure, LaplaceNoise, SlotLaw
from leakcap.ledger.ticks import LARGEST, Ticks, spend_ticks
from leakcap.ledger.values import composed, event_text

__all__ = [
    "Slot",
    "SlotPlan",
    "SlotUse",
    "plan_event",
    "plan_read",
    "plan_text",
]

_LARGEST_EPSILON = 100.0
_MOST_ANSWERS = 10**6
_MOST_SLOTS = 100
_LEAST_DELTA = 1e-11
# Gaussian noise of σ² = 8 at the least, where discrete noise is a function of one of half that.
_NARROWEST = 16


@dataclass(frozen=True)
class Slot:
    """So many answers of at most this ε each; with `nats_table`, that tell at most so much about the whole
    table.

    With ``noise="laplace"`` they must be discrete Laplace noise, of at least `steps` steps of the grid where
    neighbours are farthest apart, as sums are. That costs less, since whole-number noise at a few steps is
    told apart more often. A count is one step.

    With `rho` in place of `epsilon` they are discrete Gaussian noise of at most this ρ each, at `steps` or
    more (one where nothing is said), or answers of so small an ε that such noise tells no less.

    With `descent` in place of both they are gradient descents that tell no more than this one.

    >>> Slot("monthly", count=12, epsilon=0.1).text
    '12 answers of ε 0.1 at most'
    """

    name: str
    count: int
    epsilon: float = math.inf
    nats_table: float = math.inf
    noise: Literal["laplace", "gaussian"] | None = None
    steps: int | None = None
    rho: float | None = None
    descent: PlannedDescent | None = None

    def __post_init__(self) -> None:
        _require_name(self.name, "Slot")
        whole = isinstance(self.count, int) and not isinstance(self.count, bool)
        rule = f"be a whole number from 1 to {_MOST_ANSWERS:,}"
        require(whole and 1 <= self.count <= _MOST_ANSWERS, "count", "Slot", rule, self.count)
        if self.descent is None:
            self._check_noise()
        else:
            self._check_descent(self.descent)
        nats = _number(self.nats_table) and (0 <= self.nats_table <= LARGEST or self.nats_table == math.inf)
        require(nats, "nats_table", "Slot", f"be from 0 to {LARGEST:,} nats", self.nats_table)
        for name in ("epsilon", "nats_table"):
            object.__setattr__(self, name, float(getattr(self, name)))

    def _check_descent(self, descent: PlannedDescent) -> None:
        require(isinstance(descent, PlannedDescent), "descent", "Slot", "be a `PlannedDescent`", descent)
        for name, none in (("epsilon", math.inf), ("noise", None), ("steps", None), ("rho", None)):
            value = getattr(self, name)
            require(value == none, name, "Slot", "be left out beside `descent`, which says it", value)

    def _check_noise(self) -> None:
        if self.rho is not None and self.noise is None:
            object.__setattr__(self, "noise", "gaussian")
        known = self.noise in (None, "laplace", "gaussian")
        require(known, "noise", "Slot", 'be "laplace", "gaussian" or left out', self.noise)
        if self.steps is None:
            object.__setattr__(self, "steps", 1 if self.noise == "gaussian" else 1000)
        steps = isinstance(self.steps, int) and not isinstance(self.steps, bool)
        require(steps and 1 <= (self.steps or 0) <= 10**15, "steps", "Slot", "be from 1 to 10¹⁵", self.steps)
        if self.noise == "gaussian":
            self._check_rho()
            return
        require(self.rho is None, "rho", "Slot", "be left out of a slot without Gaussian noise", self.rho)
        good = _number(self.epsilon) and 0 < self.epsilon <= _LARGEST_EPSILON
        rule = f"be above 0 and at most {_LARGEST_EPSILON:g} nats"
        require(good, "epsilon", "Slot", rule, self.epsilon)

    def _check_rho(self) -> None:
        alone = _number(self.epsilon) and math.isinf(self.epsilon)
        rule = "be left out of a slot of Gaussian noise, whose price is `rho`"
        require(alone, "epsilon", "Slot", rule, self.epsilon)
        most = (self.steps or 1) ** 2 / _NARROWEST
        good = _number(self.rho) and 0 < (self.rho or 0.0) <= min(most, _LARGEST_EPSILON)
        remedy = "Give more `steps`, the distance of neighbours in L2, where every answer has them."
        rule = f"be above 0 and at most {min(most, _LARGEST_EPSILON):g}"
        require(good, "rho", "Slot", rule, self.rho, remedy)
        object.__setattr__(self, "rho", float(self.rho or 0.0))

    @cached_property
    def law(self) -> SlotLaw:
        """What every answer is a function of."""
        if self.descent is not None:
            return self.descent
        if self.rho is not None:
            return GaussianNoise(self.rho, self.steps or 1)
        return LaplaceNoise(self.epsilon, self.steps or 1000) if self.noise else AnyPure(self.epsilon)

    @property
    def text(self) -> str:
        """What it holds, as a phrase."""
        table = "" if math.isinf(self.nats_table) else f", {self.nats_table:g} nats about the table"
        return f"{self.count:,} answer{'s' * (self.count > 1)} of {self.law.text}{table}"

    def admits(self, own: Ticks, event: str) -> bool:
        """Whether an answer of this price and event is dominated, and tells no more about the table."""
        table = spend_ticks(self.nats_table)
        if table is not None and (own.nats_table is None or own.nats_table > table):
            return False
        return self.law.admits(own, event)


@dataclass(frozen=True)
class SlotPlan:
    """Slots that are paid for together, at once; `delta` is the δ at which they are composed.

    It counts against what answers with a δ of their own may use (`delta_of_answers`). At 0 their ε is added
    up.

    >>> SlotPlan("year", (Slot("monthly", 12, 0.1), Slot("yearly", 1, 0.5)), delta=1e-6).text
    '12 answers of ε 0.1 at most, 1 answer of ε 0.5 at most'
    """

    name: str
    slots: Sequence[Slot]
    delta: float = 0.0

    def __post_init__(self) -> None:
        _require_name(self.name, "SlotPlan")
        object.__setattr__(self, "slots", tuple(self.slots))
        good = all(isinstance(one, Slot) for one in self.slots) and 1 <= len(self.slots) <= _MOST_SLOTS
        require(good, "slots", "SlotPlan", f"be 1 to {_MOST_SLOTS} slots", len(self.slots))
        names = [one.name for one in self.slots]
        require(len(set(names)) == len(names), "slots", "SlotPlan", "have a name of its own each", names)
        small = _number(self.delta) and (self.delta == 0 or 1e-12 <= self.delta < 1)
        require(small, "delta", "SlotPlan", "be 0, or from 10⁻¹² to below 1", self.delta)
        enough = self.delta >= _LEAST_DELTA or not any(one.law.nearly for one in self.slots)
        rule = "be from 10⁻¹¹ where a slot has Gaussian noise, which has no ε without one"
        require(enough, "delta", "SlotPlan", rule, self.delta)
        object.__setattr__(self, "delta", float(self.delta))

    @property
    def text(self) -> str:
        """What its slots hold, as a phrase."""
        return ", ".join(one.text for one in self.slots)


@dataclass(frozen=True)
class SlotUse:
    """How often a slot was used so far, and of which plan it is."""

    plan: str
    slot: Slot
    used: int

    @property
    def left(self) -> int:
        """How many answers it still has."""
        return self.slot.count - self.used


def plan_text(plan: SlotPlan) -> str:
    """The plan as canonical JSON, as the chain keeps it.

    >>> plan_read(plan_text(SlotPlan("p", (Slot("s", 2, 0.5),)))).slots[0].count
    2
    """
    content = {"delta": plan.delta, "slots": [_content(one) for one in plan.slots]}
    return json.dumps({"name": plan.name, **content}, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plan_event(plan: SlotPlan) -> str:
    """What the whole plan is, as an event.

    >>> plan_event(SlotPlan("p", (Slot("s", 2, 0.5),)))[:44]
    '{"count":2,"event":{"delta":"0","epsilon":"1'
    """
    return event_text(composed([_repeated(one) for one in plan.slots]))


def _repeated(slot: Slot) -> dict[str, Any]:
    return {"name": "SelfComposedDpEvent", "event": slot.law.event, "count": slot.count}


def plan_read(text: str) -> SlotPlan:
    """The plan that `plan_text` wrote."""
    content = json.loads(text)
    slots = tuple(_slot_read(one) for one in content["slots"])
    return SlotPlan(content["name"], slots, content["delta"])


def _slot_read(content: dict[str, Any]) -> Slot:
    descent = content.pop("descent", None)
    return Slot(**content, descent=None if descent is None else PlannedDescent(**descent))


def _content(slot: Slot) -> dict[str, Any]:
    content: dict[str, Any] = {"name": slot.name, "count": slot.count, **slot.law.content}
    return content if math.isinf(slot.nats_table) else content | {"nats_table": slot.nats_table}


def _require_name(name: object, owner: str) -> None:
    require_text(name, "name", owner)
    good = isinstance(name, str) and bool(name.strip()) and name.isprintable() and len(name) <= 100
    require(good, "name", owner, "be printable text of at most 100 characters", str(name)[:40])


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
