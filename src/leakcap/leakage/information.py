"""Information measures of order α between secret and observation, under a given prior; in nats."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from leakcap.channel import Channel, as_prior
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.numeric.logspace import Floats, logsumexp, safe_log

__all__ = ["arimoto", "joint_renyi", "mutual_information", "sibson"]

_TILTED_UP_TO = 2.0
"""Arimoto's tilted prior π^α is formed up to this order; beyond it would underflow."""


def mutual_information(channel: Channel, prior: ArrayLike) -> float:
    """Shannon's I(X; Y) = Σ π_x D(P_{Y|x} ‖ q), q = πC; exact evaluation, in nats.

    Source: Shannon 1948. Raises `InvalidPrior`.

    >>> round(mutual_information(Channel([[1, 0], [0, 1]]), [0.5, 0.5]), 12)
    0.69314718056
    """
    return sibson(channel, prior, alpha=1.0)


def sibson(channel: Channel, prior: ArrayLike, *, alpha: float) -> float:
    """Sibson's information of order α ∈ (0, ∞]: min_Q D_α(P_XY ‖ P_X × Q), in nats.

    (α/(α−1)) ln Σ_y (Σ_x π_x C_xy^α)^{1/α}; mutual information at 1, maximal leakage among the secrets
    that the prior allows at ∞. Evaluated as the divergence to its own minimiser, where an error in Q
    counts only in second order. Source: Sibson 1969; Verdú 2015. Raises `InvalidParameter`, `InvalidPrior`.

    >>> round(sibson(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5], alpha=float("inf")), 12)
    0.530628251062
    """
    rows, weights = _live(channel, prior)
    return _sibson(rows, weights, _order("sibson", alpha))


def arimoto(channel: Channel, prior: ArrayLike, *, alpha: float) -> float:
    """Arimoto's information of order α ∈ (0, ∞]: H_α(X) − H_α(X|Y), in nats.

    Sibson's under the tilted prior π^α/Σπ^α; mutual information at 1, min-entropy leakage
    ln(Σ_y max_x π_x C_xy / max_x π_x) at ∞. Source: Arimoto 1977; Fehr & Berens 2014.
    Raises `InvalidParameter`, `InvalidPrior`.

    >>> round(arimoto(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5], alpha=float("inf")), 12)
    0.530628251062
    """
    alpha = _order("arimoto", alpha)
    rows, weights = _live(channel, prior)
    if alpha <= _TILTED_UP_TO:
        log_tilted = alpha * np.log(weights)
        return _sibson(rows, np.exp(log_tilted - logsumexp(log_tilted)), alpha)
    log_prior = np.log(weights)
    norms = _log_norm(log_prior[:, None] + safe_log(rows), alpha)
    ratio = 1.0 if math.isinf(alpha) else alpha / (alpha - 1.0)
    return max(ratio * float(logsumexp(norms) - _log_norm(log_prior, alpha)), 0.0)


def joint_renyi(channel: Channel, prior: ArrayLike, *, alpha: float) -> float:
    """D_α(P_XY ‖ P_X × P_Y), α ∈ (0, ∞]: the I_α behind ε-privacy at level α; in nats.

    (1/(α−1)) ln Σ_xy π_x C_xy^α q_y^{1−α}; mutual information at 1, the log-lift at ∞. Never below
    Sibson's, which may choose another Q than q. Source: *Differential Privacy and Information Theory*
    2022. Raises `InvalidParameter`, `InvalidPrior`.

    >>> round(joint_renyi(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5], alpha=float("inf")), 12)
    0.575364144904
    """
    ruler = Renyi(_order("joint_renyi", alpha))
    rows, weights = _live(channel, prior)
    return _between_joint(ruler, rows, weights, weights @ rows)


def _sibson(rows: Floats, weights: Floats, alpha: float) -> float:
    if math.isinf(alpha):
        return max(math.log(float(rows.max(axis=0).sum())), 0.0)
    if alpha == 1.0:
        return _between_joint(Renyi(1.0), rows, weights, weights @ rows)
    log_centre = _log_norm(np.log(weights)[:, None] / alpha + safe_log(rows), alpha)
    centre = np.exp(log_centre - np.max(log_centre))
    return _between_joint(Renyi(alpha), rows, weights, centre / centre.sum())


def _between_joint(ruler: Renyi, rows: Floats, weights: Floats, centre: Floats) -> float:
    joint = weights[:, None] * rows
    return float(ruler.between(joint.ravel(), (weights[:, None] * centre).ravel()))


def _log_norm(log_values: Floats, alpha: float) -> Floats:
    """ln ‖e^v‖_α along the first axis."""
    if math.isinf(alpha):
        return np.asarray(np.max(log_values, axis=0))
    return np.asarray(logsumexp(alpha * log_values, axis=0) / alpha)


def _live(channel: Channel, prior: ArrayLike) -> tuple[Floats, Floats]:
    rows = channel.matrix
    weights = as_prior(prior, rows.shape[0])
    live = weights > 0
    return (rows, weights) if live.all() else (rows[live], weights[live])


def _order(owner: str, alpha: float) -> float:
    ok = alpha > 0 and not math.isnan(alpha)
    require(ok, "alpha", owner, "be positive, ∞ allowed", alpha)
    return float(alpha)
