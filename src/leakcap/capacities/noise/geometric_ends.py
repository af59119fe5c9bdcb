"""Geometric noise under the prior (½, ½) on the two ends."""

from __future__ import annotations

import math

from leakcap.capacities.noise.half_sums import FINE, half_sums
from leakcap.capacities.noise.laplace import two_atoms
from leakcap.capacities.noise.tilt import tilt_information

__all__ = ["ends_information", "middle_excess"]

_DIRECT = 64
_NEAR = 2.0**-5
"""Up to this range D(W_m ‖ q) ≤ χ² ≤ 0.2 h² < 0.47 h² ≤ D(W_0 ‖ q), h = Nη/2, whatever N."""


def ends_information(steps: int, decay: float) -> float:
    """I of the uniform prior on {0, N}: Σ_y q_y J(η(y − N/2)), J(t) = t tanh t − ln cosh t, all terms ≥ 0.

    q_y = tanh(η/2)·e^{−E/2}·cosh(η(y − N/2)) inside; the outputs ≤ 0 carry (1 + s^N)/(2(1 + s)) and the
    log-odds of 0, those ≥ N the same mirrored. Relative precision is kept however small E = Nη is.
    """
    half = steps * decay / 2
    s = math.exp(-decay)
    # Mass at or below 0, both secrets: ½(1 + s^N)/(1 + s); the same at or above N.
    outer = (1.0 + math.exp(-2.0 * half)) / (1.0 + s) * tilt_information(half)
    if steps == 1:
        return outer
    if steps <= _DIRECT or decay >= FINE:
        return outer + math.tanh(decay / 2) * _inside_direct(steps, decay)
    return outer + math.tanh(decay / 2) * _inside_smooth(decay, half)


def _inside_direct(steps: int, decay: float) -> float:
    """e^{−E/2} Σ_{0<y<N} cosh(t_y) J(t_y), t_y = η(y − N/2)."""
    half, total = steps * decay / 2, 0.0
    for y in range(1, steps):
        t = abs(decay * (y - steps / 2))
        total += 0.5 * (math.exp(t - half) + math.exp(-t - half)) * tilt_information(t)
    return total


def _inside_smooth(decay: float, half: float) -> float:
    """The same by Euler–Maclaurin, g(t) = t sinh t − cosh t ln cosh t, g'' = g + sech t."""
    sech, slope = 1.0 / math.cosh(half), math.tanh(half)
    end = tilt_information(half) / sech
    first = half / sech - math.sinh(half) * math.log(math.cosh(half))
    third = first - sech * slope
    integral = 2.0 * (math.exp(half) * two_atoms(half) - end)
    total = integral / decay - end + decay * first / 6.0 - decay**3 * third / 360.0
    return math.exp(-half) * total


def middle_excess(steps: int, decay: float) -> float:
    """D(W_m ‖ q) − D(W_0 ‖ q) for the middle secret m = ⌊N/2⌋ under the uniform prior on {0, N}.

    The two ends are optimal exactly when this is not positive: the divergence, as a function of the secret,
    has no local maximum but at 0, m and N.
    """
    if steps * decay <= _NEAR:
        return -math.inf
    m = steps // 2
    sums = half_sums(decay, m, steps / 2)
    once, s = -math.expm1(-decay), math.exp(-decay)
    if steps % 2:
        at_end = (sums.start + math.exp(-decay * (m + 1)) * sums.inner) / (1.0 + s)
        return at_end - sums.inner
    beyond = sums.inner - once * sums.last
    at_end = (sums.start + math.exp(-decay * m) * beyond) / (1.0 + s)
    return at_end - (2.0 * sums.inner - once * sums.last) / (1.0 + s)
