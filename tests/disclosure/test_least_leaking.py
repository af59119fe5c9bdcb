"""The table that tells least: its moments exactly, its dual, and other tables that all tell more."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from disclosure.test_cell_key import most_entropy
from leakcap.channel import Channel
from leakcap.disclosure.cell_key import CellKey
from leakcap.disclosure.cells import GivenMethod
from leakcap.disclosure.least_leaking import least_leaking_table
from leakcap.disclosure.weighing import CellRisk, mean_squared_error
from leakcap.errors import InvalidParameter

CASES = [(2, Fraction(1)), (5, Fraction(3)), (3, Fraction(1)), (4, Fraction(1, 2)), (5, Fraction(49, 10))]


def at_even_odds(first: dict[int, float], second: dict[int, float]) -> float:
    """ln 2 less the doubt that is left: another formula than the sum of ½·p·ln(p/m)."""
    left = 0.0
    for shown in first | second:
        p, q = first.get(shown, 0.0), second.get(shown, 0.0)
        for one in (p, q):
            if one > 0:
                left -= one / 2 * math.log(one / (p + q))
    return math.log(2) - left


def floats(law: dict[int | str, Fraction]) -> dict[int, float]:
    return {int(shown): float(chance) for shown, chance in law.items()}


@pytest.mark.parametrize(("largest", "variance"), CASES)
def test_rows_have_exact_moments_and_the_sums_that_are_said(largest: int, variance: Fraction) -> None:
    least = least_leaking_table(largest, variance)
    for count in range(1, largest + 3):
        row = least.table.law(count)
        assert sum(row.values()) == 1
        assert sum(value * chance for value, chance in row.items()) == 0
        assert sum(value**2 * chance for value, chance in row.items()) == variance
        assert min(row) >= -count
        assert max(row) <= largest
    method = CellKey(least.table)
    assert method.law(0) == {0: 1}
    assert mean_squared_error(method) == variance
    told = [at_even_odds(floats(method.law(n)), floats(method.law(n + 1))) for n in range(largest + 1)]
    assert least.large.lower <= told[largest] <= least.large.upper
    assert least.small.lower <= sum(told[:largest]) <= least.small.upper
    assert least.large.width < 1e-8
    assert least.small.width < 1e-6
    # A symmetric law tells most at even odds, so that this is the capacity, too.
    assert CellRisk(method, largest).capacity.upper == pytest.approx(told[largest], abs=1e-9)


@pytest.mark.parametrize(("largest", "variance"), CASES)
def test_the_row_of_large_counts_is_found_by_another_solver_too(largest: int, variance: Fraction) -> None:
    least = least_leaking_table(largest, variance)
    places = np.arange(-largest, largest + 1)

    def told(weights: np.ndarray) -> float:
        law = dict(zip(places.tolist(), weights.tolist(), strict=True))
        return at_even_odds(law, {shown + 1: chance for shown, chance in law.items()})

    powers = np.vander(places, 3, increasing=True).T
    wanted = np.array([1.0, 0.0, float(variance)])
    start = np.array([float(least.table.law(largest).get(int(k), 0)) for k in places])
    rng = np.random.default_rng(1)
    moves = np.linalg.svd(powers)[2][3:]
    for _ in range(200):  # no law beside it tells less
        move = rng.normal(size=len(moves)) @ moves
        move *= rng.uniform(0, 0.5) * (start[move < 0] / -move[move < 0]).min()
        assert told(start + move) >= least.large.lower - 1e-12
    even = np.full(len(places), 1 / len(places))
    found = minimize(
        lambda w: told(np.abs(w)),
        even,
        method="SLSQP",
        bounds=[(1e-12, 1.0)] * len(places),
        constraints={"type": "eq", "fun": lambda w: powers @ w - wanted},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert abs(powers @ found.x - wanted).max() < 1e-8
    assert least.large.lower - 1e-8 <= found.fun <= least.large.upper + 1e-6


@pytest.mark.parametrize(("largest", "variance"), [(5, 3), (2, 1)])
def test_it_tells_less_than_the_published_table_of_most_entropy(largest: int, variance: int) -> None:
    """Of large counts .04048 nats against .04054, .11611 against .11616; of a lone person .113, not .158."""
    least = least_leaking_table(largest, variance)
    size = 3 * largest + 2
    rows = [[0.0] * size for _ in range(largest + 2)]
    for count in range(largest + 2):
        law = most_entropy(min(count, largest), largest, variance)
        for value, chance in law.items():
            rows[count][count + value] += chance
    published = GivenMethod(Channel(rows))
    ours = CellKey(least.table)
    theirs = [CellRisk(published, others).capacity for others in range(largest + 1)]
    own = [CellRisk(ours, others).capacity for others in range(largest + 1)]
    assert own[largest].upper < theirs[largest].lower
    assert max(one.upper for one in own) < max(one.lower for one in theirs)
    assert sum(one.upper for one in own) < sum(one.lower for one in theirs)
    pairs = [(floats(published.law(n)), floats(published.law(n + 1))) for n in range(largest)]
    assert sum(at_even_odds(*pair) for pair in pairs) > least.small.upper


@pytest.mark.parametrize(
    ("largest", "variance"),
    [(1, 1), (13, 1), (True, 1), (5, 5), (5, 0), (5, Fraction(1, 2)), (5, 2.5), (2, 2)],
)
def test_what_no_table_can_have_is_refused(largest: int, variance: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="of `least_leaking_table` must be"):
        least_leaking_table(largest, variance)
