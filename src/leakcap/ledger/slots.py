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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from leakcap.errors import BudgetExceeded, LedgerError, Passed, require
from leakcap.ledger.chain import require_text
from leakcap.ledger.curve import ORDERS, curve_of_pure, curve_ticks
from leakcap.ledger.implied import implied_person, renyi_of_pure
from leakcap.ledger.lattice_gaussian import narrowed
from leakcap.ledger.measured import (
    composed,
    event_text,
    gaussian_distance,
    laplace_distance,
    pure_event,
    rho_of,
)
from leakcap.ledger.ticks import LARGEST, TICKS_PER_UNIT, Curve, Ticks, decimal, spend_ticks, units
from leakcap.numeric import down, float_up, up

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
_LEAST_DELTA = 1e-11
# Gaussian noise of σ² = 8 at the least, where discrete noise is a function of one of half that.
_NARROWEST = 16
# The accountant's last digits are another's on another processor: its ε is rounded up so far.
_ROUNDED = TICKS_PER_UNIT // 10**8


@dataclass(frozen=True)
class Slot:
    """So many answers of at most this ε each; with `nats_table`, that tell at most so much about the whole
    table.

    With ``noise="laplace"`` they must be discrete Laplace noise, of at least `steps` steps of the grid where
    neighbours are farthest apart, as sums are. That costs less, since whole-number noise at a few steps is
    told apart more often. A count is one step.

    With `rho` in place of `epsilon` they are discrete Gaussian noise of at most this ρ each, at `steps` or
    more (one where nothing is said), or answers of so small an ε that such noise tells no less.

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

    def __post_init__(self) -> None:
        _require_name(self.name, "Slot")
        if self.rho is not None and self.noise is None:
            object.__setattr__(self, "noise", "gaussian")
        known = self.noise in (None, "laplace", "gaussian")
        require(known, "noise", "Slot", 'be "laplace", "gaussian" or left out', self.noise)
        if self.steps is None:
            object.__setattr__(self, "steps", 1 if self.noise == "gaussian" else 1000)
        steps = isinstance(self.steps, int) and not isinstance(self.steps, bool)
        require(steps and 1 <= (self.steps or 0) <= 10**15, "steps", "Slot", "be from 1 to 10¹⁵", self.steps)
        whole = isinstance(self.count, int) and not isinstance(self.count, bool)
        rule = f"be a whole number from 1 to {_MOST_ANSWERS:,}"
        require(whole and 1 <= self.count <= _MOST_ANSWERS, "count", "Slot", rule, self.count)
        if self.noise == "gaussian":
            self._check_rho()
        else:
            require(self.rho is None, "rho", "Slot", "be left out of a slot without Gaussian noise", self.rho)
            good = _number(self.epsilon) and 0 < self.epsilon <= _LARGEST_EPSILON
            rule = f"be above 0 and at most {_LARGEST_EPSILON:g} nats"
            require(good, "epsilon", "Slot", rule, self.epsilon)
        nats = _number(self.nats_table) and (0 <= self.nats_table <= LARGEST or self.nats_table == math.inf)
        require(nats, "nats_table", "Slot", f"be from 0 to {LARGEST:,} nats", self.nats_table)
        for name in ("epsilon", "nats_table"):
            object.__setattr__(self, name, float(getattr(self, name)))

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

    @property
    def offered(self) -> str:
        """What each answer has at most."""
        return f"ε {self.epsilon:g}" if self.rho is None else f"ρ {self.rho:g}"

    @property
    def text(self) -> str:
        """What it holds, as a phrase."""
        table = "" if math.isinf(self.nats_table) else f", {self.nats_table:g} nats about the table"
        law = {"laplace": "Laplace", "gaussian": "Gaussian"}.get(self.noise or "")
        steps = f"{self.steps:,} step{'s' * (self.steps != 1)}"
        noise = f" with {law} noise of {steps}" if law else ""
        return f"{self.count:,} answer{'s' * (self.count > 1)} of {self.offered} at most{noise}{table}"

    @property
    def distance(self) -> Fraction:
        """With Laplace noise that of the law which dominates an answer, in scales: ε + ε²/4·steps."""
        epsilon = Fraction(repr(self.epsilon))
        return epsilon + epsilon**2 / (4 * (self.steps or 1))

    @property
    def gaussian(self) -> Fraction:
        """The ρ of the Gaussian noise of which every answer of a slot with `rho` is a function."""
        steps = Fraction(self.steps or 1) ** 2
        found = narrowed(steps / (2 * Fraction(repr(self.rho))), steps)
        assert found is not None
        return found

    def admits(self, own: Ticks, event: str) -> bool:
        """Whether an answer of this price is dominated: ε alone, no δ, and no more about the table; with
        Laplace or Gaussian noise by its event."""
        table = spend_ticks(self.nats_table)
        if own.delta != 0:
            return False
        if table is not None and (own.nats_table is None or own.nats_table > table):
            return False
        if self.rho is not None:
            most = spend_ticks(self.rho)
            fits = own.rho is not None and most is not None and own.rho <= most
            return fits and (self._hides(own.epsilon) or self._below(event))
        epsilon = spend_ticks(self.epsilon)
        fits = own.epsilon is not None and epsilon is not None and own.epsilon <= epsilon
        if self.noise is not None:
            far = laplace_distance(event) if event else None
            fits = fits and far is not None and far <= self.distance
        return fits

    def _below(self, event: str) -> bool:
        """Whether the event is discrete Gaussian noise that hides as much."""
        found = gaussian_distance(event) if event else None
        return found is not None and found <= self.gaussian

    def _hides(self, epsilon: int | None) -> bool:
        """Whether Gaussian noise hides no more than any answer of this ε: a coin flip about randomised
        response, whose trade-off curve has one corner, is guessed no more often."""
        if epsilon is None:
            return False
        mu = down(math.sqrt(2 * float(self.gaussian)), 4)
        return up(math.tanh(units(epsilon) / 2), 8) <= down(math.erf(mu / math.sqrt(8)), 8)


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
        enough = self.delta >= _LEAST_DELTA or not any(one.rho is not None for one in self.slots)
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
    return {"name": "SelfComposedDpEvent", "event": _event(slot), "count": slot.count}


def _event(slot: Slot) -> dict[str, Any]:
    """What dominates an answer."""
    if slot.rho is not None:
        return {"name": "ZCDpEvent", "rho": Fraction(repr(slot.rho))}
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
    if together is None:
        return added
    # The last tick is for discrete noise, which is a function of Gaussian noise but for next to nothing.
    rounded = -(-(together + 1) // _ROUNDED) * _ROUNDED
    if added.epsilon is not None and rounded >= added.epsilon:
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
    law = {"laplace": "discrete Laplace noise that", "gaussian": "discrete Gaussian noise that"}
    steps = f", over {slot.steps:,} steps or more" if slot.noise else ""
    return f"{law.get(slot.noise or '', 'what')} has {slot.offered} at most and no δ{steps}{table}"


def _asks(own: Ticks, slot: Slot) -> str:
    said = "what has no ε" if own.epsilon is None else f"ε {decimal(own.epsilon)}"
    if slot.rho is not None:
        said += " and no ρ" if own.rho is None else f" and ρ {decimal(own.rho)}"
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

    lattice = int(any(one.rho is not None for one in plan.slots))
    curves = [(one.count, curve_ticks(_curve(one))) for one in plan.slots]
    columns = zip(*([count * (t or 0) for t in curve] for count, curve in curves), strict=True)
    return Ticks(
        sum_of(lambda one: one.epsilon),
        0,
        sum_of(lambda one: min(implied_person(one.epsilon, 0.0), _curve(one)[0])),
        sum_of(lambda one: one.nats_table),
        None if alpha is None else sum_of(lambda one: _level(one, alpha)),
        sum_of(lambda one: float_up(rho_of(event_text(_event(one))))),
        0,
        tuple(one + lattice for one in map(sum, columns)),
    )


def _level(slot: Slot, alpha: float) -> float:
    """Between any two contents of a unit, which may be two steps apart."""
    if slot.rho is not None:
        return up(4 * alpha * float_up(slot.gaussian), 4)
    return renyi_of_pure(2 * slot.epsilon, alpha)


def _composed(plan: SlotPlan, end: Callable[[tuple[float, float]], float]) -> int | None:
    """One end of the ε of all slots together at the plan's δ, in ticks rounded up; None for ∞."""
    from leakcap.accounting import PrivacyLoss

    counts: dict[PrivacyLoss, int] = {}
    for one in plan.slots:
        loss = _dominating(one)
        counts[loss] = counts.get(loss, 0) + one.count
    lattice = any(one.rho is not None for one in plan.slots)
    found = PrivacyLoss.of(counts).epsilon_both(plan.delta - 1 / TICKS_PER_UNIT if lattice else plan.delta)
    nats = end((found.lower, found.upper))
    return math.ceil(Fraction(nats) * TICKS_PER_UNIT) if math.isfinite(nats) else None


def _dominating(slot: Slot) -> PrivacyLoss:
    """The pair that every answer of a slot is a function of: randomised response, Laplace or Gaussian
    noise."""
    from leakcap.accounting import PrivacyLoss, dominating_loss
    from leakcap.definition import PureDP
    from leakcap.mechanism import Gaussian, Laplace

    if slot.rho is not None:
        return PrivacyLoss.of_mechanism(Gaussian(down(1 / math.sqrt(2 * float(slot.gaussian)), 8)))
    if slot.noise is None:
        return dominating_loss(PureDP(up(slot.epsilon, 4)))
    return PrivacyLoss.of_mechanism(Laplace(1 / up(float_up(slot.distance), 2)))


@lru_cache(maxsize=256)
def _curve(slot: Slot) -> tuple[float, ...]:
    if slot.rho is not None:
        return tuple(float_up(Fraction(str(order)) * slot.gaussian) for order in ORDERS)
    pure = curve_of_pure(slot.epsilon)
    if slot.noise is None:
        return pure
    loss = _dominating(slot)
    return tuple(min(loss.renyi(order).upper, most) for order, most in zip(ORDERS, pure, strict=True))


def _cut(curve: Curve, epsilon: int) -> Curve:
    """Of what is left without its δ no odds pass e^ε."""
    return tuple(None if one is None else min(one, epsilon) for one in curve)


def _content(slot: Slot) -> dict[str, Any]:
    price = {"epsilon": slot.epsilon} if slot.rho is None else {"rho": slot.rho}
    content: dict[str, Any] = {"name": slot.name, "count": slot.count, **price}
    content |= {"noise": slot.noise, "steps": slot.steps} if slot.noise else {}
    return content if math.isinf(slot.nats_table) else content | {"nats_table": slot.nats_table}


def _require_name(name: object, owner: str) -> None:
    require_text(name, "name", owner)
    good = isinstance(name, str) and bool(name.strip()) and name.isprintable() and len(name) <= 100
    require(good, "name", owner, "be printable text of at most 100 characters", str(name)[:40])


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
