"""Capacities of many channels of one shape at once: closed forms broadcast, the rest is solved one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.adversary import Adversary, AllPriors, GivenPrior, Neighbours
from leakcap.capacities.solvers.columns import log_quotient
from leakcap.capacities.verb import solve
from leakcap.channel import ChannelBatch, as_prior
from leakcap.divergence import Divergence, Renyi
from leakcap.numeric.logspace import Floats
from leakcap.progress import tracked

__all__ = ["BatchBound", "batch_capacity"]

_UNIT = 2.0**-53


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
    found = _closed(batch.matrices, divergence, adversary)
    if found is not None:
        value, error = found
        most = 1.0 if divergence.unit == "probability" else math.inf
        lower, upper = np.maximum(value - error, 0.0), np.minimum(value + error, most)
        return BatchBound(np.where(np.isinf(value), value, lower), upper, divergence.unit)
    channels = tracked(batch, "channels of a batch", len(batch.matrices))
    bounds = [solve(adversary, channel, divergence) for channel in channels]
    lower, upper = np.array([b.lower for b in bounds]), np.array([b.upper for b in bounds])
    return BatchBound(lower, upper, bounds[0].unit)


def _closed(stack: Floats, divergence: Divergence, adversary: Adversary) -> tuple[Floats, Floats] | None:
    """What one pass over the whole stack gives, and its error; None where each channel has to be solved."""
    size = stack.shape[1] * stack.shape[2]
    missing = np.abs(stack.sum(axis=-1) - 1.0).max(axis=-1) + stack.shape[2] * _UNIT
    widest = isinstance(divergence, Renyi) and math.isinf(divergence.alpha)
    if isinstance(adversary, Neighbours) and adversary.pairs is None:
        if widest:
            value = log_quotient(stack.max(axis=1), stack.min(axis=1)).max(axis=-1)
            return value, 32 * _UNIT * _finite(value) + 2.0 * missing
        rows = range(stack.shape[1])
        pairs = [(stack[:, x, None], stack) for x in rows]
        value = np.max([divergence.between(p, q).max(axis=-1) for p, q in pairs], axis=0)
        return value, np.max([divergence.error(p, q).max(axis=-1) for p, q in pairs], axis=0)
    if isinstance(adversary, AllPriors) and widest:
        value = np.maximum(np.log(stack.max(axis=1).sum(axis=-1)), 0.0)
        return value, (size + 8) * _UNIT * (1.0 + value) + 1.01 * missing
    if isinstance(adversary, GivenPrior) and isinstance(divergence, Renyi) and divergence.alpha == 1.0:
        prior = as_prior(adversary.prior, stack.shape[1])
        centre = (prior @ stack)[:, None]
        error = divergence.error(stack, centre, 2.0 * size) @ prior + size * _UNIT
        return divergence.between(stack, centre) @ prior, error + 2.0 * missing
    return None


def _finite(value: Floats) -> Floats:
    return np.where(np.isfinite(value), value, 0.0)
