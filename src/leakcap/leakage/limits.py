"""Capacities in closed form: the most that any prior, any gain, or both can make of a channel."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.capacities.solvers import rational
from leakcap.capacities.solvers.columns import column_tops, row_residue, widest_column
from leakcap.channel import Channel, as_prior
from leakcap.gain import distribution_reciprocal
from leakcap.leakage.cells import allowed, joint_cells, matrix_rows
from leakcap.leakage.lifts import lift
from leakcap.numeric.enclosure import outward
from leakcap.numeric.rounding import down, up

__all__ = ["additive_gain_capacity", "bayes_capacity", "gain_capacity", "lift_capacity", "total_of_tops"]

_UNIT = 2.0**-53
_FEW = 4096
"""Outputs whose largest masses are added up as fractions."""


def bayes_capacity(channel: Channel) -> Bound:
    """Σ_y max_x C_xy: the largest average multiplicative g-leakage over all priors and gains g ≥ 0.

    A ratio; its logarithm is the maximal leakage, Sibson's capacity of order ∞. Attained by one guess
    under the uniform prior, which is the witness.
    Source: Braun, Chatzikokolakis & Palamidessi 2009; Alvim et al. 2012; Issa, Wagner & Kamath 2020.

    >>> round(bayes_capacity(Channel([[2/3, 1/6, 1/6], [1/3, 1/3, 1/3], [1/6, 1/6, 2/3]])).upper, 12)
    1.666666666667
    """
    uniform = np.full(channel.shape[0], 1.0 / channel.shape[0])
    ends = outward(rational.bayes_capacity(channel)) if channel.exact is not None else total_of_tops(channel)
    return Bound.enclosed(
        ends, method="closed form", source="Alvim et al. 2012", unit="ratio", witness=uniform
    )


def total_of_tops(channel: Channel) -> tuple[float, float]:
    """Doubles on both sides of Σ_y max_x C_xy.

    >>> total_of_tops(Channel([[0.75, 0.25], [0.25, 0.75]]))
    (1.5, 1.5)
    """
    if channel.shape[0] == 1:
        return 1.0, 1.0
    tops = column_tops(channel)
    if tops.size <= _FEW:
        low, high = outward(sum(map(Fraction, tops.tolist()), Fraction(0)))
    else:
        value = math.fsum(tops)
        low, high = down(value), up(value)
    missing = 1.01 * row_residue(channel) * high
    return (low, high) if missing == 0.0 else (down(low - missing), up(high + missing))


def lift_capacity(channel: Channel) -> Bound:
    """max_y max_x C_xy / min_x C_xy = e^ε: the largest lift over all priors, so the largest max-case leakage.

    A ratio, ∞ where an output rules a secret out. The witness is the pair (x, x'); priors of full support
    that gather on x' approach the value. Source: Fernandes, McIver & Sadeghi 2022, corollary 2.

    >>> round(lift_capacity(Channel([[2/3, 1/6, 1/6], [1/3, 1/3, 1/3], [1/6, 1/6, 2/3]])).upper, 12)
    4.0
    """
    if channel.exact is not None:
        ratio, pair = rational.ratio_and_pair(channel, None)
        ends = outward(ratio) if isinstance(ratio, Fraction) else (ratio, ratio)
    else:
        y, top, bottom = widest_column(channel)
        ends = _quotient(top, bottom, row_residue(channel))
        column = matrix_rows(channel)[:, [y]]
        pair = (int(column.argmax()), int(column.argmin()))
    source = "Fernandes, McIver & Sadeghi 2022, corollary 2"
    return Bound.enclosed(ends, method="closed form", source=source, unit="ratio", witness=pair)


def _quotient(top: float, bottom: float, missing: float) -> tuple[float, float]:
    """Doubles on both sides of top/bottom, each divided by the sum of its row."""
    if bottom <= 0.0:
        return math.inf, math.inf
    low, high = outward(Fraction(top) / Fraction(bottom))
    if missing == 0.0 or top == bottom:
        return low, high
    return down(low * (1.0 - 2.1 * missing), 2), up(high * (1.0 + 2.1 * missing), 2)


def gain_capacity(channel: Channel, prior: ArrayLike, *, max_case: bool = False) -> Bound:
    """The largest multiplicative g-leakage over all gains g ≥ 0, for one given prior; a ratio.

    On average the Bayes capacity of the secrets that the prior allows; in the max-case the lift. Both are
    attained by the distribution-reciprocal gain, which is the witness.
    Source: Alvim et al. 2014; Fernandes, McIver & Sadeghi 2022, theorems 1 and 2.

    >>> c = Channel([[0.9, 0.1], [0.2, 0.8]])
    >>> round(gain_capacity(c, [0.3, 0.7]).upper, 12), round(gain_capacity(c, [1.0, 0.0]).upper, 12)
    (1.7, 1.0)
    """
    live, weights = allowed(channel, prior)
    if max_case:
        value = lift(live, weights)
        units = 2 * live.shape[0] + 8 + math.ceil(2.1 * row_residue(live) / _UNIT)
        ends = (value, value) if live.shape[0] == 1 else (down(value, units), up(value, units))
    else:
        ends = total_of_tops(live)
    source = "Fernandes, McIver & Sadeghi 2022, theorem 2" if max_case else "Alvim et al. 2014"
    witness = distribution_reciprocal(as_prior(prior, channel.shape[0]))
    return Bound.enclosed(ends, method="closed form", source=source, unit="ratio", witness=witness)


def additive_gain_capacity(channel: Channel, prior: ArrayLike) -> Bound:
    """The largest additive g-leakage over gains whose actions each span at most 1, for one given prior.

    Total variation between P_XY and P_X × P_Y: choosing for each output the event that it makes likelier.
    A probability. Source: Alvim et al. 2014 (capacity over 1-spanning gains).

    >>> round(additive_gain_capacity(Channel([[1.0, 0.0], [0.0, 1.0]]), [0.5, 0.5]).upper, 12)
    0.5
    """
    cells = joint_cells(channel, prior)
    apart = cells.weight * cells.centre[cells.y]
    value = 0.5 * float(np.abs(cells.weight * cells.chance - apart).sum() + max(1.0 - math.fsum(apart), 0.0))
    # Each product and each mean errs by its roundings; all of them together are probabilities.
    units = channel.shape[0] + cells.weight.size + 8 + math.ceil(row_residue(channel) / _UNIT)
    source, size = "Alvim et al. 2014", 1.0 if value > 0.0 else 0.0
    return Bound.rounded(value, units, size=size, method="closed form", source=source, unit="probability")
