"""Dalenius leakage: what a channel on X leaks about another secret Z correlated with X."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from leakcap.channel import Channel, as_prior
from leakcap.errors import InvalidPrior
from leakcap.numeric.logspace import Floats

__all__ = ["dalenius", "factorise"]

Leakage = TypeVar("Leakage")


def dalenius(
    measure: Callable[[Channel, Floats], Leakage], channel: Channel, correlation: Channel, prior: ArrayLike
) -> Leakage:
    """`measure` of the cascade Z → X → Y: what the channel on X leaks about Z, whose prior is `prior`.

    Never above the channel's own lift, Bayes capacity or ε, whatever the correlation.
    Source: Alvim et al. 2020, chapter 10; Fernandes, McIver & Sadeghi 2022, lemma 2 and corollary 3.

    >>> from leakcap.leakage.lifts import lift
    >>> noise, disease = Channel([[0.9, 0.1], [0.2, 0.8]]), Channel([[0.7, 0.3], [0.4, 0.6]])
    >>> round(dalenius(lift, noise, disease, [0.5, 0.5]), 12)
    1.253012048193
    """
    cascade = correlation >> channel
    return measure(cascade, as_prior(prior, cascade.shape[0]))


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
