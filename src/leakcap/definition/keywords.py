"""What the free parameters of a conversion may be, whatever the definitions it runs between."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from leakcap.definition.base import Definition
from leakcap.definition.graph import target_fields
from leakcap.errors import require

__all__ = ["check_ranges"]

_RANGES: Mapping[str, tuple[Callable[[float], bool], str]] = {
    "alpha": (lambda v: v > 0, "be positive, ∞ allowed"),
    "epsilon": (lambda v: 0 <= v < math.inf, "be a finite number ≥ 0"),
    "delta": (lambda v: 0 <= v <= 1, "be a probability in [0, 1]"),
    "values": (
        lambda v: v >= 2 and float(v).is_integer(),
        "be an integer ≥ 2: how many values the record (or the query) has",
    ),
    "records": (lambda v: v >= 1, "be at least 1 (∞ for any number)"),
    "extent": (lambda v: v >= 0, "be a number of nats ≥ 0, ∞ allowed"),
}


def check_ranges(target: type[Definition], free: Mapping[str, Any]) -> None:
    """Refuse a free parameter out of its range, or that is no number; errors are `InvalidParameter`.

    >>> from leakcap.definition import ApproxDP
    >>> check_ranges(ApproxDP, {"epsilon": math.inf})
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `epsilon` of `ApproxDP` must be a finite number ≥ 0. Got inf.
    """
    for name, value in free.items():
        if name in _RANGES:
            holds, rule = _RANGES[name]
            number = isinstance(value, Real) and not isinstance(value, bool)
            owner = target.__name__ if name in target_fields(target) else "convert"
            require(number and holds(float(value)), name, owner, rule, value)
