"""Dalenius leakage: what a channel on X leaks about another secret Z correlated with X."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.capacities.solvers.columns import row_residue
from leakcap.channel import Channel, as_prior
from leakcap.errors import InvalidPrior
from leakcap.gain import Gain
from leakcap.leakage.lifts import lift
from leakcap.leakage.limits import bayes_capacity, lift_capacity
from leakcap.leakage.vulnerability import g_leakage
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up

__all__ = ["dalenius", "dalenius_capacity", "dalenius_g_leakage", "dalenius_lift", "factorise"]

Leakage = TypeVar("Leakage")


def dalenius(
    measure: Callable[[Channel, Floats], Leakage], channel: Channel, correlation: Channel, prior: ArrayLike
) -> Leakage:
    """`measure` of the cascade Z → X → Y: what the channel on X leaks about Z, whose prior is `prior`.

    Never above the channel's own lift, Bayes capacity or ε, whatever the correlation.
    Source: Alvim et al. 2020, chapter 10; Fernandes, McIver & Sadeghi 2022, lemma 2 and corollary 3.

    >>> noise, disease = Channel([[0.9, 0.1], [0.2, 0.8]]), Channel([[0.7, 0.3], [0.4, 0.6]])
    >>> round(dalenius(lift, noise, disease, [0.5, 0.5]), 12)
    1.253012048193
    """
    cascade = correlation >> channel
    return measure(cascade, as_prior(prior, cascade.shape[0]))


def dalenius_g_leakage(
    channel: Channel,
    correlation: Channel,
    prior: ArrayLike,
    gain: Gain,
    *,
    max_case: bool = False,
    additive: bool = False,
) -> float:
    """How much one observation of Y improves the best action about Z, for Z → X → Y: see `g_leakage`.

    `gain` is about Z, and `prior` the belief about Z. On average over the outputs or, with `max_case`, for
    the worst output; a ratio ≥ 1, or a difference if `additive`. For g ≥ 0 the ratio is at most the
    channel's own Bayes capacity (max-case: e^ε), whatever the correlation.
    Source: Alvim et al. 2020, chapter 10; Fernandes, McIver & Sadeghi 2022, corollary 3.
    Raises `InvalidPrior`, `InvalidChannel` where the labels of the two channels differ.

    >>> from leakcap import gain
    >>> noise, disease = Channel([[0.9, 0.1], [0.2, 0.8]]), Channel([[0.7, 0.3], [0.4, 0.6]])
    >>> round(dalenius_g_leakage(noise, disease, [0.5, 0.5], gain.identity(2), max_case=True), 12)
    1.253012048193
    """
    return g_leakage(correlation >> channel, prior, gain, max_case=max_case, additive=additive)


def dalenius_lift(channel: Channel, correlation: Channel, prior: ArrayLike) -> float:
    """max over z, y of p(z|y)/p(z) for Z → X → Y: a ratio, at most the channel's own e^ε.

    It is the largest max-case leakage about Z towards any gain g ≥ 0.
    Source: Fernandes, McIver & Sadeghi 2022, lemma 2. Raises `InvalidPrior`, `InvalidChannel`.

    >>> noise, disease = Channel([[0.9, 0.1], [0.2, 0.8]]), Channel([[0.7, 0.3], [0.4, 0.6]])
    >>> round(dalenius_lift(noise, disease, [0.5, 0.5]), 12)
    1.253012048193
    """
    return dalenius(lift, channel, correlation, prior)


def dalenius_capacity(
    channel: Channel, correlation: Channel | None = None, *, max_case: bool = False
) -> Bound:
    """The largest multiplicative leakage about Z over all beliefs about Z and all gains g ≥ 0; a ratio.

    Under the given correlation; over all correlations where it is left out, which the secret itself attains.
    On average over the outputs the Bayes capacity of the cascade, with `max_case` its lift capacity.
    Source: Fernandes, McIver & Sadeghi 2022, lemma 2 and corollary 3. Raises `InvalidChannel`.

    >>> noise, disease = Channel([[0.9, 0.1], [0.2, 0.8]]), Channel([[0.7, 0.3], [0.4, 0.6]])
    >>> [round(dalenius_capacity(noise, who, max_case=True).upper, 9) for who in (disease, None)]
    [1.677419355, 8.0]
    """
    cascade = channel if correlation is None else correlation >> channel
    found = lift_capacity(cascade) if max_case else bayes_capacity(cascade)
    if correlation is None or cascade.exact is not None or math.isinf(found.upper):
        return found
    # Each mass of the cascade is a sum of products, of rows that need not sum to exactly one.
    missing = row_residue(channel) + row_residue(correlation)
    units = 2 * channel.shape[0] + 4 + math.ceil(4.0 * missing * 2.0**53)
    return replace(found, lower=max(down(found.lower, units), 1.0), upper=up(found.upper, units))


def factorise(
    joint: ArrayLike,
    *,
    secrets: Sequence[Hashable] | None = None,
    inputs: Sequence[Hashable] | None = None,
) -> tuple[Floats, Channel]:
    """A joint distribution of (Z, X), shape (z, x), as the prior of Z and the correlation Z → X.

    A z that never happens gets a uniform row. Raises `InvalidPrior`.

    >>> prior, correlation = factorise([[0.2, 0.3], [0.0, 0.5]])
    >>> prior.tolist(), correlation.matrix.tolist()
    ([0.5, 0.5], [[0.4, 0.6], [0.0, 1.0]])
    """
    table = np.array(joint, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidPrior(f"a joint distribution must be a matrix of shape (z, x). Got shape {table.shape}.")
    count, values = table.shape
    table = as_prior(table.ravel(), table.size).reshape(count, values)
    marginal = table.sum(axis=1)
    uniform = np.full_like(table, 1.0 / values)
    rows = np.divide(table, marginal[:, None], out=uniform, where=marginal[:, None] > 0)
    return marginal, Channel(rows, inputs=secrets, outputs=inputs)
