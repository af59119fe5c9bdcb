"""zCDP as a privacy loss: a pair that dominates every mechanism with these Rényi divergences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leakcap.accounting.finite import FiniteLoss, finite_loss
from leakcap.accounting.part import LossComponent
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["ConcentratedLoss", "concentrated"]

_CELLS = 4000
_LEAST = math.log(1e-18)
"""Of δ at the last loss; what is beyond counts as infinite."""
_ROUNDING = 1e-10


@dataclass(frozen=True)
class ConcentratedLoss(FiniteLoss):
    """A pair above every (ξ, ρ)-zCDP mechanism's, in both directions; make it with `concentrated`."""

    rho: float = 0.0
    xi: float = 0.0

    @property
    def reverse(self) -> LossComponent:
        """Itself: zCDP is of both directions."""
        return self


@lru_cache(maxsize=64)
def concentrated(rho: float, xi: float = 0.0) -> LossComponent:
    """The loss of a pair that dominates all mechanisms with D_α ≤ ξ + ρα for all α > 1, both ways.

    δ(ε) is below b(ε) = min over α of e^{(α−1)(ξ+ρα−ε)}·(1 − 1/α)^{α−1}/α for each of them, and below 1 −
    e^ε + e^ε·b(−ε); it is convex in e^ε, and so below the lower convex hull of any points of b. That hull
    is the profile of a pair. Pairs compose, but looser than ρ does: add up ρ and ξ first. Source: Canonne,
    Kamath & Steinke 2020, proposition 12; Zhu, Dong & Wang 2022, proposition 8.

    >>> round(concentrated(0.1).support()[1], 1)
    4.2
    """
    require(0 <= rho < math.inf, "rho", "concentrated", "be finite and not negative", rho)
    require(0 <= xi < math.inf, "xi", "concentrated", "be finite and not negative", xi)
    if rho == 0.0:
        chance = 1.0 / (1.0 + math.exp(-xi))
        return finite_loss([chance, 1.0 - chance], [1.0 - chance, chance], units=16.0)
    end = xi + rho + 2.0 * math.sqrt(-rho * _LEAST)
    step = end / _CELLS
    high = np.minimum(_bounds(np.asarray(step * np.arange(_CELLS + 1), dtype=np.float64), rho, xi), 1.0)
    losses = step * np.arange(-_CELLS, _CELLS + 1)
    levels = np.exp(losses)
    below = np.minimum(-np.expm1(losses[:_CELLS]) + levels[:_CELLS] * high[:0:-1], 1.0)
    deltas = np.concatenate([below, high]) * (1.0 + _ROUNDING)
    corners = _hull(np.append(0.0, levels), np.append(1.0, np.minimum(deltas, 1.0)))
    at, value = np.append(0.0, levels)[corners], np.append(1.0, np.minimum(deltas, 1.0))[corners]
    slopes = np.append(np.diff(value) / np.diff(at), 0.0)
    q = np.diff(slopes)
    kept = losses[np.array(corners[1:]) - 1]
    p = q * at[1:]
    return ConcentratedLoss(
        tuple(kept.tolist()),
        tuple(p.tolist()),
        tuple(q.tolist()),
        float(value[-1]),
        max(1.0 - math.fsum(q.tolist()), 0.0),
        64.0,
        rho,
        xi,
    )


def _bounds(epsilon: Floats, rho: float, xi: float) -> Floats:
    """b(ε), at the best of many orders; any order is right."""
    centre = np.maximum((epsilon - xi - rho) / (2.0 * rho), 1e-3)
    found = np.full(epsilon.shape, np.inf)
    for share in np.concatenate([np.geomspace(0.2, 5.0, 160), np.geomspace(1e-3, 1e3, 100)]).tolist():
        t = centre * share
        alpha = 1.0 + t
        logs = t * (xi + rho * alpha - epsilon) - t * np.log1p(1.0 / t) - np.log(alpha)
        found = np.minimum(found, logs + 1e-14 * (1.0 + t * (xi + rho * alpha + epsilon)))
    return np.asarray(np.exp(np.minimum(found, 0.0)))


def _hull(x: Floats, y: Floats) -> list[int]:
    """Corners of the lower convex hull, from left to right."""
    corners: list[int] = []
    for place in range(x.size):
        while len(corners) >= 2:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[place] - x[b]) < (y[place] - y[b]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(place)
    return corners
