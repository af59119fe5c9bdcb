"""Lift and its logarithm: how far one observation can move the belief in one secret."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakcap.capacities.solvers.columns import column_extremes, column_tops
from leakcap.channel import Channel
from leakcap.leakage.cells import allowed, mixture
from leakcap.numeric.logspace import Floats

__all__ = ["lift", "local_information_privacy", "log_lift", "pointwise_maximal_leakage"]


def lift(channel: Channel, prior: ArrayLike) -> float:
    """max C_xy/q_y over secrets with π_x > 0 and outputs with q_y > 0: a ratio, exact evaluation.

    The largest max-case multiplicative leakage of any gain g ≥ 0 under this prior, attained by the
    distribution-reciprocal gain. Source: Fernandes, McIver & Sadeghi 2022, theorems 1 and 2.

    >>> round(lift(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5]), 12)
    1.777777777778
    """
    return float(np.max(_best_ratio(channel, prior)))


def log_lift(channel: Channel, prior: ArrayLike) -> float:
    """ln of the lift, in nats: the max-mutual information I_∞(X; Y) = max ln p(x|y)/p(x).

    Source: Wu, Xia & He 2017, definition 3.

    >>> round(log_lift(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5]), 12)
    0.575364144904
    """
    return max(float(np.log(lift(channel, prior))), 0.0)


def pointwise_maximal_leakage(channel: Channel, prior: ArrayLike) -> Floats:
    """ln max_x p(x|y)/p(x) for each output y, in nats; 0 for outputs that never happen.

    What the one observation y gives at most to an adversary after any function of the secret.
    Source: Saeidian, Cervia, Oechtering & Skoglund 2022.

    >>> pointwise_maximal_leakage(Channel([[1.0, 0.0], [0.5, 0.5]]), [0.5, 0.5]).round(6).tolist()
    [0.287682, 0.693147]
    """
    return np.asarray(np.maximum(np.log(_best_ratio(channel, prior)), 0.0))


def local_information_privacy(channel: Channel, prior: ArrayLike) -> float:
    """The least ε with e^{−ε} ≤ p(x|y)/p(x) ≤ e^ε, both sides; in nats, ∞ where y rules out an x.

    Source: Jiang, Seif, Tandon & Li 2021.

    >>> round(local_information_privacy(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5]), 12)
    1.504077396776
    """
    live, weights = allowed(channel, prior)
    centre = mixture(live, weights)
    seen = centre > 0
    with np.errstate(divide="ignore"):
        down = np.log(centre[seen]) - np.log(column_extremes(live)[1][seen])
    return max(float(np.max(down)), log_lift(channel, prior))


def _best_ratio(channel: Channel, prior: ArrayLike) -> Floats:
    """max_x C_xy/q_y for each y; 1 where q_y = 0."""
    live, weights = allowed(channel, prior)
    top, centre = column_tops(live), mixture(live, weights)
    return np.asarray(np.divide(top, centre, out=np.ones_like(top), where=centre > 0))
