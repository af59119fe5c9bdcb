"""How far noise and the error of sampling go together: P(|Σ w·Z + s·N| ≥ t) for a normal variable N.

N is cut into bins a tenth of a deviation wide, and each counts as its upper end, so that the tail is never
too light. Both are symmetric: P(|X + sN| ≥ t) = 2·Σ P(N in a bin)·P(X ≥ t − s·N). Above 0 half of the tail
of |X| is P(X ≥ u); below it is 1 less the half beyond −u, of which a twentieth is left out, and two steps:
more than the tail of the noise is rounded up by (`release/numbers/tails.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from leakcap.arrays import ArrayLike, np
from leakcap.release.numbers.laws import Law
from leakcap.release.numbers.tails import Floats

__all__ = ["sampled_tail"]

_FAR, _BINS = 5.0, 100
# What N is beyond, on one side, and what a tail may be too heavy by far out.
_LEFT = 3e-7 + 1e-6
# So many places, and so many numbers of places and bins, stay in the processor's cache.
_PLACES, _AT_ONCE = 1 << 9, 1 << 13


@cache
def _bins() -> tuple[Floats, Floats]:
    """The chance of each bin, and its upper end."""
    edges = np.linspace(-_FAR, _FAR, _BINS + 1)
    below = np.array([0.5 * math.erfc(-edge / math.sqrt(2.0)) for edge in edges.tolist()])
    return np.diff(below), edges[1:]


def sampled_tail(
    law: Law, noises: Sequence[tuple[ArrayLike, float]], deviation: ArrayLike, at: ArrayLike
) -> Floats:
    """P(|Σ weight·Z + deviation·N| ≥ at) for noises of one law and a standard normal N, place by place.

    An upper bound. `deviation` and `at` are in the unit of the weights.

    >>> from leakcap.release.numbers.laws import GAUSSIAN
    >>> 0.05 < float(sampled_tail(GAUSSIAN, [(1.0, 3000.0)], 4000.0, 9800.0)) < 0.057
    True
    """
    weights = [np.asarray(weight, dtype=np.float64) for weight, _ in noises]
    scales = [scale for _, scale in noises]
    far, spread, *each = np.broadcast_arrays(
        np.asarray(at, dtype=np.float64), np.asarray(deviation, dtype=np.float64), *weights
    )
    shape = far.shape
    far, spread, *each = (one.ravel() for one in (far, spread, *each))
    found = np.empty(far.shape)
    for start in range(0, far.size, _PLACES):
        some = slice(start, start + _PLACES)
        own = [(one[some], scale) for one, scale in zip(each, scales, strict=True)]
        found[some] = _of_places(law, own, spread[some], far[some])
    return np.where(far <= 0.0, 1.0, np.minimum(found, 1.0)).reshape(shape)


def _of_places(law: Law, noises: Sequence[tuple[Floats, float]], spread: Floats, far: Floats) -> Floats:
    """The sum over all bins: many bins of few places, or of more places fewer, are looked at in one call."""
    steps = 2.0 * np.sum(np.abs([weight for weight, _ in noises]), axis=0)
    found = np.full(far.shape, 2.0 * _LEFT)
    size = max(1, _AT_ONCE // max(1, far.size))
    for start in range(0, _BINS, size):
        chances, edges = (one[start : start + size] for one in _bins())
        left = far - np.multiply.outer(edges, spread)
        above = left > 0.0
        tail = law.tail(noises, np.where(above, left, steps - left), None)
        parts = np.where(above, tail / 2.0, 1.0 - 0.475 * tail)
        for chance, part in zip(chances.tolist(), parts, strict=True):
            found += 2.0 * chance * part
    return found
