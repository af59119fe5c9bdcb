"""The radius of the rows: sup over priors of Sibson's information, min over Q of the largest divergence."""

from __future__ import annotations

import math

import numpy as np

from leakcap.adversary import AllPriors
from leakcap.bound import Bound
from leakcap.capacities.shannon import shannon_capacity
from leakcap.capacities.sibson import sibson_capacity
from leakcap.capacities.verb import solve
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats

__all__ = ["radius"]


@solve.register
def radius(adversary: AllPriors, channel: Channel, divergence: Divergence) -> Bound:
    """min over Q of max over secrets of D_α(row ‖ Q), with the prior that attains the lower end.

    Shannon capacity at α = 1, maximal leakage ln Σ_y max_x C_xy at α = ∞ (witness: the uniform prior),
    Sibson's capacity between. Source: Csiszár 1995; Issa, Wagner & Kamath 2020.
    """
    if not isinstance(divergence, Renyi):
        raise InvalidParameter(
            f"`divergence` over all priors must be a `Renyi` order. Got {divergence!r}. "
            "Hockey-stick and total variation compare two secrets: use `Neighbours()`."
        )
    if math.isinf(divergence.alpha):
        return _maximal_leakage(channel.matrix)
    if divergence.alpha == 1.0:
        return shannon_capacity(channel.matrix)
    return sibson_capacity(channel.matrix, divergence.alpha)


def _maximal_leakage(rows: Floats) -> Bound:
    value = max(math.log(math.fsum(rows.max(axis=0))), 0.0) if len(rows) > 1 else 0.0
    prior = np.full(len(rows), 1.0 / len(rows))
    source = "Issa, Wagner & Kamath 2020, theorem 1"
    return Bound.exact(value, method="maximal leakage: ln Σ_y max_x", source=source, witness=prior)
