"""Counts of several keys of a column together, from released tables, with an interval for each sum."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.rounding import float_up
from leakcap.tables.answer import NORMAL, ReleasedTables, chosen_among
from leakcap.tables.plan import ResidualPlan, root_up
from leakcap.tables.residuals import margin_of
from leakcap.tables.workload import Places, margins_of_places

__all__ = ["box_sums", "box_variance"]


def box_sums(
    found: ReleasedTables, columns: Places, chosen: Mapping[int, NDArray[np.bool_]]
) -> tuple[NDArray[np.float64], float]:
    """The table of `columns`, rising, among what is `chosen` of other columns' keys; and half the width of
    the interval that holds each exact number with probability 95 % or more.

    All of the columns together are a table that was asked for, or a margin of one.
    """
    workload = found.plan.workload
    table = tuple(sorted((*columns, *chosen)))
    top, bottom = margin_of(workload, found.integers, table)
    for axis, place in reversed(list(enumerate(table))):
        if place in chosen:
            top = top.compress(chosen[place], axis=axis).sum(axis=axis)
    top = np.asarray(top, dtype=object)
    values = np.array([number / bottom for number in np.ravel(top)], dtype=np.float64)
    exact = (Fraction(int(number), bottom) for number in np.ravel(top))
    off = max(abs(Fraction(value) - one) for value, one in zip(values.tolist(), exact, strict=True))
    variance, steps = box_variance(found.plan, table, {i: int(own.sum()) for i, own in chosen.items()})
    normal = NORMAL if found.among == 1 else Fraction(chosen_among(found.among))
    half = steps + normal * Fraction(root_up(variance)) + off
    return values.reshape(top.shape), float_up(half)


def box_variance(plan: ResidualPlan, table: Places, keys: Mapping[int, int]) -> tuple[Fraction, Fraction]:
    """The variance of a sum over so many `keys` of some columns of a table, one key of each other; and Σ|w|
    of the noises that it is made of (`docs/theory/tables.md`).

    Of the residual of A the sum over a box has the weights ⊗Ξ_i·1_m/(N_A·N_B): 1_m has m ones, and
    |Ξ·1_m|² = n·m·(n − m), |Ξ·1_m|₁ = 2m(n − m).

    >>> from leakcap.tables import Workload
    >>> plan = ResidualPlan.of(Workload.of({"sex": 2}, [["sex"]]), 0.02)
    >>> both = box_variance(plan, (0,), {0: 2})[0]
    >>> both == plan.variance(()), both == 2 * plan.variance((0,))
    (True, True)
    """
    workload = plan.workload
    variance = steps = Fraction(0)
    for part in margins_of_places(table):
        if part not in plan.variances:
            continue
        square = absolute = 1
        for place in table:
            size, many = workload.sizes[place], keys.get(place, 1)
            square *= size * many * (size - many) if place in part else many**2
            absolute *= 2 * many * (size - many) if place in part else many
        spread = workload.cells_of(part) * workload.cells_of(table)
        variance += plan.variances[part] * Fraction(square, spread**2)
        steps += Fraction(absolute, spread)
    return variance, steps
