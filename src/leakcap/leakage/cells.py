"""A channel under a prior, dense or sparse: the secrets that count, the output's distribution, the cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.channel import Channel, as_prior
from leakcap.numeric.logspace import Floats

__all__ = ["JointCells", "allowed", "joint_cells", "matrix_rows", "mixture"]


def allowed(channel: Channel, prior: ArrayLike) -> tuple[Channel, Floats]:
    """The channel on the secrets that the prior allows, and the prior over them; errors are `InvalidPrior`.

    >>> allowed(Channel([[1.0, 0.0], [0.5, 0.5]]), [1.0, 0.0])
    (<Channel of 1 secrets and 2 observations>, array([1.]))
    """
    weights = as_prior(prior, channel.shape[0])
    live = np.flatnonzero(weights > 0)
    if live.size == weights.size:
        return channel, weights
    rows = channel.matrix if channel.sparse is None else channel.sparse
    return Channel(rows[live]), weights[live]


def matrix_rows(channel: Channel) -> Any:
    """The matrix: sparse where the channel is, doubles otherwise.

    >>> matrix_rows(Channel([[1.0]]))
    array([[1.]])
    """
    return channel.matrix if channel.sparse is None else channel.sparse


def mixture(channel: Channel, weights: Floats) -> Floats:
    """q = πC, the distribution of the output.

    >>> mixture(Channel([[1.0, 0.0], [0.5, 0.5]]), np.array([0.5, 0.5]))
    array([0.75, 0.25])
    """
    return np.asarray(weights @ matrix_rows(channel))


@dataclass(frozen=True)
class JointCells:
    """The cells (x, y) with C_xy > 0: where they are, C_xy, π_x and q_y; `width` outputs in all."""

    x: NDArray[np.intp]
    y: NDArray[np.intp]
    chance: Floats
    weight: Floats
    centre: Floats
    width: int

    def sums(self, terms: Floats) -> Floats:
        """Σ of the terms of each output."""
        return np.asarray(np.bincount(self.y, weights=terms, minlength=self.width))

    def log_norms(self, logs: Floats, alpha: float) -> Floats:
        """ln ‖e^v‖_α of the terms of each output; −∞ for an output without any."""
        tops = np.full(self.width, -np.inf)
        np.maximum.at(tops, self.y, logs)
        if np.isinf(alpha):
            return tops
        sums = self.sums(np.exp(alpha * (logs - tops[self.y])))
        return np.asarray(np.where(sums > 0, tops + np.log(np.where(sums > 0, sums, 1.0)) / alpha, -np.inf))

    def ranks(self, terms: Floats) -> NDArray[np.intp]:
        """The place of each term within its output, the largest first, from 1."""
        order = np.lexsort((-terms, self.y))
        starts = np.searchsorted(self.y[order], np.arange(self.width))
        result = np.empty(order.size, dtype=np.intp)
        result[order] = np.arange(order.size) - starts[self.y[order]] + 1
        return result


def joint_cells(channel: Channel, prior: ArrayLike) -> JointCells:
    """The cells with joint mass; errors are `InvalidPrior`.

    >>> joint_cells(Channel([[1.0, 0.0], [0.5, 0.5]]), [0.5, 0.5]).y.tolist()
    [0, 0, 1]
    """
    channel, weights = allowed(channel, prior)
    table = channel.sparse
    if table is None:
        x, y = np.nonzero(channel.matrix)
        chance = channel.matrix[x, y]
    else:
        x = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
        keep = table.data > 0
        x, y, chance = x[keep], table.indices[keep].astype(np.intp), table.data[keep]
    return JointCells(x, y, chance, weights[x], mixture(channel, weights), channel.shape[1])
