"""Limits of a mean from independent draws, whatever their law."""

from __future__ import annotations

import math

import numpy as np

from leakcap.numeric.logspace import Floats
from leakcap.numeric.search import bisect, crossing

__all__ = ["least_mean"]

_STAKES = 0.8 / 2.0 ** np.arange(8)


def least_mean(draws: Floats, top: float, level: float) -> float:
    """A lower limit of the mean of independent draws from 0 to `top`; too high with probability ≤ `level`.

    A gambler who bets on the draws at odds that are fair under mean m is rich with small probability if the
    mean is m or less (Ville). Stakes are fixed beforehand. Source: Waudby-Smith & Ramdas 2024.

    >>> 0.4 < least_mean(np.array([0.4, 0.6] * 500), 1.0, 0.01) < 0.5
    True
    """

    def excess(mean: float) -> float:
        grown = np.log1p(_STAKES[:, None] * (draws / mean - 1.0)).sum(axis=1)
        most = float(grown.max())
        return math.log(1.0 / level) - most - math.log(float(np.exp(grown - most).mean()))

    least = 1e-12 * top
    if top <= 0.0 or excess(least) >= 0.0:
        return 0.0
    if excess(top) < 0.0:
        return top
    # In the logarithm of the mean the excess is nearly straight: chords take a third of the time of halving.
    # That the gambler is rich at what they find is looked at, so that no number of steps is relied upon.
    place = crossing(lambda rise: excess(least * math.exp(rise)), 0.0, math.log(top / least))
    found = max(least * math.exp(place) - 1e-9 * top, least)
    return found if excess(found) < 0.0 else max(bisect(excess, least, top) - 1e-9 * top, 0.0)
