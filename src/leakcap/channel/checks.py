"""What makes a matrix a channel and a vector a prior; every breach names value, rule and remedy."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from leakcap.arrays import ArrayLike, NDArray, np
from leakcap.errors import InvalidChannel, InvalidPrior
from leakcap.numeric.logspace import Floats

__all__ = ["ROW_TOLERANCE", "as_prior", "check_entries", "check_totals", "labels_of", "probability_of"]

ROW_TOLERANCE = 1e-9
"""Rows (and priors) may miss one by this much; they are then scaled to sum to one."""

_NEGLIGIBLE = 8 * sys.float_info.epsilon


def as_prior(prior: ArrayLike, size: int) -> Floats:
    """A checked distribution over `size` secrets; errors are `InvalidPrior`.

    >>> as_prior([0.25, 0.75], 2)
    array([0.25, 0.75])
    """
    try:
        vector = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidPrior("a prior must be a vector of numbers, one a secret.") from None
    if vector.shape != (size,):
        raise InvalidPrior(
            f"a prior must have one entry a secret. Got shape {vector.shape} for {size} secrets."
        )
    if not np.isfinite(vector).all() or (vector < 0).any():
        raise InvalidPrior("a prior must be finite and non-negative. Got NaN, ∞ or a negative entry.")
    total = float(vector.sum())
    if abs(total - 1.0) > ROW_TOLERANCE:
        raise InvalidPrior(f"a prior must sum to one within {ROW_TOLERANCE:g}. Got {total!r}.")
    return np.asarray(vector / total)


def check_entries(values: Floats, place: Any) -> None:
    """All entries finite and non-negative; `place(index)` gives (row, column) for the message."""
    low = float(np.min(values, initial=0.0))
    high = float(np.max(values, initial=0.0))
    if low >= 0.0 and high < np.inf:  # NaN fails both comparisons
        return
    for bad, name in ((np.isnan(values), "NaN"), (np.isinf(values), "infinite"), (values < 0, "negative")):
        if bad.any():
            x, y = place(int(np.flatnonzero(bad.ravel())[0]))
            raise InvalidChannel(
                f"entries of a channel must be probabilities. Got a {name} one at row {x}, column {y}."
            )


def check_totals(totals: Floats) -> NDArray[np.bool_]:
    """Which rows need scaling to sum to one; raises where a row misses one by more than the tolerance."""
    off = np.abs(totals - 1.0)
    worst = int(np.argmax(off))
    if not off[worst] <= ROW_TOLERANCE:
        raise InvalidChannel(
            f"rows of a channel must sum to one within {ROW_TOLERANCE:g}. "
            f"Got {float(totals[worst])!r} in row {worst}. "
            "Divide each row by its sum if that is meant."
        )
    return np.asarray(off > _NEGLIGIBLE)


def check_exact(rows: NDArray[Any]) -> None:
    """Fractions: non-negative, each row summing to one exactly."""
    for x, row in enumerate(rows):
        for y, value in enumerate(row):
            if value < 0:
                raise InvalidChannel(
                    f"entries of a channel must be probabilities. Got a negative one at row {x}, column {y}."
                )
        total = sum(row, Fraction(0))
        if total != 1:
            raise InvalidChannel(
                f"rows of an exact channel must sum to exactly one. Got {total} in row {x}. "
                "Divide each row by its sum, or give floats."
            )


def labels_of(name: str, labels: Iterable[Hashable] | None, size: int) -> tuple[Hashable, ...]:
    """Distinct labels, 0, 1, 2, … when left out."""
    if labels is None:
        return tuple(range(size))
    if isinstance(labels, range) and len(labels) == size:
        return tuple(labels)
    if not isinstance(labels, Iterable):
        raise InvalidChannel(f"`{name}` of `Channel` must be labels, one a place. Got {labels!r}.")
    result = tuple(labels)
    if len(result) != size:
        raise InvalidChannel(f"`{name}` of `Channel` must have {size} labels. Got {len(result)}.")
    try:
        distinct = len(set(result)) == size
    except TypeError:
        raise InvalidChannel(
            f"`{name}` of `Channel` must be hashable. Use strings, numbers or tuples."
        ) from None
    if not distinct:
        raise InvalidChannel(f"`{name}` of `Channel` must be distinct. Got a repeated label.")
    return result


def probability_of(value: float | Fraction, name: str) -> float | Fraction:
    """A number in [0, 1]; a fraction (or 0 or 1 as an integer) stays exact."""
    exact = isinstance(value, (Fraction, int)) and not isinstance(value, bool)
    try:
        number: float | Fraction = Fraction(value) if exact else float(value)
    except (TypeError, ValueError):
        raise InvalidChannel(f"`{name}` must be a number between 0 and 1. Got {value!r}.") from None
    if not 0 <= number <= 1:
        raise InvalidChannel(f"`{name}` must be a probability between 0 and 1. Got {value!r}.")
    return number


def same_labels(first: Sequence[Hashable], second: Sequence[Hashable], rule: str) -> None:
    """Raise unless two label sets agree, in order."""
    if tuple(first) != tuple(second):
        raise InvalidChannel(
            f"{rule} Got {len(first)} and {len(second)} with other labels. "
            "Label both alike (`Channel.relabelled`)."
        )
