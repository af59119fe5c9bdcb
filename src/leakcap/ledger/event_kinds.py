"""What kinds of event share: their numbers, what follows from one, and the limits on both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from leakcap.errors import InvalidParameter

__all__ = [
    "ABOVE_ZERO",
    "LARGEST",
    "NO_RHO",
    "WHOLE",
    "Event",
    "Guarantee",
    "Kind",
    "fraction",
    "whole_number",
]

LARGEST = Fraction(10**6)
"""The largest ε that an event may have."""
NO_RHO = Fraction(10**12)
"""Beyond what a ledger counts: no ρ is known."""
_FARTHEST = Fraction(10**60)
_QUIETEST = Fraction(10**12)
ABOVE_ZERO = frozenset(
    ("noise_multiplier", "sampling_probability", "variance", "noise_parameter", "standard_deviation")
)
"""Numbers of which none may be 0, where a kind says no other."""
WHOLE = frozenset(
    (
        "count",
        "dataset_size",
        "num_buckets",
        "sample_size",
        "sensitivity",
        "source_dataset_size",
        "step_counts",
        "truncated_batch_size",
    )
)
"""Which fields are whole numbers."""
_LONGEST_EXPONENT = 4
"""The most digits of an exponent: a number with a longer one would take hours to write out."""
_MOST_WHOLE = 10**30

Event: TypeAlias = Mapping[str, Any]


class Guarantee(NamedTuple):
    """What follows from an event: ε (None where none holds without a δ), δ, the curve in nats, and ρ of
    zero-concentrated privacy apart from the δ."""

    epsilon: Fraction | None
    delta: Fraction
    curve: tuple[float, ...]
    rho: Fraction


class Kind(NamedTuple):
    """The fields of a kind of event, what computes guarantee and ρ of one, and what else must hold of its
    fields."""

    fields: tuple[str, ...]
    guarantee: Callable[[Event], Guarantee]
    rho: Callable[[Event], Fraction]
    check: Callable[[Event], None] = lambda event: None


def whole_number(event: Event, field: str) -> int:
    """A whole number of an event."""
    value = event[field]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_WHOLE:
        raise InvalidParameter(f"`{field}` of `{event['name']}` must be a whole number.")
    return value


def fraction(event: Event, field: str) -> Fraction:
    """A number of an event, exactly."""
    text = str(event[field])
    exponent = text.lower().partition("e")[2]
    try:
        found = Fraction(text if len(exponent) <= _LONGEST_EXPONENT else "")
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1)
    apart = field in ("variance", "squared_sensitivity")
    largest = (
        _FARTHEST if apart else _QUIETEST if field in ("noise_multiplier", "standard_deviation") else LARGEST
    )
    if not 0 <= found <= largest:
        name = event["name"]
        raise InvalidParameter(f"`{field}` of `{name}` must be a number from 0 to {int(largest):,}.")
    return found
