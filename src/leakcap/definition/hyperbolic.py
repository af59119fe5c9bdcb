"""Hyperbolic functions of ε that keep full relative precision from 1e-12 to 700 and beyond.

With x = ε/2 every tight consequence of ε-DP is an even function of x built from ln cosh x and
S(x) = ln(sinh x / x).
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = [
    "binary_gain",
    "binary_gain_of_pure",
    "level_of_pure",
    "level_of_response",
    "log_cosh",
    "log_sinhc",
    "renyi_of_pure",
    "shannon_of_pure",
]

_TERMS = 24


def _zeta(s: int) -> float:
    """ζ(s) for s ≥ 2 by Euler–Maclaurin beyond a hundred terms."""
    n = 100.0
    head = math.fsum(float(k) ** float(-s) for k in range(1, 100))
    corrections = 0.5 + s / (12.0 * n) - s * (s + 1) * (s + 2) / (720.0 * n**3)
    return float(head + n ** float(-s) * (n / (s - 1.0) + corrections))


# ln(sinh x / x) = Σ_n (−1)^{n+1} ζ(2n) (x/π)^{2n} / n, from Euler's product for sinh; |x| < π.
_SERIES = tuple((-1.0) ** (n + 1) * _zeta(2 * n) / n for n in range(1, _TERMS))


def log_cosh(x: float) -> float:
    """ln cosh x, to full relative precision near zero and without overflow.

    >>> round(log_cosh(1e-8) / 5e-17, 12), log_cosh(1000.0) == 1000.0 - math.log(2.0)
    (1.0, True)
    """
    x = abs(x)
    if x < 1.0:
        return 0.5 * math.log1p(math.sinh(x) ** 2)
    return x + math.log1p(math.exp(-2.0 * x)) - math.log(2.0)


def log_sinhc(x: float) -> float:
    """S(x) = ln(sinh x / x), zero at zero.

    >>> round(log_sinhc(1e-6) / (1e-12 / 6), 9)
    1.0
    """
    x = abs(x)
    if x < 1.0:
        return _series(x, lambda n: 1.0)
    if math.isinf(x):
        return math.inf
    return x - math.log(2.0 * x) + math.log1p(-math.exp(-2.0 * x))


def _series(x: float, weight: Callable[[int], float]) -> float:
    square, power, total = (x / math.pi) ** 2, 1.0, 0.0
    for n, coefficient in enumerate(_SERIES, start=1):
        power *= square
        total += coefficient * power * weight(n)
    return total


def shannon_of_pure(epsilon: float) -> float:
    """D − 1 − ln D with D = ε/(1−e^{−ε}), which equals x coth x − 1 + S(x) at x = ε/2.

    >>> round(shannon_of_pure(1.0), 11)
    0.12330156148
    """
    x = 0.5 * epsilon
    if x < 1.0:
        # x coth x − 1 = x S'(x): the term of degree 2n of S comes back 2n-fold.
        return _series(x, lambda n: 1.0 + 2.0 * n)
    if math.isinf(x):
        return math.inf
    decay = math.exp(-2.0 * x)
    return 2.0 * x - 1.0 - math.log(2.0 * x) + 2.0 * x * decay / (1.0 - decay) + math.log1p(-decay)


def level_of_pure(epsilon: float, alpha: float) -> float:
    """R_α(ε) = [α S(αx) − S(x) − (α−1) S((α−1)x)]/(α−1) with x = ε/2; D−1−ln D at α = 1, ε at α = ∞.

    It is theory's two-point formula with every exponent cancelled by hand.

    >>> round(level_of_pure(1.0, 2.0), 11), round(level_of_pure(1.0, 1.0 + 1e-12), 9)
    (0.24022901392, 0.123301561)
    """
    if math.isinf(alpha) or math.isinf(epsilon):
        return epsilon
    if alpha < 0.5:  # R_α = α/(1−α)·R_{1−α}; a small order keeps its digits on the other side
        return alpha / (1.0 - alpha) * _level(epsilon, 1.0 - alpha, -alpha)
    return _level(epsilon, alpha, alpha - 1.0)


def _level(epsilon: float, alpha: float, t: float) -> float:
    """R_α with t = α − 1, which is given because it keeps digits that α has lost."""
    x = 0.5 * epsilon
    if t == 0.0:
        return shannon_of_pure(epsilon)
    if alpha * x < 1.0 and abs(t) * x < 1.0:
        return _level_series(x, alpha, t)
    return _rise(x, t) + _fall(x, t)


def _level_series(x: float, alpha: float, t: float) -> float:
    if t <= 1.0:
        return _series(x, lambda n: math.expm1(2 * n * math.log1p(t)) / t + alpha ** (2 * n) - t ** (2 * n))
    # The same terms divided by α^{2n}, which overflows where x is tiny and α huge.
    rise, fall = math.log1p(t), math.log1p(-1.0 / alpha)
    return _series(alpha * x, lambda n: -math.expm1(-2 * n * rise) / t - math.expm1(2 * n * fall))


def _rise(x: float, t: float) -> float:
    """(S(αx) − S(x))/t, with sinh αx / sinh x = cosh tx + coth x · sinh tx."""
    if abs(t) * x > 0.5 or t > 1.0:
        return (log_sinhc((1.0 + t) * x) - log_sinhc(x)) / t
    growth = 2.0 * math.sinh(0.5 * t * x) ** 2 + math.sinh(t * x) / math.tanh(x)
    return (math.log1p(growth) - math.log1p(t)) / t


def _fall(x: float, t: float) -> float:
    """S(αx) − S(tx), with sinh αx / sinh tx = cosh x + coth tx · sinh x for t > 0."""
    if t * x > 0.5:
        return (
            x
            + math.log1p(-1.0 / (1.0 + t))
            + math.log1p(-math.expm1(-2.0 * x) / math.expm1(min(2.0 * t * x, 700.0)))
        )
    if t <= 1.0 or x > 1.0:
        return log_sinhc((1.0 + t) * x) - log_sinhc(t * x)
    growth = 2.0 * math.sinh(0.5 * x) ** 2 + math.sinh(x) / math.tanh(t * x)
    return math.log1p(growth) - math.log1p(1.0 / t)


def renyi_of_pure(epsilon: float, alpha: float) -> float:
    """D_α of binary randomised response: ln[cosh((2α−1)x)/cosh x]/(α−1), x = ε/2.

    Mironov's (sinh αε − sinh((α−1)ε))/sinh ε, with the common factor taken out.

    >>> round(renyi_of_pure(1.0, 1.0), 12), renyi_of_pure(0.5, math.inf)
    (0.46211715726, 0.5)
    """
    if math.isinf(alpha) or math.isinf(epsilon):
        return epsilon
    x, t = 0.5 * epsilon, alpha - 1.0
    if t == 0.0:
        return epsilon * math.tanh(x)
    # |2α−1| − 1 = 2·nearest, so that nothing cancels, at α near zero as little as near one.
    nearest = t if alpha >= 1.0 else -min(alpha, -t)
    if abs(nearest) * x < 1.0:
        # cosh((2α−1)x) − cosh x = 2·sinh(tx)·sinh(αx)
        return (
            math.log1p(math.expm1(2.0 * t * x) * -math.expm1(-2.0 * alpha * x) / (1.0 + math.exp(-epsilon)))
            / t
        )
    turned = abs(2.0 * alpha - 1.0)
    return (2.0 * nearest * x + math.log1p(math.exp(-turned * epsilon)) - math.log1p(math.exp(-epsilon))) / t


def binary_gain(advantage: float) -> float:
    """ln 2 − h((1−d)/2): what a fifty-fifty secret loses when its odds move to (1+d):(1−d).

    Computed as d·atanh d + ½ ln(1−d²), whose terms do not cancel.

    >>> binary_gain(1e-9), round(binary_gain(1.0), 12)
    (5e-19, 0.69314718056)
    """
    if advantage >= 1.0:
        return math.log(2.0)
    if advantage > 0.5:  # the square would round off what separates it from one
        rest = math.log1p(-advantage) + math.log1p(advantage)
    else:
        rest = math.log1p(-advantage * advantage)
    return advantage * math.atanh(advantage) + 0.5 * rest


def binary_gain_of_pure(epsilon: float) -> float:
    """ln 2 − h(A/(1+A)), A = e^ε: the Shannon capacity of binary randomised response.

    >>> round(binary_gain_of_pure(1.0), 12)
    0.110944071672
    """
    if epsilon < 1.0:
        return binary_gain(math.tanh(0.5 * epsilon))
    decay = math.exp(-epsilon)
    rest = 0.0 if math.isinf(epsilon) else epsilon * decay / (1.0 + decay)
    return math.log(2.0) - math.log1p(decay) - rest


def level_of_response(epsilon: float, alpha: float) -> float:
    """ln 2 − H_α(A/(1+A)), A = e^ε: the capacity of binary randomised response at level α, best centre.

    [ln cosh αx − α ln cosh x]/(α−1) with x = ε/2, in the form in which nothing cancels.

    >>> round(level_of_response(1.0, 2.0), 12) == round(math.log1p(math.tanh(0.5) ** 2), 12)
    True
    """
    if math.isinf(alpha):
        return math.log1p(math.tanh(0.5 * epsilon))
    x, t = 0.5 * epsilon, alpha - 1.0
    if t == 0.0:
        return binary_gain_of_pure(epsilon)
    if (alpha < 0.5 and alpha * x < 1.0) or (x <= 1.0 and alpha * x > 30.0):
        return (log_cosh(alpha * x) - alpha * log_cosh(x)) / t
    if x <= 1.0:
        rise = 2.0 * math.sinh(0.5 * (alpha + 1.0) * x) * math.sinh(0.5 * t * x) / math.cosh(x)
        return math.log1p(rise) / t - log_cosh(x)
    nearer, sign = (math.exp(-epsilon), 1.0) if t > 0.0 else (math.exp(-alpha * epsilon), -1.0)
    gap = sign * nearer * math.expm1(-abs(t) * epsilon) / (1.0 + math.exp(-epsilon))
    return math.log(2.0) + math.log1p(gap) / t - math.log1p(math.exp(-epsilon))
