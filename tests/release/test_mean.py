"""Intervals of means against their definition by plain halving, and how often they cover."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leakcap.release.numbers.fieller import fieller_ends
from leakcap.release.numbers.tails import Floats
from leakcap.release.statistics import statistic_of
from leakcap.sampling import discrete_laplace
from release.claims import covers, released
from release.world import planned, policy_of

RUNS = 4_000


def test_ends_are_those_of_the_definition() -> None:
    """All r at which S − rN is no further from 0 than 95 % of its noise goes, added up."""
    plan = planned(policy_of(), statistic="mean", column="x", epsilon=4.0)
    grid = plan.grid
    assert grid is not None
    scales = [float(part.scale) for part in plan.parts]
    within = (float(grid.low - plan.centre), float(grid.high - plan.centre))
    shares = np.random.default_rng(5).uniform(-1.1, 1.1, 60)
    count = np.repeat([3, 11, 50, 1000, 10**7], 12)
    total = np.round(count * shares * (grid.high - grid.low) / 2).astype(np.int64)

    def inside(r: Floats) -> NDArray[np.bool_]:
        far = abs(total - r * count)
        tail = np.zeros(len(r))
        for z in range(-40, 41):
            # P(Z ≥ k) of the sum's noise, whose steps are too fine to be seen.
            k = far - z * r
            beyond = np.where(k > 0, np.exp(-abs(k) / scales[0]) / 2, 1 - np.exp(-abs(k) / scales[0]) / 2)
            tail += 2 * math.tanh(0.5 / scales[1]) * math.exp(-abs(z) / scales[1]) * beyond
        return np.asarray(tail > 0.05)

    nearest = np.clip(total / count, *within)
    known = inside(nearest)
    assert known.mean() > 0.5
    ends = []
    for far in within:
        start, end = nearest.copy(), np.full(len(count), far)
        start = np.where(inside(end), end, start)
        for _ in range(100):
            middle = start / 2 + end / 2
            start, end = np.where(inside(middle), middle, start), np.where(inside(middle), end, middle)
        ends.append((plan.centre + start) * float(grid.step))
    answers = statistic_of(plan.query).answers(plan, [total, count])
    width = ends[1] - ends[0]
    for found, wanted, sign in ((answers.lower, ends[0], 1), (answers.upper, ends[1], -1)):
        assert (sign * (wanted - found) >= -1e-12)[known].all()
        assert (abs(wanted - found) <= 1e-6 * width + 1e-9)[known].all()
    assert (answers.upper - answers.lower <= 1e-12)[~known].all()


def test_many_at_once_are_each_alone() -> None:
    generator = np.random.default_rng(6)
    x, y = generator.uniform(-300, 300, 500), generator.uniform(-10, 300, 500)
    middle = np.clip(x / y, -9.0, 9.0)
    both = fieller_ends(lambda r: (np.ones(()), -r), (x, y), (3.0, 2.0), (-9.0, middle, 9.0))
    for place in range(0, 500, 7):
        one = fieller_ends(
            lambda r: (np.ones(()), -r), (x[place], y[place]), (3.0, 2.0), (-9.0, middle[place], 9.0)
        )
        assert [float(end[place]) for end in both] == pytest.approx([float(end) for end in one], rel=1e-9)


@pytest.mark.parametrize("far", [1e3, 1e12, 2.0**960])
def test_however_far_the_least_and_the_largest_are(far: float) -> None:
    """The ends stay, and nothing overflows."""
    x, y = np.array([50.0, 3.0, 0.0, -4.0]), np.array([100.0, 1.0, 0.0, -1.0])
    middle = np.array([0.5, 3.0, 0.0, 4.0])
    low, high = fieller_ends(lambda r: (np.ones(()), -r), (x, y), (1.0, 1.0), (-far, middle, far))
    near = fieller_ends(lambda r: (np.ones(()), -r), (x[:1], y[:1]), (1.0, 1.0), (-9.0, middle[:1], 9.0))
    assert [low[0], high[0]] == pytest.approx([float(end[0]) for end in near], rel=1e-9)
    assert list(zip(low[1:], high[1:], strict=True)) == [(-far, far)] * 3


def hits(seed: int) -> int:
    x = np.random.default_rng(2).uniform(0, 10, 60)
    rows = released(
        [{"x": float(value)} for value in x], runs=RUNS, seed=seed, epsilon=1.0, statistic="mean", column="x"
    ).rows
    assert all(row.interval[0] <= row.value <= row.interval[1] for row in rows)
    truth = math.fsum(x) / len(x)
    return sum(row.interval[0] <= truth <= row.interval[1] for row in rows)


def test_means_are_covered_as_often_as_is_said_and_hardly_more() -> None:
    """The box of two intervals of 97.5 % covered nearly always."""
    found = hits(5)
    assert covers(found, RUNS)
    assert found < 0.97 * RUNS


def test_a_third_more_noise_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(scale: Any, size: int, source: Any) -> Any:
        return discrete_laplace(scale * 4 / 3, size, source)

    monkeypatch.setattr("leakcap.mechanism.geometric.discrete_laplace", planted)
    assert not covers(hits(7), RUNS)
