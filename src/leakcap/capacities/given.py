"""Leakage under one given prior: Sibson's information of order α."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.adversary import GivenPrior
from leakcap.bound import Bound
from leakcap.capacities.verb import solve
from leakcap.channel import Channel, as_prior
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats, logsumexp

__all__ = ["between_joint", "given_prior", "log_lift", "sibson_information"]

_SMALLEST = 1e-290
"""Products of prior and output below this are on their way to zero: logarithms instead."""


@solve.register
def given_prior(adversary: GivenPrior, channel: Channel, divergence: Divergence) -> Bound:
    """min_Q D_α(P_XY ‖ P_X × Q) under the prior; mutual information at α = 1."""
    if not isinstance(divergence, Renyi):
        raise InvalidParameter(
            f"`divergence` under a given prior must be a `Renyi` order. Got {divergence!r}. "
            "Hockey-stick and total variation compare two secrets: use `Neighbours()`."
        )
    prior = as_prior(adversary.prior, channel.shape[0])
    value = sibson_information(channel, prior, divergence.alpha)
    method = f"Sibson information of order {divergence.alpha:g}"
    return Bound.exact(value, method=method, source="Sibson 1969", witness=prior)


def sibson_information(channel: Channel, prior: Floats, alpha: float) -> float:
    """(α/(α−1)) ln Σ_y (Σ_x π_x C_xy^α)^{1/α}, with the limits at 1 and ∞; dense or sparse.

    Evaluated as D_α(P_XY ‖ P_X × Q) at its own minimiser Q_y ∝ (Σ_x π_x C_xy^α)^{1/α}, where an error in Q
    counts only in second order. Source: Sibson 1969.

    >>> round(sibson_information(Channel([[1, 0], [0, 1]]), np.array([0.5, 0.5]), 1.0), 12)
    0.69314718056
    """
    x, y, cell = _cells(channel, prior)
    width = channel.shape[1]
    if math.isinf(alpha):
        return max(math.log(math.fsum(_column_tops(cell, y, width))), 0.0)
    if alpha == 1.0:
        centre = _column_sums(prior[x] * cell, y, width)
    else:
        log_centre = _log_norms(np.log(prior[x]) / alpha + np.log(cell), y, width, alpha)
        centre = np.exp(log_centre - log_centre.max())
        centre /= centre.sum()
    return between_joint(Renyi(alpha), prior[x], cell, centre[y])


def log_lift(channel: Channel, prior: Floats) -> float:
    """max ln C_xy/q_y over π_x > 0, q = πC: the max-mutual information, dense or sparse, in nats.

    Source: Wu, Xia & He 2017, definition 3.

    >>> round(log_lift(Channel([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5])), 12)
    0.575364144904
    """
    x, y, cell = _cells(channel, prior)
    centre = _column_sums(prior[x] * cell, y, channel.shape[1])
    return max(math.log(float(np.max(cell / centre[y]))), 0.0)


def between_joint(ruler: Renyi, weight: Floats, cell: Floats, centre: Floats) -> float:
    """D(P_XY ‖ P_X × Q) from the cells with mass; where P_XY has none, all of Q is one outcome.

    >>> between_joint(Renyi(1.0), np.array([0.5, 0.5]), np.ones(2), np.array([0.5, 0.5]))
    0.6931471805599453
    """
    mass = weight * centre
    if ruler.alpha >= 1.0 and mass.min() < _SMALLEST and centre.min() > 0.0:
        return max(_from_ratios(ruler.alpha, np.log(weight), np.log(cell), np.log(centre)), 0.0)
    rest = max(1.0 - math.fsum(mass), 0.0)
    return float(ruler.between(np.append(weight * cell, 0.0), np.append(mass, rest)))


def _from_ratios(alpha: float, log_weight: Floats, log_cell: Floats, log_centre: Floats) -> float:
    """The same from C/Q alone: priors whose products with q would underflow."""
    log_mass, ratio, order = log_weight + log_cell, log_cell - log_centre, alpha - 1.0
    if math.isinf(alpha):
        return float(ratio.max())
    if alpha == 1.0:
        return math.fsum(np.exp(log_mass) * ratio)
    if np.abs(order * ratio).max() < 1.0:
        return math.log1p(math.fsum(np.exp(log_mass) * np.expm1(order * ratio))) / order
    return float(logsumexp(log_mass + order * ratio)) / order


def _cells(channel: Channel, prior: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Secret, observation and probability of every cell with joint mass."""
    table: Any = channel.sparse
    if table is None:
        x, y = np.nonzero((channel.matrix > 0) & (prior > 0)[:, None])
        return x, y, channel.matrix[x, y]
    x = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    live = prior[x] > 0
    return x[live], table.indices[live], table.data[live]


def _column_sums(terms: Floats, y: NDArray[np.intp], width: int) -> Floats:
    return np.asarray(np.bincount(y, weights=terms, minlength=width), dtype=np.float64)


def _column_tops(terms: Floats, y: NDArray[np.intp], width: int) -> Floats:
    tops = np.full(width, -np.inf)
    np.maximum.at(tops, y, terms)
    return np.where(np.isfinite(tops), tops, 0.0)


def _log_norms(logs: Floats, y: NDArray[np.intp], width: int, alpha: float) -> Floats:
    """ln ‖e^v‖_α within each column; −∞ for a column without mass."""
    tops = np.full(width, -np.inf)
    np.maximum.at(tops, y, logs)
    sums = _column_sums(np.exp(alpha * (logs - tops[y])), y, width)
    return np.asarray(np.where(sums > 0, tops + np.log(np.where(sums > 0, sums, 1.0)) / alpha, -np.inf))
