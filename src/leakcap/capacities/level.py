"""The level-α capacity: sup over priors of D_α(P_XY ‖ P_X × P_Y).

Two secrets: exact, by branch and bound. More: the supremum is not concave in the prior for α > 1, so
that the answer is a bracket: below, the best prior that several ascents found; above, branch and bound over
the simplex for up to eight secrets, and the least of the bounds that hold for every channel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from leakcap.adversary import AllPriorsJoint, Neighbours
from leakcap.bound import Bound
from leakcap.capacities.diameter import diameter
from leakcap.capacities.solvers.level_binary import binary_level
from leakcap.capacities.solvers.level_prior import LevelObjective
from leakcap.capacities.solvers.level_simplex import MOST_SECRETS, simplex_ceiling
from leakcap.capacities.solvers.shannon import shannon_capacity
from leakcap.capacities.solvers.sibson import sibson_capacity
from leakcap.capacities.verb import solver
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import up
from leakcap.progress import tracked

__all__ = ["level"]

_SOURCE = "How to secure data with a broken wifi connection, 2022"
_SMALLEST = 1e-150
_HIGHEST = 1e9
_WORK = 2e7
"""Matrix entries that one ascent may touch."""
_SIDE_BY_SIDE = 50_000
"""Matrix entries up to which ascents go side by side."""


@solver.register
def level(adversary: AllPriorsJoint, channel: Channel, divergence: Divergence) -> Bound:
    """sup over priors of D_α(P_XY ‖ P_X × P_Y), for α in (0, ∞], in nats.

    Shannon capacity at α = 1, the diameter ε at α = ∞, exact for two secrets, else a bracket between the
    best prior found and the least of the diameter, R_α(ε), maximal leakage if α ≤ 2, Shannon capacity if
    α ≤ 1 and, for up to eight secrets, branch and bound, which mostly closes it to 1e-9; the method says
    which. +∞ where α > 2 and an output is possible under one secret and not another.
    """
    if not isinstance(divergence, Renyi):
        raise InvalidParameter(
            f"`divergence` over all joint laws must be a `Renyi` order. Got {divergence!r}. "
            "Hockey-stick and total variation compare two secrets: use `Neighbours()`."
        )
    alpha, rows = divergence.alpha, channel.matrix
    if alpha == 1.0:
        return shannon_capacity(rows)
    if math.isinf(alpha):
        return diameter(Neighbours(), channel, divergence)
    if alpha > 2.0 and ((rows > 0).any(axis=0) & (rows == 0).any(axis=0)).any():
        return Bound.exact(math.inf, method="level: an output rules a secret out and α > 2", source=_SOURCE)
    if alpha > _HIGHEST:
        return _between(channel, adversary)
    if len(rows) == 1:
        return Bound.exact(0.0, method="level: one secret", source=_SOURCE, witness=np.ones(1))
    if len(rows) == 2:
        pair = binary_level(rows[0], rows[1], alpha)
        method = f"level {alpha:g} of two secrets: branch and bound over the prior"
        return Bound(pair.lower, pair.upper, method, _SOURCE, witness=np.array(pair.prior))
    return _bracket(channel, divergence)


def _between(channel: Channel, adversary: AllPriorsJoint) -> Bound:
    """Orders beyond the largest that doubles resolve: they lie between that one and ∞."""
    low = level(adversary, channel, Renyi(_HIGHEST))
    high = diameter(Neighbours(), channel, Renyi(math.inf)).upper
    method = f"level: between order {_HIGHEST:g} and the diameter at ∞"
    return Bound(min(low.lower, high), high, method, _SOURCE, witness=low.witness)


def _bracket(channel: Channel, order: Renyi) -> Bound:
    upper, name = min(_ceilings(channel, order))
    objective = LevelObjective(channel.matrix, order.alpha)
    steps = int(min(max(_WORK / channel.matrix.size, 20), 300))
    best, lower = np.full(channel.shape[0], 1.0 / channel.shape[0]), 0.0
    starts = list(_starts(channel, order))
    beside = max(_SIDE_BY_SIDE // channel.matrix.size, 1)
    groups = [np.array(starts[k : k + beside]) for k in range(0, len(starts), beside)]
    for group in tracked(groups, f"level-{order.alpha:g} capacity, ascents", len(groups)):
        for found in map(_resolved, objective.ascend(group, steps)):
            value = objective.lower(found)
            if value > lower:
                best, lower = found, value
    if len(channel.matrix) <= MOST_SECRETS:
        closer = simplex_ceiling(channel.matrix, order.alpha, min(lower, upper), known=upper)
        upper, name = min((upper, name), (max(closer, lower), "branch and bound over the prior"))
    method = f"level {order.alpha:g}: best of several ascents below, {name} above; the truth is between"
    return Bound(min(lower, upper), upper, method, _SOURCE, witness=best)


def _resolved(prior: Floats) -> Floats:
    """The prior with its vanishing weights raised to where their products keep all digits.

    An ascent towards a supremum that is a limit at the edge leaves subnormal weights, whose few digits would
    make the prior's own information differ from what was added up for it.
    """
    lifted = np.where(prior > 0.0, np.maximum(prior, _SMALLEST), 0.0)
    return np.asarray(lifted / lifted.sum())


def _starts(channel: Channel, order: Renyi) -> Iterator[Floats]:
    """The radius's prior, the best prior of the farthest pair, uniform, and a few at random."""
    rows, count = channel.matrix, channel.shape[0]
    yield np.asarray(sibson_capacity(rows, order.alpha).witness)
    farthest = diameter(Neighbours(), channel, order).witness
    if isinstance(farthest, tuple) and farthest[0] != farthest[1]:
        pair = binary_level(rows[farthest[0]], rows[farthest[1]], order.alpha)
        start = np.zeros(count)
        start[list(farthest)] = pair.prior
        yield start
    yield np.full(count, 1.0 / count)
    rng = np.random.default_rng(count)
    for _ in range(4):
        yield rng.dirichlet(np.full(count, 0.5))


def _ceilings(channel: Channel, order: Renyi) -> Iterator[tuple[float, str]]:
    """Upper bounds that hold for every channel, with their names."""
    alpha = order.alpha
    apart = diameter(Neighbours(), channel, order).upper
    yield up(apart, 256, apart + 1.0), "the diameter"
    epsilon = diameter(Neighbours(), channel, Renyi(math.inf)).upper
    yield _bounded_range(epsilon, alpha), "R_α(ε)"
    if alpha <= 2.0:
        # D_2 ≤ ln Σ_y Σ_x P(x|y) C_xy ≤ ln Σ_y max_x C_xy, and D_α increases in α.
        leakage = math.log(math.fsum(channel.matrix.max(axis=0)))
        yield up(leakage, 256, 1.0 + leakage), "maximal leakage"
    if alpha <= 1.0:
        yield shannon_capacity(channel.matrix).upper, "Shannon capacity"


def _bounded_range(epsilon: float, alpha: float) -> float:
    """An upper bound of R_α(ε) (equal to it but near α = 1 and for small ε).

    (1/(α−1)) ln[(1 + f(A^α−1))/(1 + f(A−1))^α], f = ((A^α−1) − α(A−1))/((α−1)(A−1)(A^α−1)), A = e^ε; at
    most αε²/8. Source: leakcap, after Dong, Durfee & Rogers 2020.
    """
    alpha = 1.0 + 1e-3 if abs(alpha - 1.0) < 1e-3 else alpha
    simple = min(epsilon, alpha * epsilon * epsilon / 8.0 if math.isfinite(epsilon) else math.inf)
    if epsilon < 0.05 or alpha * epsilon > 600.0:
        return up(simple, 16)
    one, power, order = math.expm1(epsilon), math.expm1(alpha * epsilon), alpha - 1.0
    lift = (power - alpha * one) / (order * one)
    value = (math.log1p(lift) - alpha * math.log1p(lift * one / power)) / order
    return min(simple, value + 1e-12 * (1.0 + alpha * epsilon) / abs(order))
