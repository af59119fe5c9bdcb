"""Rows of perturbation tables with mean 0 and a variance, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from leakcap.disclosure.cell_key import Steps
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["Places", "checked_moments", "exact_row", "shares_of"]

Places: TypeAlias = NDArray[np.int64]


def checked_moments(largest: int, variance: Fraction | int, owner: str) -> None:
    """Raises `InvalidParameter` for a largest change and a variance that no table of this kind has."""
    whole = isinstance(largest, int) and not isinstance(largest, bool)
    require(whole and 2 <= largest <= 12, "largest", owner, "be a whole number from 2 to 12", largest)
    exact = isinstance(variance, int | Fraction) and not isinstance(variance, bool)
    least = Fraction(largest**2, 40)
    rule = (
        f"be a fraction from {least}, below which changes by {largest} hardly occur, to less than {largest}"
    )
    require(exact and least <= variance < largest, "variance", owner, rule, variance)


def exact_row(row: Floats, place: Places, variance: Fraction) -> list[Fraction]:
    """Fractions near the row whose sum, mean and variance are exact: three of them make up for the rest."""
    found, own = [Fraction(float(one)) for one in row], [int(k) for k in place]
    low, middle, high = own.index(-1), own.index(0), own.index(1)
    total, mean, square = (
        target - sum(p * k**power for p, k in zip(found, own, strict=True))
        for power, target in enumerate((Fraction(1), Fraction(0), variance))
    )
    found[low] += (square - mean) / 2
    found[high] += (square + mean) / 2
    found[middle] += total - square
    return found


def shares_of(row: list[Fraction], place: Places) -> Steps:
    """What is added, and up to which share of the keys."""
    ends, total = [], Fraction(0)
    for value, chance in zip(place, row, strict=True):
        total += chance
        ends.append((int(value), total))
    return tuple(ends)
