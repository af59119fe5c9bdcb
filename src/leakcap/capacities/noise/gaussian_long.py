"""Closed bounds for Gaussian noise and a long range of secrets."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

__all__ = ["SHORTEST", "long_range_lower", "long_range_upper"]

SHORTEST = 32.0
"""From this range on the two ends do not see each other: each adds less than 1e−15 to the other half."""

# A prior next to an end, as positions and weights in units where the density far inside is one, flat from
# `_FLAT` on. It is near the best of its kind, and any numbers here would give a valid lower bound.
_POSITIONS = (0.0, 2.71691518, 4.85936451, 6.56976857)
_WEIGHTS = (3.49613191, 2.3426984, 1.96241931, 1.3390112)
_FLAT = 7.15420084
_STEP = 1e-3
_QUADRATURE = 1e-5


def long_range_lower(ratio: float) -> float:
    """I of that prior at both ends of [0, Δ/σ]: ln m + 2c/m − ½ ln 2πe, m its total weight.

    c = −∫ r ln r at one end, r its output density, where far inside r = 1.
    """
    mass = ratio + 2.0 * (sum(_WEIGHTS) - _FLAT)
    return math.log(mass) + 2.0 * _end_entropy() / mass - 0.5 * math.log(2.0 * math.pi * math.e)


def long_range_upper(ratio: float) -> float:
    """ln(1 + Δ/(σ√(2πe))): D ≤ this for the output law flat on the range and half-Gaussian outside.

    Source: McKellips 2004.
    """
    return math.log1p(ratio / math.sqrt(2.0 * math.pi * math.e))


@lru_cache(maxsize=1)
def _end_entropy() -> float:
    """A lower bound of −∫ r ln r: trapezoidal rule, less h²/12·∫|(r ln r)''|, which is below 5, and more."""
    nodes = np.arange(-12.0, SHORTEST / 2, _STEP)
    density = np.array([0.5 * math.erfc((_FLAT - y) / math.sqrt(2.0)) for y in nodes.tolist()])
    for position, weight in zip(_POSITIONS, _WEIGHTS, strict=True):
        density += weight * np.exp(-0.5 * (nodes - position) ** 2) / math.sqrt(2.0 * math.pi)
    return float(-_STEP * np.sum(density * np.log(density))) - _QUADRATURE
