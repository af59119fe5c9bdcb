"""Geometric-noise averages of ln cosh over one half of the secrets, by direct sum or by Euler–Maclaurin."""

from __future__ import annotations

import math
from dataclasses import dataclass

from leakcap.capacities.noise.tilt import log_two_cosh

__all__ = ["FINE", "HalfSums", "half_sums"]

FINE = 2.0**-8
"""Below this decay the sums are replaced by integrals and end corrections (error under 1e-16)."""
_DIRECT = 64


@dataclass(frozen=True, slots=True)
class HalfSums:
    """Averages of L(y) = ln 2cosh(η(y − μ)) for y ≤ d, continued linearly (slope −η) below 0.

    `inner` = (1−s) Σ_{y≤d} s^{d−y} L(y), as a secret at d sees its left side; `start` = (1−s) Σ_{y≤d}
    s^{|y|} L(y), as a secret at 0 sees y ≤ d. `first` = L(0), `last` = L(d).
    """

    inner: float
    start: float
    first: float
    last: float


def half_sums(decay: float, d: int, centre: float) -> HalfSums:
    """The averages for noise decay η, last point d ≥ 1 and centre μ (in steps)."""
    first, last = log_two_cosh(decay * centre), log_two_cosh(decay * (d - centre))
    # Σ_{k≥0} s^k (L(0) − kη) = (L(0) − η/(e^η − 1))/(1 − s).
    tail = first - decay / math.expm1(decay) if decay < 700.0 else first
    if decay < FINE and d > _DIRECT:
        inner, start = _euler_maclaurin(decay, decay * d, decay * centre)
    else:
        inner, start = _direct(decay, d, centre)
    return HalfSums(inner + math.exp(-decay * d) * tail, start + tail, first, last)


def _direct(decay: float, d: int, centre: float) -> tuple[float, float]:
    values = [log_two_cosh(decay * (y - centre)) for y in range(1, d + 1)]
    weights = [math.exp(-decay * k) for k in range(d)]
    inner = math.fsum(weight * value for weight, value in zip(weights, reversed(values), strict=True))
    start = math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    once = -math.expm1(-decay)
    return once * inner, once * math.exp(-decay) * start


def _euler_maclaurin(decay: float, end: float, centre: float) -> tuple[float, float]:
    """Both sums over t = ηy in (0, T]: ∫/η + [p/2 + ηp'/12 − η³p'''/720] from 0 to T.

    What is left is below η⁵ ∫|p⁽⁶⁾|/30240 ≤ η⁵·10⁻²·T, as |L⁽ᵏ⁾| ≤ 16 for 1 ≤ k ≤ 6.
    """
    low, high = math.exp(-centre), math.exp(end - centre)
    angle = math.atan(high) - math.atan(low)
    begin, finish, fade = log_two_cosh(centre), log_two_cosh(end - centre), math.exp(-end)
    inner = finish - fade * begin - 1.0 + fade + 2.0 * angle / high
    start = begin - fade * finish - 1.0 + fade + 2.0 * angle * low
    right, left = _jets(end - centre), _jets(-centre)
    ends_inner = _correction(decay, right, 1.0) - fade * _correction(decay, left, 1.0)
    ends_start = fade * _correction(decay, right, -1.0) - _correction(decay, left, -1.0)
    once = -math.expm1(-decay)
    return once / decay * inner + once * ends_inner, once / decay * start + once * ends_start


def _jets(t: float) -> tuple[float, float, float, float]:
    """L and its first three derivatives: ln 2cosh, tanh, sech², −2 sech² tanh."""
    slope = math.tanh(t)
    bend = 1.0 - slope * slope
    return log_two_cosh(t), slope, bend, -2.0 * bend * slope


def _correction(decay: float, jets: tuple[float, float, float, float], sign: float) -> float:
    """p/2 + ηp'/12 − η³p'''/720 for p = e^{±t} L, without the factor e^{±t}."""
    value, slope, bend, twist = jets
    first = sign * value + slope
    third = sign * value + 3.0 * slope + sign * 3.0 * bend + twist
    return value / 2.0 + decay * first / 12.0 - decay**3 * third / 720.0
