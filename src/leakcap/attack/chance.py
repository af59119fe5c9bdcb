"""What chance does to a simulated figure: intervals that hold for every number of trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakcap.audit.tails import fraction_lower, fraction_upper
from leakcap.errors import require
from leakcap.numeric.means import least_mean

__all__ = ["CONFIDENCE", "binomial_interval", "mean_interval"]

CONFIDENCE = 0.99
"""Of every interval beside a simulated figure."""


def binomial_interval(hits: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a probability, from so many hits. Source: Clopper & Pearson 1934.

    Where the trials are independent but not alike, it is one of their mean probability (Hoeffding 1956).

    >>> low, high = binomial_interval(50, 100)
    >>> round(low, 4), round(high, 4)
    (0.3689, 0.6311)
    """
    require(0 <= hits <= trials and trials >= 1, "hits", "binomial_interval", "be from 0 to `trials`", hits)
    side = (1.0 - confidence) / 2.0
    return fraction_lower(hits, trials, side), fraction_upper(hits, trials, side)


def mean_interval(
    values: Sequence[float], low: float, high: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """An interval of the mean of independent draws that lie between `low` and `high`, whatever their law.

    A gambler who bets on the draws at odds that are fair under mean m is rich with small probability if the
    mean is m (Ville): the interval holds the means under which nobody got rich. Stakes are fixed beforehand.
    Source: Waudby-Smith & Ramdas 2024.

    >>> low, high = mean_interval([4.0, 6.0] * 50, 0.0, 20.0)
    >>> 4.0 < low < 5.0 < high < 6.5
    True
    """
    drawn = np.asarray(values, dtype=np.float64)
    inside = drawn.size > 0 and bool(((drawn >= low) & (drawn <= high)).all())
    require(inside, "values", "mean_interval", "lie between `low` and `high`", "a value that does not")
    side = (1.0 - confidence) / 2.0
    return low + least_mean(drawn - low, high - low, side), high - least_mean(high - drawn, high - low, side)
