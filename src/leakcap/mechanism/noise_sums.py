"""How far noise on integers goes, alone and the sum of several: laws of discrete Laplace and Gaussian
variables.

**Laplace.** A discrete Laplace Z of scale b has E e^(ξZ) = M(ξ) = 1/(1 − (sinh(ξ/2)/sinh(1/2b))²) for |Re ξ|
< 1/b. For the sum S of k of them P(S ≥ a) is the integral of

    e^(−ξa)/(1 − e^(−ξ)) · M(ξ)^k / 2πi

up a vertical line between 0 and 1/b, from −πi to πi: the integrand has the period 2πi. Through the saddle
point between 0 and 1/b nothing cancels, and the trapezoid rule of a periodic function converges
geometrically; the nearer of the poles at 0 and 1/b says how many nodes it takes. Wide noise, 1/b ≤ 2, would
need many. There the line is drawn into a circle around the pole at 1/b, the only one to its right within
the period, and few nodes will do however large b is. A larger circle would come near the poles at 1/b ±
2πi, and enclose them in the end.

**Gaussian.** For σ ≥ 3 the sum S of k discrete Gaussians Z of variance parameter σ² is a discrete Gaussian of
kσ² but for next to nothing: with A = e^(−σ²t²/2) and B the other terms of Poisson's sum Σ_n
e^(−σ²(t+2πn)²/2), the characteristic function of Z is (A + B)/(1 + c) on |t| ≤ π with B < 2.1·e^(−π²σ²/2) and
c < 2.1·e^(−2π²σ²), so that its k-th power, and the function of kσ², are both within k(B + c) of A^k, and
probabilities differ by no more. For a discrete Gaussian f(z)/θ of σ² and m ≥ 1

    P(Z ≥ m) ≤ Q((m − ½)/σ) + e^(−2π²σ²)·1.01,    Q the normal tail.

*Proof.* f(x) = e^(−x²/2σ²) is concave within σ and convex beyond, and θ ≥ σ√(2π) by Poisson's summation.
Where m − ½ ≥ σ each f(k), k ≥ m, is at most its integral from k − ½ to k + ½ (Hermite and Hadamard), so that
the tail is at most σ√(2π)·Q/θ ≤ Q. Where m − ½ < σ all f(k) with |k| < m, but for cells that reach beyond σ,
which none does, are at least such integrals, so that 1 − 2P ≥ (1 − 2Q)·σ√(2π)/θ, and θ/(σ√(2π)) − 1 <
2.01·e^(−2π²σ²). ∎ Below σ = 3 the law itself is added up.

Source: Canonne, Kamath & Steinke 2020 for the law, and for E e^(tZ) ≤ e^(t²σ²/2), which cuts the sums off;
Lugannani & Rice 1980 for the saddle point; Trefethen & Weideman 2014 for the trapezoid rule.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from leakcap.arrays import NDArray, np

__all__ = ["gaussian_sum_error", "laplace_error", "laplace_sum_error", "laplace_sum_tail", "laplace_variance"]

_MOST_NODES = 1 << 17
# Beyond this 1/b a circle about it comes near the next poles, 2π away.
_NARROW = 2.0
# A hair more, so that a tail that equals the level up to rounding errs towards the wider interval.
_SLACK = 1e-9
# From this variance on the sum of Gaussian noises is one, but for next to nothing.
_WIDE = 9
# More than rounding and the far ends take off a law that is added up.
_LEFT = 1e-9


def laplace_variance(scale: Fraction) -> float:
    """The variance of discrete Laplace noise of this scale: 1/(2·sinh²(1/2b)).

    >>> round(laplace_variance(Fraction(1)), 9)
    1.841347188
    """
    half = float(1 / scale) / 2
    return 0.0 if half > 300.0 else 1.0 / (2.0 * math.sinh(half) ** 2)


def laplace_sum_tail(scale: Fraction, count: int, at: int) -> float:
    """P(S ≥ at) for the sum S of `count` independent discrete Laplace noises of this scale; `at` ≥ 1.

    >>> round(laplace_sum_tail(Fraction(1), 1, 1), 9) == round(math.exp(-1) / (1 + math.exp(-1)), 9)
    True
    """
    decay = float(1 / scale)
    if decay > 300.0:
        return 0.0
    place = _saddle(decay, count, at)
    return (_by_a_period if decay > _NARROW else _by_a_circle)(decay, place, count, at)


def _by_a_period(decay: float, place: float, count: int, at: int) -> float:
    nodes = min(_MOST_NODES, max(256, math.ceil(40.0 * math.pi / min(place, decay - place))))
    xi = place + 1j * math.pi * (2.0 * (np.arange(nodes) + 0.5) / nodes - 1.0)
    # 1 − (sinh(ξ/2)/sinh(1/2b))² through the distance from the pole, which keeps its digits.
    gap = -np.sinh((xi - decay) / 2) * np.sinh((xi + decay) / 2) / math.sinh(decay / 2) ** 2
    return float((np.exp(-count * np.log(gap) - xi * at) / -np.expm1(-xi)).real.mean())


def _by_a_circle(decay: float, place: float, count: int, at: int) -> float:
    nodes = min(_MOST_NODES, max(256, math.ceil(40 * decay / place)))
    turn = np.exp(2j * math.pi * (np.arange(nodes) + 0.5) / nodes) * (decay - place)
    xi = decay + turn
    base = math.sinh(decay / 2) ** 2
    gap = -np.sinh(turn / 2) * np.sinh((xi + decay) / 2) / base
    logs = -count * np.log(gap) - xi * at
    return float((np.exp(logs) / np.expm1(-xi) * turn).real.mean())


def _saddle(decay: float, count: int, at: int) -> float:
    """Where −ξa + k·ln M(ξ) − ln(1 − e^(−ξ)) is smallest between 0 and 1/b, by halving its slope's sign."""
    low, high = 0.0, decay
    base = math.sinh(decay / 2) ** 2
    for _ in range(60):
        middle = (low + high) / 2
        sinh = math.sinh(middle / 2)
        slope = count * sinh * math.cosh(middle / 2) / max(base - sinh * sinh, 1e-300)
        slope -= at + 1.0 / math.expm1(middle)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return (low + high) / 2


@cache
def laplace_sum_error(scale: Fraction, count: int, *, beyond: float) -> int:
    """The smallest integer a with P(|S| > a) ≤ `beyond` for the sum S of `count` noises.

    >>> laplace_sum_error(Fraction(10), 1, beyond=0.05)
    30
    """
    level = beyond / 2 * (1 - _SLACK)

    def is_wider(least: int) -> bool:
        tail = laplace_sum_tail(scale, count, least + 1)
        # NaN is above no level and below none: what is no probability must not end the search.
        if not 0.0 <= tail <= 1.0:
            raise ArithmeticError(f"P(S ≥ {least + 1}) of {count} noises of scale {scale} came out as {tail}")
        return tail > level

    low, high = -1, 1
    while is_wider(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_wider(middle) else (low, middle)
    return high


@cache
def laplace_error(scale: Fraction, *, beyond: float) -> int:
    """The smallest integer a with P(|Z| > a) ≤ `beyond` for discrete Laplace noise of this scale.

    P(|Z| > a) = 2 s^{a+1}/(1+s), s = e^{−1/scale}.

    >>> laplace_error(Fraction(10), beyond=0.05)
    30
    """
    decay = float(1 / scale)
    tail = math.log(2.0) - math.log1p(math.exp(-decay)) - math.log(beyond)
    # A hair more, so that a tail that equals `beyond` up to rounding errs towards the wider interval.
    return max(0, math.ceil(tail / decay * (1 + 1e-12)) - 1)


@cache
def gaussian_sum_error(variance: Fraction, count: int, *, beyond: float) -> int:
    """An integer a with P(|S| > a) ≤ `beyond` for the sum S of `count` discrete Gaussians of this σ²: the
    smallest, or where σ ≥ 3 one that is too large by one where the tail beyond the smallest is within 1 % of
    the level.

    >>> gaussian_sum_error(Fraction(100), 1, beyond=0.05), gaussian_sum_error(Fraction(1, 4), 1, beyond=0.05)
    (20, 1)
    """
    level = beyond / 2 * (1 - _SLACK)
    if variance < _WIDE:
        return _added_up(float(variance), count, level)
    deviation = math.sqrt(float(count * variance))
    # As far as 12 deviations each probability is off by this at most, and e^(−72) lies beyond.
    left = 24.0 * deviation * 2.2 * count * math.exp(-(math.pi**2) * min(float(variance), 99.0) / 2) + 1e-15
    low, high = -1, math.ceil(40.0 * deviation)
    while high - low > 1:
        middle = (low + high) // 2
        tail = 0.5 * math.erfc((middle + 0.5) / deviation / math.sqrt(2.0)) + left
        low, high = (middle, high) if tail > level else (low, middle)
    return high


def _added_up(variance: float, count: int, level: float) -> int:
    """The same from the law, convolved with itself."""
    law, result = _law(variance), np.ones(1)
    reach = math.ceil(12.0 * math.sqrt(count * variance)) + 2
    while count:
        result = _convolved(result, law, reach) if count & 1 else result
        count >>= 1
        law = _convolved(law, law, reach) if count else law
    middle = len(result) // 2
    tails = np.append(np.cumsum(result[:middle:-1])[::-1], 0.0) + _LEFT  # P(S > a) for a from 0
    return int(np.argmax(tails <= level))


def _law(variance: float) -> NDArray[np.float64]:
    reach = math.ceil(12.0 * math.sqrt(variance)) + 2
    weights = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2.0 * variance))
    return np.asarray(weights / weights.sum())


def _convolved(one: NDArray[np.float64], two: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """What is beyond `reach` has a probability below e^(−72)."""
    both = np.convolve(one, two)
    middle = len(both) // 2
    return both[max(0, middle - reach) : middle + reach + 1]
