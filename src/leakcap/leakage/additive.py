"""Additive Bayes capacity: by how much one guess can improve at most, over all priors."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from leakcap.bound import Bound
from leakcap.capacities.solvers.columns import row_residue
from leakcap.channel import Channel
from leakcap.numeric.enclosure import outward
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up
from leakcap.progress import tracked

__all__ = ["additive_bayes_capacity"]

_ENUMERATED = 1 << 25
"""Work (subsets × outputs) up to which all sets of secrets are tried."""

_SOURCE = "Alvim et al. 2014"
_UNIT = 2.0**-53
_FEW = 32
"""Entries up to which all sets are compared as fractions."""


def additive_bayes_capacity(channel: Channel) -> Bound:
    """sup over priors of Σ_y max_x π_x C_xy − max_x π_x; a probability.

    For a fixed max π the posterior term is convex, so a prior uniform on a set S of secrets is best (the
    argument is in docs/theory/leakage.md): the capacity is max over S of (Σ_y max_{x∈S} C_xy − 1)/|S|.
    Finding S is a hard set problem in general. All sets are tried while subsets × outputs ≤ 2²⁵: exact.
    Beyond, an interval: a greedy set below, the submodular bound above, and the method says so.
    The witness is the prior. Source: Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi & Smith 2014.

    >>> additive_bayes_capacity(Channel([[1.0, 0.0], [0.0, 1.0]])).upper
    0.5
    """
    rows = channel.matrix
    count = rows.shape[0]
    if count <= 24 and (1 << count) * rows.shape[1] <= _ENUMERATED:
        value, chosen = _every_set(rows)
        prior = chosen / chosen.sum()
        ends = _exactly(rows, value, row_residue(channel))
        return Bound.enclosed(
            ends, method="all sets of secrets", source=_SOURCE, unit="probability", witness=prior
        )
    lower, upper, chosen = _greedy(rows)
    units = 2 * rows.shape[1] + count + 8 + math.ceil(row_residue(channel) / _UNIT)
    upper = min(up(upper, units, 2.0), 1.0)
    return Bound(
        min(max(down(lower, units, 2.0), 0.0), upper),
        upper,
        "greedy set of secrets, submodular upper bound (not exact: too many sets)",
        _SOURCE,
        "probability",
        chosen / chosen.sum(),
    )


def _exactly(rows: Floats, found: float, missing: float) -> tuple[float, float]:
    """Doubles on both sides of the capacity that was found in doubles.

    The sums of doubles err by their roundings; where few entries leave no doubt, by fractions.
    """
    slack = 2.0 * (rows.shape[1] + 4) * _UNIT + 2.0 * missing
    if rows.size > _FEW:
        return (found, found) if found == 0.0 else (found - 2.0 * slack, found + 2.0 * slack)
    table = [[Fraction(value) for value in row] for row in rows.tolist()]
    table = [[value / sum(row) for value in row] for row in table]
    best = Fraction(0)
    for size in range(1, len(table) + 1):
        for chosen in combinations(table, size):
            best = max(best, (sum(map(max, zip(*chosen, strict=True))) - 1) / size)
    return outward(best)


def _every_set(rows: Floats) -> tuple[float, Floats]:
    count = rows.shape[0]
    covered, sizes = np.zeros(1 << count), np.zeros(1)
    for _ in range(count):
        sizes = np.concatenate([sizes, sizes + 1.0])
    for column in tracked(rows.T, "additive Bayes capacity, all sets", rows.shape[1]):
        best = np.zeros(1)
        for value in column:
            best = np.concatenate([best, np.maximum(best, value)])
        covered += best
    values = (covered[1:] - 1.0) / sizes[1:]
    place = int(np.argmax(values)) + 1
    chosen = np.array([(place >> x) & 1 for x in range(count)], dtype=np.float64)
    return max(float(values[place - 1]), 0.0), chosen


def _greedy(rows: Floats) -> tuple[float, float, Floats]:
    """Grow S by the secret that adds most; a prefix T bounds every set of k: f(T) + k largest additions."""
    count = rows.shape[0]
    covered, chosen = np.zeros(rows.shape[1]), np.zeros(count)
    best, best_set = 0.0, np.eye(count)[0]
    sizes = np.arange(1, count + 1)
    limits = np.full(count, float(rows.max(axis=0).sum()))
    for size in tracked(sizes, "additive Bayes capacity, greedy sets", count):
        additions = np.maximum(rows - covered, 0.0).sum(axis=1)
        tallest = np.cumsum(-np.sort(-additions))
        limits = np.minimum(limits, covered.sum() + tallest)
        pick = int(np.argmax(np.where(chosen > 0, -1.0, additions)))
        chosen[pick] = 1.0
        covered = np.maximum(covered, rows[pick])
        value = (float(covered.sum()) - 1.0) / float(size)
        if value > best:
            best, best_set = value, chosen.copy()
    return best, max(float(np.max((limits - 1.0) / sizes)), 0.0), best_set
