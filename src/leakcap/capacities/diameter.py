"""The diameter of the rows: sup over neighbouring secrets of D(row ‖ row')."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leakcap.adversary import Neighbours
from leakcap.bound import Bound
from leakcap.capacities.verb import solve
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter

__all__ = ["diameter"]


@solve.register
def diameter(adversary: Neighbours, channel: Channel, divergence: Divergence) -> Bound:
    """max over neighbouring pairs, both directions, of D(row_x ‖ row_x'); the witness is the pair.

    The max-divergence over all pairs is one pass: the largest ratio within a column.
    """
    rows = channel.matrix
    if adversary.pairs is not None:
        value, pair = _listed(rows, divergence, adversary.pairs)
    elif isinstance(divergence, Renyi) and math.isinf(divergence.alpha):
        value, pair = _largest_ratio(rows)
    else:
        value, pair = _every_pair(rows, divergence)
    return Bound.exact(value, method="diameter: closed form over pairs of rows", unit=divergence.unit, witness=pair)


def _largest_ratio(rows: NDArray[np.float64]) -> tuple[float, tuple[int, int]]:
    top, bottom = rows.max(axis=0), rows.min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(top > 0, np.log(top) - np.log(bottom), -np.inf)
    y = int(np.argmax(ratio))
    return max(float(ratio[y]), 0.0), (int(np.argmax(rows[:, y])), int(np.argmin(rows[:, y])))


def _every_pair(rows: NDArray[np.float64], divergence: Divergence) -> tuple[float, tuple[int, int]]:
    best, pair = 0.0, (0, 0)
    for x, row in enumerate(rows):
        values = divergence.between(row[None, :], rows)
        other = int(np.argmax(values))
        if values[other] > best:
            best, pair = float(values[other]), (x, other)
    return best, pair


def _listed(
    rows: NDArray[np.float64], divergence: Divergence, pairs: tuple[tuple[int, int], ...]
) -> tuple[float, tuple[int, int]]:
    if not pairs:
        return 0.0, (0, 0)
    index = np.array(pairs, dtype=np.int64)
    if index.ndim != 2 or index.shape[1] != 2 or index.min() < 0 or index.max() >= len(rows):
        raise InvalidParameter(
            f"`pairs` of `Neighbours` must be pairs of secrets from 0 to {len(rows) - 1}. Got {pairs!r}."
        )
    both = np.concatenate([index, index[:, ::-1]])
    values = divergence.between(rows[both[:, 0]], rows[both[:, 1]])
    best = int(np.argmax(values))
    return float(values[best]), (int(both[best, 0]), int(both[best, 1]))
