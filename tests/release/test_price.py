"""Prices and accuracies against independent routes: brute-force capacities, mpmath tails, hand arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from leakcap.ledger.implied import tight_mutual_information
from leakcap.mechanism import TwoSidedGeometric
from leakcap.release.asking.accuracy import preview_of
from leakcap.release.measurements.one_hot import one_hot_capacity
from leakcap.release.planning.price import Price, price_of
from release.world import planned, policy_of


def price(policy: dict[str, Any] | None = None, **query: Any) -> Price:
    return price_of(planned(policy_of(**(policy or {})), **query))


REPLACE = {"neighbours": "replace-one", "rows": 569}


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3, 0.7, 1.0, 1 / 3, 5.0])
@pytest.mark.parametrize("relation", [{}, REPLACE], ids=["add", "replace"])
@pytest.mark.parametrize(
    "query",
    [
        {"statistic": "count"},
        {"statistic": "count", "by": ("d",)},
        {"statistic": "sum", "column": "x"},
        {"statistic": "mean", "column": "x"},
        {"statistic": "mean", "column": "y"},
    ],
    ids=str,
)
def test_epsilon_is_what_was_asked_for(
    query: dict[str, Any], relation: dict[str, Any], epsilon: float
) -> None:
    """Never above, and below by no more than the scale's rounding."""
    plan = planned(policy_of(**relation), **query, epsilon=epsilon)
    found = price_of(plan)
    assert (1 - 1e-9) * epsilon <= found.epsilon <= epsilon
    exact = sum(Fraction(part.sensitivity) / part.scale for part in plan.parts)
    assert exact <= Fraction(repr(epsilon))
    assert found.epsilon <= found.epsilon_contents <= 2 * found.epsilon
    if relation:
        assert found.epsilon_contents == found.epsilon


def test_scales_by_hand() -> None:
    """x lies in [−3, 10], y in [2, 8] with a fill, ε = 1."""
    cases: list[tuple[dict[str, Any], dict[str, Any], dict[str, float]]] = [
        ({}, {"statistic": "count"}, {"count": 1}),
        ({}, {"statistic": "count", "by": ("d",)}, {"count": 1}),
        (REPLACE, {"statistic": "count", "by": ("d",)}, {"count": 2}),
        ({}, {"statistic": "sum", "column": "x"}, {"sum": 10}),
        (REPLACE, {"statistic": "sum", "column": "x"}, {"sum": 13}),
        (REPLACE, {"statistic": "sum", "column": "x", "by": ("d",)}, {"sum": 20}),
        ({}, {"statistic": "sum", "column": "y"}, {"sum": 8}),
        (REPLACE, {"statistic": "sum", "column": "y"}, {"sum": 6}),
        (REPLACE, {"statistic": "sum", "column": "y", "where": "f"}, {"sum": 8}),
        ({}, {"statistic": "mean", "column": "x"}, {"sum": 13, "count": 2}),
        (REPLACE, {"statistic": "mean", "column": "y"}, {"sum": 6}),
        (REPLACE, {"statistic": "mean", "column": "x", "by": ("d",)}, {"sum": 26, "count": 4}),
        ({"unit": {"id": "id", "max_rows": 3}}, {"statistic": "sum", "column": "x"}, {"sum": 30}),
    ]
    for policy, query, scales in cases:
        assert price(policy, **query).noise_scales == pytest.approx(scales, rel=1e-9)


def test_contents_are_sharper_than_twice_epsilon_where_a_scalar_allows() -> None:
    assert price(statistic="count").epsilon_contents == 1.0
    assert price(statistic="count", by=("d",)).epsilon_contents == 2.0
    assert price(statistic="sum", column="x").epsilon_contents == pytest.approx(1.3)


def channel(cells: int, decay: float) -> np.ndarray[Any, Any]:
    """P(bits | which cell, or none), written out."""
    flip = math.exp(-decay) / (1 + math.exp(-decay))
    inputs = [[0] * cells] + [[int(i == j) for j in range(cells)] for i in range(cells)]
    outputs = list(itertools.product((0, 1), repeat=cells))
    return np.array(
        [
            [math.prod(flip if a != b else 1 - flip for a, b in zip(x, y, strict=True)) for y in outputs]
            for x in inputs
        ]
    )


def blahut(rows: np.ndarray[Any, Any], rounds: int = 20_000) -> tuple[float, float]:
    """The textbook's capacity iteration: lower and upper end."""
    prior = np.full(len(rows), 1 / len(rows))
    for _ in range(rounds):
        divergences = (rows * np.log(rows / (prior @ rows))).sum(axis=1)
        if divergences.max() - prior @ divergences < 1e-11:
            break
        prior *= np.exp(divergences)
        prior /= prior.sum()
    return float(prior @ divergences), float(divergences.max())


@pytest.mark.parametrize("cells", [1, 2, 3, 5])
@pytest.mark.parametrize("decay", [0.2, 0.5, 1.0, 3.0])
def test_grouped_counts_against_blahut_arimoto(cells: int, decay: float) -> None:
    low, high = blahut(channel(cells, decay))
    bound = one_hot_capacity(cells, decay)
    assert low - 1e-9 <= bound.upper
    assert bound.lower <= high + 1e-9
    assert bound.width < 1e-11


@pytest.mark.parametrize("decay", [0.01, 1.0, 2.5])
def test_a_large_number_of_cells_stays_below_its_ceiling(decay: float) -> None:
    """More cells never give less; the most is η tanh(η/2), and D−1−ln D for any ratio e^{2η}."""
    sizes = [one_hot_capacity(cells, decay).upper for cells in (2, 10, 1000, 20_000)]
    assert sizes == sorted(sizes)
    assert sizes[-1] <= min(tight_mutual_information(2 * decay), decay * math.tanh(decay / 2)) * (1 + 1e-9)


def test_the_tight_bound_against_fifty_digits() -> None:
    with mpmath.workdps(60):
        for epsilon in (1e-9, 1e-4, 0.999e-3, 1.001e-3, 0.1, 0.5, 1.0, 2.0, 4.0, 50.0, 699.0, 1e4):
            e = mpmath.mpf(epsilon)
            d = e / (1 - mpmath.exp(-e))
            exact = d - 1 - mpmath.log(d)
            assert exact <= tight_mutual_information(epsilon) <= exact * (1 + mpmath.mpf("1e-6"))


def test_published_values_of_the_tight_bound() -> None:
    for epsilon, value in ((0.1, 0.00124982643), (0.5, 0.03114209226), (4.0, 1.66984963351)):
        assert tight_mutual_information(epsilon) == pytest.approx(value, abs=1e-10)


def test_a_count_is_randomised_response() -> None:
    """ln 2 − h(e/(1+e)) = 0.1109 nats."""
    p = math.e / (1 + math.e)
    expected = math.log(2) + p * math.log(p) + (1 - p) * math.log(1 - p)
    for policy in ({}, REPLACE):
        assert price(policy, statistic="count").nats_person.upper == pytest.approx(expected, rel=1e-9)


def test_the_table_is_bounded_only_by_a_public_number_of_units() -> None:
    assert price(statistic="count").nats_table == math.inf
    few, many = (price({"max_rows": n}, statistic="count").nats_table for n in (10, 1000))
    assert 0 < few < many < math.log(1001)
    three = price({"max_rows": 10}, statistic="count", by=("d",))
    assert three.nats_table == pytest.approx(3 * few)
    # ε too small to tell n units apart: n·ε bounds the table where n was checked
    tiny = price({**REPLACE, "rows": 2}, statistic="count", by=("d",), epsilon=1e-3)
    assert tiny.nats_table <= (2e-3) ** 2 / 8 * (1 + 1e-9)


@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(12345, 7), Fraction(2**44)]
)
@pytest.mark.parametrize("beyond", [0.05, 0.025])
def test_the_error_is_the_smallest_that_holds(scale: Fraction, beyond: float) -> None:
    with mpmath.workdps(40):
        s = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)

        def tail(a: int) -> mpmath.mpf:
            return 2 * s ** (a + 1) / (1 + s)

        error = TwoSidedGeometric(scale).error(beyond)
        assert tail(error) <= beyond
        slack = max(1, error // 10**11)
        assert error == 0 or tail(error - slack) > beyond


def test_previews_by_hand() -> None:
    seen = preview_of(planned(policy_of(**REPLACE), statistic="mean", column="y", epsilon=1.0))
    assert seen.error == pytest.approx(6 * math.log(20) / 569, rel=1e-6)
    mean = preview_of(planned(policy_of(), statistic="mean", column="x", epsilon=1.0))
    total, count = 13 * math.log(40), TwoSidedGeometric(2.0).error(0.025)
    assert mean.rows == 1000
    assert mean.error == pytest.approx((total + 6.5 * count) / (1000 - count), rel=1e-6)
    few = preview_of(planned(policy_of(max_rows=3), statistic="mean", column="x", epsilon=1.0))
    assert few.error == pytest.approx(13)
