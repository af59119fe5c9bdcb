"""Leakage under one given prior: Sibson's information of order α."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.adversary import GivenPrior
from leakcap.bound import Bound
from leakcap.capacities.solvers.columns import row_residue
from leakcap.capacities.verb import solver
from leakcap.certificate import Proof
from leakcap.channel import Channel, as_prior
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats, logsumexp
from leakcap.numeric.rounding import down, up

__all__ = ["between_joint", "given_prior", "information_ends", "log_lift", "sibson_information"]

_UNIT = 2.0**-53
_ROWS = 1 << 10
"""Rows of a sparse channel that are compared with the centre at once."""

_SMALLEST = 1e-290
"""Products of prior and output below this are on their way to zero: logarithms instead."""


@solver.register
def given_prior(adversary: GivenPrior, channel: Channel, divergence: Divergence) -> Bound:
    """min_Q D_α(P_XY ‖ P_X × Q) under the prior; mutual information at α = 1."""
    if not isinstance(divergence, Renyi):
        raise InvalidParameter(
            f"`divergence` under a given prior must be a `Renyi` order. Got {divergence!r}. "
            "Hockey-stick and total variation compare two secrets: use `Neighbours()`."
        )
    prior = as_prior(adversary.prior, channel.shape[0])
    ends = information_ends(channel, prior, divergence.alpha)
    method = f"Sibson information of order {divergence.alpha:g}"
    given = {"rows": channel, "prior": prior, "order": float(divergence.alpha)}
    bound = Bound.enclosed(ends, method=method, source="Sibson 1969", witness=prior)
    return replace(bound, proof=Proof("information", given))


def sibson_information(channel: Channel, prior: Floats, alpha: float) -> float:
    """(α/(α−1)) ln Σ_y (Σ_x π_x C_xy^α)^{1/α}, with the limits at 1 and ∞; dense or sparse.

    The middle of its enclosure. Source: Sibson 1969.

    >>> round(sibson_information(Channel([[1, 0], [0, 1]]), np.array([0.5, 0.5]), 1.0), 12)
    0.69314718056
    """
    low, high = information_ends(channel, prior, alpha)
    return low + 0.5 * (high - low) if math.isfinite(high) else high


def information_ends(channel: Channel, prior: Floats, alpha: float) -> tuple[float, float]:
    """Doubles on both sides of it: (1/t)·ln Σ_x π_x e^(t·D_x), t = α − 1, D_x from row x to the best Q.

    The best Q_y is in proportion to (Σ_x π_x C_xy^α)^{1/α}; an error in it counts in second order only. Each
    D_x comes with its error, and the sum increases in every one of them.

    >>> low, high = information_ends(Channel([[1, 0], [0, 1]]), np.array([0.5, 0.5]), 2.0)
    >>> low <= math.log(2.0) <= high
    True
    """
    x, y, cell = _cells(channel, prior)
    width = channel.shape[1]
    if math.isinf(alpha):
        over = max(math.fsum([*_column_tops(cell, y, width).tolist(), -1.0]), 0.0)
        missing = 1.01 * row_residue(channel) if over else 0.0
        return down(math.log1p(over), 4) - missing, up(math.log1p(over), 4) + missing
    if alpha == 1.0:
        centre = _column_sums(prior[x] * cell, y, width)
    else:
        log_centre = _log_norms(np.log(prior[x]) / alpha + np.log(cell), y, width, alpha)
        centre = np.exp(log_centre - log_centre.max())
        centre /= centre.sum()
    live = np.flatnonzero(prior > 0)
    apart, error = _to_centre(channel, live, centre, Renyi(alpha))
    depth = float(-np.log(cell.min()) - np.log(prior[live].min()))
    blur = _UNIT * (live.size + 64.0 * (1.0 + depth) * (1.0 + 1.0 / alpha))
    low, high = (
        _mean(prior[live], end, alpha - 1.0) for end in (np.maximum(apart - error, 0.0), apart + error)
    )
    low = max(down(low, live.size + 16) - 4.0 * alpha * blur**2, 0.0)
    return low, max(up(high, live.size + 16), 0.0)


def _mean(weights: Floats, apart: Floats, t: float) -> float:
    """(1/t)·ln Σ π e^(tD), the plain mean at t = 0."""
    if t == 0.0:
        return math.fsum(weights * apart)
    if t * float(apart.max()) < 600.0:
        over = math.fsum(weights * np.expm1(t * apart))
        if over > -0.5:
            return math.log1p(over) / t
    return float(logsumexp(np.log(weights) + t * apart)) / t


def _to_centre(
    channel: Channel, live: NDArray[np.intp], centre: Floats, ruler: Renyi
) -> tuple[Floats, Floats]:
    """D(row ‖ Q) for every row with weight, and how far rounding can have moved it."""
    table: Any = channel.sparse
    if table is None:
        rows = channel.matrix[live]
        return ruler.between(rows, centre[None, :]), ruler.error(rows, centre[None, :])
    values, errors = np.empty(live.size), np.empty(live.size)
    for start in range(0, live.size, _ROWS):
        part = table[live[start : start + _ROWS]]
        counts = np.diff(part.indptr)
        row = np.repeat(np.arange(counts.size), counts)
        within = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
        p, q = np.zeros((2, counts.size, int(counts.max(initial=0)) + 1))
        p[row, within], q[row, within] = part.data, centre[part.indices]
        # All that a row never shows: nothing where it shows every output that there is.
        partial = counts < np.count_nonzero(centre)
        q[:, -1] = np.where(partial, np.maximum(centre.sum() - q.sum(axis=1), 0.0), 0.0)
        here = slice(start, start + _ROWS)
        values[here], errors[here] = ruler.between(p, q), ruler.error(p, q) + partial * centre.size * _UNIT
    return values, errors


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
