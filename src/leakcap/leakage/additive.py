"""Additive Bayes capacity: by how much one guess can improve at most, over all priors."""

from __future__ import annotations

import numpy as np

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import up
from leakcap.progress import tracked

__all__ = ["additive_bayes_capacity"]

_ENUMERATED = 1 << 25
"""Work (subsets × outputs) up to which all sets of secrets are tried."""

_SOURCE = "Alvim et al. 2014"


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
        return Bound.exact(
            value, method="all sets of secrets", source=_SOURCE, unit="probability", witness=prior
        )
    lower, upper, chosen = _greedy(rows)
    return Bound(
        lower,
        max(lower, up(upper, rows.shape[1])),
        "greedy set of secrets, submodular upper bound (not exact: too many sets)",
        _SOURCE,
        "probability",
        chosen / chosen.sum(),
    )


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
