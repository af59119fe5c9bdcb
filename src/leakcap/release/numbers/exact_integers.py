"""Vectors of integers that neither round nor overflow: of 64 bits, or Python's own where these do not do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from leakcap.arrays import NDArray, np
from leakcap.errors import DataError

__all__ = ["ExactIntegers", "clipped", "doubles", "exact_integers", "objects", "plus"]

ExactIntegers: TypeAlias = NDArray[Any]
"""A vector of int64, or of Python's integers where one of them may not fit."""

_WORD = 2**63
# Two numbers within this add up within 64 bits.
_ROOM = 2**62


def exact_integers(values: Sequence[int] | NDArray[Any]) -> ExactIntegers:
    """The integers as a vector. Raises `DataError` where they are none.

    >>> exact_integers([1, 2**70]).tolist()
    [1, 1180591620717411303424]
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "i":
        return values.astype(np.int64, copy=False)
    given = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if not set(map(type, given)) <= {int}:
        if not all(isinstance(value, np.integer) for value in given):
            raise DataError("The engine did not return integers.")
        given = [int(value) for value in given]
    fits = not given or (min(given) >= -_WORD and max(given) < _WORD)
    return np.array(given, dtype=np.int64) if fits else objects(given)


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """The values as they are, whatever they are."""
    return np.fromiter(values, dtype=object, count=len(values))


def plus(first: ExactIntegers, second: ExactIntegers) -> ExactIntegers:
    """The sums, place by place.

    >>> plus(exact_integers([2**63 - 1]), exact_integers([1])).tolist()
    [9223372036854775808]
    """
    if _roomy(first) and _roomy(second):
        return np.asarray(first + second)
    return exact_integers(np.asarray(first.astype(object) + second.astype(object)))


def clipped(values: ExactIntegers, reach: tuple[int, int] | None) -> ExactIntegers:
    """The integers within `reach`, which the nearest end stands for where one is beyond it.

    >>> clipped(exact_integers([-5, 3, 2**70]), (0, 2**65)).tolist()
    [0, 3, 36893488147419103232]
    """
    if reach is None:
        return values
    low, high = reach
    if values.dtype == np.int64 and low < _WORD and high >= -_WORD:
        return np.clip(values, max(low, -_WORD), min(high, _WORD - 1))
    return exact_integers([max(low, min(high, value)) for value in values.tolist()])


def doubles(values: ExactIntegers) -> NDArray[np.float64]:
    """The double nearest to each."""
    return values.astype(np.float64)


def _roomy(values: ExactIntegers) -> bool:
    if values.dtype != np.int64:
        return False
    return values.size == 0 or bool(values.min() > -_ROOM and values.max() < _ROOM)
