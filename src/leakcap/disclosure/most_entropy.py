"""The perturbation table of most entropy for a variance, as offices make theirs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leakcap.disclosure.cell_key import PerturbationTable, Steps
from leakcap.disclosure.moments import Places, checked_moments, exact_row, shares_of
from leakcap.numeric.logspace import Floats

__all__ = ["most_entropic_table"]

_OWNER = "most_entropic_table"
_STEPS = 200


def most_entropic_table(largest: int, variance: Fraction | int) -> PerturbationTable:
    """The table that adds or takes away `largest` at most, keeps 0 as it is, and has most entropy.

    Each row has mean 0 and the variance exactly, and no other with these has more entropy, but for 10⁻⁹.
    Raises `InvalidParameter` unless the variance is less than `largest`, which is the most that a count
    of 1 can have, and at least a fortieth of its square. Source: Marley & Leaver 2011; Giessing 2016.

    >>> table = most_entropic_table(5, 3)
    >>> round(float(table.law(1)[-1]), 4), sum(table.law(9).values())
    (0.6248, Fraction(1, 1))
    """
    checked_moments(largest, variance, _OWNER)
    rows: list[Steps] = [((0, Fraction(1)),)]
    for count in range(1, largest + 1):
        place = np.arange(-count, largest + 1)
        rows.append(shares_of(exact_row(_row(place, float(variance)), place, Fraction(variance)), place))
    return PerturbationTable(tuple(rows))


def _row(place: Places, variance: float) -> Floats:
    """p ∝ exp(μk + νk²), whose multipliers make ln Σ exp(μk + ν(k² − V)) least: Newton's steps, halved."""
    powers = np.stack([place, place**2 - variance])
    multipliers = np.zeros(2)

    def told(at: Floats) -> tuple[float, Floats]:
        heights = at @ powers
        weights = np.exp(heights - heights.max())
        return float(heights.max() + np.log(weights.sum())), weights / weights.sum()

    value, law = told(multipliers)
    for _ in range(_STEPS):
        slopes = powers @ law
        bends = (powers * law) @ powers.T - np.outer(slopes, slopes)
        step = -np.linalg.solve(bends, slopes)
        if float(-slopes @ step) < 1e-12:  # the last step, which halves no more
            return told(multipliers + step)[1]
        reach = 1.0
        while reach > 1e-12:
            ahead, moved = told(multipliers + reach * step)
            if ahead <= value + 1e-4 * reach * float(slopes @ step):
                break
            reach /= 2
        else:
            break
        multipliers, value, law = multipliers + reach * step, ahead, moved
    return law
