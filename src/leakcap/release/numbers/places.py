"""Weights and distances of many places, laid out so that what weights alone decide is computed once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from leakcap.arrays import ArrayLike, NDArray, np

__all__ = ["laid_out"]

Floats: TypeAlias = "NDArray[np.float64]"


def laid_out(
    at: ArrayLike, weights: Sequence[ArrayLike], least: Sequence[ArrayLike] | None
) -> tuple[Floats, Floats, Floats]:
    """`at` as rows of places, and for each noise and place the size of its weight, and of the least one.

    Weights that are the same in all rows stand there once. Without least weights both are one array.

    >>> far, most, least = laid_out([[1.0, 2.0], [3.0, 4.0]], [[5.0, -6.0]], None)
    >>> far.shape, most.tolist(), least is most
    ((2, 2), [[5.0, 6.0]], True)
    """
    far = np.asarray(at, np.float64)
    given = [np.asarray(weight, np.float64) for weight in (*weights, *(least or ()))]
    own = np.broadcast_shapes(*(weight.shape for weight in given))
    shape = np.broadcast_shapes(far.shape, own)
    if own in ((), (1,)) or shape[len(shape) - len(own) :] != own:
        own = shape  # as many places as there are, in one row
    places = math.prod(own)
    rows = np.broadcast_to(far, shape).reshape(math.prod(shape[: len(shape) - len(own)]), places)
    each = [np.abs(np.broadcast_to(weight, own)).ravel() for weight in given]
    most = np.array(each[: len(weights)]).reshape(len(weights), places)
    return rows, most, most if least is None else np.array(each[len(weights) :]).reshape(most.shape)
