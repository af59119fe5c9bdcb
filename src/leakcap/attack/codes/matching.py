"""Adaptive reading: posterior matching, where each question halves what is still believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakcap.attack.codes.parities import MOST_BITS
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["Matched", "Span", "match_posterior"]


@dataclass(frozen=True)
class Span:
    """The question whether low ≤ field < high: one BETWEEN in a condition."""

    low: int
    high: int

    def holds(self, value: int) -> bool:
        """Whether the value lies in it."""
        return self.low <= value < self.high


@dataclass(frozen=True)
class Matched:
    """The message, its posterior probability when the reading stopped, and the questions asked."""

    message: int
    confidence: float
    uses: int


def match_posterior(
    ask: Callable[[Span], float], bits: int, *, confidence: float = 0.99, most_uses: int = 1_000_000
) -> Matched:
    """Read a field by spans that split the posterior in halves, until one value is believed enough.

    `ask` returns the exact log likelihood ratio of yes against no in a fresh noisy answer. The posterior is
    exact, so that the message is wrong with probability at most 1 − `confidence`, whatever the number of
    questions. The span begins at the likeliest value and ends (wrapping around) where half of the belief is
    gathered; it is that value alone when it has half of the belief by itself.

    Source: Horstein 1963; Shayevitz & Feder 2011; Naghshvar, Javidi & Wigger 2015 for halves around the
    likeliest value.

    >>> match_posterior(lambda span: 9.0 if span.holds(5) else -9.0, 3).message
    5
    """
    require(1 <= bits <= MOST_BITS, "bits", "match_posterior", f"be from 1 to {MOST_BITS}", bits)
    require(0.0 < confidence < 1.0, "confidence", "match_posterior", "lie between 0 and 1", confidence)
    belief = np.full(1 << bits, 2.0**-bits)
    uses, best = 0, 0
    while belief[best] < confidence and uses < most_uses:
        span = _half(belief, best)
        likelihood = np.exp(ask(span))
        inside = float(belief[span.low : span.high].sum())
        total = 1.0 + inside * (likelihood - 1.0)
        belief[span.low : span.high] *= likelihood
        belief /= total
        uses += 1
        best = int(np.argmax(belief))
        if uses % 64 == 0:
            belief /= belief.sum()  # rounding does not build up
    return Matched(best, float(belief[best]), uses)


def _half(belief: Floats, best: int) -> Span:
    """The span from the likeliest value with about half of the belief; its complement if that wraps."""
    upto = np.cumsum(belief)
    before = float(upto[best] - belief[best])
    if before + 0.5 <= upto[-1]:
        end = _nearest(upto, before + 0.5)
        return Span(best, max(end, best + 1))
    start = _nearest(upto, before - 0.5)
    return Span(start, best) if start < best else Span(best, best + 1)


def _nearest(upto: Floats, target: float) -> int:
    """How many values from the left gather a belief nearest to `target`."""
    place = int(np.searchsorted(upto, target))
    if place >= upto.size:
        return int(upto.size)
    below = float(upto[place - 1]) if place else 0.0
    return place if target - below <= float(upto[place]) - target else place + 1
