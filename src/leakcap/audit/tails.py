"""Exact tails of the binomial law, and confidence limits from them; numpy only."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from leakcap.errors import require
from leakcap.numeric.logspace import Floats
from leakcap.numeric.search import bisect

__all__ = [
    "binomial_tail",
    "fraction_lower",
    "fraction_upper",
    "log_odds_lower",
    "logistic",
    "masses_below",
    "mean_lower",
]

_GUARD = 1.0 + 1e-7
"""Tails are enlarged by this, which is more than their rounding: lgamma near 10⁷ is good to 10⁻⁹."""


def _log_mass(hits: int, trials: int, probability: float) -> float:
    """ln P(X = hits) for X ~ Bin(trials, probability), 0 < probability < 1."""
    ways = math.lgamma(trials + 1) - math.lgamma(hits + 1) - math.lgamma(trials - hits + 1)
    return ways + hits * math.log(probability) + (trials - hits) * math.log1p(-probability)


def binomial_tail(hits: int, trials: int, probability: float) -> float:
    """P(X ≥ hits) for X ~ Bin(trials, probability), rounded upwards by a part in ten million.

    >>> round(binomial_tail(2, 3, 0.5), 6)
    0.5
    """
    require(0 <= probability <= 1, "probability", "binomial_tail", "lie in [0, 1]", probability)
    if hits <= 0:
        return 1.0
    if hits > trials or probability == 0.0:
        return 0.0
    if probability == 1.0:
        return 1.0
    if hits <= trials * probability:
        # The other tail is the one whose terms fall.
        return min(1.0, 1.0 - _falling(trials - hits + 1, trials, 1.0 - probability) / _GUARD)
    return min(1.0, _falling(hits, trials, probability) * _GUARD)


def _falling(hits: int, trials: int, probability: float) -> float:
    """P(X ≥ hits) where hits > trials·probability, or just below: terms fall, by ratios computed at once."""
    first = _log_mass(hits, trials, probability) if hits <= trials else -math.inf
    odds = probability / (1.0 - probability)
    total, term, start, some = 0.0, 1.0, hits, 256
    while term > 0.0 and start <= trials:
        steps = np.arange(start, min(start + some, trials + 1), dtype=np.float64)
        some = min(2 * some, 4096)
        terms = term * np.cumprod((trials - steps) / (steps + 1.0) * odds)
        total += term + float(terms[:-1].sum())
        term, start = float(terms[-1]), start + len(steps)
        if term < 1e-18 * total:
            break
    return math.exp(first) * total


def masses_below(hits: int, trials: int, probability: float) -> Floats:
    """P(X = hits − 1), P(X = hits − 2), …, P(X = 0) for X ~ Bin(trials, probability), 0 < probability < 1.

    >>> masses_below(2, 2, 0.5).round(12).tolist()
    [0.5, 0.25]
    """
    k = np.arange(hits - 1, 0, -1, dtype=np.float64)
    # Logarithms of the ratios P(k−1)/P(k).
    steps = np.log(k) - np.log(trials - k + 1.0) - math.log(probability) + math.log1p(-probability)
    return np.asarray(
        np.exp(_log_mass(hits - 1, trials, probability) + np.concatenate([[0.0], np.cumsum(steps)]))
    )


def log_odds_lower(hits: int, trials: int, level: float) -> float:
    """Clopper–Pearson lower limit of ln(p/(1−p)), exact: it exceeds the truth with probability ≤ `level`.

    −∞ without a hit. Source: Clopper & Pearson 1934.

    >>> round(log_odds_lower(10, 10, 0.05), 6) == round(math.log(0.05**0.1 / (1 - 0.05**0.1)), 6)
    True
    """
    require(0 < level < 1, "level", "log_odds_lower", "lie strictly between 0 and 1", level)
    if hits <= 0:
        return -math.inf

    def excess(logit: float) -> float:
        tail = binomial_tail(hits, trials, logistic(logit))
        return math.log(tail / level) if tail > 0.0 else -math.inf

    centre = math.log((hits + 0.5) / (trials - hits + 0.5))
    width = 1.0 / math.sqrt((hits + 0.5) * (trials - hits + 0.5) / (trials + 1.0)) + 1e-3
    low = centre - 2.0 * width
    while excess(low) > 0.0:
        low -= 2.0 * width
    return _root(excess, low, centre + width)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """The lower end of a bracket of the root, 10⁻¹⁰ wide: rounding stays on the safe side.

    By regula falsi, a little beyond the root so that both ends close in, and by halving where that stalls: of
    a logarithm, which is nearly straight, a quarter of the steps of halving alone.
    """
    at_low, at_high = rising(low), rising(high)
    if at_high <= 0.0:
        return high
    halved = False
    while (width := high - low) > 1e-10 * max(1.0, abs(low)):
        place = 0.5 * (low + high)
        if not halved and math.isfinite(at_low):
            guess = low - at_low * (width / (at_high - at_low))
            beyond = 1e-3 * width + 2e-11
            place = guess + beyond if guess - low < high - guess else guess - beyond
        value = rising(place)
        low, at_low, high, at_high = (
            (low, at_low, place, value) if value > 0.0 else (place, value, high, at_high)
        )
        halved = high - low > 0.5 * width
    return low


def logistic(logit: float) -> float:
    """1/(1 + e^−logit), without overflow.

    >>> logistic(0.0)
    0.5
    """
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))


def fraction_lower(hits: int, trials: int, level: float) -> float:
    """Clopper–Pearson lower limit of a probability.

    >>> round(fraction_lower(10, 10, 0.05), 6) == round(0.05**0.1, 6)
    True
    """
    return logistic(log_odds_lower(hits, trials, level)) if hits > 0 else 0.0


def fraction_upper(hits: int, trials: int, level: float) -> float:
    """Clopper–Pearson upper limit of a probability.

    >>> round(fraction_upper(0, 10, 0.05), 6) == round(1 - 0.05**0.1, 6)
    True
    """
    if hits >= trials:
        return 1.0
    logit = log_odds_lower(trials - hits, trials, level)
    return logistic(-logit)


def mean_lower(values: Floats, counts: Floats, level: float, *, bet: float) -> float:
    """A lower confidence limit of the mean of independent draws: value v came `counts[v]` times.

    A gambler who stakes `bet` at fair odds under mean m has wealth Π(1 + bet·(v − m)), which exceeds 1/level
    with probability ≤ level when the mean is m or less (Ville). The limit is where the wealth falls to
    1/level. `bet` must be fixed before these draws were looked at, and 0 < bet·(m − min v) < 1 is kept by
    cutting it. Source: Waudby-Smith & Ramdas 2024.

    >>> mean_lower(np.array([0.0, 1.0]), np.array([500.0, 500.0]), 0.05, bet=0.2) < 0.5
    True
    """
    bottom, top = float(values.min()), float(values.max())
    if not bet > 0.0 or top <= bottom:
        return bottom
    stake = min(bet, 0.9 / (top - bottom))

    def excess(mean: float) -> float:
        return float(math.log(1.0 / level) - counts @ np.log1p(stake * (values - mean)))

    # Between `bottom` and `top` every factor is at least 0.1; the wealth falls as the mean rises.
    return (
        bottom if excess(bottom) >= 0.0 else max(bottom, bisect(excess, bottom, top) - 1e-12 * (top - bottom))
    )
