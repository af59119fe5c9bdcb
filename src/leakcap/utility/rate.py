"""The least mutual information at a given loss: Shannon's rate–distortion function, certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel, as_prior
from leakcap.errors import require
from leakcap.leakage.information import mutual_information
from leakcap.numeric.logspace import Floats, logsumexp
from leakcap.numeric.rounding import down
from leakcap.utility.distortion import least_distortion, loss_matrix
from leakcap.utility.least import within_loss

__all__ = ["least_mutual_information"]

_STEEPEST = 60.0
"""Largest slope, in nats per range of the loss, divided by the smallest gap: e^−60 is below rounding."""

_HALVINGS = 60


def least_mutual_information(prior: ArrayLike, loss: ArrayLike, *, max_loss: float) -> Bound:
    """min I(X; Y) over mechanisms with expected loss ≤ `max_loss`, in nats.

    Blahut's iteration for the output distribution at a slope s, the slope found by halving. The witness is
    the mechanism of the upper end; the lower end is the dual value −sD − Σ π_x ln Σ_y q_y e^{−s l_xy} −
    ln max_y c_y at the best slope met. Source: Shannon 1959; Blahut 1972; Csiszár 1974.
    Raises `InvalidParameter`, `InvalidPrior`.

    >>> round(least_mutual_information([0.5, 0.5], [[0, 1], [1, 0]], max_loss=0.25).upper, 9)
    0.130812036
    """
    table = loss_matrix("least_mutual_information", loss)
    weights = as_prior(prior, table.shape[0])
    floor, ceiling = least_distortion(weights, table)
    rule = f"be at least {floor!r}, the least possible loss"
    require(max_loss >= floor, "max_loss", "least_mutual_information", rule, max_loss)
    if max_loss >= ceiling:
        rows = np.zeros_like(table)
        rows[:, int(np.argmin(weights @ table))] = 1.0
        return Bound.exact(0.0, method="constant output", source="Shannon 1959", witness=Channel(rows))
    live = weights > 0
    lower, rows_live = _search(_Slope(weights[live], table[live]), max_loss)
    rows = np.zeros_like(table)
    rows[np.arange(len(table)), table.argmin(axis=1)] = 1.0
    rows[live] = within_loss(rows_live, weights[live], table[live], max_loss)
    channel = Channel(rows)
    upper = mutual_information(channel, weights)
    lower = max(0.0, min(lower, upper))
    return Bound(lower, upper, "Blahut's iteration and its dual", "Blahut 1972", witness=channel)


@dataclass(frozen=True)
class _Slope:
    prior: Floats
    loss: Floats

    def settle(self, slope: float, log_q: Floats, rounds: int) -> tuple[Floats, Floats, Floats]:
        """ln q after Blahut's iteration at this slope, the mechanism W ∝ q e^{−s l}, and ln c."""
        kernel = -slope * (self.loss - self.loss.min(axis=1, keepdims=True))
        for _ in range(rounds):
            log_z = logsumexp(kernel + log_q, axis=1)
            log_c = logsumexp(np.log(self.prior)[:, None] + kernel - log_z[:, None], axis=0)
            if float(log_c.max()) < 1e-14:
                break
            log_q = log_q + log_c
            log_q = log_q - logsumexp(log_q)
        rows = np.exp(kernel + log_q - logsumexp(kernel + log_q, axis=1)[:, None])
        return log_q, rows / rows.sum(axis=1, keepdims=True), log_c

    def dual(self, slope: float, log_q: Floats, log_c: Floats, max_loss: float) -> float:
        """The largest rate that this slope proves necessary."""
        least = self.loss.min(axis=1)
        log_z = logsumexp(-slope * (self.loss - least[:, None]) + log_q, axis=1)
        value = -slope * (max_loss - float(self.prior @ least)) - float(self.prior @ log_z)
        return down(value - max(float(log_c.max()), 0.0), self.loss.size, 1.0 + abs(value))

    def spent(self, rows: Floats) -> float:
        return float(self.prior @ (rows * self.loss).sum(axis=1))


def _search(problem: _Slope, max_loss: float) -> tuple[float, Floats]:
    span = float(np.ptp(problem.loss))
    gaps = problem.loss - problem.loss.min(axis=1, keepdims=True)
    smallest = float(gaps[gaps > 1e-9 * span].min())
    low, high = 0.0, _STEEPEST / smallest
    log_q = np.full(problem.loss.shape[1], -np.log(problem.loss.shape[1]))
    lower = 0.0
    best = problem.settle(high, log_q, 2000)[1]
    for step in range(_HALVINGS):
        slope = 0.5 * (low + high)
        log_q, rows, log_c = problem.settle(slope, np.maximum(log_q, -300.0), 400 if step < 20 else 2000)
        lower = max(lower, problem.dual(slope, log_q, log_c, max_loss))
        if problem.spent(rows) <= max_loss:
            high, best = slope, rows
        else:
            low = slope
        if high - low <= 1e-13 * high:
            break
    return lower, best
