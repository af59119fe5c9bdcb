"""Rényi divergences of noise on a random sample, with the error of their quadratures.

With R = 1 − rate + rate·e^l under Q, E[R] = 1, and L = ln R,

    E[R^α] − 1 = E[R·(e^{tL} − 1 − tL) + t·(R·L − R + 1)],    t = α − 1,
    E[R^{1−α}] − 1 = E[(e^{−tL} − 1 + tL) + t·(R − 1 − L)]

for the two directions. All terms are of second order in the rate, and of one sign from order one on, so
that a sample of one in a million is as precise as one of one half. Source: Mironov, Talwar & Zhang 2019
(the two moments); Trefethen & Weideman 2014, theorem 5.1 (the trapezoid rule).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from leakcap.accounting.part import UNIT, Ends
from leakcap.numeric.logspace import Floats, exp_rest, logsumexp
from leakcap.numeric.rounding import down, up

__all__ = ["mixed_log", "sampled_gaussian_renyi", "sampled_laplace_renyi"]

_DIGITS = 42.0
"""−ln of the relative error that a quadrature is made for."""
_OPERATIONS = 600.0
"""Halves of a last place that one term can be off by, besides its exponents."""
_WIDEST = 1e6
_STEEP = 300.0
"""From here on e^x − 1 − x is e^x to the last place."""
_PANEL_NODES = 24


@lru_cache(maxsize=4096)
def sampled_gaussian_renyi(mu: float, rate: float, alpha: float, back: bool) -> Ends:
    """D_α of (1−rate)·N(0,1) + rate·N(μ,1) against N(0,1) for α < ∞, or of the latter against the former.

    >>> low, high = sampled_gaussian_renyi(1.0, 0.01, 2.0, False)
    >>> round(low, 12), high - low < 1e-15
    (0.000171813422, True)
    """
    if not back and alpha * mu > _WIDEST:  # rate·e^l ≤ R ≤ e^l on the scale that counts
        whole = 0.5 * alpha * mu * mu
        return max(down(whole + alpha / (alpha - 1.0) * math.log(rate), 8, whole), 0.0), up(whole, 4)
    digits, wanted = 0.0, _DIGITS
    ends, size = (0.0, math.inf), 1.0
    for _ in range(8):
        if wanted <= digits:
            break
        digits = wanted
        nodes, logs = _trapezoid(mu, rate, alpha, digits, back)
        log_ratio = mixed_log(mu * nodes - 0.5 * mu * mu, rate)
        ends, size = _of_moments(log_ratio, logs, alpha, back, 8.0 * mu * mu * alpha, 0.5 * nodes * nodes)
        wanted = _DIGITS + math.log(8.0 + 4.0 * alpha) - math.log(max(size, 1e-280))
    return ends


@lru_cache(maxsize=4096)
def sampled_laplace_renyi(epsilon: float, rate: float, alpha: float, back: bool) -> Ends:
    """The same for Laplace noise at distance ε: two atoms, and Gauss's rule on the density between them.

    >>> low, high = sampled_laplace_renyi(1.0, 0.01, 2.0, False)
    >>> round(low * 1e5, 5), high - low < 1e-15
    (8.57263, True)
    """
    if alpha * epsilon > _WIDEST:
        top = float(mixed_log(np.array([-epsilon if back else epsilon]), rate)[0])
        low = sampled_laplace_renyi(epsilon, rate, _WIDEST / epsilon, back)[0]  # D_α increases in α
        return low, max(up(abs(top), 16), low)
    x, w = np.polynomial.legendre.leggauss(_PANEL_NODES)
    edges = np.linspace(-epsilon, epsilon, max(1, math.ceil(epsilon * (alpha + 2.0) / 2.0)) + 1)
    half = 0.5 * np.diff(edges)
    losses = (edges[:-1, None] + half[:, None] * (x + 1.0)).reshape(-1)
    logs = np.log((half[:, None] * w).reshape(-1) * 0.25) - 0.5 * (epsilon + losses)
    losses = np.concatenate([losses, [-epsilon, epsilon]])
    logs = np.concatenate([logs, [math.log(0.5), math.log(0.5) - epsilon]])
    return _of_moments(mixed_log(losses, rate), logs, alpha, back, 8.0 * alpha * epsilon, np.abs(logs))[0]


def _of_moments(
    log_ratio: Floats, logs: Floats, alpha: float, back: bool, scale: float, depth: Floats
) -> tuple[Ends, float]:
    """D_α enclosed, and the size of what its logarithm is taken of, from ln R and Q's log weights.

    `scale` is what an error of one half of a last place in the distance of the secrets does to the result,
    `depth` the size of the exponents in the weights.
    """
    t = alpha - 1.0
    power = (-t if back else t) * log_ratio
    exponents = logs + np.maximum(power, 0.0) + (0.0 if back else np.maximum(log_ratio, 0.0))
    if float(exponents.max()) > 600.0:
        total = logs + power + (0.0 if back else log_ratio)
        reach = float((np.abs(power) + np.abs(log_ratio) + depth).max())
        value, error = float(logsumexp(total)) / t, UNIT * (16.0 * reach + logs.size + scale) / abs(t)
        return (max(value - error, 0.0), up(value + error, 4)), 1.0
    if back:
        first, second = _weighted(logs, power), _weighted(logs, log_ratio)
    else:
        first, second = _weighted(logs + log_ratio, power), _weighted(logs + log_ratio, -log_ratio)
    terms = first + t * second if t else second
    sizes = first + abs(t) * second if t else second
    units = _OPERATIONS + 16.0 * np.abs(power) + 4.0 * depth
    whole = math.fsum(terms)
    # Squares of a rate below 10⁻¹⁶⁰ are no normal numbers any more.
    lost = _OPERATIONS * terms.size * (1.0 + abs(t)) * 5e-324
    error = UNIT * 1.01 * (float(sizes @ units) + scale * float(sizes.sum())) + lost
    low, high = whole - error, whole + error
    if t == 0.0:
        return (max(low, 0.0), high), whole
    found = sorted(math.log1p(max(end, -1.0 + 1e-300)) / t for end in (low, high))
    return (max(down(found[0], 4), 0.0), up(found[1], 4)), abs(whole)


def _weighted(logs: Floats, x: Floats) -> Floats:
    """e^logs·(e^x − 1 − x), which is in range where e^x alone is not."""
    steep = x > _STEEP
    return np.where(
        steep, np.exp(logs + np.where(steep, x, 0.0)), np.exp(logs) * exp_rest(np.where(steep, 0.0, x))
    )


def mixed_log(loss: Floats, rate: float) -> Floats:
    """ln(1 − rate + rate·e^loss), relatively precise.

    >>> float(mixed_log(np.array(0.0), 0.3))
    0.0
    """
    rise = rate * np.expm1(np.minimum(loss, 30.0))
    small = np.where(rise > -0.5, np.log1p(np.maximum(rise, -0.5)), 0.0)
    deep = np.log((1.0 - rate) + rate * np.exp(np.minimum(loss, 0.0)))
    far = loss + np.log(rate + (1.0 - rate) * np.exp(-np.maximum(loss, 30.0)))
    return np.where(loss > 30.0, far, np.where(rise > -0.5, small, deep))


def _trapezoid(mu: float, rate: float, alpha: float, digits: float, back: bool) -> tuple[Floats, Floats]:
    """Nodes on the line and the logarithms of their normal weights: all but e^−digits of what counts.

    Aliases: in strips without zeros of R, half as wide as π/μ at most, |R(u + iv)| lies between R(u) and
    R(u)·cos(vμ/2), whose powers −α count for the way back.
    """
    grown = alpha * -math.log1p(-rate) if back else 0.0
    base = math.sqrt(2.0 * digits + 8.0 + 2.0 * grown)
    left, right = -base, base + (0.0 if back else (alpha + 1.0) * mu)
    frequency = 8.0
    while True:
        heights = np.linspace(0.02, 1.0, 60) * min(0.999 * math.pi / mu, frequency)
        angle = heights * mu
        shrink = alpha * -np.log(np.maximum(np.cos(angle / 2), 1e-300)) if back else 0.0
        bound = 0.7 + angle + heights**2 / 2 + shrink - frequency * heights
        if float(bound.min()) <= -digits:
            break
        frequency *= 1.1
    step = 2.0 * math.pi / frequency
    nodes: Floats = np.asarray(
        np.arange(math.floor(left / step), math.ceil(right / step) + 1) * step, dtype=np.float64
    )
    return nodes, -0.5 * nodes * nodes + math.log(step / math.sqrt(2.0 * math.pi))
