"""The exact MI-DP of the Laplace mechanism: three regimes, each in closed form or one root."""

from __future__ import annotations

import math
from functools import lru_cache
from numbers import Real

from leakcap.bound import Bound
from leakcap.capacities.noise.interval_prior import IntervalPrior
from leakcap.capacities.noise.proofs import proof_of_ends
from leakcap.errors import require
from leakcap.numeric import bisect, down, up

__all__ = ["laplace_capacity"]

_SOURCE = (
    "leakcap, docs/theory/additive-noise.md (amplitude-constrained capacity; KKT conditions of Smith 1971)"
)
_OPERATIONS = 64


def laplace_capacity(epsilon: float) -> Bound:
    """Shannon capacity of Laplace noise of scale 1/`epsilon` for a secret in [0, 1], in nats.

    It is the mechanism's exact MI-DP when its sensitivity is one: the largest mutual information between a
    record and the output over all priors. With s = e^{−ε}: C = ln(2/(1+s)) − √s(π/2 − 2 atan √s) for
    ε ≤ 3.139…, one root for a third atom at ½ up to ε = 3.867…, and C = ln((ε + κ)/(2e)), κ = 5.0436…, from
    there on. The interval is the closed form widened by its rounding; the witness is the optimal prior.
    Raises `InvalidParameter` unless 0 < ε < ∞.

    Source: derived for this project, docs/theory/additive-noise.md.

    >>> round(laplace_capacity(1.0).upper, 10)
    0.0885196402
    """
    number = isinstance(epsilon, Real) and 0.0 < epsilon < math.inf
    require(number, "epsilon", "laplace_capacity", "be a positive finite number", epsilon)
    return _capacity(float(epsilon))


@lru_cache(maxsize=4096)
def _capacity(epsilon: float) -> Bound:
    start, end = thresholds()
    if epsilon <= start:
        value, prior = two_atoms(epsilon / 2), IntervalPrior(((0.0, 0.5), (1.0, 0.5)))
        method = "closed form: uniform prior on the two ends"
    elif epsilon < end:
        value, prior = _three_atoms(epsilon / 2)
        method = "three atoms: one scalar root"
    else:
        value, prior = _plateau(epsilon)
        method = "closed form: four atoms and a flat density between"
    low, high = (
        math.nextafter(down(value, _OPERATIONS), 0.0),
        math.nextafter(up(value, _OPERATIONS), math.inf),
    )
    proof = proof_of_ends("laplace", epsilon) if epsilon <= start else None
    return Bound(low, high, method, _SOURCE, witness=prior, proof=proof)


@lru_cache(maxsize=1)
def thresholds() -> tuple[float, float]:
    """The two values of ε at which the shape of the optimal prior changes.

    >>> [round(value, 6) for value in thresholds()]
    [3.139357, 3.867234]
    """
    # The middle reaches the ends' divergence: with a = e^{−h}, 2(1−a)(π/4 − atan a) = ln cosh h.
    half = bisect(lambda h: _middle_excess(math.exp(-h), h), 1.0, 2.0)
    return 2.0 * half, 2.0 * gap()[2]


def _middle_excess(a: float, h: float) -> float:
    return 2.0 * (1.0 - a) * (math.pi / 4 - math.atan(a)) - math.log(math.cosh(h))


@lru_cache(maxsize=1)
def gap() -> tuple[float, float, float]:
    """(a, b, δ): the output density is ∝ cosh(t − μ) on the empty stretch [0, δ], a = e^{−μ}, b = e^{δ−μ}."""

    def excess(b: float) -> float:
        a = math.tan(math.atan(b) - b / 2)
        return math.log((a + 1 / a) / (b + 1 / b)) - 1 + a * (b + 1 / b) / 2

    b = bisect(excess, 1.2, 2.2)
    a = math.tan(math.atan(b) - b / 2)
    return a, b, math.log(b / a)


@lru_cache(maxsize=1)
def kappa() -> float:
    """κ in C = ln((ε + κ)/(2e)).

    >>> round(kappa(), 12)
    5.043598920586
    """
    a, b, delta = gap()
    return 2.0 * ((b - 1 / b + 2 / a) / (b + 1 / b) - delta)


def two_atoms(h: float) -> float:
    """I of the two ends at distance 2h noise scales: ln(2/(1+a²)) − a(π/2 − 2 atan a), a = e^{−h}.

    That cancels for small h. It is 2∫ₐ¹ (x−a)/(1+x²) dx, with u = tanh(h/2) and x = (1−v)/(1+v) that is
    4/(1+u)·∫₀ᵘ (u−v)(1−v)/(1−v⁴) dv, whose power series has positive terms alone; 33 of them for h ≤ 2.
    """
    u = math.tanh(h / 2)
    total, power, k = 0.0, u * u, 1
    while (term := power / (k + 1) * (1 / k - u / (k + 2))) > total * 2.0**-56:
        total, power, k = total + term, power * u**4, k + 4
    return 4.0 / (1.0 + u) * total


def _three_atoms(h: float) -> tuple[float, IntervalPrior]:
    """Atoms 0, ½, 1: the density is ∝ cosh(t − μ) on [0, h]; one root for a = e^{−μ}."""

    def excess(mu: float) -> float:
        a, b = math.exp(-mu), math.exp(h - mu)
        angle = math.atan(b) - math.atan(a)
        return 2 * angle / b - a * angle * (1 + 1 / b**2) - math.log((a + 1 / a) / (b + 1 / b))

    mu = bisect(excess, h / 2, h)
    a, b = math.exp(-mu), math.exp(h - mu)
    level = math.exp(1 - a * (math.atan(b) - math.atan(a)) * (1 + 1 / b**2)) / (a + 1 / a)
    mass = level * (b - 1 / b + 2 / a)
    end, middle = level / (a * mass), level * (b - 1 / b) / mass
    return math.log(mass) - 1.0, IntervalPrior(((0.0, end), (0.5, middle), (1.0, end)))


def _plateau(epsilon: float) -> tuple[float, IntervalPrior]:
    a, b, delta = gap()
    mass = epsilon + kappa()
    end, inner = 2 / (a * (b + 1 / b)) / mass, (b - 1 / b) / (b + 1 / b) / mass
    at = delta / epsilon
    prior = IntervalPrior(
        ((0.0, end), (at, inner), (1.0 - at, inner), (1.0, end)), (at, 1.0 - at, epsilon / mass)
    )
    return math.log(mass / 2) - 1.0, prior
