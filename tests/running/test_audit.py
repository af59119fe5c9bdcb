"""An attacker who chooses the stream after every answer, against the noise and against planted bugs.

In each game a person is in the table or not, with even odds. The attacker sees every answer before the next
step, decides then whether one of the person's rows falls into it and how many rows of others do, and guesses
at the end, by the likelihood. Who is told no more than ρ pays for is right with a probability of Φ(μ/2) at
most, μ² = 2ρ (Dong, Roth & Su 2022). Sources are seeded; over the choice of seeds the sound mechanism is
accused with a probability of 10⁻⁶ at most (Hoeffding).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from leakcap.running import RunningPlan
from leakcap.running.plan import noisy_step
from seeded import SeededSource

STEPS, RHO, GAMES = 16, 0.5, 4000
SLACK = math.sqrt(math.log(1e6) / (2 * GAMES))

Numbers: TypeAlias = NDArray[Any]
Draw: TypeAlias = Callable[[RunningPlan, Numbers, int], list[int]]
"""The answers of a step, of every game one, from the counts (games, steps so far) and a seed."""


def sound(plan: RunningPlan, counts: Numbers, seed: int) -> list[int]:
    return noisy_step(plan, counts, SeededSource(seed + counts.shape[1]))


def reused(plan: RunningPlan, counts: Numbers, seed: int) -> list[int]:
    """The noise of the first step for every step."""
    return noisy_step(plan, counts, SeededSource(seed))


def right_guesses(draw: Draw, plan: RunningPlan, rows: int, seed: int) -> float:
    """How often the attacker is right, of all games, each of which is one series."""
    inside = np.random.default_rng(seed).random(GAMES) < 0.5
    weights = np.array(plan.factor.weights)
    others, own = (np.zeros((GAMES, STEPS), dtype=np.int64) for _ in range(2))
    likelihood, left = np.zeros(GAMES), np.full(GAMES, rows)
    rests = []
    for t in range(STEPS):
        # Rows fall in at the start, and where the last answers left the attacker in doubt.
        own[:, t] = np.minimum(left, int(t < 2) + (np.abs(likelihood) < 0.5))
        left = left - own[:, t]
        others[:, t] = 5 + (likelihood > 0)
        counts = others + own * inside[:, None]
        answers = np.array(draw(plan, counts[:, : t + 1], 1000 * seed))
        shift = own[:, : t + 1] @ weights[: t + 1][::-1]
        rests.append(answers - others[:, : t + 1] @ weights[: t + 1][::-1])
        likelihood += (rests[-1] - shift / 2) * shift / float(plan.variance)
    # Noise that is the same in all steps: what the last answer says beyond the first is exact.
    guess = likelihood > 0 if draw is sound else rests[-1] != rests[0]
    return float((guess == inside).mean())


def ceiling(plan: RunningPlan) -> float:
    """Φ(μ/2)."""
    return (1 + math.erf(math.sqrt(2 * float(plan.rho)) / 2 / math.sqrt(2))) / 2


@pytest.mark.parametrize("rows", [1, 4])
def test_who_chooses_the_stream_is_right_no_more_often_than_is_paid_for(rows: int) -> None:
    plan = RunningPlan.of(STEPS, RHO, rows=rows)
    found = right_guesses(sound, plan, rows, seed=rows)
    assert found <= ceiling(plan) + SLACK
    # The attack is worth something: less than this the sound mechanism would pass whatever it did.
    assert found > 0.6


def scaled(plan: RunningPlan, squares: int) -> RunningPlan:
    """A plan whose noise is scaled to another distance than its own."""
    return RunningPlan(plan.factor, Fraction(squares, 1) / (2 * Fraction(str(RHO))), plan.rows)


BUGS = {
    "the noise of a step is reused": (reused, 1, lambda plan: plan),
    "noise for a row's own step alone": (sound, 1, lambda plan: scaled(plan, plan.factor.weights[0] ** 2)),
    "noise for one row of a person": (sound, 4, lambda plan: scaled(plan, plan.factor.squared_column)),
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug: str) -> None:
    draw, rows, wrong = BUGS[bug]
    plan = RunningPlan.of(STEPS, RHO, rows=rows)
    assert right_guesses(draw, wrong(plan), rows, seed=7) > ceiling(plan) + SLACK
