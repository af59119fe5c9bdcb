"""The least mutual information at a given loss: Shannon's rate–distortion function, certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel, as_prior
from leakcap.errors import require
from leakcap.leakage.information import mutual_information
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down
from leakcap.utility.distortion import least_distortion, loss_matrix
from leakcap.utility.least import within_loss

__all__ = ["least_mutual_information"]

_STEEPEST = 60.0
"""Largest slope, in nats per range of the loss, divided by the smallest gap: e^−60 is below rounding."""

_HALVINGS = 60

_STEPS = 100


def least_mutual_information(prior: ArrayLike, loss: ArrayLike, *, max_loss: float) -> Bound:
    """min I(X; Y) over mechanisms with expected loss ≤ `max_loss`, in nats.

    The best output distribution q at each slope s, the slope found by halving. The witness is the mechanism
    of the upper end; the lower end is the largest dual value met, −sD − Σ π_x ln Σ_y q_y e^{−s l_xy} −
    ln max_y Σ_x π_x e^{−s l_xy}/Σ_z q_z e^{−s l_xz}. Source: Shannon 1959; Blahut 1972; Csiszár 1974.
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
    return Bound(
        lower, upper, "interior point at the best slope, and its dual", "Blahut 1972", witness=channel
    )


@dataclass(frozen=True)
class _Slope:
    """The problem at one slope s: the q that maximises Σ π_x ln Σ_y q_y e^{−s(l_xy − min l_x)}."""

    prior: Floats
    loss: Floats

    def settle(self, slope: float) -> tuple[Floats, float]:
        """The mechanism W ∝ q e^{−s l} at the best q, and the rate that the slope proves at loss 0.

        A mixture likelihood: interior-point steps, in which Σq = 1 holds by itself at the optimum.
        """
        extra = self.loss - self.loss.min(axis=1, keepdims=True)
        kernel = np.exp(-slope * extra)
        q = _mixture_weights(kernel, self.prior)
        joint = kernel * q
        total = joint.sum(axis=1)
        excess = float(np.log(np.max(kernel.T @ (self.prior / total))))
        value = -float(self.prior @ np.log(total)) - max(excess, 0.0)
        return joint / total[:, None], down(value, self.loss.size, 1.0 + abs(value))

    def spent(self, rows: Floats) -> float:
        """The expected loss of a mechanism."""
        return float(self.prior @ (rows * self.loss).sum(axis=1))


def _mixture_weights(kernel: Floats, prior: Floats) -> Floats:
    """max Σ_x π_x ln (K q)_x over distributions q, by primal–dual interior-point steps."""
    size = kernel.shape[1]
    q, slack = np.full(size, 1.0 / size), np.ones(size)
    for _ in range(_STEPS):
        mixed = kernel @ q
        weights = prior / mixed
        wrong = 1.0 - kernel.T @ weights - slack
        gap = float(q @ slack) / size
        if gap < 1e-18 and float(np.abs(wrong).max()) < 1e-15:
            break
        curvature = (kernel * (weights / mixed)[:, None]).T @ kernel
        aim = 0.1 * gap / q - slack
        # Equal columns leave directions without curvature: a touch of it there costs nothing.
        move = np.linalg.solve(curvature + np.diag(slack / q + 1e-14), aim - wrong)
        turn = aim - slack / q * move
        step = min(1.0, 0.99 * _reach(q, move), 0.99 * _reach(slack, turn))
        q, slack = q + step * move, slack + step * turn
    return np.asarray(q / q.sum())


def _reach(point: Floats, move: Floats) -> float:
    """How far along `move` the point stays positive."""
    falling = move < 0
    return float(np.min(point[falling] / -move[falling])) if falling.any() else np.inf


def _search(problem: _Slope, max_loss: float) -> tuple[float, Floats]:
    """The best slope by halving; where the curve is straight, a mixture of both ends meets the loss."""
    gaps = problem.loss - problem.loss.min(axis=1, keepdims=True)
    low, high = 0.0, _STEEPEST / float(gaps[gaps > 1e-9 * float(np.ptp(problem.loss))].min())
    spare = max_loss - float(problem.prior @ problem.loss.min(axis=1))
    costly = np.zeros_like(problem.loss)
    costly[:, int(np.argmin(problem.prior @ problem.loss))] = 1.0
    cheap, rate = problem.settle(high)
    lower = rate - high * spare
    for _ in range(_HALVINGS):
        slope = 0.5 * (low + high)
        rows, rate = problem.settle(slope)
        lower = max(lower, rate - slope * spare)
        if problem.spent(rows) <= max_loss:
            high, cheap = slope, rows
        else:
            low, costly = slope, rows
    under, over = problem.spent(cheap), problem.spent(costly)
    share = (max_loss - under) / (over - under) if under < max_loss < over else 0.0
    return lower, share * costly + (1.0 - share) * cheap
