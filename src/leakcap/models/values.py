"""One value of somebody's row as a number or a label, whatever the other rows hold.

What is no number, or none of the public classes, is missing: an error or a warning would tell that it is
there. Nothing here looks at two values at once, so that no row changes how another is read.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidParameter

__all__ = ["Floats", "label_codes", "number_of", "numbers_of", "objects_of", "row_of"]

Floats = NDArray[np.float64]

_REAL = (bool, int, float, Decimal, Fraction, np.bool_, np.integer, np.floating)


def number_of(value: Any) -> float:
    """The double nearest to a real number; NaN for everything else, and for what is beyond the doubles.

    Truth values are 0 and 1. Text is no number, whatever it spells.

    >>> number_of(Fraction(1, 4)), number_of(True), number_of("1"), number_of(10**400)
    (0.25, 1.0, nan, nan)
    """
    try:
        # NumPy counts spans of time among the integers.
        real = isinstance(value, _REAL) and not isinstance(value, np.timedelta64)
        return float(value) if real else math.nan
    except Exception:  # whatever a person's own object raises, its row must not be told from others
        return math.nan


def numbers_of(values: Iterable[Any], count: int) -> Floats:
    """So many values as doubles.

    >>> numbers_of([2, None, "3"], 3).tolist()
    [2.0, nan, nan]
    """
    with np.errstate(all="ignore"):
        return np.fromiter(map(number_of, values), dtype=np.float64, count=count)


def row_of(row: Any, width: int) -> Floats:
    """A row of `width` numbers; where it is shorter, longer or no row at all, they are all missing.

    >>> row_of([1, "a"], 2).tolist(), row_of([1], 2).tolist()
    ([1.0, nan], [nan, nan])
    """
    try:
        if isinstance(row, np.ndarray):
            flat = row.ndim == 1
        else:
            flat = isinstance(row, Sequence) and not isinstance(row, str | bytes | bytearray | memoryview)
        if flat and len(row) == width:
            return numbers_of(list(row), width)
    except Exception:  # as above
        pass
    return np.full(width, math.nan)


def objects_of(values: Sequence[Any]) -> NDArray[Any]:
    """A vector that holds these objects as they are, nested ones included.

    >>> objects_of([1, [2, 3]]).shape
    (2,)
    """
    cells = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        cells[place] = value
    return cells


def label_codes(labels: NDArray[Any], classes: Sequence[Any], owner: str = "a loss") -> Floats:
    """The place of each label among the public classes, NaN where it is none of them.

    Numbers are equal by value, so that true is 1; text is never equal to a number. Bytes that are UTF-8 are
    text: one value that is bytes makes Arrow take a whole column of text for bytes.

    >>> label_codes(np.array([1.0, 0.0, 7.0]), (False, True)).tolist()
    [1.0, 0.0, nan]
    """
    places: dict[Hashable, float] = {}
    for place, label in enumerate(classes):
        places.setdefault(_key(label), float(place))
    if len(classes) < 2 or len(places) < len(classes) or None in places:
        raise InvalidParameter(f"`classes` of {owner} must be different public labels. Got {classes!r}.")
    with np.errstate(all="ignore"):
        found = (_place(label, places) for label in labels.tolist())
        return np.fromiter(found, dtype=np.float64, count=labels.shape[0])


def _place(label: Any, places: Mapping[Hashable, float]) -> float:
    try:
        key = _key(label)
        return math.nan if key is None else places.get(key, math.nan)
    except Exception:  # as above
        return math.nan


def _key(label: Any) -> Hashable:
    """What two labels have in common when they are the same; None for what can be no label."""
    if isinstance(label, str):
        return "text", str.__str__(label)
    if isinstance(label, bytes):
        return _bytes_key(bytes.__bytes__(label))
    if isinstance(label, _REAL) and not isinstance(label, np.timedelta64):
        return _number_key(label)
    return (type(label), label) if type(label).__module__ == "datetime" else None


def _bytes_key(label: bytes) -> Hashable:
    try:
        return "text", label.decode()
    except UnicodeDecodeError:
        return "bytes", label


def _number_key(label: Any) -> Hashable:
    if isinstance(label, np.bool_ | np.integer | int):
        return "number", int(label)
    if isinstance(label, np.floating | float):
        label = float(label)
    return None if label != label else ("number", label)
