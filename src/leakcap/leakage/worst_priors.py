"""Max-case g-leakage over priors: which belief an unlucky output can overturn most."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.solvers.columns import row_residue
from leakcap.channel import Channel
from leakcap.errors import InvalidParameter
from leakcap.gain import Diagonal, Gain
from leakcap.leakage.limits import lift_capacity
from leakcap.leakage.vulnerability import g_leakage
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down
from leakcap.progress import tracked

__all__ = ["useful", "worst_case", "worst_guess"]

_SOURCE = "Fernandes, McIver & Sadeghi 2022, corollary 2"
_TRIED = 64
_UNIT = 2.0**-53
_ALL_PAIRS = 40
"""Secrets up to which every pair of them is tried."""


def useful(live: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The secrets that a gain is about; refuses a gain that is zero everywhere.

    >>> useful(np.array([True, False]))
    array([ True, False])
    """
    if not live.any():
        raise InvalidParameter("`gain` of `g_capacity` must be positive somewhere. Got only zeros.")
    return live


def worst_guess(rows: Floats, gain: Diagonal) -> Bound:
    """One guess: max over x, y and sets S ∋ x of C_xy over the mean of C_zy in S weighed by 1/worth_z.

    In u_z = π_z·worth_z, scaled to max 1, the leakage is a ratio of linear functions in each u_z, so the
    best u is 0 or 1, and the secrets beside x are those that y speaks most against.

    >>> c = np.array([[2/3, 1/6, 1/6], [1/3, 1/3, 1/3], [1/6, 1/6, 2/3]])
    >>> round(worst_guess(c, Diagonal(np.ones(3))).upper, 12)
    1.714285714286
    """
    if not useful(np.asarray(gain.worth > 0)).all():
        return worst_case(Channel(rows), Diagonal(gain.worth))
    weights = 1.0 / gain.worth
    best, prior = 1.0, weights
    for column in rows.T:
        value, chosen = _best_set(column, weights)
        if value > best:
            best, prior = value, chosen * weights
    units = 4 * len(rows) + 16 + math.ceil(2.1 * _residue(rows) / _UNIT) if best > 1.0 else 0
    return Bound.rounded(
        best,
        units,
        method="closed form over sets of secrets",
        source=_SOURCE,
        unit="ratio",
        witness=prior / prior.sum(),
    )


def _residue(rows: Floats) -> float:
    return row_residue(Channel(rows))


def _best_set(column: Floats, weights: Floats) -> tuple[float, Floats]:
    order = np.argsort(column, kind="stable")
    size, mass = np.cumsum(weights[order]), np.cumsum((weights * column)[order])
    best, members = 1.0, order
    # With equal worths only the likeliest secret need be tried.
    ranks = [len(order) - 1] if np.all(weights == weights[0]) else range(len(order))
    for rank in ranks:
        x = order[rank]
        outside = np.where(np.arange(len(order)) < rank, weights[x], 0.0)
        seen = mass + outside * column[x]
        ratios = np.divide(column[x] * (size + outside), seen, out=np.ones_like(seen), where=seen > 0)
        place = int(np.argmax(ratios))
        if ratios[place] > best:
            best, members = float(ratios[place]), np.append(order[: place + 1], x)
    chosen = np.zeros(len(order))
    chosen[members] = 1.0
    return best, chosen


def worst_case(channel: Channel, gain: Gain) -> Bound:
    """Any gain: the best of many priors below, the lift capacity above, and the method says so.

    >>> from leakcap.gain import k_guesses
    >>> worst_case(Channel([[0.5, 0.5], [0.5, 0.5]]), k_guesses(2, 2)).upper
    1.0
    """
    count = channel.shape[0]
    live = useful(np.asarray((gain.table > 0).any(axis=0)))
    rng = np.random.default_rng(0)
    pairs = _pairs(channel.matrix)
    tried = [np.full(count, 1.0 / count), *rng.dirichlet(np.full(count, 0.5), _TRIED), *pairs]
    priors = [prior for prior in tried if (prior[live] > 0).any()]
    title = "g-leakage of the worst output"
    values = [g_leakage(channel, prior, gain, max_case=True) for prior in tracked(priors, title)]
    place = int(np.argmax(values))
    units = 4 * count + channel.shape[1] + 16 + math.ceil(2.1 * row_residue(channel) / _UNIT)
    lower = max(down(values[place], units), 1.0)
    upper = max(lower, lift_capacity(channel).upper)
    method = "best of many priors below, lift capacity above"
    return Bound(lower, upper, method, _SOURCE, "ratio", priors[place])


def _pairs(rows: Floats) -> Floats:
    """Even beliefs in one or two secrets: all of them, or those that some output tells apart best."""
    count = len(rows)
    if count <= _ALL_PAIRS:
        left, right = np.triu_indices(count)
    else:
        left, right = rows.argmax(axis=0), rows.argmin(axis=0)
    beliefs = np.zeros((len(left), count))
    np.add.at(beliefs, (np.arange(len(left)), left), 0.5)
    np.add.at(beliefs, (np.arange(len(left)), right), 0.5)
    return beliefs
