"""Losses whose odds no double holds: the answer is wide and sound, and no route stops at an overflow."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from leakcap.accounting import PrivacyLoss
from leakcap.errors import LeakcapError
from leakcap.mechanism import Gaussian

STEPS, RATE, SIGMA = 100, 0.5, 0.02
LOSS = PrivacyLoss.of_mechanism(Gaussian(SIGMA)).sampled(RATE) ** STEPS


def test_epsilon_lies_above_what_a_simple_event_proves() -> None:
    """With 70 of 100 steps sampled the loss is at least 70/(2σ²) + 100 ln ½ half of the time.

    A sampled step's odds are at least half of e^x, x ~ N(1/(2σ²), 1/σ²), another step's at least half.
    """
    least = 70 / (2 * SIGMA**2) + STEPS * math.log(0.5)
    chance = 0.5 * float(binom.sf(69, STEPS, RATE))
    assert chance > 1.5e-5
    found = LOSS.epsilon(1e-5)
    assert least - 100.0 < found.upper < 1.1 * least
    assert found.lower <= found.upper
    assert LOSS.delta(least - 100.0).upper >= chance * (1.0 - math.exp(-100.0))


@pytest.mark.parametrize("asked", [lambda: LOSS.epsilon_by_grid(1e-5), lambda: LOSS.delta_by_grid(80_000.0)])
def test_a_grid_alone_says_what_it_cannot(asked) -> None:
    with pytest.raises(LeakcapError, match=r"Losses above 700 nats do not fit on a grid\. Ask"):
        asked()
