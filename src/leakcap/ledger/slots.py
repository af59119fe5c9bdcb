"""A plan: answers that were fixed beforehand, composed exactly, and paid for as one charge.

A plan has slots: a name, how many answers it may give, and the ε that each has at most. Whatever an ε-DP
answer is, it is a function of randomised response with odds e^ε and of nothing else about the unit (Kairouz,
Oh & Viswanath 2015, theorem 3.4). So all answers from slots, in whatever order and about whatever they are
asked, are a function of one draw of all the plan's randomised responses, made when the plan was paid for. To
what comes after, the plan is one answer that was given then: it may be charged with the (ε, δ) of all slots
together, which the accountant computes to many digits, and with the sum of their curves, and every theorem
about charges one after the other holds for it. Slots that are never used tell nothing.

The proof in full stands in `docs/ledger.md`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from leakcap.errors import BudgetExceeded, LedgerError, Passed, require
from leakcap.ledger.curve import ORDERS, curve_of_pure, curve_ticks
from leakcap.ledger.implied import implied_person, renyi_of_pure
from leakcap.ledger.measured import composed, event_text, laplace_distance, pure_event, rho_of
from leakcap.ledger.text import require_text
from leakcap.ledger.ticks import LARGEST, TICKS_PER_UNIT, Curve, Ticks, decimal, spend_ticks, units
from leakcap.numeric import float_up, up

if TYPE_CHECKING:
    from leakcap.accounting import PrivacyLoss

__all__ = [
    "Slot",
    "SlotPlan",
    "SlotUse",
    "charge_of",
    "plan_event",
    "plan_read",
    "plan_text",
    "proven",
    "taken",
]

_LARGEST_EPSILON = 100.0
_MOST_ANSWERS = 10**6
_MOST_SLOTS = 100
# The accountant's last digits are another's on another processor: its ε is rounded up so far.
_ROUNDED = TICKS_PER_UNIT // 10**8


@dataclass(frozen=True)
class Slot:
    """So many answers of at most this ε each; with `nats_table`, that tell at most so much about the whole
    table.

    With ``noise="laplace"`` they must be discrete Laplace noise, of at least `steps` steps of the grid where
    neighbours are farthest apart, as sums are. That costs less, since whole-number noise at a few steps is
    told apart more often. A count is one step.

    >>> Slot("monthly", count=12, epsilon=0.1).text
    '12 answers of ε 0.1 at most'
    """

    name: str
    count: int
    epsilon: float
    nats_table: float = math.inf
    noise: Literal["laplace"] | None = None
    steps: int = 1000

    def __post_init__(self) -> None:
        _require_name(self.name, "Slot")
        require(self.noise in (None, "laplace"), "noise", "Slot", 'be "laplace" or left out', self.noise)
        steps = isinstance(self.steps, int) and not isinstance(self.steps, bool)
        require(steps and 1 <= self.steps <= 10**15, "steps", "Slot", "be from 1 to 10¹⁵", self.steps)
        whole = isinstance(self.count, int) and not isinstance(self.count, bool)
        rule = f"be a whole number from 1 to {_MOST_ANSWERS:,}"
        require(whole and 1 <= self.count <= _MOST_ANSWERS, "count", "Slot", rule, self.count)
        good = _number(self.epsilon) and 0 < self.epsilon <= _LARGEST_EPSILON
        require(good, "epsilon", "Slot", f"be above 0 and at most {_LARGEST_EPSILON:g} nats", self.epsilon)
        nats = _number(self.nats_table) and (0 <= self.nats_table <= LARGEST or self.nats_table == math.inf)
        require(nats, "nats_table", "Slot", f"be from 0 to {LARGEST:,} nats", self.nats_table)
        for name in ("epsilon", "nats_table"):
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def text(self) -> str:
        """What it holds, as a phrase."""
        table = "" if math.isinf(self.nats_table) else f", {self.nats_table:g} nats about the table"
        noise = f" with Laplace noise of {self.steps:,} steps" if self.noise else ""
        return f"{self.count:,} answer{'s' * (self.count > 1)} of ε {self.epsilon:g} at most{noise}{table}"

    @property
    def distance(self) -> Fraction:
        """With Laplace noise that of the law which dominates an answer, in scales: ε + ε²/4·steps."""
        epsilon = Fraction(repr(self.epsilon))
        return epsilon + epsilon**2 / (4 * self.steps)

    def admits(self, own: Ticks, event: str) -> bool:
        """Whether an answer of this price is dominated: ε alone, no δ, and no more about the table; with
        Laplace noise by its event."""
        table = spend_ticks(self.nats_table)
        epsilon = spend_ticks(self.epsilon)
        fits = own.epsilon is not None and epsilon is not None and own.epsilon <= epsilon and own.delta == 0
        if self.noise is not None:
            far = laplace_distance(event) if event else None
            fits = fits and far is not None and far <= self.distance
        return fits and (table is None or (own.nats_table is not None and own.nats_table <= table))


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
    return {"name": "SelfComposedDpEvent", "event": _event(slot), "count": slot.count}


def _event(slot: Slot) -> dict[str, Any]:
    """What dominates an answer."""
    if slot.noise is not None:
        return {"name": "LaplaceDpEvent", "noise_multiplier": 1 / slot.distance}
    return pure_event(Fraction(repr(slot.epsilon)))


def plan_read(text: str) -> SlotPlan:
    """The plan that `plan_text` wrote."""
    content = json.loads(text)
    slots = tuple(Slot(**one) for one in content["slots"])
    return SlotPlan(content["name"], slots, content["delta"])


def charge_of(plan: SlotPlan, alpha: float | None) -> Ticks:
    """What the whole plan is charged, in a ledger whose level is `alpha`: all slots composed.

    >>> year = SlotPlan("year", (Slot("monthly", 12, 0.2),), delta=1e-6)
    >>> decimal(charge_of(year, None).epsilon), decimal(charge_of(year, None).delta)
    ('2.3986893', '0.000001')
    """
    added = _added(plan, alpha)
    together = _composed(plan, lambda ends: ends[1]) if plan.delta else None
    if together is None or added.epsilon is None or together >= added.epsilon:
        return added
    rounded = -(-together // _ROUNDED) * _ROUNDED
    if rounded >= added.epsilon:
        return added
    return added._replace(epsilon=rounded, delta=spend_ticks(plan.delta), curve=_cut(added.curve, rounded))


def proven(plan: SlotPlan, alpha: float | None, charged: Ticks) -> bool:
    """Whether what a plan was charged covers it, computed a second time.

    >>> year = SlotPlan("year", (Slot("monthly", 12, 0.2),), delta=1e-6)
    >>> whole = charge_of(year, None)
    >>> proven(year, None, whole), proven(year, None, whole._replace(epsilon=2 * 10**12))
    (True, False)
    """
    least = _added(plan, alpha)
    if charged.delta:
        # What is charged was an upper end, perhaps on another machine: it cannot lie below a lower end.
        epsilon = _composed(plan, lambda ends: ends[0])
        curve = least.curve if charged.epsilon is None else _cut(least.curve, charged.epsilon)
        least = least._replace(epsilon=epsilon, delta=spend_ticks(plan.delta), curve=curve)
    pairs = [*zip(charged.numbers, least.numbers, strict=True)]
    return len(charged.curve) == len(least.curve) and all(
        found is None or (needed is not None and found >= needed - 1 - needed // 10**9)
        for found, needed in [*pairs, *zip(charged.curve, least.curve, strict=True)]
    )


def taken(
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
                f"Slot `{name}` admits {_limits(slot)}; query `{query}` asks for {_asks(own, slot)}. "
                "Nothing was spent. Ask for less, or without the slot."
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


def _limits(slot: Slot) -> str:
    table = "" if math.isinf(slot.nats_table) else f", and {slot.nats_table:g} nats about the table"
    noise = "discrete Laplace noise that" if slot.noise else "what"
    steps = f", over {slot.steps:,} steps or more" if slot.noise else ""
    return f"{noise} has ε {slot.epsilon:g} at most and no δ{steps}{table}"


def _asks(own: Ticks, slot: Slot) -> str:
    said = "what has no ε" if own.epsilon is None else f"ε {decimal(own.epsilon)}"
    said += f" and δ {units(own.delta):g}" if own.delta else ""
    if math.isinf(slot.nats_table):
        return said
    table = "no bound" if own.nats_table is None else f"{units(own.nats_table):g} nats"
    return f"{said}, with {table} about the table"


def _slots_there(known: Mapping[str, SlotUse]) -> str:
    return f"Its slots are {', '.join(known)}." if known else "It has no plan."


def _added(plan: SlotPlan, alpha: float | None) -> Ticks:
    """Everything added up."""

    def sum_of(nats: Callable[[Slot], float]) -> int | None:
        each = [(one.count, spend_ticks(nats(one))) for one in plan.slots]
        return None if any(t is None for _, t in each) else sum(n * (t or 0) for n, t in each)

    curves = [(one.count, curve_ticks(_curve(one))) for one in plan.slots]
    columns = zip(*([count * (t or 0) for t in curve] for count, curve in curves), strict=True)
    return Ticks(
        sum_of(lambda one: one.epsilon),
        0,
        sum_of(lambda one: min(implied_person(one.epsilon, 0.0), _curve(one)[0])),
        sum_of(lambda one: one.nats_table),
        None if alpha is None else sum_of(lambda one: renyi_of_pure(2 * one.epsilon, alpha)),
        sum_of(lambda one: float_up(rho_of(event_text(_event(one))))),
        0,
        tuple(map(sum, columns)),
    )


def _composed(plan: SlotPlan, end: Callable[[tuple[float, float]], float]) -> int | None:
    """One end of the ε of all slots together at the plan's δ, in ticks rounded up; None for ∞."""
    from leakcap.accounting import PrivacyLoss

    counts: dict[PrivacyLoss, int] = {}
    for one in plan.slots:
        loss = _dominating(one)
        counts[loss] = counts.get(loss, 0) + one.count
    found = PrivacyLoss.of(counts).epsilon_both(plan.delta)
    nats = end((found.lower, found.upper))
    return math.ceil(Fraction(nats) * TICKS_PER_UNIT) if math.isfinite(nats) else None


def _dominating(slot: Slot) -> PrivacyLoss:
    """The pair that every answer of a slot is a function of: randomised response, or Laplace noise."""
    from leakcap.accounting import PrivacyLoss, dominating_loss
    from leakcap.definition import PureDP
    from leakcap.mechanism import Laplace

    if slot.noise is None:
        return dominating_loss(PureDP(up(slot.epsilon, 4)))
    return PrivacyLoss.of_mechanism(Laplace(1 / up(float_up(slot.distance), 2)))


@lru_cache(maxsize=256)
def _curve(slot: Slot) -> tuple[float, ...]:
    pure = curve_of_pure(slot.epsilon)
    if slot.noise is None:
        return pure
    loss = _dominating(slot)
    return tuple(min(loss.renyi(order).upper, most) for order, most in zip(ORDERS, pure, strict=True))


def _cut(curve: Curve, epsilon: int) -> Curve:
    """Of what is left without its δ no odds pass e^ε."""
    return tuple(None if one is None else min(one, epsilon) for one in curve)


def _content(slot: Slot) -> dict[str, Any]:
    content: dict[str, Any] = {"name": slot.name, "count": slot.count, "epsilon": slot.epsilon}
    content |= {"noise": slot.noise, "steps": slot.steps} if slot.noise else {}
    return content if math.isinf(slot.nats_table) else content | {"nats_table": slot.nats_table}


def _require_name(name: object, owner: str) -> None:
    require_text(name, "name", owner)
    good = isinstance(name, str) and bool(name.strip()) and name.isprintable() and len(name) <= 100
    require(good, "name", owner, "be printable text of at most 100 characters", str(name)[:40])


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
