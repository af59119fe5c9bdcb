"""Rounding that cannot flatter: up for what is spent, down for what is allowed."""

from __future__ import annotations

import math

_UNIT = 2.0**-53
_LEAST, _NORMAL = 5e-324, 2.0**-960


def up(value: float, operations: int = 1, magnitude: float | None = None) -> float:
    """A number that is not below the true result of `operations` rounded steps that gave `value`.

    Each correctly rounded operation errs by at most 2⁻⁵³ of the magnitude of its terms; `magnitude` is
    the largest sum of absolute terms on the way (|value| when left out). Higham 2002, §3.1.

    >>> up(1.0) > 1.0
    True
    """
    return value + _error(value, operations, magnitude)


def down(value: float, operations: int = 1, magnitude: float | None = None) -> float:
    """The mirror image of `up`.

    >>> down(1.0) < 1.0
    True
    """
    return value - _error(value, operations, magnitude)


def _error(value: float, operations: int, magnitude: float | None) -> float:
    if not math.isfinite(value):
        return 0.0
    size = abs(value) if magnitude is None else max(abs(value), magnitude)
    # Below the normal numbers a rounding errs by half of the least double.
    return 2.0 * operations * _UNIT * size + (operations * _LEAST if 0.0 < size < _NORMAL else 0.0)


def ceil_to(value: float, digits: int) -> float:
    """`value` rounded up at the given number of decimals, for display.

    >>> ceil_to(0.12341, 3)
    0.124
    """
    return _snap(value, digits, upward=True)


def floor_to(value: float, digits: int) -> float:
    """`value` rounded down at the given number of decimals, for display.

    >>> floor_to(0.1239, 3)
    0.123
    """
    return _snap(value, digits, upward=False)


def _snap(value: float, digits: int, *, upward: bool) -> float:
    if not math.isfinite(value):
        return value
    scale: int = 10**digits
    snapped = math.ceil(value * scale) if upward else math.floor(value * scale)
    return snapped / scale
