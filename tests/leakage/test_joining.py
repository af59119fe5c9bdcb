"""How far beliefs move, by brute force over priors: before and after, with a person's record and without."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leakcap import Channel
from leakcap.definition.meaning import semantic_privacy
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.leakage import belief_change, joining_change
from leakcap.numeric.logspace import Floats
from leakcap.statement.guessing import joining

BITS = list(itertools.product((0, 1), repeat=2))


def response(epsilon: float, secret: int) -> list[float]:
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    return [truth, 1.0 - truth] if secret == 0 else [1.0 - truth, truth]


def farthest(mine: Floats, other: Floats, priors: Floats) -> float:
    """By brute force: the largest TV over these priors and all outputs of the two beliefs about the state."""
    first, second = priors[:, :, None] * mine, priors[:, :, None] * other
    with np.errstate(invalid="ignore"):
        moved = np.abs(first / first.sum(1, keepdims=True) - second / second.sum(1, keepdims=True)).sum(1) / 2
    return float(np.nanmax(moved))


def priors_on(size: int, generator: np.random.Generator) -> Floats:
    """Many random ones, and for each two states a fine grid between them."""
    grid = 1.0 / (1.0 + np.exp(-np.linspace(-6.0, 6.0, 400)))
    pairs = np.zeros((size * (size - 1) // 2, len(grid), size))
    for row, (i, j) in zip(pairs, itertools.combinations(range(size), 2), strict=True):
        row[:, i], row[:, j] = grid, 1.0 - grid
    spread = [generator.dirichlet(np.full(size, weight), size=600) for weight in (0.2, 1.0)]
    return np.concatenate([pairs.reshape(-1, size), *spread])


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
def test_randomised_response_on_an_exclusive_or_attains_it(epsilon: float) -> None:
    """One person's bit is 1; a uniform belief about the other's turns from 1/(1+e^ε) to e^ε/(1+e^ε)."""
    xor = Channel([response(epsilon, a ^ b) for a, b in BITS], inputs=BITS)
    found = joining_change(xor)
    assert found.lower == pytest.approx(math.tanh(epsilon / 2), rel=1e-12)
    assert found.upper <= semantic_privacy(epsilon) * (1 + 1e-12)
    rows = np.array(xor.matrix)
    alone = rows[[0, 1, 0, 1]]
    prior = np.array([[0.0, 0.0, 0.5, 0.5]])
    assert farthest(rows, alone, prior) == pytest.approx(math.tanh(epsilon / 2), rel=1e-12)


def test_the_statement_says_the_figure_of_the_issue() -> None:
    assert semantic_privacy(1.0) == pytest.approx(0.46211715726000975, rel=1e-14)
    assert semantic_privacy(1.0) >= 0.46211715726000975
    assert joining(1.0, 0.0) == (semantic_privacy(1.0), 0.0)


def test_no_prior_does_more_and_some_prior_does_as_much() -> None:
    generator = np.random.default_rng(14)
    tested = 0
    for _ in range(12):
        people = int(generator.integers(1, 3))
        databases = list(itertools.product(range(int(generator.integers(2, 4))), repeat=people))
        rows = generator.dirichlet(np.ones(3), size=len(databases))
        channel, priors = Channel(rows, inputs=databases), priors_on(len(databases), generator)
        rows = np.array(channel.matrix)
        seen = farthest(rows, np.ones_like(rows), priors)
        bound = belief_change(channel)
        assert seen <= bound.upper * (1 + 1e-9)
        assert seen >= bound.lower * (1 - 1e-3)
        moved = 0.0
        for i, default in itertools.product(range(people), {x[0] for x in databases}):
            place = [databases.index((*x[:i], default, *x[i + 1 :])) for x in databases]
            moved = max(moved, farthest(rows, rows[place], priors))
        found = joining_change(channel)
        assert moved <= found.upper * (1 + 1e-9)
        assert moved >= found.lower * (1 - 1e-3)
        tested += 1
    assert tested == 12


def test_each_mechanism_has_its_own() -> None:
    """A count of two bits by two-sided geometric noise reaches tanh(ε/2); a constant moves nothing."""
    epsilon = 0.7
    noise = np.exp(-epsilon * np.abs(np.subtract.outer([a + b for a, b in BITS], np.arange(-60, 63))))
    count = Channel(noise / noise.sum(1, keepdims=True), inputs=BITS)
    assert joining_change(count).upper == pytest.approx(math.tanh(epsilon / 2), rel=1e-9)
    assert belief_change(count).upper == pytest.approx(math.tanh(epsilon / 2), rel=1e-9)
    one = Channel([response(epsilon, a) for a, _ in BITS], inputs=BITS)
    assert joining_change(one).upper == pytest.approx(math.tanh(epsilon / 4), rel=1e-12)
    flat = Channel([[0.5, 0.5]] * 4, inputs=BITS)
    assert (joining_change(flat).upper, belief_change(flat).upper) == (0.0, 0.0)
    sure = Channel([[1, 0], [0, 1], [0, 1], [1, 0]], inputs=BITS)
    assert (joining_change(sure).lower, belief_change(sure).lower) == (1.0, 1.0)


def test_in_fractions_it_is_enclosed() -> None:
    third = Fraction(1, 3)
    channel = Channel([[third, 1 - third], [1 - third, third]], inputs=[(0,), (1,)])
    found = joining_change(channel)
    truth = (math.isqrt(2 * 10**40) - 10**20, math.isqrt(2 * 10**40) + 10**20)
    assert Fraction(found.lower) <= Fraction(*truth) <= Fraction(found.upper)
    assert found.upper - found.lower < 1e-15
    assert joining_change(channel, default=0) == found


def test_what_is_no_database_is_refused() -> None:
    with pytest.raises(InvalidChannel, match="tuples"):
        joining_change(Channel([[1.0], [1.0]]))
    with pytest.raises(InvalidParameter, match="default"):
        joining_change(Channel([[1.0], [1.0]], inputs=[(0,), (1,)]), default=7)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-8), (0.3, 1e-6), (1.0, 1e-5)])
def test_with_a_slack_the_belief_moves_as_said(epsilon: float, delta: float) -> None:
    """Rows that are (ε, δ)-close, with answers that tell everything with probability δ: random priors."""
    generator = np.random.default_rng(41)
    value, rare = joining(epsilon, delta)
    tested = 0
    for state in range(200):
        truth = (1.0 - delta) / (1.0 + math.exp(-epsilon))
        rows = np.array([[delta, truth, 1 - delta - truth, 0.0], [0.0, 1 - delta - truth, truth, delta]])
        mine, other = rows[generator.integers(0, 2, 4)], rows[generator.integers(0, 2, 4)]
        prior = generator.dirichlet(np.full(4, 0.5))
        first, second = prior[:, None] * mine, prior[:, None] * other
        seen = first.sum(0)
        with np.errstate(invalid="ignore", divide="ignore"):
            moved = np.abs(first / seen - second / second.sum(0)).sum(0) / 2
        too_far = np.isnan(moved) | (moved > value)
        assert seen[too_far].sum() <= rare, state
        tested += 1
    assert tested == 200


def test_outputs_that_never_happen_change_no_belief() -> None:
    for measure in (belief_change, lambda c: joining_change(c.relabelled(inputs=[(0,), (1,)]))):
        narrow = measure(Channel([[0.75, 0.25], [0.25, 0.75]]))
        wide = measure(Channel([[0.75, 0.0, 0.25], [0.25, 0.0, 0.75]]))
        assert (wide.lower, wide.upper) == (narrow.lower, narrow.upper)
        assert wide.upper < 1.0


def test_rows_of_doubles_are_meant_divided_by_their_sums() -> None:
    row, other = [0.1] * 10, [Fraction(k, 55) for k in range(1, 11)]
    exact = belief_change(Channel([[Fraction(1, 10)] * 10, other]))
    assert belief_change(Channel([row, [float(k) for k in other]])).upper == pytest.approx(
        exact.upper, rel=1e-14
    )
