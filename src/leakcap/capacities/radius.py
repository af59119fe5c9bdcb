"""The radius of the rows: sup over priors of Sibson's information, min over Q of the largest divergence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from leakcap.adversary import AllPriors
from leakcap.bound import Bound
from leakcap.capacities.solvers import rational
from leakcap.capacities.solvers.columns import column_tops, row_residue
from leakcap.capacities.solvers.newton import Certified
from leakcap.capacities.solvers.rows import DenseRows
from leakcap.capacities.solvers.shannon import certified_shannon
from leakcap.capacities.solvers.sibson import certified_sibson, lowered_end
from leakcap.capacities.solvers.sparse_rows import SparseRows
from leakcap.capacities.solvers.sparse_shannon import large_shannon_capacity
from leakcap.capacities.verb import solver
from leakcap.certificate import Proof
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter
from leakcap.numeric.rounding import down, up

__all__ = ["radius"]

_WRITTEN_OUT = 1 << 26
"""Entries up to which a sparse channel is written out for an order between."""

_DENSE = 1 << 22
"""Entries up to which a sparse channel is solved as a dense one, to 1e-9 nats instead of 1e-6."""


@solver.register
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
        return _maximal_leakage(channel)
    if divergence.alpha == 1.0:
        large = channel.sparse is not None and channel.shape[0] * channel.shape[1] > _DENSE
        if large:
            return large_shannon_capacity(SparseRows(channel.sparse))
        return _proved(certified_shannon(DenseRows(channel.matrix)), channel, None)
    if channel.sparse is not None and channel.shape[0] * channel.shape[1] > _WRITTEN_OUT:
        raise InvalidParameter(
            f"`divergence` over all priors of a sparse channel of more than {_WRITTEN_OUT} entries must be "
            f"`Renyi(1)` or `Renyi(math.inf)`. Got {divergence!r}. The capacities at these two enclose those "
            "of the orders between."
        )
    found = certified_sibson(channel.matrix, divergence.alpha)
    bound = _proved(found, channel, divergence.alpha)
    return replace(bound, upper=lowered_end(bound, channel.matrix))


def _proved(found: Certified, channel: Channel, alpha: float | None) -> Bound:
    """The interval with the prior and the centre that prove it: what a certificate holds."""
    centre, rows = np.zeros(channel.shape[1]), channel.matrix
    mass = np.exp(found.log_centre - found.log_centre.max())
    # Sibson's search leaves out the outputs that no secret shows.
    centre[rows.any(axis=0) if mass.size < centre.size else slice(None)] = mass / mass.sum()
    witness = {"prior": found.prior, "centre": centre}
    if alpha is None:
        return replace(found.bound, proof=Proof("shannon", {"rows": channel}, witness))
    return replace(found.bound, proof=Proof("sibson", {"rows": channel, "order": float(alpha)}, witness))


def _maximal_leakage(channel: Channel) -> Bound:
    if channel.exact is not None:
        ends = rational.log_ends(rational.bayes_capacity(channel))
    else:
        # One less than the sum, added up without rounding.
        over = max(math.fsum([*column_tops(channel).tolist(), -1.0]), 0.0) if channel.shape[0] > 1 else 0.0
        value, missing = math.log1p(over), 1.01 * row_residue(channel) if channel.shape[0] > 1 else 0.0
        ends = down(value, 4) - missing, up(value, 4) + missing
    prior = np.full(channel.shape[0], 1.0 / channel.shape[0])
    source = "Issa, Wagner & Kamath 2020, theorem 1"
    centre = np.full(channel.shape[1], 1.0 / channel.shape[1])
    proof = Proof("sibson", {"rows": channel, "order": math.inf}, {"prior": prior, "centre": centre})
    bound = Bound.enclosed(ends, method="maximal leakage: ln Σ_y max_x", source=source, witness=prior)
    return replace(bound, proof=proof)
