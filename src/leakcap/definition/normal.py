"""The normal law where doubles run out: tails, quantiles and the Gaussian privacy profile."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

from leakcap.arrays import NDArray, np

__all__ = ["normal_profile", "quantile_of_logit", "quantile_of_tail", "tail"]

_ROOT_TWO = math.sqrt(2.0)
_LOG_ROOT_TAU = 0.5 * math.log(2.0 * math.pi)


def tail(x: float) -> float:
    """P(Z > x) for a standard normal Z.

    >>> tail(0.0)
    0.5
    """
    return 0.5 * math.erfc(x / _ROOT_TWO)


def log_mills(x: float) -> float:
    """ln of the Mills ratio P(Z > x)/φ(x), without underflow.

    >>> round(log_mills(0.0), 12) == round(0.5 * math.log(math.pi / 2), 12)
    True
    """
    if x < 20.0:
        return math.log(tail(x)) + 0.5 * x * x + _LOG_ROOT_TAU
    # Laplace's continued fraction x + 1/(x + 2/(x + 3/(x + …))) converges fast for large x.
    fraction = x
    for k in range(40, 0, -1):
        fraction = x + k / fraction
    return -math.log(fraction)


def quantile_of_tail(probability: float) -> float:
    """The x with P(Z > x) = `probability`: +∞ at 0, −∞ at 1.

    >>> round(tail(quantile_of_tail(1e-30)) / 1e-30, 9)
    1.0
    """
    if probability <= 0.0:
        return math.inf
    if probability >= 1.0:
        return -math.inf
    return -NormalDist().inv_cdf(probability)


def quantile_of_logit(logit: float) -> float:
    """The x ≥ 0 with P(Z > x) = 1/(1+e^logit), for logit ≥ 0, by Newton steps on the logarithms.

    >>> round(quantile_of_logit(1e-12) / 1e-12, 6) == round(math.sqrt(2 * math.pi) / 4, 6)
    True
    """
    if math.isinf(logit):
        return math.inf
    if logit < 1.0:
        # P(0 < Z < x) = tanh(logit/2)/2, all of whose sides keep relative precision.
        goal, x = math.tanh(0.5 * logit), 0.0
        for _ in range(60):
            step = (math.erf(x / _ROOT_TWO) - goal) * math.exp(0.5 * x * x + _LOG_ROOT_TAU) / 2.0
            x -= step
            if abs(step) <= 1e-16 * x:
                break
        return x
    goal = -logit - math.log1p(math.exp(-logit))
    x = math.sqrt(2.0 * logit)
    for _ in range(60):
        mills = log_mills(x)
        step = (mills - 0.5 * x * x - _LOG_ROOT_TAU - goal) * math.exp(mills)
        x += step
        if abs(step) <= 1e-15 * x:
            break
    return x


@cache
def _half_line() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights: ∫₀^∞ g(s) ds = ∫ g(e^{u−e^{−u}}) (1+e^{−u}) e^{u−e^{−u}} du, where the trapezoid
    rule converges exponentially.
    """
    u = np.linspace(-4.5, 4.5, 289)
    s = np.exp(u - np.exp(-u))
    return s, (u[1] - u[0]) * s * (1.0 + np.exp(-u))


def log_normal_profile(mu: float, epsilon: float) -> float:
    """ln δ(ε) of N(0,1) against N(μ,1): δ = Φ(−ε/μ+μ/2) − e^ε Φ(−ε/μ−μ/2).

    With a = ε/μ − μ/2 it is φ(a) ∫₀^∞ e^{−as−s²/2} (1−e^{−μs}) ds, a sum of positive terms.
    Source: Dong, Roth & Su 2022, Cor. 2.13; Balle & Wang 2018, Thm 8.

    >>> round(math.exp(log_normal_profile(1.0, 0.0)), 12) == round(math.erf(0.5 / _ROOT_TWO), 12)
    True
    """
    if mu == 0.0 or math.isinf(epsilon):
        return -math.inf
    if math.isinf(mu):
        return 0.0
    a = epsilon / mu - 0.5 * mu
    if a <= -1.0:
        second = epsilon - 0.5 * (a + mu) ** 2 - _LOG_ROOT_TAU + log_mills(a + mu)
        return math.log(tail(a)) + math.log1p(-math.exp(min(second - math.log(tail(a)), -1e-300)))
    scale = max(a, 1.0)
    nodes, weights = _half_line()
    s = nodes / scale
    total = float(np.sum(weights / scale * np.exp(-a * s - 0.5 * s * s) * -np.expm1(-mu * s)))
    return (math.log(total) if total > 0.0 else -math.inf) - 0.5 * a * a - _LOG_ROOT_TAU


def normal_profile(mu: float, epsilon: float) -> float:
    """δ(ε) of N(0,1) against N(μ,1), a probability; never rounded to an untrue zero.

    >>> round(normal_profile(1.0, 1.0), 12)
    0.126936737507
    """
    value = math.exp(log_normal_profile(mu, epsilon))
    return min(max(value, 5e-324), 1.0) if mu > 0.0 else 0.0
