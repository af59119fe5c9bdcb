"""From a plan to its tally: what the answers of each slot are functions of."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from leakcap.ledger.gaussian_laws import GaussianNoise, PlannedDescent
from leakcap.ledger.slot_laws import LaplaceNoise, SlotLaw
from leakcap.ledger.slots import plan_read
from leakcap.numeric import float_up, up
from leakcap.statement.tally import Composed, Tally

__all__ = ["of_plan"]


@lru_cache(maxsize=64)
def of_plan(text: str, relation: str) -> Composed:
    """All answers of a plan, from its canonical JSON: its slots say what each is a function of.

    Between two contents each answer is twice as far apart: of responses in ε (randomised response of 2ε), of
    Gaussian noise in distance (Dong, Roth & Su 2022, theorem 2.14). Of steps on samples no such pair is
    known.

    >>> from leakcap.ledger.slots import Slot, SlotPlan, plan_text
    >>> of_plan(plan_text(SlotPlan("year", [Slot("monthly", 12, 0.1)])), "replace-one").neighbours.pure
    ((0.1, 12),)
    """
    slots = plan_read(text).slots
    between = [_of_law(slot.law).times(slot.count) for slot in slots]
    if relation == "replace-one":
        return Composed(Tally.total(between))
    contents = None if any(one.steps for one in between) else Tally.total(map(_twice_as_far, between))
    return Composed(Tally.total(between), contents)


def _of_law(law: SlotLaw) -> Tally:
    """One answer of a slot."""
    if isinstance(law, PlannedDescent):
        steps = law.dominating
        known = Tally.of_steps(steps.noise, steps.rate, steps.count)
        assert known is not None  # a descent of a slot has a multiplier of 1/100 or more
        return replace(known, curve=law.curve)
    if isinstance(law, GaussianNoise):
        return Tally(gaussian=float_up(2 * law.narrow), curve=law.curve)
    laplace = float_up(law.distance) if isinstance(law, LaplaceNoise) else math.inf
    return Tally(pure=((law.epsilon, 1),), laplace=laplace, curve=law.curve)


def _twice_as_far(one: Tally) -> Tally:
    return Tally(gaussian=up(4 * one.gaussian), pure=tuple((2 * epsilon, n) for epsilon, n in one.pure))
