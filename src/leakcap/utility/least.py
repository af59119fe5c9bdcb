"""The least guessing leakage at a given loss: linear programs with a dual certificate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel, as_prior
from leakcap.errors import LeakcapError, require
from leakcap.numeric.logspace import Floats
from leakcap.numeric.programs import LinearSolution, diagonal, kron, minimise_linear, stack
from leakcap.numeric.rounding import down
from leakcap.utility.distortion import least_distortion, loss_matrix

__all__ = ["least_bayes_capacity", "least_bayes_vulnerability", "within_loss"]


def least_bayes_capacity(prior: ArrayLike, loss: ArrayLike, *, max_loss: float) -> Bound:
    """The least Bayes capacity Σ_y max_x C_xy of a mechanism with expected loss ≤ `max_loss`; a ratio.

    The witness is the mechanism, which attains the upper end; the lower end is a feasible point of the
    dual program, evaluated apart from the solver. Raises `InvalidParameter`, `InvalidPrior`.

    >>> round(least_bayes_capacity([0.5, 0.5], [[0, 1], [1, 0]], max_loss=0.25).upper, 9)
    1.5
    """
    table = loss_matrix("least_bayes_capacity", loss)
    weights = as_prior(prior, table.shape[0])
    return _least(table, weights, np.ones(len(weights)), max_loss, "least_bayes_capacity", "ratio")


def least_bayes_vulnerability(prior: ArrayLike, loss: ArrayLike, *, max_loss: float) -> Bound:
    """The least Σ_y max_x π_x C_xy, success of one guess, at expected loss ≤ `max_loss`; a probability.

    The witness is the mechanism, as in `least_bayes_capacity`.

    >>> round(least_bayes_vulnerability([0.5, 0.5], [[0, 1], [1, 0]], max_loss=0.25).upper, 9)
    0.75
    """
    table = loss_matrix("least_bayes_vulnerability", loss)
    weights = as_prior(prior, table.shape[0])
    return _least(table, weights, weights, max_loss, "least_bayes_vulnerability", "probability")


def within_loss(rows: Floats, prior: Floats, loss: Floats, max_loss: float) -> Floats:
    """`rows` moved towards the best outputs just enough that the expected loss is within `max_loss`.

    >>> within_loss(np.full((2, 2), 0.5), np.full(2, 0.5), 1.0 - np.eye(2), 0.25)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    spent = float(prior @ (rows * loss).sum(axis=1))
    if spent <= max_loss:
        return rows
    cheapest = loss.argmin(axis=1)
    best = np.where(loss <= loss.min(axis=1, keepdims=True), rows, 0.0)
    best[np.arange(len(rows)), cheapest] += best.sum(axis=1) == 0.0
    best = best / best.sum(axis=1, keepdims=True)
    least = float(prior @ loss.min(axis=1))
    share = min(1.0, (spent - max_loss) / (spent - least)) if spent > least else 1.0
    return np.asarray((1.0 - share) * rows + share * best)


def _least(table: Floats, prior: Floats, scale: Floats, max_loss: float, owner: str, unit: str) -> Bound:
    floor, _ = least_distortion(prior, table)
    require(max_loss >= floor, "max_loss", owner, f"be at least {floor!r}, the least possible loss", max_loss)
    solution = _solve(table, prior, scale, max_loss)
    if solution is None:
        raise LeakcapError("the linear program was not solved. Scale the loss to about 1.")
    rows = np.maximum(solution.point[: table.size].reshape(table.shape), 0.0)
    rows = within_loss(rows / rows.sum(axis=1, keepdims=True), prior, table, max_loss)
    upper = float((scale[:, None] * rows).max(axis=0).sum())
    lower = max(_dual(solution, table, prior, scale, max_loss), float(scale.max()))
    return Bound(min(lower, upper), upper, "linear program and its dual", unit=unit, witness=Channel(rows))


def _solve(table: Floats, prior: Floats, scale: Floats, max_loss: float) -> LinearSolution | None:
    count, last = table.shape
    scaled = diagonal(np.repeat(scale, last))
    under = stack(
        [[scaled, -np.tile(np.eye(last), (count, 1))], [(prior[:, None] * table).reshape(1, -1), None]]
    )
    rows_sum = stack([[kron(np.eye(count), np.ones((1, last))), np.zeros((count, last))]])
    return minimise_linear(
        np.concatenate([np.zeros(count * last), np.ones(last)]),
        at_most=(under, np.append(np.zeros(count * last), max_loss)),
        equal=(rows_sum, np.ones(count)),
    )


def _dual(solution: LinearSolution, table: Floats, prior: Floats, scale: Floats, max_loss: float) -> float:
    """Σ_x min_y (s_x Λ_xy + μ π_x l_xy) − μ·max_loss, valid for any Λ_xy ≥ 0, Σ_x Λ_xy ≤ 1 and μ ≥ 0."""
    prices = np.maximum(-solution.inequality_duals, 0.0)
    share = prices[:-1].reshape(table.shape)
    share = share / np.maximum(share.sum(axis=0), 1.0)
    mu = float(prices[-1])
    value = float((scale[:, None] * share + mu * prior[:, None] * table).min(axis=1).sum()) - mu * max_loss
    return down(value, table.size, abs(mu) * (abs(max_loss) + float(np.abs(table).max())) + 1.0)
