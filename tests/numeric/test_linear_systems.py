"""Linear systems in rationals, and bounds on what grows by less than itself, by other eliminations."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np

from leakcap.numeric.linear_systems import contraction_radius, exact_solution


def drawn(size: int, seed: int) -> tuple[list[list[Fraction]], list[Fraction]]:
    draw = np.random.default_rng(seed)
    matrix = draw.integers(-9, 10, (size, size)) + 12 * np.eye(size, dtype=int)
    return [[Fraction(int(one), 3) for one in row] for row in matrix], [
        Fraction(int(one)) for one in draw.integers(-9, 10, size)
    ]


def test_solutions_are_those_of_another_elimination() -> None:
    for size in (1, 2, 5, 9):
        matrix, right = drawn(size, size)
        known = flint.fmpq_mat(
            size, size, [flint.fmpq(x.numerator, x.denominator) for r in matrix for x in r]
        )
        column = flint.fmpq_mat(size, 1, [flint.fmpq(x.numerator, x.denominator) for x in right])
        told = known.solve(column)
        found = exact_solution(matrix, right)
        assert found == [Fraction(int(told[i, 0].p), int(told[i, 0].q)) for i in range(size)]


def test_a_pivot_of_zero_is_passed_over_and_a_singular_matrix_has_no_solution() -> None:
    zero, one, two = Fraction(0), Fraction(1), Fraction(2)
    assert exact_solution([[zero, one], [one, zero]], [one, two]) == [two, one]
    assert exact_solution([[one, two], [one, two]], [one, two]) is None


def test_what_grows_by_less_than_itself_is_bounded_and_by_no_more_than_needed() -> None:
    """x = (I − G)⁻¹g is the largest of all x ≤ g + Gx, by another elimination."""
    draw = np.random.default_rng(1)
    for size in (1, 3, 6):
        grown = [[Fraction(int(one), 20 * size) for one in row] for row in draw.integers(0, 18, (size, size))]
        least = [Fraction(int(one), 7) for one in draw.integers(0, 9, size)]
        steps = [[int(i == j) - grown[i][j] for j in range(size)] for i in range(size)]
        largest, radius = exact_solution(steps, least), contraction_radius(least, grown)
        assert largest is not None
        assert radius is not None
        slight = Fraction(1, 10**4)
        for x, r in zip(largest, radius, strict=True):
            assert x <= r <= x * (1 + slight) + slight


def test_what_grows_by_itself_or_more_is_not() -> None:
    one, zero, two = Fraction(1), Fraction(0), Fraction(2)
    for grown in ([[one]], [[two]], [[zero, two], [one, zero]], [[one, zero], [zero, zero]]):
        assert contraction_radius([one] * len(grown), grown) is None
    near = contraction_radius([one], [[one - Fraction(1, 10**6)]])
    assert near is not None
    assert near[0] > 999_000
