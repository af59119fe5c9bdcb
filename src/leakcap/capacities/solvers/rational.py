"""Exact answers for channels of fractions: ratios and probabilities as `fractions.Fraction`.

For a `Channel` whose entries were given as fractions (or are zeros and ones) every measure without a
logarithm is rational and computed without rounding. `math.inf` stands for a ratio with no bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.channel import Channel
from leakcap.errors import InvalidChannel, InvalidParameter, InvalidPrior
from leakcap.numeric.enclosure import enclose

__all__ = [
    "bayes_capacity",
    "hockey_stick",
    "lift",
    "lift_capacity",
    "log_ends",
    "posterior_vulnerability",
    "total_variation",
]

Pairs = Sequence[tuple[int, int]] | None


def lift_capacity(channel: Channel, *, pairs: Pairs = None) -> Fraction | float:
    """e^ε: the largest C_xy/C_x'y, over all pairs of secrets or the listed ones; ∞ if some C_x'y = 0 < C_xy.

    The largest max-case leakage of any gain g ≥ 0 under any prior (Fernandes, McIver & Sadeghi 2022).

    >>> half = Fraction(1, 2)
    >>> lift_capacity(Channel([[half, half], [Fraction(1, 3), Fraction(2, 3)]]))
    Fraction(3, 2)
    """
    return ratio_and_pair(channel, pairs)[0]


def bayes_capacity(channel: Channel) -> Fraction:
    """Σ_y max_x C_xy: the largest average-case leakage of any gain g ≥ 0 under any prior.

    Source: Alvim et al. 2012; Braun, Chatzikokolakis & Palamidessi 2009.

    >>> half = Fraction(1, 2)
    >>> bayes_capacity(Channel([[half, half], [Fraction(1, 3), Fraction(2, 3)]]))
    Fraction(7, 6)
    """
    return sum((max(column) for column in _exact(channel).T), Fraction(0))


def lift(channel: Channel, prior: Iterable[Any]) -> Fraction:
    """max C_xy/q_y over secrets with π_x > 0 and outputs with q_y = Σ π_x C_xy > 0.

    >>> half = Fraction(1, 2)
    >>> lift(Channel([[half, half], [0, 1]]), [half, half])
    Fraction(2, 1)
    """
    rows = _exact(channel)
    weights = _prior(prior, len(rows))
    centre = weights @ rows
    ratios: list[Fraction] = [
        max(c for c, weight in zip(column, weights, strict=True) if weight > 0) / mass
        for column, mass in zip(rows.T, centre, strict=True)
        if mass > 0
    ]
    return max(ratios)


def posterior_vulnerability(channel: Channel, prior: Iterable[Any], gains: Any) -> Fraction:
    """Σ_y max_w Σ_x π_x C_xy g(w, x) for a matrix of rational gains of shape (w, x).

    Source: Alvim et al. 2012.

    >>> half = Fraction(1, 2)
    >>> posterior_vulnerability(Channel([[half, half], [0, 1]]), [half, half], [[1, 0], [0, 1]])
    Fraction(3, 4)
    """
    rows = _exact(channel)
    table = _fractions(np.array(gains, dtype=object), "gains")
    if table.ndim != 2 or table.shape[1] != len(rows):
        raise InvalidParameter(
            f"`gains` must have shape (actions, {len(rows)}). "
            f"Got shape {table.shape}. Give one column a secret."
        )
    scores = table @ (_prior(prior, len(rows))[:, None] * rows)
    return sum((max(column) for column in scores.T), Fraction(0))


def total_variation(channel: Channel, *, pairs: Pairs = None) -> Fraction:
    """The largest ½ Σ |row − row'| over all or the listed pairs of secrets.

    >>> half = Fraction(1, 2)
    >>> total_variation(Channel([[half, half], [0, 1]]))
    Fraction(1, 2)
    """
    return hockey_stick(channel, 1, pairs=pairs)


def hockey_stick(channel: Channel, exp_epsilon: Fraction | float, *, pairs: Pairs = None) -> Fraction:
    """The largest Σ (row − e^ε·row')₊ over all or the listed pairs, both directions: δ at the given e^ε.

    A float e^ε is taken as the exact number that it is.

    >>> half = Fraction(1, 2)
    >>> hockey_stick(Channel([[half, half], [0, 1]]), Fraction(3, 2))
    Fraction(1, 2)
    """
    return hockey_stick_and_pair(channel, exp_epsilon, pairs)[0]


def log_ends(ratio: Fraction | float) -> tuple[float, float]:
    """The doubles on both sides of the logarithm of a positive fraction.

    >>> log_ends(Fraction(1))
    (0.0, 0.0)
    """
    if not isinstance(ratio, Fraction):
        return math.log(ratio), math.log(ratio)
    return enclose(lambda digits: digits.of(ratio).log())


def ratio_and_pair(channel: Channel, pairs: Pairs) -> tuple[Fraction | float, tuple[int, int]]:
    """`lift_capacity` and the pair of secrets that attains it."""
    rows = _exact(channel)
    best: Fraction | float = Fraction(1)
    found = (0, 0)
    for y in range(rows.shape[1]):
        for high, low in _candidates(rows[:, y], pairs):
            top, bottom = rows[high, y], rows[low, y]
            if top > 0 and (bottom == 0 or top > best * bottom):
                best, found = (top / bottom if bottom else math.inf), (high, low)
            if best == math.inf:
                return best, found
    return best, found


def hockey_stick_and_pair(
    channel: Channel, exp_epsilon: Fraction | float, pairs: Pairs
) -> tuple[Fraction, tuple[int, int]]:
    """`hockey_stick` and the pair of secrets that attains it."""
    rows, gamma = _exact(channel), Fraction(exp_epsilon)
    count = len(rows)
    listed = [(a, b) for a in range(count) for b in range(a)] if pairs is None else pairs
    best, found = Fraction(0), (0, 0)
    for pair in [(a, b) for a, b in listed] + [(b, a) for a, b in listed]:
        excess = rows[pair[0]] - gamma * rows[pair[1]]
        value = sum((e for e in excess if e > 0), Fraction(0))
        if value > best:
            best, found = value, pair
    return best, found


def _candidates(column: NDArray[Any], pairs: Pairs) -> list[tuple[int, int]]:
    if pairs is not None:
        return [(a, b) for a, b in pairs] + [(b, a) for a, b in pairs]
    order = range(len(column))
    return [(max(order, key=column.__getitem__), min(order, key=column.__getitem__))]


def _exact(channel: Channel) -> NDArray[Any]:
    rows = channel.as_exact()
    if rows is None:
        raise InvalidChannel(
            "exact measures need a channel of fractions. Got doubles. "
            "Give every entry as `fractions.Fraction`, or use `capacity`."
        )
    return rows


def _prior(prior: Iterable[Any], size: int) -> NDArray[Any]:
    weights = _fractions(np.array(list(prior), dtype=object), "prior")
    if weights.shape != (size,) or any(w < 0 for w in weights) or sum(weights) != 1:
        raise InvalidPrior(
            f"an exact prior must be {size} fractions ≥ 0 that sum to exactly one. Correct it."
        )
    return weights


def _fractions(values: NDArray[Any], name: str) -> NDArray[Any]:
    result = np.empty(values.shape, dtype=object)
    for index, value in np.ndenumerate(values):
        try:
            result[index] = Fraction(value)
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter(f"`{name}` must be numbers. Got {type(value).__name__}.") from None
    return result
