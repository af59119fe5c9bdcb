"""How far the most telling answers move the odds, and how often one of many values is guessed."""

from __future__ import annotations

import math
from collections.abc import Callable

from leakcap.accounting.loss import PrivacyLoss, curve_near
from leakcap.bound import Bound
from leakcap.errors import require
from leakcap.numeric.rounding import up
from leakcap.numeric.search import maximise

__all__ = ["guess_among", "most_telling"]

_REACH = 690.0
_ROUNDINGS = 32
_SOURCE = "Neyman & Pearson 1933"


def most_telling(loss: PrivacyLoss, share: float = 0.05) -> Bound:
    """How far the answers that speak for P most move the odds, in nats: of those that P gives, `share`.

    The largest ln P(E)/Q(E) over events E of the answers with P(E) ≥ `share`: what the odds of P against Q
    are multiplied by for somebody who learns only that E happened. As share → 0 it becomes the largest loss,
    ∞ for noise without bounds. For every γ, P(E) ≤ δ(ln γ) + γ·Q(E), so that it is at most
    ln γ + ln s − ln(s − δ(ln γ)) where δ(ln γ) < s; the least of these bounds is the value, and the upper
    end of the interval (the lower is 0). It holds for every pair that this loss dominates, thus for facts
    that several values of a record share. Source: Neyman & Pearson 1933; Zhu, Dong & Wang 2022.

    >>> from leakcap.mechanism import Laplace
    >>> round(most_telling(PrivacyLoss.of_mechanism(Laplace(1.0)), 0.05).upper, 9)
    1.0
    """
    require(0 < share <= 1, "share", "most_telling", "lie in (0, 1]", share)
    if loss.infinite >= share:
        return Bound.exact(math.inf, method="infinite losses")

    def delta(x: float) -> float:
        return curve_near(loss, x).delta(x)[1]

    def most(x: float) -> float:
        rest = share - delta(x)
        return x + math.log(share) - math.log(rest) if rest > 0.0 else math.inf

    low, high = -1.0, _end(loss)
    while delta(low) <= share and low > -_REACH:
        low *= 4.0
    if delta(high) >= share:
        return Bound(0.0, math.inf, "beyond the range of doubles")
    start, end = low, high
    for _ in range(40):
        middle = 0.5 * (start + end)
        start, end = (middle, end) if delta(middle) >= share else (start, middle)
    found = _least(most, end, high)
    top = min(max(up(found, _ROUNDINGS, abs(found) + 2.0), 0.0), max(loss.largest, 0.0))
    return Bound(0.0, top, "dual of δ(ε)", _SOURCE)


def guess_among(loss: PrivacyLoss, values: int) -> Bound:
    """How often the best guess at one of k equally likely values is right, where each pair shows this loss.

    Guesses are disjoint events E_i, and P_i(E) ≤ δ(ln γ) + γ·P_j(E) for every pair and every γ. Averaged over
    i and j ≠ i, the chance s of being right obeys s ≤ δ(ln γ) + γ(1−s)/(k−1); the least of these bounds is
    the upper end, and 1/k the lower. Under ε-DP it is A/(A+k−1), which k-ary randomised response attains.

    >>> loss = PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])
    >>> round(guess_among(loss, 2).upper, 9), round(guess_among(loss, 4).upper, 9)
    (0.75, 0.5)
    """
    whole = values == int(values) and values >= 2
    require(whole, "values", "guess_among", "be an integer ≥ 2", values)

    def most(x: float) -> float:
        weight = math.exp(x) / (values - 1)
        return (curve_near(loss, x).delta(x)[1] + weight) / (1.0 + weight)

    best = _least(most, -_REACH / 100, _end(loss))
    return Bound(1.0 / values, min(max(up(best, _ROUNDINGS), 1.0 / values), 1.0), "dual of δ(ε)", _SOURCE)


def _end(loss: PrivacyLoss) -> float:
    """Losses beyond this are rarer than any share that matters, or out of range."""
    mean = min(loss.kullback_leibler().upper, _REACH)
    return min(mean + 12.0 * math.sqrt(2.0 * mean) + 1.0, _REACH)


def _least(value: Callable[[float], float], low: float, high: float) -> float:
    """The least value found of a function with one minimum; every value is a bound."""
    return value(maximise(lambda x: -value(x), low, high, steps=50))
