"""Vectors of integers against Python's own, at and beyond 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakcap.errors import DataError
from leakcap.release.columns.grid import Grid
from leakcap.release.numbers.exact_integers import clipped, doubles, exact_integers, plus

POWERS = [sign * 2**power for power in (0, 61, 62, 63, 64, 90) for sign in (-1, 1)]
EDGES = [power + more for power in POWERS for more in (-1, 0, 1)]
NUMBERS = st.one_of(st.integers(-100, 100), st.sampled_from(EDGES), st.integers(-(2**100), 2**100))


@given(st.lists(st.tuples(NUMBERS, NUMBERS)))
def test_sums_are_exact(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assert plus(exact_integers(first), exact_integers(second)).tolist() == [a + b for a, b in pairs]
    assert exact_integers(first).tolist() == first


@given(st.lists(NUMBERS), NUMBERS, NUMBERS)
def test_clamping_is_exact(numbers: list[int], one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert clipped(exact_integers(numbers), (low, high)).tolist() == [max(low, min(high, n)) for n in numbers]
    assert clipped(exact_integers(numbers), None).tolist() == numbers


@given(st.lists(NUMBERS), st.integers(-40, 40))
def test_doubles_are_the_nearest(numbers: list[int], exponent: int) -> None:
    """Against Python's own rounding of integers and of fractions."""
    assert doubles(exact_integers(numbers)).tolist() == [float(n) for n in numbers]
    grid = Grid(exponent, 0, 1)
    assert grid.values(exact_integers(numbers)).tolist() == [grid.value(n) for n in numbers]


def test_plain_addition_of_words_would_not_do() -> None:
    """The planted bug: what the numbers would be without room."""
    first, second = np.array([2**63 - 1]), np.array([1])
    naive: Callable[[Any, Any], Any] = add
    with np.errstate(over="ignore"):
        assert naive(first, second).tolist() != [2**63]
    assert plus(first, second).tolist() == [2**63]


@pytest.mark.parametrize("values", [[1.0], [True], [None], ["1"], [1, 2.5]])
def test_what_is_no_integer_is_refused(values: list[Any]) -> None:
    with pytest.raises(DataError, match="did not return integers"):
        exact_integers(values)
    with pytest.raises(DataError):
        exact_integers(np.array(values, dtype=object))
