"""Whole numbers that are not negative and add up in every node, as near to the estimates as can be.

From the top down: a parent's whole number N is divided among its children. Of all whole n_c within what is
known of them, l_c ≤ n_c ≤ h_c, with Σ n_c = N, those are taken with the least Σ (n_c − x_c)²/V_c. The costs
are convex in each n_c and add up, so that the units of N may be given out one at a time, each where it costs
least: the cost of the step from m to m + 1 rises with m, and is (2(m − x_c) + 1)/V_c. So for some λ all steps
below it are taken, n_c = ⌊x_c + λV_c/2 + ½⌋ within its limits, and of those at λ as many as are missing. λ is
found for all parents at once by bisection; no solver is needed.

Source: Gross 1956 for units given out one at a time; Ibaraki & Katoh 1988, chapter 4. This is
post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leakcap.tables.hierarchies.fit import TreeFit
from leakcap.tables.hierarchies.tree import Hierarchy

__all__ = ["nearest_whole", "whole_counts"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_MOST = 2.0**52
"""Counts beyond are no counts of people; doubles hold whole numbers up to there."""
_STEPS = 400


def whole_counts(fit: TreeFit, limits: Sequence[tuple[Floats, Floats]]) -> tuple[Integers, ...]:
    """Whole counts of every level, which add up and lie within `limits`: for each level the least and the
    most that its nodes can have, in view of what is known exactly.

    >>> from fractions import Fraction
    >>> land = Hierarchy.of(["land", "town"], [("l", "a"), ("l", "b"), ("l", "c")])
    >>> fit = TreeFit.of(land, [np.array([9]), np.array([-4, 4, 6])], [Fraction(16)] * 2, [{}, {}])
    >>> limits = [(np.zeros(size), np.full(size, np.inf)) for size in land.sizes]
    >>> [one.tolist() for one in whole_counts(fit, limits)]
    [[8], [0, 3, 5]]
    """
    estimates = [
        np.clip(base + shift, -_MOST, _MOST) for base, shift in zip(fit.base, fit.shift, strict=True)
    ]
    least, most = limits[0]
    found = [np.clip(np.rint(estimates[0]), least, most).astype(np.int64)]
    for level in range(1, len(estimates)):
        found.append(
            nearest_whole(
                fit.hierarchy, level, found[-1], estimates[level], fit.below_variance[level], limits[level]
            )
        )
    return tuple(found)


def nearest_whole(
    hierarchy: Hierarchy,
    level: int,
    totals: Integers,
    estimates: Floats,
    variances: Floats,
    limits: tuple[Floats, Floats],
) -> Integers:
    """The totals of the level above, divided among the nodes of this one, nearest to its estimates.

    Each total must lie between the sums of its children's limits.
    """
    parents, (least, most) = hierarchy.parents[level], limits
    starts = hierarchy.starts(level)
    largest = np.maximum.reduceat(variances, starts)[parents]
    # In steps of the child with the largest variance, so that λ is in counts.
    rate = np.divide(variances, largest, out=np.ones_like(variances), where=largest > 0)
    rate = np.maximum(rate, 1e-9)

    def taken(threshold: Floats) -> Floats:
        return np.clip(np.floor(estimates + threshold[parents] * rate + 0.5), least, most)

    def summed(threshold: Floats) -> Floats:
        return np.asarray(np.add.reduceat(taken(threshold), starts), dtype=np.float64)

    wanted = totals.astype(np.float64)
    middle = (wanted - np.add.reduceat(estimates, starts)) / np.add.reduceat(rate, starts)
    low, high, step = middle - 1.0, middle + 1.0, 1.0
    for _ in range(_STEPS):
        above, under = summed(low) > wanted, summed(high) < wanted
        if not (above.any() or under.any()):
            break
        step *= 2.0
        low, high = np.where(above, low - step, low), np.where(under, high + step, high)
    # At a width below 1 each child has one step at most between the two.
    while float((high - low).max()) > 0.5:
        half = (low + high) / 2
        if not ((half > low) & (half < high)).any():
            break
        over = summed(half) > wanted
        low, high = np.where(over, low, half), np.where(over, half, high)
    found = taken(low)
    for _ in range(_STEPS):
        missing = np.rint(wanted - np.add.reduceat(found, starts))
        if not missing.any():
            break
        found = found + _given(found, missing, estimates, rate, most, parents, starts)
    return np.asarray(found, dtype=np.int64)


def _given(
    found: Floats,
    missing: Floats,
    estimates: Floats,
    rate: Floats,
    most: Floats,
    parents: Integers,
    starts: Integers,
) -> Floats:
    """One unit more for those children of each parent where it costs least, as many as are missing there."""
    cost = np.where(found < most, (found + 0.5 - estimates) / rate, np.inf)
    order = np.lexsort((cost, parents))
    # The parents stand together in this order as before, so that a rank is a place less its parent's first.
    ranks = np.empty(len(found))
    ranks[order] = np.arange(len(found)) - starts[parents]
    return np.where((ranks < missing[parents]) & (found < most), 1.0, 0.0)
