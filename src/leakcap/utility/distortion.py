"""How much of the data survives: expected distortion, and mutual information as utility."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import ArrayLike

from leakcap.channel import Channel, as_prior
from leakcap.errors import InvalidParameter
from leakcap.leakage.information import mutual_information
from leakcap.numeric.logspace import Floats

__all__ = ["Distance", "as_loss", "expected_distortion", "information", "least_distortion"]

Distance = ArrayLike | Callable[[Hashable, Hashable], float]
"""A matrix of shape (x, y), or a function of an input's and an output's label."""


def expected_distortion(channel: Channel, prior: ArrayLike, distance: Distance) -> float:
    """E d(X, Y) = Σ π_x C_xy d(x, y): the mean error of the output, in the unit of d.

    `prior` is how often the inputs really occur, which need not be any adversary's belief. For a query f
    of a database, d(x, y) is the distance between f(x) and y. Source: Wu, Xia & He 2017, (15).
    Raises `InvalidPrior`, `InvalidParameter`.

    >>> expected_distortion(Channel([[0.75, 0.25], [0.25, 0.75]]), [0.5, 0.5], lambda x, y: abs(x - y))
    0.25
    """
    loss = as_loss("expected_distortion", distance, channel.inputs, channel.outputs)
    rows = channel.matrix
    # An impossible event costs nothing even where its distance is infinite.
    with np.errstate(invalid="ignore"):
        cost = np.where(rows > 0, rows * loss, 0.0).sum(axis=1)
        weights = as_prior(prior, rows.shape[0])
        return float(np.where(weights > 0, weights * cost, 0.0).sum())


def information(channel: Channel, prior: ArrayLike) -> float:
    """I(X; Y) between the whole input and the output, as utility: what is there to be learnt; in nats.

    The same number as the leakage about the whole input: only the reading differs.
    Source: Wu, Xia & He 2017, section 3.2.

    >>> round(information(Channel([[1.0, 0.0], [0.0, 1.0]]), [0.5, 0.5]), 12)
    0.69314718056
    """
    return mutual_information(channel, prior)


def least_distortion(prior: ArrayLike, loss: ArrayLike) -> tuple[float, float]:
    """The least expected loss of any mechanism (Σ π_x min_y l), and of one that ignores x (min_y Σ π_x l).

    Every trade-off curve runs between the two.

    >>> least_distortion([0.5, 0.5], [[0, 1], [1, 0]])
    (0.0, 0.5)
    """
    table = loss_matrix("least_distortion", loss)
    weights = as_prior(prior, table.shape[0])
    return float(weights @ table.min(axis=1)), float((weights @ table).min())


def as_loss(
    owner: str, distance: Distance, inputs: tuple[Hashable, ...], outputs: tuple[Hashable, ...]
) -> Floats:
    """A checked (x, y) matrix of distances ≥ 0, ∞ allowed; errors are `InvalidParameter`.

    >>> as_loss("example", lambda x, y: abs(x - y), (0, 1), (0, 2))
    array([[0., 2.],
           [1., 1.]])
    """
    if callable(distance):
        table = np.array([[distance(x, y) for y in outputs] for x in inputs], dtype=np.float64)
    else:
        table = np.array(distance, dtype=np.float64)
    shape = (len(inputs), len(outputs))
    if table.shape != shape:
        raise InvalidParameter(
            f"`distance` of `{owner}` must be of shape (x, y) = {shape}. Got {table.shape}."
        )
    if np.isnan(table).any() or (table < 0).any():
        raise InvalidParameter(f"`distance` of `{owner}` must not be negative or NaN. Got such an entry.")
    return table


def loss_matrix(owner: str, loss: ArrayLike) -> Floats:
    """A checked (x, y) matrix of finite losses; errors are `InvalidParameter`.

    >>> loss_matrix("example", [[0, 1]])
    array([[0., 1.]])
    """
    try:
        table = np.array(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"`loss` of `{owner}` must be a rectangular matrix of numbers.") from None
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidParameter(f"`loss` of `{owner}` must be of shape (x, y). Got shape {table.shape}.")
    if not np.isfinite(table).all():
        raise InvalidParameter(f"`loss` of `{owner}` must be finite. Got NaN or ∞.")
    return table
