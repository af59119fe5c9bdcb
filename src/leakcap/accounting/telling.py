"""How far the most telling answers move the odds, and how often one of many values is guessed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from leakcap.accounting.curve import Curve, curve_near
from leakcap.accounting.loss import PrivacyLoss
from leakcap.bound import Bound
from leakcap.errors import require
from leakcap.numeric.rounding import down, up
from leakcap.numeric.search import maximise

__all__ = ["guess_among", "most_telling"]

_REACH = 690.0
_ROUNDINGS = 32
_TURNS = 6
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

    def most(curve: Curve, x: float) -> float:
        rest = share - curve.delta(x)[1]
        return x + math.log(share) - math.log(rest) if rest > 0.0 else math.inf

    end = _end(loss)
    if curve_near(loss.parts, end).delta(end)[1] >= share:
        return Bound(0.0, math.inf, "beyond the range of doubles")

    def from_where(curve: Curve) -> float:
        """The least x with δ(x) below the share, nearly."""
        low, high = -1.0, end
        while curve.delta(low)[1] <= share and low > -_REACH:
            low *= 4.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if curve.delta(middle)[1] >= share else (low, middle)
        return high

    found = _least(loss, most, from_where, end)
    top = min(max(up(found, _ROUNDINGS, abs(found) + 2.0), 0.0), max(loss.largest, 0.0))
    return Bound(0.0, top, "dual of δ(ε)", _SOURCE)


def guess_among(loss: PrivacyLoss, values: int) -> Bound:
    """How often the best guess at one of k equally likely values is right, where each pair shows this loss.

    Guesses are disjoint events E_i, and P_i(E) ≤ δ(ln γ) + γ·P_j(E) for every pair and every γ. Averaged over
    i and j ≠ i, the chance s of being right obeys s ≤ δ(ln γ) + γ(1−s)/(k−1); the least of these bounds is
    the upper end. The lower is that of the best test between two of the values, (1 + δ(0))/k. Under ε-DP the
    upper end is A/(A+k−1), which k-ary randomised response attains.

    >>> loss = PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])
    >>> round(guess_among(loss, 2).upper, 9), round(guess_among(loss, 4).upper, 9)
    (0.75, 0.5)
    """
    whole = values == int(values) and values >= 2
    require(whole, "values", "guess_among", "be an integer ≥ 2", values)

    def most(curve: Curve, x: float) -> float:
        weight = math.exp(x) / (values - 1)
        return (curve.delta(x)[1] + weight) / (1.0 + weight)

    found = _least(loss, most, lambda curve: -_REACH / 100, _end(loss))
    lower = down((1.0 + loss.total_variation().lower) / values, 4)
    upper = min(max(up(found, _ROUNDINGS), lower), 1.0)
    return Bound(lower, upper, "dual of δ(ε)", _SOURCE, "probability")


def _end(loss: PrivacyLoss) -> float:
    """Losses beyond this are rarer than any share that matters, or out of range."""
    mean = min(loss.kullback_leibler().upper, _REACH)
    return min(mean + 12.0 * math.sqrt(2.0 * mean) + 1.0, _REACH)


def _least(
    loss: PrivacyLoss, value: Callable[[Curve, float], float], start: Callable[[Curve], float], end: float
) -> float:
    """The least value found of a function with one minimum; every value is a bound.

    A curve of δ holds everywhere and is narrow near one place: it is made anew where the last one led.
    """
    place, best = 0.0, math.inf
    for _ in range(_TURNS):
        curve = curve_near(loss.parts, place)
        place = maximise(partial(_depth, value, curve), start(curve), end, steps=50)
        found = value(curve_near(loss.parts, place), place)
        if found >= best * (1.0 - 1e-9):
            return min(found, best)
        best = found
    return best


def _depth(value: Callable[[Curve, float], float], curve: Curve, x: float) -> float:
    return -value(curve, x)
