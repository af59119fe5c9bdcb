"""Information of order α under a prior, against mpmath, and ascents that go side by side."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from leakcap.capacities.solvers.level_prior import LevelObjective
from strange_channels import strange_channels

CHANNELS = [channel.matrix for channel, _ in strange_channels(25, seed=31)]
ORDERS = (0.2, 0.5, 1.0 + 1e-6, 2.0, 5.0, 60.0)


def in_many_digits(rows: np.ndarray, prior: np.ndarray, alpha: float) -> mpmath.mpf:
    """(1/(α−1)) ln Σ_xy π_x C_xy^α q_y^{1−α} with 60 digits, rows and prior scaled to sum to one."""
    with mpmath.workdps(60):
        belief = [mpmath.mpf(float(p)) for p in prior]
        belief = [p / mpmath.fsum(belief) for p in belief]
        table = [[mpmath.mpf(float(entry)) for entry in row] for row in rows]
        table = [[entry / mpmath.fsum(row) for entry in row] for row in table]
        order, total = mpmath.mpf(alpha), mpmath.mpf(0)
        for column in zip(*table, strict=True):
            seen = mpmath.fsum(p * c for p, c in zip(belief, column, strict=True))
            for p, c in zip(belief, column, strict=True):
                total += p * c**order * seen ** (1 - order) if p > 0 and c > 0 else 0
        return mpmath.log(total) / (order - 1)


@pytest.mark.parametrize("alpha", ORDERS)
def test_the_lower_end_is_below_and_near(alpha: float) -> None:
    rng = np.random.default_rng(5)
    for rows in CHANNELS:
        prior = rng.dirichlet(np.full(len(rows), 0.5))
        prior = prior if prior.min() > 1e-150 else np.full(len(rows), 1.0 / len(rows))
        truth, lower = in_many_digits(rows, prior, alpha), LevelObjective(rows, alpha).lower(prior)
        assert lower <= max(truth, 0)
        assert truth - lower <= 1e-9 * (1 + abs(truth))


@pytest.mark.parametrize("alpha", ORDERS)
def test_the_first_steps_side_by_side_are_those_that_each_takes_alone(alpha: float) -> None:
    """Few steps: later ones magnify the roundings in which sums of different shapes differ."""
    rng = np.random.default_rng(6)
    for rows in CHANNELS:
        objective = LevelObjective(rows, alpha)
        starts = rng.dirichlet(np.full(len(rows), 0.5), size=5)
        together = objective.ascend(starts, 3)
        assert together.shape == starts.shape
        for start, reached in zip(starts, together, strict=True):
            assert np.isclose(reached.sum(), 1.0, rtol=1e-12)
            assert reached.min() >= 0.0
            alone = objective.lower(objective.ascend(start[None], 3)[0])
            assert objective.lower(reached) == pytest.approx(alone, rel=1e-6, abs=1e-8)
            assert objective.lower(reached) >= objective.lower(start) - 1e-12


def test_an_ascent_reaches_the_capacity_of_a_channel_that_is_known() -> None:
    objective = LevelObjective(np.eye(4), 0.5)
    reached = objective.ascend(np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]]), 300)
    assert np.allclose(reached, 0.25, atol=1e-5)
