"""Information measures of order α between secret and observation, under a given prior; in nats."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from leakcap.capacities.given import between_joint, sibson_information
from leakcap.channel import Channel, as_prior
from leakcap.divergence import Renyi
from leakcap.errors import require, require_number
from leakcap.leakage.cells import allowed, joint_cells
from leakcap.numeric.logspace import Floats, logsumexp

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
    alpha = order_of("sibson", alpha)
    return sibson_information(channel, as_prior(prior, channel.shape[0]), alpha)


def arimoto(channel: Channel, prior: ArrayLike, *, alpha: float) -> float:
    """Arimoto's information of order α ∈ (0, ∞]: H_α(X) − H_α(X|Y), in nats.

    Sibson's under the tilted prior π^α/Σπ^α; mutual information at 1, min-entropy leakage
    ln(Σ_y max_x π_x C_xy / max_x π_x) at ∞. Source: Arimoto 1977; Fehr & Berens 2014.
    Raises `InvalidParameter`, `InvalidPrior`.

    >>> round(arimoto(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5], alpha=float("inf")), 12)
    0.530628251062
    """
    alpha = order_of("arimoto", alpha)
    channel, weights = allowed(channel, prior)
    log_prior = np.log(weights)
    if alpha <= _TILTED_UP_TO:
        tilted = np.exp(alpha * (log_prior - log_prior.max()))
        return sibson_information(channel, tilted / tilted.sum(), alpha)
    cells = joint_cells(channel, weights)
    norms = cells.log_norms(np.log(cells.weight) + np.log(cells.chance), alpha)
    ratio = 1.0 if math.isinf(alpha) else alpha / (alpha - 1.0)
    before = log_prior.max() if math.isinf(alpha) else logsumexp(alpha * log_prior) / alpha
    return max(ratio * float(logsumexp(norms) - before), 0.0)


def joint_renyi(channel: Channel, prior: ArrayLike, *, alpha: float) -> float:
    """D_α(P_XY ‖ P_X × P_Y), α ∈ (0, ∞]: the I_α behind ε-privacy at level α; in nats.

    (1/(α−1)) ln Σ_xy π_x C_xy^α q_y^{1−α}; mutual information at 1, the log-lift at ∞. Never below
    Sibson's, which may choose another Q than q. Source: *Differential Privacy and Information Theory*
    2022. Raises `InvalidParameter`, `InvalidPrior`.

    >>> round(joint_renyi(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5], alpha=float("inf")), 12)
    0.575364144904
    """
    ruler = Renyi(order_of("joint_renyi", alpha))
    cells = joint_cells(channel, prior)
    return between_joint(ruler, cells.weight, cells.chance, cells.centre[cells.y])


def live_rows(channel: Channel, prior: ArrayLike) -> tuple[Floats, Floats]:
    """The rows of the secrets that the prior allows, and the prior over them.

    >>> live_rows(Channel([[1.0, 0.0], [0.5, 0.5]]), [0.0, 1.0])[0].tolist()
    [[0.5, 0.5]]
    """
    channel, weights = allowed(channel, prior)
    return channel.matrix, weights


def order_of(owner: str, alpha: float) -> float:
    """A checked order in (0, ∞]; errors are `InvalidParameter`.

    >>> order_of("sibson", 2)
    2.0
    """
    require_number("alpha", owner, alpha)
    ok = alpha > 0 and not math.isnan(alpha)
    require(ok, "alpha", owner, "be positive, ∞ allowed", alpha)
    return float(alpha)
