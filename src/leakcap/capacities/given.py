"""Leakage under one given prior: Sibson's information of order α."""

from __future__ import annotations

import math

import numpy as np

from leakcap.adversary import GivenPrior
from leakcap.bound import Bound
from leakcap.capacities.verb import solve
from leakcap.channel import Channel, as_prior
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats, logsumexp, safe_log

__all__ = ["given_prior", "sibson_information"]


@solve.register
def given_prior(adversary: GivenPrior, channel: Channel, divergence: Divergence) -> Bound:
    """min_Q D_α(P_XY ‖ P_X × Q) under the prior; mutual information at α = 1."""
    if not isinstance(divergence, Renyi):
        raise InvalidParameter(
            f"`divergence` under a given prior must be a `Renyi` order. Got {divergence!r}. "
            "Hockey-stick and total variation compare two secrets: use `Neighbours()`."
        )
    prior = as_prior(adversary.prior, channel.shape[0])
    value = sibson_information(channel.matrix, prior, divergence.alpha)
    return Bound.exact(value, method=f"Sibson information of order {divergence.alpha:g}", source="Sibson 1969", witness=prior)


def sibson_information(rows: Floats, prior: Floats, alpha: float) -> float:
    """(α/(α−1)) ln Σ_y (Σ_x π_x C_xy^α)^{1/α}, with the limits at 1 and ∞. Source: Sibson 1969.

    >>> round(sibson_information(np.eye(2), np.array([0.5, 0.5]), 1.0), 12)
    0.69314718056
    """
    live = prior > 0
    rows, prior = rows[live], prior[live]
    if alpha == 1.0:
        centre = prior @ rows
        return float(prior @ Renyi(1.0).between(rows, centre[None, :]))
    if math.isinf(alpha):
        return max(float(np.log(np.sum(rows.max(axis=0)))), 0.0)
    # Relative to the mixture, ratios are 1 + small near order one: (1/α) ln Σ π r^α ≈ 0.
    centre = prior @ rows
    seen = centre > 0
    log_ratio = safe_log(rows[:, seen]) - np.log(centre[seen])
    t = alpha - 1.0
    if abs(t) < 1e-5:
        return _near_one(rows[:, seen], prior, centre[seen], log_ratio, t)
    inner = logsumexp(np.log(prior)[:, None] + alpha * log_ratio, axis=0) / alpha
    return max(float(alpha / t * logsumexp(np.log(centre[seen]) + inner)), 0.0)


def _near_one(rows: Floats, prior: Floats, centre: Floats, log_ratio: Floats, t: float) -> float:
    # Σ_x π_x r^α = 1 + t·a_y with a_y = Σ π r (e^{tL} − 1)/t finite as t → 0, r = C/q and Σ π r = 1.
    finite = np.where(np.isfinite(log_ratio), log_ratio, 0.0)
    weights = prior[:, None] * rows / centre
    slope = np.sum(weights * _expm1_over(t, finite), axis=0)
    inner = np.log1p(t * slope) / (1.0 + t)
    return max(float((1.0 + t) * np.log1p(np.sum(centre * np.expm1(inner))) / t), 0.0) if t else 0.0


def _expm1_over(t: float, x: Floats) -> Floats:
    return np.asarray(np.expm1(t * x) / t)
