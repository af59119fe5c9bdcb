"""Counts of several keys of a column together, from released tables, with an interval for each sum."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.rounding import float_up
from leakcap.tables.answer import ReleasedTables
from leakcap.tables.residuals import margin_of
from leakcap.tables.widths import half_of, variance_of
from leakcap.tables.workload import Places

__all__ = ["box_sums"]


def box_sums(
    found: ReleasedTables, columns: Places, chosen: Mapping[int, NDArray[np.bool_]]
) -> tuple[NDArray[np.float64], float]:
    """The table of `columns`, rising, among what is `chosen` of other columns' keys; and half the width of
    the interval that holds each exact number with probability 95 % or more.

    All of the columns together are a table that was asked for, or a margin of one, and none is ordered, so
    that which keys are chosen does not matter but for their number.
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
    keys = {place: [1] * int(own.sum()) + [0] * int((~own).sum()) for place, own in chosen.items()}
    ones = {place: [1] + [0] * (workload.sizes[place] - 1) for place in columns}
    variance, steps = variance_of(found.plan, table, keys | ones)
    return values.reshape(top.shape), float_up(half_of(variance, steps, found.among) + off)
