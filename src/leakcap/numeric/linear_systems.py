"""Linear systems in exact rationals, and bounds on what grows by less than itself."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

__all__ = ["contraction_radius", "exact_solution"]

Rationals: TypeAlias = Sequence[Sequence[Fraction]]

_MORE, _LEAST = 1e-6, 2.0**-200
"""So much of the largest g, and beside that, is added to each: doubles lose far less where they find r."""


def exact_solution(matrix: Rationals, right: Sequence[Fraction]) -> list[Fraction] | None:
    """x of A·x = b by Gaussian elimination; None where A is singular.

    >>> one, two = Fraction(1), Fraction(2)
    >>> exact_solution([[two, one], [one, one]], [one, one])
    [Fraction(0, 1), Fraction(1, 1)]
    """
    size = len(right)
    rows = [[*map(Fraction, row), Fraction(own)] for row, own in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = next((place for place in range(column, size) if rows[place][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        first = rows[column]
        for row in rows[column + 1 :]:
            if factor := row[column] / first[column]:
                row[column:] = [a - factor * b for a, b in zip(row[column:], first[column:], strict=True)]
    found = [Fraction(0)] * size
    for place in reversed(range(size)):
        row = rows[place]
        rest = sum((row[k] * found[k] for k in range(place + 1, size)), Fraction(0))
        found[place] = (row[size] - rest) / row[place]
    return found


def contraction_radius(least: Sequence[Fraction], grown: Rationals) -> list[Fraction] | None:
    """r, so that x ≤ r, component by component, for every x from 0 on with x ≤ g + G·x, g = `least` and
    G = `grown` from 0 on. None where no such r is found.

    Where a positive r has g + G·r < r in each component, the spectral radius of G is below 1, so that I − G
    has an inverse without negative entries, x ≤ (I − G)⁻¹g, and that is at most r. It is checked in
    rationals; doubles only propose r. Source: Berman & Plemmons 1994, chapter 6; Neumaier 1990, section 4.1.

    >>> half, one = Fraction(1, 2), Fraction(1)
    >>> [round(float(own), 6) for own in contraction_radius([one], [[half]])]
    [2.000002]
    >>> contraction_radius([one], [[one]]) is None
    True
    """
    steps = np.eye(len(least)) - np.array([[float(one) for one in row] for row in grown])
    if not np.isfinite(steps).all():
        return None
    try:
        right = np.array([float(one) for one in least])
        wide = np.linalg.solve(steps, right + _MORE * right.max(initial=0.0) + _LEAST)
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(wide).all() and (wide > 0.0).all()):
        return None
    radius = list(map(Fraction, wide.tolist()))
    holds = all(
        own + sum((a * b for a, b in zip(row, radius, strict=True)), Fraction(0)) < mine
        for own, row, mine in zip(least, grown, radius, strict=True)
    )
    return radius if holds else None
