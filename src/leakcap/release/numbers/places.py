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
) -> tuple[Floats, Floats, Floats, tuple[int, ...]]:
    """`at` as rows of places, for each noise and place the size of its weight, and of the least one, and the
    shape of all of it.

    Weights that are the same in all rows stand there once. Without least weights both are one array.

    >>> far, most, least, shape = laid_out([[1.0, 2.0], [3.0, 4.0]], [[5.0, -6.0]], None)
    >>> far.shape, most.tolist(), least is most, shape
    ((2, 2), [[5.0, 6.0]], True, (2, 2))
    """
    far = np.asarray(at, np.float64)
    given = [np.asarray(weight, np.float64) for weight in (*weights, *(least or ()))]
    shapes = {weight.shape for weight in given}
    own = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    shape = own if far.shape == own else np.broadcast_shapes(far.shape, own)
    if own in ((), (1,)) or shape[len(shape) - len(own) :] != own:
        own = shape  # as many places as there are, in one row
    places = math.prod(own)
    rows = _as(far, shape).reshape(math.prod(shape[: len(shape) - len(own)]), places)
    each = np.abs([_as(weight, own) for weight in given]).reshape(len(given), places)
    most = each[: len(weights)]
    return rows, most, most if least is None else each[len(weights) :], shape


def _as(numbers: Floats, shape: tuple[int, ...]) -> Floats:
    return numbers if numbers.shape == shape else np.broadcast_to(numbers, shape)
