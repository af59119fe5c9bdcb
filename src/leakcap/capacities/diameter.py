"""The diameter of the rows: sup over neighbouring secrets of D(row ‖ row')."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.adversary import Neighbours
from leakcap.bound import Bound
from leakcap.capacities.solvers import rational
from leakcap.capacities.solvers.columns import row_residue, widest_column
from leakcap.capacities.verb import solver
from leakcap.certificate import Proof
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import InvalidParameter
from leakcap.numeric.enclosure import outward
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up
from leakcap.progress import tracked

__all__ = ["diameter"]

_SPARSE_SECRETS = 5000
"""Up to here all pairs of a sparse channel's secrets are compared (2.5·10⁷ divergences)."""

_AT_ONCE = 1 << 14
"""Masses of both rows of dense pairs compared at once."""

_CHUNK = 1 << 14
"""Pairs of sparse rows compared at once."""

_QUOTIENT = 16
"""Roundings of the logarithm of a quotient."""

_NEARLY, _SMALL = 0.999, 1e-12
"""Divergences below this share of the largest, and this much below, cannot be the largest."""

Pair = tuple[int, int]
Ends = tuple[float, float]


@solver.register
def diameter(adversary: Neighbours, channel: Channel, divergence: Divergence) -> Bound:
    """max over neighbouring pairs, both directions, of D(row_x ‖ row_x'); the witness is the pair.

    The max-divergence over all pairs is one pass: the largest ratio within a column. For a channel of
    fractions, max-divergence, total variation and hockey-stick are exact and rounded outward.
    """
    _check_pairs(adversary.pairs, channel.shape[0])
    found = _exactly(channel, divergence, adversary.pairs)
    ends, pair = found or _in_doubles(channel, divergence, adversary.pairs)
    method = f"diameter: closed form over {_which(adversary.pairs, channel)}"
    bound = Bound.enclosed(ends, method=method, unit=divergence.unit, witness=pair)
    return replace(bound, proof=_proof(channel, divergence, adversary.pairs))


def _proof(channel: Channel, divergence: Divergence, pairs: tuple[Pair, ...] | None) -> Proof | None:
    """What a checker has to compute again: all of it, since the largest pair alone proves no upper end."""
    given: dict[str, Any] = {"rows": channel, "pairs": "all" if pairs is None else pairs}
    if isinstance(divergence, Renyi):
        if math.isinf(divergence.alpha):
            return Proof("ratio", given)
        return Proof("renyi-finite", {**given, "order": float(divergence.alpha)})
    if isinstance(divergence, TotalVariation | HockeyStick):
        gamma = divergence.exp_epsilon if isinstance(divergence, HockeyStick) else 1.0
        return Proof("hockey-finite", {**given, "gamma": float(gamma)})
    return None


def _which(pairs: tuple[Pair, ...] | None, channel: Channel) -> str:
    """Which secrets are neighbours, in words."""
    if pairs is not None:
        return f"{len(pairs):,} listed pairs of rows"
    if all(isinstance(label, tuple) and len(label) > 1 for label in channel.inputs):
        return "all pairs of databases, not only those one record apart (`hamming_neighbours`)"
    return "all pairs of rows"


def _in_doubles(
    channel: Channel, divergence: Divergence, pairs: tuple[Pair, ...] | None
) -> tuple[Ends, Pair]:
    if pairs is not None:
        return _listed(channel, divergence, pairs).told()
    if isinstance(divergence, Renyi) and math.isinf(divergence.alpha):
        return _largest_ratio(channel)
    if channel.sparse is not None:
        return _every_sparse_pair(channel, divergence)
    return _every_pair(channel.matrix, divergence)


def _exactly(
    channel: Channel, divergence: Divergence, pairs: tuple[Pair, ...] | None
) -> tuple[Ends, Pair] | None:
    if channel.exact is None:
        return None
    if isinstance(divergence, Renyi) and math.isinf(divergence.alpha):
        ratio, pair = rational.ratio_and_pair(channel, pairs)
        return rational.log_ends(ratio), pair
    if isinstance(divergence, TotalVariation | HockeyStick):
        gamma = divergence.exp_epsilon if isinstance(divergence, HockeyStick) else 1
        delta, pair = rational.hockey_stick_and_pair(channel, gamma, pairs)
        return outward(delta), pair
    return None


def _largest_ratio(channel: Channel) -> tuple[Ends, Pair]:
    y, top, bottom = widest_column(channel)
    value = _log_quotient(top, bottom)
    table = channel.sparse
    column = channel.matrix[:, y] if table is None else table[:, [y]].toarray().ravel()
    missing = 0.0 if top == bottom else 2.0 * row_residue(channel)
    ends = down(value, _QUOTIENT) - missing, up(value, _QUOTIENT) + missing
    return ends, (int(np.argmax(column)), int(np.argmin(column)))


def _log_quotient(top: float, bottom: float) -> float:
    """ln(top/bottom) of two numbers, precise where they nearly agree; 0 where both are zero."""
    if bottom <= 0.0:
        return math.inf if top > 0.0 else 0.0
    return math.log1p((top - bottom) / bottom) if top < 2.0 * bottom else math.log(top) - math.log(bottom)


@dataclass
class _Largest:
    """The largest divergence so far: what is certain, what is possible, and the pair."""

    divergence: Divergence
    low: float = 0.0
    high: float = 0.0
    pair: Pair = (0, 0)

    def see(self, left: Any, right: Any, p: Floats, q: Floats) -> None:
        """Compare with more pairs of rows; errors are found for those that can win."""
        values = np.atleast_1d(self.divergence.between(p, q))
        if math.isinf(self.low) or not values.size:
            return
        at = int(np.argmax(values))
        if values[at] > self.low:
            self.pair = (
                int(np.broadcast_to(left, values.shape)[at]),
                int(np.broadcast_to(right, values.shape)[at]),
            )
        near = np.flatnonzero(values >= _NEARLY * max(float(values[at]), self.low) - _SMALL)
        p, q = np.broadcast_arrays(np.atleast_2d(p), np.atleast_2d(q))
        errors = self.divergence.error(p[near], q[near])
        self.low = max(self.low, float(np.max(values[near] - errors, initial=0.0)))
        self.high = max(self.high, float(np.max(values[near] + errors, initial=0.0)))

    def told(self) -> tuple[Ends, Pair]:
        """Both ends, and the pair."""
        return (min(self.low, self.high), up(self.high)), self.pair


def _every_pair(rows: Floats, divergence: Divergence) -> tuple[Ends, Pair]:
    # An output that no secret has would only widen the error.
    rows, best = rows[:, rows.any(axis=0)], _Largest(divergence)
    others = np.arange(len(rows))
    some = max(1, _AT_ONCE // max(rows.size, 1))  # of a small channel all at once: NumPy is slow to start
    for start in tracked(range(0, len(rows), some), "all pairs of secrets"):
        left = np.repeat(others[start : start + some], len(rows))
        right = np.resize(others, left.shape)
        best.see(left, right, rows[left], rows[right])
    return best.told()


def _every_sparse_pair(channel: Channel, divergence: Divergence) -> tuple[Ends, Pair]:
    if isinstance(divergence, Renyi) and divergence.alpha >= 1.0:
        ends, pair = _largest_ratio(channel)
        if math.isinf(ends[0]):  # a secret rules the output out: infinite at every order from one on
            return ends, pair
    count = channel.shape[0]
    if count > _SPARSE_SECRETS:
        raise InvalidParameter(
            "`pairs` of `Neighbours` must be listed for a sparse "
            f"channel of more than {_SPARSE_SECRETS} secrets. "
            f"Got all pairs of {count}. List the neighbouring ones, for instance "
            "`Neighbours(((0, 1), (1, 2)))`."
        )
    best = _Largest(divergence)
    for x in tracked(range(count), "all pairs of secrets"):
        found = _listed(channel, divergence, tuple((x, other) for other in range(x + 1, count)))
        if found.low > best.low:
            best.pair = found.pair
        best.low, best.high = max(best.low, found.low), max(best.high, found.high)
    return best.told()


def _listed(channel: Channel, divergence: Divergence, pairs: tuple[Pair, ...]) -> _Largest:
    best = _Largest(divergence)
    if pairs:
        index = np.array(pairs, dtype=np.int64)
        for left, right, p, q in _pairs_of_rows(channel, np.concatenate([index, index[:, ::-1]])):
            best.see(left, right, p, q)
    return best


def _pairs_of_rows(channel: Channel, both: NDArray[np.int64]) -> Iterator[tuple[Any, Any, Floats, Floats]]:
    sparse = channel.sparse
    chunk = _CHUNK if sparse is not None else max(1, (1 << 22) // channel.shape[1])
    for start in range(0, len(both), chunk):
        left, right = both[start : start + chunk].T
        if sparse is None:
            yield left, right, channel.matrix[left], channel.matrix[right]
        else:
            yield left, right, *_aligned(sparse[left], sparse[right])


def _aligned(first: Any, second: Any) -> tuple[Floats, Floats]:
    """Sparse rows over the outputs that either can show; what neither shows counts in no divergence."""
    keys = [_keys(first), _keys(second)]
    cells = np.unique(np.concatenate(keys))
    row = cells // first.shape[1]
    within = np.arange(cells.size) - np.searchsorted(row, row)
    shape = (first.shape[0], int(within.max(initial=0)) + 1)
    result = np.zeros(shape), np.zeros(shape)
    for target, key, table in zip(result, keys, (first, second), strict=True):
        place = np.searchsorted(cells, key)
        target[row[place], within[place]] = table.data
    return result


def _keys(table: Any) -> NDArray[np.int64]:
    rows = np.repeat(np.arange(table.shape[0], dtype=np.int64), np.diff(table.indptr))
    return np.asarray(rows * table.shape[1] + table.indices, dtype=np.int64)


def _check_pairs(pairs: tuple[Pair, ...] | None, count: int) -> None:
    if not pairs:
        return
    index = np.array(pairs)
    if (
        index.dtype.kind not in "iu"
        or index.ndim != 2
        or index.shape[1] != 2
        or index.min() < 0
        or index.max() >= count
    ):
        raise InvalidParameter(
            "`pairs` of `Neighbours` must be pairs of secrets from "
            f"0 to {count - 1}. Got others among {len(pairs)}."
        )
