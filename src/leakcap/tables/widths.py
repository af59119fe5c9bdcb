"""How far estimates are off: the variance of any sum of cells that is a product of weights, and intervals.

The error of an estimate is a sum of independent noises Σ w·Z. Of ordered columns L and u are rounded
(`ordered/basis`): what is told of the noise is then of rounded weights, and what is left over is added, of
both the noise and the value.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.rounding import float_up, up
from leakcap.tables.plan import ResidualPlan, root_up
from leakcap.tables.residuals import Integers
from leakcap.tables.workload import Places, Workload

__all__ = [
    "NORMAL",
    "chosen_among",
    "half_of",
    "inflated",
    "rounded_by",
    "tail_of",
    "variance_of",
    "widths_of",
]

NORMAL = Fraction(195996398455, 10**11)
"""More than the 97.5 % point of the normal law: what is left over is far more than 10⁻¹³⁰ for each number."""

_SLIGHT = 1e-11
"""Above what the roundings of a few products of doubles can lose."""


def chosen_among(count: int) -> float:
    """√(2 ln(20·count)), rounded up: so many normal variables are all within so many standard deviations with
    probability 95 % or more, for P(|Z| > z) ≤ e^(−z²/2).

    >>> round(chosen_among(66), 2)
    3.79
    """
    return up(math.sqrt(2.0 * math.log(20 * count)) * (1.0 + 1e-12))


def half_of(variance: Fraction, steps: Fraction, among: int = 1) -> Fraction:
    """How far to either side of a sum an interval goes: Σ|w| + 1.96·√V; with `among` that of so many sums."""
    normal = NORMAL if among == 1 else Fraction(chosen_among(among))
    return steps + normal * Fraction(root_up(variance))


def variance_of(
    plan: ResidualPlan, table: Places, weights: Mapping[int, Sequence[int]]
) -> tuple[Fraction, Fraction]:
    """The variance of a sum of a table's cells whose weight is a product of whole weights of keys, and
    Σ|w| of the noises that it is made of: no less than both. Every column of the table has `weights`.

    >>> plan = ResidualPlan.of(Workload.of({"sex": 2}, [["sex"]]), 0.02)
    >>> both = variance_of(plan, (0,), {0: [1, 1]})[0]
    >>> both == plan.variance(()), both == 2 * plan.variance((0,))
    (True, True)
    """
    workload, known = plan.workload, dict[int, tuple[Fraction, Fraction]]()
    variance = steps = Fraction(0)
    for part in workload.margins(table):
        if part not in plan.variances:
            continue
        ways = workload.ways(table, part)
        for i, way in zip(table, ways, strict=True):
            if id(way) not in known:
                known[id(way)] = way.along(weights[i])
        variance += math.prod((known[id(way)][0] for way in ways), start=plan.noise(part))
        steps += math.prod((known[id(way)][1] for way in ways), start=Fraction(1, workload.grain(part)))
    tail, missed = tail_of(plan, table)
    cells = math.prod(sum(map(abs, weights[i])) for i in table)
    return inflated(variance, cells * tail), steps + cells * missed


def inflated(variance: Fraction, tail: Fraction) -> Fraction:
    """No less than the variance with the true weights, whose noise is off from that with rounded ones by a
    standard deviation of `tail` at most: (a + b)² ≤ (1 + t)a² + (1 + 1/t)b².

    >>> inflated(Fraction(9), Fraction(0))
    Fraction(9, 1)
    """
    if not tail:
        return variance
    return variance * (1 + Fraction(1, 1 << 40)) + tail**2 * (1 + (1 << 40))


def tail_of(plan: ResidualPlan, table: Places) -> tuple[Fraction, Fraction]:
    """How far the noise of a cell with the true weights is from that with rounded ones: its standard
    deviation, and the sum of the differences of weights, at most. Nothing without ordered columns."""
    deviation = missed = Fraction(0)
    for part, apart in _off(plan.workload, table):
        if part in plan.variances:
            numbers = math.prod(plan.workload.numbers_of(part))
            # √v ≤ v + 1, √n ≤ n
            deviation += apart * (plan.variances[part] + 1) * numbers
            missed += apart * numbers
    return deviation, missed


def rounded_by(workload: Workload, released: Mapping[Places, Integers], table: Places) -> Fraction:
    """How far the estimate of a cell is from that with the true weights, at most; 0 without ordered
    columns."""
    return sum(
        (
            apart * sum(map(abs, np.ravel(released[part]).tolist()))
            for part, apart in _off(workload, table)
            if part in released
        ),
        Fraction(0),
    )


def _off(workload: Workload, table: Places) -> list[tuple[Places, Fraction]]:
    """By margin how far a weight in a cell is from the true one: ∏(l + off) − ∏l."""
    bases = [workload.bases[place] for place in table]
    if not any(one.off for one in bases):
        return []
    near = math.prod((one.largest for one in bases), start=Fraction(1))
    apart = math.prod((one.largest + one.off for one in bases), start=Fraction(1)) - near
    return [(part, apart) for part in workload.margins(table)]


def widths_of(
    plan: ResidualPlan, table: Places, cumulative: Collection[int], among: int = 1
) -> tuple[NDArray[np.float64], float]:
    """How far to either side of each cell of a table its interval goes, and the largest standard
    deviation; of `cumulative` columns the cells are added up from the first key on. Rounded up.

    >>> plan = ResidualPlan.of(Workload.of({"sex": 2}, [["sex"]]), 0.02)
    >>> widths_of(plan, (0,), (0,))[0].round(1).tolist(), float(plan.variance((0,))) ** 0.5 < 5.01
    ([10.8, 14.9], True)
    """
    shape = [plan.workload.sizes[place] for place in table]
    variance, steps = np.zeros(shape), np.zeros(shape)
    known: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for part in plan.workload.margins(table):
        if part not in plan.variances:
            continue
        own, beside = np.full(shape, float(plan.noise(part))), np.ones(shape)
        ways = plan.workload.ways(table, part)
        for axis, (place, way) in enumerate(zip(table, ways, strict=True)):
            wide = [-1 if one == axis else 1 for one in range(len(table))]
            if id(way) not in known:
                both = way.each(place in cumulative)
                squares, absolutes = (np.array([float(one) for one in column]) for column in both)
                known[id(way)] = squares, absolutes
            own *= known[id(way)][0].reshape(wide)
            beside *= known[id(way)][1].reshape(wide)
        variance, steps = variance + own, steps + beside / plan.workload.grain(part)
    tail, missed = tail_of(plan, table)
    cells = math.prod(plan.workload.sizes[place] if place in cumulative else 1 for place in table)
    normal = float(NORMAL) if among == 1 else chosen_among(among)
    deviation = np.sqrt(variance) * (1.0 + _SLIGHT) + float_up(cells * tail)
    found = (steps + normal * deviation) * (1.0 + _SLIGHT) + float_up(cells * missed)
    return found, float(deviation.max(initial=0.0))
