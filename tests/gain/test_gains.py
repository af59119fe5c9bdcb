"""Gain functions: their tables, their shortcuts and what they refuse."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from leakcap import gain
from leakcap.errors import InvalidParameter, InvalidPrior


def test_shortcuts_agree_with_the_table() -> None:
    rng = np.random.default_rng(0)
    columns, weights = rng.random((7, 40)), rng.random(7)
    for goal in (
        gain.identity(7),
        gain.identity("abcdefg"),
        gain.distribution_reciprocal(weights / weights.sum()),
        gain.k_guesses(7, 1),
        gain.k_guesses(7, 3),
        gain.k_guesses(7, 7),
        gain.property_of("aabbbac"),
        gain.property_of(dict(zip(range(7), "xyxyxyx", strict=True))),
    ):
        slow = gain.matrix(goal.table)
        assert goal.best(weights, columns) == pytest.approx(slow.best(weights, columns), rel=1e-14)
        assert goal.best_actions(weights, columns).tolist() == slow.best_actions(weights, columns).tolist()
        assert goal.size == 7
        assert goal.nonnegative


def test_labels() -> None:
    assert gain.identity("ab").secrets == ("a", "b")
    assert gain.k_guesses("abc", 2).actions == (("a", "b"), ("a", "c"), ("b", "c"))
    assert gain.property_of({"y": 1, "n": 0}).actions == (1, 0)
    assert gain.matrix([[1, 2]], secrets="xy").secrets == ("x", "y")
    assert gain.distance([[0, 0]]).table.tolist() == [[1.0, 1.0]]


def test_many_sets_of_guesses_need_no_table() -> None:
    goal = gain.k_guesses(1000, 10)
    start = time.process_time()
    value = goal.best(np.full(1000, 1e-3), np.ones((1000, 1)))
    assert value[0] == pytest.approx(0.01)
    assert time.process_time() - start < 1.0
    for ask in (lambda: goal.table, lambda: goal.actions):
        with pytest.raises(InvalidParameter, match="needs no table"):
            ask()


@pytest.mark.parametrize(
    "make",
    [
        lambda: gain.identity(0),
        lambda: gain.identity("aa"),
        lambda: gain.identity([]),
        lambda: gain.k_guesses(3, 0),
        lambda: gain.k_guesses(3, 4),
        lambda: gain.k_guesses(3, 1.5),
        lambda: gain.property_of([]),
        lambda: gain.distance([[0, -1]]),
        lambda: gain.distance([[0, math.nan]]),
        lambda: gain.negative_distance([0, 1]),
        lambda: gain.within([[0, 1]], -1),
        lambda: gain.matrix([[1, 2], [3]]),
        lambda: gain.matrix([]),
        lambda: gain.matrix([[math.inf]]),
        lambda: gain.matrix([[1, 2]], actions="ab"),
        lambda: gain.matrix([[1, 2], [3, 4]], actions="aa"),
        lambda: gain.matrix([[1, 2]], secrets="a"),
    ],
)
def test_gains_that_are_none(make: object) -> None:
    with pytest.raises(InvalidParameter):
        make()


@pytest.mark.parametrize("prior", [[0.5, 0.6], [-0.5, 1.5], [math.nan], [], [[1.0]], [0.0, 0.0]])
def test_a_reciprocal_needs_a_prior(prior: object) -> None:
    with pytest.raises(InvalidPrior):
        gain.distribution_reciprocal(prior)
