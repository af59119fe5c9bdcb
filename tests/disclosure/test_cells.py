"""One cell as a channel, against laws written by hand, Bayes' rule, binomial sums and closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from leakcap.channel import Channel
from leakcap.disclosure.cells import CellMethod, FollowedBy, GivenMethod
from leakcap.disclosure.rounding import NearestRounding, RandomRounding
from leakcap.disclosure.suppression import SmallCells, TopCoding
from leakcap.disclosure.weighing import (
    CellRisk,
    cell_risks,
    largest_squared_error,
    mean_squared_error,
    worst_cell,
)
from leakcap.errors import InvalidParameter

HALF = Fraction(1, 2)
METHODS: list[CellMethod] = [
    RandomRounding(2),
    RandomRounding(3),
    RandomRounding(5),
    RandomRounding(4, (Fraction(0), HALF, HALF, Fraction(1))),
    NearestRounding(5),
    NearestRounding(10),
    SmallCells(below=1),
    SmallCells(below=4),
    SmallCells(below=4, zeros=True),
    TopCoding(6),
    FollowedBy(RandomRounding(3), SmallCells(below=7)),
    FollowedBy(RandomRounding(3), RandomRounding(5)),
    FollowedBy(NearestRounding(5), TopCoding(12)),
]


def seen_by_hand(method: CellMethod, count: int) -> dict[Any, Fraction]:
    """Written once more, from what the office says it does."""
    if isinstance(method, RandomRounding):
        low = count // method.base * method.base
        up = method.up[count - low]
        return {k: v for k, v in ((low, 1 - up), (low + method.base, up)) if v}
    if isinstance(method, NearestRounding):
        return {math.floor(Fraction(count, method.base) + HALF) * method.base: Fraction(1)}
    if isinstance(method, SmallCells):
        hidden = count in range(0 if method.zeros else 1, method.below)
        return {"suppressed" if hidden else count: Fraction(1)}
    if isinstance(method, TopCoding):
        return {count if count < method.top else method.top: Fraction(1)}
    assert isinstance(method, FollowedBy)
    found: dict[Any, Fraction] = {}
    for number, chance in seen_by_hand(method.first, count).items():
        for shown, each in seen_by_hand(method.second, number).items():
            found[shown] = found.get(shown, Fraction(0)) + chance * each
    return found


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.words)
def test_laws_are_those_that_are_said_and_sum_to_one(method: CellMethod) -> None:
    for count in range(60):
        law = method.law(count)
        assert law == seen_by_hand(method, count)
        assert sum(law.values()) == 1
        assert min(law.values()) > 0
        if method.reach is not None:
            assert all(abs(int(shown) - count) <= method.reach for shown in law)
    channel = method.channel(8)
    assert channel.inputs == tuple(range(9))
    exact = channel.as_exact()
    assert exact is not None
    for count, row in enumerate(exact):
        assert {o: p for o, p in zip(channel.outputs, row, strict=True) if p} == method.law(count)


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.words)
def test_every_larger_count_is_like_one_that_is_weighed(method: CellMethod) -> None:
    """The pairs of probabilities are the same: names of outputs do not matter to anybody who guesses."""

    def told(others: int) -> list[tuple[Fraction, Fraction]]:
        here, there = method.law(others), method.law(others + 1)
        return sorted((here.get(o, Fraction(0)), there.get(o, Fraction(0))) for o in here | there)

    for others in range(method.start, method.start + 4 * method.period):
        assert told(others) == told(others + method.period)
    weighed = [told(others) for others in method.counts]
    assert all(told(others) in weighed for others in range(80))


def test_random_rounding_to_base_three_has_the_capacities_of_a_z_and_a_symmetric_channel() -> None:
    """ln(1 + (1 − p)·p^{p/(1−p)}) with p = 2/3 of counts beside a multiple, ln 2 − h(1/3) of the others."""
    p = 2 / 3
    z_channel = math.log1p((1 - p) * p ** (p / (1 - p)))
    symmetric = math.log(2) + p * math.log(p) + (1 - p) * math.log(1 - p)
    beside, between, after = cell_risks(RandomRounding(3))
    for risk, capacity, epsilon in (
        (beside, z_channel, math.inf),
        (between, symmetric, math.log(2)),
        (after, z_channel, math.inf),
    ):
        assert risk.capacity.lower - 1e-12 <= capacity <= risk.capacity.upper + 1e-12
        assert risk.capacity.width < 1e-9
        assert risk.epsilon.lower <= epsilon <= risk.epsilon.upper
        assert risk.guess() == Fraction(2, 3)
    assert f"{z_channel:.8f}" == "0.13815034"
    assert f"{symmetric:.8f}" == "0.05663301"
    assert worst_cell(RandomRounding(3)).others == 0
    assert mean_squared_error(RandomRounding(3)) == Fraction(4, 3)


def likelihood_by_counting(risk: CellRisk, cells: int) -> Fraction:
    """How often the best guess is right: over how often each value came, multinomially."""
    outputs = sorted(risk.absent | risk.present, key=str)
    total = Fraction(0)
    for split in product(range(cells + 1), repeat=len(outputs)):
        if sum(split) != cells:
            continue
        ways, here, there = math.factorial(cells), Fraction(1), Fraction(1)
        for times, shown in zip(split, outputs, strict=True):
            ways //= math.factorial(times)
            here *= risk.absent.get(shown, Fraction(0)) ** times
            there *= risk.present.get(shown, Fraction(0)) ** times
        total += ways * max(here, there)
    return total / 2


@pytest.mark.parametrize(
    ("risk", "cells"),
    [
        (CellRisk(RandomRounding(3), 0), 10),
        (CellRisk(RandomRounding(3), 1), 10),
        (CellRisk(RandomRounding(3), 1), 50),
        (CellRisk(RandomRounding(5), 2), 23),
        (CellRisk(FollowedBy(RandomRounding(3), SmallCells(below=7)), 5), 12),
        (CellRisk(NearestRounding(5), 2), 3),
        (CellRisk(NearestRounding(5), 3), 3),
    ],
)
def test_success_after_many_cells_is_counted_out(risk: CellRisk, cells: int) -> None:
    wanted, found = likelihood_by_counting(risk, cells), risk.success(cells)
    assert found.lower <= wanted <= found.upper
    assert found.width < 1e-6


def test_reference_successes_of_base_three() -> None:
    """Theory: .667/.991/1.000 beside a multiple of three, .667/.855/.992 otherwise."""
    for others, wanted in ((2, [0.667, 0.991, 1.000]), (1, [0.667, 0.855, 0.992])):
        risk = CellRisk(RandomRounding(3), others)
        assert [round(risk.success(cells).upper, 3) for cells in (1, 10, 50)] == wanted


def test_cells_until_somebody_is_sure() -> None:
    """Against the sums above: just so many cells are enough, and one fewer is not."""
    for risk in (
        CellRisk(RandomRounding(3), 0),
        CellRisk(RandomRounding(3), 1),
        CellRisk(RandomRounding(5), 2),
    ):
        cells = risk.until(0.95)
        assert cells is not None
        assert likelihood_by_counting(risk, cells) >= Fraction(95, 100)
        assert likelihood_by_counting(risk, cells - 1) < Fraction(95, 100)
    assert CellRisk(SmallCells(below=4), 7).until(0.99) == 1
    assert CellRisk(SmallCells(below=4), 1).until(0.5) is None
    assert CellRisk(SmallCells(below=4), 1).success(9).upper == 0.5


@pytest.mark.parametrize("prior", [Fraction(1, 1000), Fraction(1, 3), HALF, Fraction(9, 10)])
@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.words)
def test_guesses_and_beliefs_are_those_of_bayes(method: CellMethod, prior: Fraction) -> None:
    for risk in cell_risks(method):
        right, beliefs = Fraction(0), []
        for shown in {*risk.absent, *risk.present}:
            joint = prior * risk.present.get(shown, 0), (1 - prior) * risk.absent.get(shown, 0)
            right += max(joint)
            beliefs.append(joint[0] / sum(joint))
        assert risk.guess(prior) == right
        assert risk.posterior(prior) == max(beliefs)
        assert risk.lift(prior) == max(beliefs) / prior
        assert risk.delta(0.0).lower <= 2 * risk.guess() - 1 <= risk.delta(0.0).upper


def test_a_given_matrix_is_any_method_whose_counts_it_has() -> None:
    rounding = RandomRounding(3)
    given = GivenMethod(rounding.channel(7))
    assert [given.law(count) for count in range(8)] == [rounding.law(count) for count in range(8)]
    assert given.counts == range(7)
    assert worst_cell(given).capacity == worst_cell(rounding).capacity
    doubles = GivenMethod(Channel([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]))
    assert all(sum(doubles.law(count).values()) == 1 for count in (0, 1))
    with pytest.raises(InvalidParameter, match="at most 1, the largest that the matrix has"):
        doubles.law(2)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: RandomRounding(1), "whole number from 2 to 1000"),
        (lambda: RandomRounding(True), "whole number from 2 to 1000"),
        (lambda: RandomRounding(3, (Fraction(0), HALF)), "have 3 chances"),
        (lambda: RandomRounding(2, (HALF, HALF)), "0 for a multiple of the base"),
        (lambda: RandomRounding(2, (Fraction(0), Fraction(3, 2))), "fractions from 0 to 1"),
        (lambda: RandomRounding(2, (Fraction(0), 0.5)), "fractions from 0 to 1"),  # type: ignore[arg-type]
        (lambda: SmallCells(below=0), "whole number from 1"),
        (lambda: TopCoding(0), "from 1 to 10,000"),
        (lambda: RandomRounding(3).law(-1), "whole number from 0"),
        (lambda: RandomRounding(3).channel(10**6), "at most 4,096"),
        (lambda: RandomRounding(2).channel(2000), "entries of the matrix"),
        (lambda: FollowedBy(SmallCells(below=3), RandomRounding(3)), "cannot be applied to words"),
        (lambda: GivenMethod(Channel([[1.0], [1.0]], inputs=("a", "b"))), "counts 0, 1"),
        (lambda: CellRisk(RandomRounding(3), 1).guess(Fraction(0)), "between 0 and 1"),
        (lambda: CellRisk(RandomRounding(3), 1).success(0), "whole number from 1"),
        (lambda: CellRisk(RandomRounding(3), 1).until(1.0), "less than 1"),
    ],
)
def test_what_is_no_method_is_refused(make: Any, rule: str) -> None:
    with pytest.raises(InvalidParameter, match=rule):
        make()


def test_the_error_of_counts_between_multiples_is_larger() -> None:
    """Of r above a multiple of b: (r/b)(b−r)² + (1−r/b)r² = r(b−r), on average (b²−1)/6."""
    for base in (2, 3, 5, 10):
        rests = [Fraction(r * (base - r)) for r in range(base)]
        assert largest_squared_error(RandomRounding(base)) == max(rests)
        assert mean_squared_error(RandomRounding(base)) == sum(rests) / base == Fraction(base**2 - 1, 6)
    assert largest_squared_error(NearestRounding(5)) == 4
    assert largest_squared_error(SmallCells(below=4)) is None
