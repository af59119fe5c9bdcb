"""What the privacy loss says to people: tests, guesses, odds and bits, each as a certified interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from leakcap.accounting.convolve import bracket_around
from leakcap.accounting.curve import Curve, curve_near
from leakcap.accounting.gridsum import GridSum
from leakcap.accounting.loss import PrivacyLoss
from leakcap.accounting.power import powers
from leakcap.bound import Bound
from leakcap.errors import require
from leakcap.numeric.enclosure import outward
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up
from leakcap.numeric.search import maximise

__all__ = ["guess_success", "odds_quantile", "shannon_capacity", "trade_off"]

_MISSING = 64.0
_NARROW = 1e-7


def guess_success(loss: PrivacyLoss, prior: float = 0.5) -> Bound:
    """The probability that the best guess between the two secrets is right; P has probability `prior`.

    1 − p + p·δ(ln((1−p)/p)). Source: Kairouz, Oh & Viswanath 2015; Bayes.

    >>> round(guess_success(PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])).upper, 9)
    0.75
    """
    require(0 <= prior <= 1, "prior", "guess_success", "be a probability in [0, 1]", prior)
    if prior in (0.0, 1.0):
        return Bound.exact(1.0, method="certain beforehand", unit="probability")
    found = loss.delta(math.log1p(-prior) - math.log(prior))
    low, high = (1.0 - prior + prior * value for value in (found.lower, found.upper))
    # The threshold's own rounding moves δ by its share of Q at most.
    units = 8 + math.ceil(4.0 * abs(math.log1p(-prior) - math.log(prior)))
    least = max(down(low, units, 1.0), prior, outward(1 - Fraction(prior))[0])
    high = min(max(up(high, units, 1.0), least), 1.0)
    # What proves δ proves no guess.
    return replace(found, lower=min(least, 1.0), upper=high, proof=None)


def trade_off(loss: PrivacyLoss, level: float) -> Bound:
    """The least probability of missing P for a test that wrongly claims P with probability `level`.

    β = sup over γ of 1 − δ(ln γ) − γ·level, a concave function of γ. Claims are wrong when Q holds; for
    wrong claims of Q take `loss.reverse`. Source: Dong, Roth & Su 2022, proposition 2.12.

    >>> round(trade_off(PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75]), 0.25).upper, 6)
    0.25
    """
    require(0 <= level <= 1, "level", "trade_off", "be a probability in [0, 1]", level)
    if level == 0.0:
        value = loss.infinite
        return Bound.rounded(1.0 - value, 16, size=1.0, method="infinite losses alone", unit="probability")
    if level == 1.0:
        return Bound.exact(0.0, method="every output claims P", unit="probability")
    low, high = powers(loss.parts, np.array([level]), _NARROW)
    most = min(up(1.0 - float(low[0]), 2), up(1.0 - level))
    return Bound(min(max(down(1.0 - float(high[0]), 2), 0.0), most), most, "dual of δ(ε)", unit="probability")


def _middle(loss: PrivacyLoss) -> float:
    if loss.infinite > 0.0 or math.isinf(loss.kullback_leibler().upper):
        return 0.0
    return min(loss.kullback_leibler().upper, 600.0)


def _spread(loss: PrivacyLoss) -> float:
    top = loss.log_transform(0.5) + loss.log_transform(-0.5) - 2.0 * loss.log_transform(0.0)
    return max(4.0 * math.sqrt(max(top, 0.0) * 4.0), 1e-3)


def odds_quantile(loss: PrivacyLoss, level: float) -> Bound:
    """The `level`-quantile of the log odds shift L when P holds: posterior odds are e^L times the prior's.

    P(L > x) = δ(x) + e^x·Q(L > x), and secants of δ as a convex function of e^x enclose Q(L > x); the
    interval is about 10⁻⁵ wide.

    >>> round(odds_quantile(PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75]), 0.9).upper, 4)
    1.0986
    """
    require(0 < level < 1, "level", "odds_quantile", "lie strictly between 0 and 1", level)
    centre, width = _middle(loss), _spread(loss)
    if loss.infinite >= 1.0 - level:
        return Bound.exact(math.inf, method="infinite losses")
    low, high = centre, centre
    for _ in range(2):
        curve = curve_near(loss.parts, 0.5 * (low + high))
        high = _edge(partial(_excess_above, curve, 1.0 - level), high, width)
        low = -_edge(partial(_excess_below, curve, 1.0 - level), -low, width)
    return Bound(min(low, high), high, f"secants of δ(ε): {curve.method}", unit="nats")


def _excess_above(curve: Curve, rest: float, x: float) -> float:
    return _tail(curve, x)[1] - rest


def _excess_below(curve: Curve, rest: float, x: float) -> float:
    return rest - _tail(curve, -x)[0]


def _edge(excess: Callable[[float], float], start: float, width: float) -> float:
    """The least x with excess ≤ 0 that a bisection finds; −∞ … ∞ are cut at ±690."""
    low, high = start, start
    while excess(high) > 0.0 and high < 690.0:
        high, width = min(high + width, 690.0), 2.0 * width
    while excess(low) <= 0.0 and low > -690.0:
        low, width = max(low - width, -690.0), 2.0 * width
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
        if high - low <= 1e-11 * max(1.0, abs(high)):
            break
    return high


def _tail(curve: Curve, x: float) -> tuple[float, float]:
    """P(L > x) from below and P(L ≥ x) from above."""
    here = curve.delta(x)
    best = [here[0], 1.0]
    blur = 2.0**-53 * (8.0 + 4.0 * abs(x))  # a threshold's rounding moves δ by its share of Q at most
    for gap in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        right = curve.delta(x + math.log1p(gap))
        left = curve.delta(x + math.log1p(-gap))
        best[0] = max(best[0], here[0] + (here[0] - right[1] - blur) / gap)
        best[1] = min(best[1], here[1] + (left[1] - here[0] + blur) / gap)
    return best[0], best[1]


def shannon_capacity(loss: PrivacyLoss) -> Bound:
    """The Shannon capacity of one binary secret, in nats: the most that all the outputs tell about it.

    max over the prior of Σ Q·f(P/Q), f(r) = πr ln(r/m) − (1−π) ln m with m = πr + 1 − π, on the grid's
    losses above and below; the half with P > Q from one direction, the other half from the other.

    >>> round(shannon_capacity(PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])).upper, 6)
    0.130812
    """
    forward = bracket_around(loss.parts)
    backward = forward if loss.is_symmetric else bracket_around(loss.reverse.parts)
    above = _information(forward.upper, backward.upper, 1.0)
    below = _information(forward.lower, backward.lower, -1.0)
    best = maximise(above, 1e-9, 1.0 - 1e-9, steps=60)
    gap = min(1e-4, 0.5 * best, 0.5 * (1.0 - best))
    top = above(best)
    upper = top + max(top - above(best - gap), top - above(best + gap), 0.0)
    upper = min(max(upper, 0.0), math.log(2.0), loss.kullback_leibler().upper)
    return Bound(min(max(below(best), 0.0), upper), upper, "FFT on a grid", witness=(best, 1.0 - best))


def _information(forward: GridSum, backward: GridSum, sign: float) -> Callable[[float], float]:
    up, gain = _half(forward, sign)
    down, loss = _half(backward, sign)
    error = _MISSING * (forward.outside + backward.outside) + 1e-13

    def information(prior: float) -> float:
        rest = 1.0 - prior
        # r = e^x > 1: f(r)/r = π ln(r/m) − (1−π) ln(m)/r; r = e^{−y} < 1: f(r) itself.
        log_up = np.log(prior + rest * np.exp(-up))
        over = -prior * log_up - rest * np.exp(-up) * (log_up + up)
        log_down = np.log(prior * np.exp(-down) + rest)
        under = -prior * np.exp(-down) * (down + log_down) - rest * log_down
        value = float(gain @ np.maximum(over, 0.0)) + float(loss @ np.maximum(under, 0.0))
        value -= forward.infinite * prior * math.log(prior) + backward.infinite * rest * math.log(rest)
        return value + sign * error

    return information


def _half(grid: GridSum, sign: float) -> tuple[Floats, Floats]:
    """Positive losses and P's masses there, errors added or taken off."""
    x = grid.start + np.arange(grid.masses.size) * grid.step
    seen = x > 0.0
    masses = np.maximum(grid.masses[seen] + sign * grid.error, 0.0) * math.exp(grid.log_total)
    return np.asarray(x[seen] + sign * grid.slack), masses
