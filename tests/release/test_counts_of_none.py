"""Means, ratios and shares where the noisy count, or what is divided by, is 0 or less: nothing is promised
that the two noises do not keep.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). The intervals of no width that stood where a
count was exactly 0 are caught.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.numbers.fieller import fieller_ends, quotients
from leakcap.release.numbers.laws import GAUSSIAN, LAPLACE, Law
from leakcap.release.statistics import statistic_of
from release.claims import covers, released
from release.test_tails import enumerated
from release.world import planned, policy_of

RUNS = 3_000


def probability(law: Law, noises: list[tuple[float, float]], far: float) -> float:
    """P(the noise goes so far): outcome by outcome, and of Gaussian noise that of a normal variable."""
    if law is LAPLACE:
        return enumerated(noises, far) if far > 0 else 1.0
    return math.erfc(far / math.sqrt(2.0 * sum((weight * scale) ** 2 for weight, scale in noises)))


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("y", [-3, -1, 0, 1, 2])
def test_all_ratios_that_the_noise_allows_are_in_the_interval(y: int, law: Law) -> None:
    ratios = np.linspace(-9.0, 9.0, 37)
    totals = [-80, -31, -12, 0, 5, 22, 45]
    for scales in ((4.0, 1.0), (1.0, 3.0), (3.0, 3.0)):
        given = exact_integers(totals), exact_integers([y] * len(totals))
        value, low, high = quotients(given, scales, (-9.0, 9.0), law=law)
        assert ((low >= -9.0) & (low <= value) & (value <= high) & (high <= 9.0)).all()
        for x, least, most in zip(totals, low, high, strict=True):
            inside = [
                r
                for r in ratios
                if probability(law, [(1.0, scales[0]), (-r, scales[1])], abs(x - r * y)) > 0.0501
            ]
            assert all(least <= r <= most for r in inside), (x, y, scales)
            assert least < most or (not inside and y > 0)


def test_a_sum_over_a_count_of_none_may_be_anything() -> None:
    """An interval of one number stood here, though −100 is 1.3 deviations off."""
    total, count = exact_integers([-398]), exact_integers([0])
    value, low, high = quotients((total, count), (3.0, 3.0), (-100.0, 100.0), law=GAUSSIAN)
    assert (value[0], low[0], high[0]) == (0.0, -100.0, 100.0)


@pytest.mark.parametrize("far", [1e6, 2.0**900])
def test_a_ratio_over_none_is_at_least_what_its_noise_keeps(far: float) -> None:
    """|50 − 0·r| is within the noise of 2·√(1 + r²) from r = √((50/(1.96·2))² − 1) on."""
    given = exact_integers([50]), exact_integers([0])
    value, low, high = quotients(given, (20.0, 20.0), (0.0, far), law=GAUSSIAN)
    wanted = math.sqrt((50 / (1.959964 * 20)) ** 2 - 1)
    assert high[0] == far
    assert 0.8 * wanted < low[0] <= wanted  # a normal variable stands for integers
    assert value[0] == low[0]
    # Below 0 over a little: no ratio that can be is near, and large ones are the nearest.
    _, low, high = quotients((exact_integers([-90]), exact_integers([1])), (20.0, 20.0), (0.0, far))
    assert low[0] > 0.0
    assert high[0] == far


@pytest.mark.parametrize(
    ("hits", "misses"), [(5, -8), (-8, 5), (10, -10), (-7, 7), (0, 0), (-5, -5), (70, -70)]
)
def test_shares_of_none_are_all_that_the_noise_allows(hits: int, misses: int) -> None:
    plan = planned(policy_of(), statistic="ratio", when="f", epsilon=0.5)
    scale = float(plan.parts[0].noise.width)
    ((value, (low, high)),) = statistic_of(plan.query).answers(plan, [exact_integers([misses, hits])]).pairs()
    assert 0.0 <= low <= value <= high <= 1.0
    shares = np.linspace(0.0, 1.0, 41)
    likely = [
        r
        for r in shares
        if enumerated([(1.0 - r, scale), (-r, scale)], abs((1.0 - r) * hits - r * misses)) > 0.0501
    ]
    assert all(low <= r <= high for r in likely)
    assert low < high
    if not likely:
        assert (low, high) == (0.0, 1.0)


def test_the_set_is_found_from_either_end() -> None:
    """|x + y·r| ≤ 1.96·√(σ² + r²·τ²) at the least or the largest r alone, and not between."""
    for x, y in ((-60.0, 1.0), (60.0, 1.0), (-60.0, -1.0), (60.0, 0.0)):
        scales, far = (6.0, 20.0), 5.0
        middle = min(far, max(0.0, x / y)) if y else 0.0
        low, high = fieller_ends(
            lambda r: (np.ones(()), -r), (x, y), scales, (0.0, middle, far), law=GAUSSIAN
        )
        places = np.linspace(0.0, far, 501)
        inside = places[np.abs(x - places * y) < 1.9599 * np.hypot(scales[0], places * scales[1])]
        assert inside.size
        assert float(low) <= inside.min()
        assert float(low) > inside.min() - 0.1
        assert float(high) == inside.max() == far


def drawn(law: Law, scale: float, generator: np.random.Generator) -> np.ndarray:
    reach = int(30 * scale) + 2
    steps = np.arange(-reach, reach + 1)
    chances = np.exp(-np.abs(steps) / scale if law is LAPLACE else -(steps**2) / (2 * scale**2))
    return generator.choice(steps, p=chances / chances.sum(), size=RUNS)


@pytest.mark.parametrize(
    ("law", "scales"),
    [(LAPLACE, (25.0, 2.0)), (LAPLACE, (25.0, 0.5)), (GAUSSIAN, (10.0, 3.0))],
    ids=["Laplace", "Laplace of few steps", "Gaussian"],
)
@pytest.mark.parametrize("people", [1, 2, 4])
def test_few_people_at_the_bound_are_covered(law: Law, scales: tuple[float, float], people: int) -> None:
    generator = np.random.default_rng(20261123 + people)
    total = 50 * people + drawn(law, scales[0], generator)
    count = people + drawn(law, scales[1], generator)
    given = exact_integers(total.tolist()), exact_integers(count.tolist())
    _, low, high = quotients(given, scales, (-50.0, 50.0), law=law)
    assert covers(int(((low <= 50.0) & (high >= 50.0)).sum()), RUNS)


def test_means_of_few_people_at_the_bound_are_covered() -> None:
    rows: list[dict[str, Any]] = [{"x": 10.0, "id": i} for i in range(3)]
    found = released(rows, runs=RUNS, seed=4, epsilon=1.0, statistic="mean", column="x").rows
    assert covers(sum(row.interval[0] <= 10.0 <= row.interval[1] for row in found), RUNS)
