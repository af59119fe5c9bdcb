"""How much Gaussian noise a guarantee needs."""

from __future__ import annotations

import math
from functools import lru_cache

from leakcap.definition.normal import log_normal_profile
from leakcap.errors import require
from leakcap.mechanism.gaussian import gaussian_hockey_stick
from leakcap.numeric.enclosure import enclose
from leakcap.numeric.rounding import up
from leakcap.numeric.search import bisect

__all__ = ["gaussian_sigma"]

_SAFE = 1e-12


@lru_cache(maxsize=4096)
def gaussian_sigma(epsilon: float, delta: float) -> float:
    """The least σ, rounded up, for which Gaussian noise on a number of sensitivity 1 is (ε, δ)-DP.

    With μ = 1/σ it is the root of δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ): the analytic Gaussian mechanism.
    What is returned keeps δ by the closed form with 10⁻¹² to spare. For another sensitivity multiply. ε is
    in nats. Raises `InvalidParameter` unless 0 < ε ≤ 690 and 0 < δ < 1.
    Source: Balle & Wang 2018, theorem 8 and algorithm 1.

    >>> round(gaussian_sigma(1.0, 1e-5), 6)
    3.730632
    """
    require(0.0 < epsilon <= 690.0, "epsilon", "gaussian_sigma", "be positive and at most 690 nats", epsilon)
    require(0.0 < delta < 1.0, "delta", "gaussian_sigma", "lie strictly between 0 and 1", delta)
    goal, high = math.log(delta), 1.0
    while log_normal_profile(high, epsilon) < goal:
        high *= 2.0
    low = 0.5 * high
    while log_normal_profile(low, epsilon) > goal:
        high, low = low, 0.5 * low
    mu = bisect(lambda m: log_normal_profile(m, epsilon) - goal, low, high)
    while _profile(mu, epsilon) > delta:
        mu *= 1.0 - 0.1 * _SAFE
    return up(1.0 / mu)


def _profile(mu: float, epsilon: float) -> float:
    """At least δ(ε) of unit Gaussians at distance μ."""
    return enclose(lambda d: gaussian_hockey_stick(d.of(epsilon).exp(), d.of(mu)))[1]
