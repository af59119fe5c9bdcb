"""Capacities of many channels of one shape at once: closed forms broadcast, the rest is solved one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.adversary import Adversary, AllPriors, GivenPrior, Neighbours
from leakcap.capacities.columns import log_quotient
from leakcap.capacities.verb import solve
from leakcap.channel import ChannelBatch, as_prior
from leakcap.divergence import Divergence, Renyi
from leakcap.numeric.logspace import Floats
from leakcap.progress import tracked

__all__ = ["BatchBound", "batch_capacity"]


@dataclass(frozen=True, eq=False)
class BatchBound:
    """lower ≤ truth ≤ upper for every channel of a batch, in nats or as probabilities."""

    lower: Floats
    upper: Floats
    unit: str = "nats"


def batch_capacity(
    batch: ChannelBatch, divergence: Divergence, adversary: Adversary | None = None
) -> BatchBound:
    """`capacity` of every channel of a batch; errors are those of `capacity`.

    >>> batch = ChannelBatch([[[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> batch_capacity(batch, Renyi(math.inf)).upper.round(6).tolist()
    [1.098612, 0.0]
    """
    adversary = Neighbours() if adversary is None else adversary
    value = _closed(batch.matrices, divergence, adversary)
    if value is not None:
        return BatchBound(value, value, divergence.unit)
    channels = tracked(batch, "channels of a batch", len(batch.matrices))
    bounds = [solve(adversary, channel, divergence) for channel in channels]
    lower, upper = np.array([b.lower for b in bounds]), np.array([b.upper for b in bounds])
    return BatchBound(lower, upper, bounds[0].unit)


def _closed(stack: Floats, divergence: Divergence, adversary: Adversary) -> Floats | None:
    """What one pass over the whole stack gives; None where each channel has to be solved."""
    widest = isinstance(divergence, Renyi) and math.isinf(divergence.alpha)
    if isinstance(adversary, Neighbours) and adversary.pairs is None:
        if widest:
            return np.asarray(log_quotient(stack.max(axis=1), stack.min(axis=1)).max(axis=-1))
        rows = range(stack.shape[1])
        from_each = [divergence.between(stack[:, x, None], stack).max(axis=-1) for x in rows]
        return np.asarray(np.max(from_each, axis=0))
    if isinstance(adversary, AllPriors) and widest:
        return np.asarray(np.maximum(np.log(stack.max(axis=1).sum(axis=-1)), 0.0))
    if isinstance(adversary, GivenPrior) and isinstance(divergence, Renyi) and divergence.alpha == 1.0:
        prior = as_prior(adversary.prior, stack.shape[1])
        return np.asarray(divergence.between(stack, (prior @ stack)[:, None]) @ prior)
    return None
