"""A rigorous upper bound of max_x D(N(x, 1) ‖ q) over an interval of secrets."""

from __future__ import annotations

import math

import numpy as np

from leakcap.capacities.noise.gaussian_line import Line
from leakcap.numeric.logspace import Floats

__all__ = ["ceiling"]

_CELL = 0.05
_ROUNDS = 40


def ceiling(line: Line, x: Floats, p: Floats, slack: float) -> float:
    """A number that no D(N(t, 1) ‖ q), |t| ≤ half, exceeds, and within about `slack` of the largest.

    Cells [c − r, c + r] are cut until the Taylor bound D(c) + D'(c)t + ½(D''(c) + Kr)t² is small enough. As
    D'' = 1 − φ∗V with V(y) the posterior variance of the secret, 0 ≤ V ≤ V_max, |D'''| ≤ K = φ(0)·V_max.
    """
    log_q = line.log_output(x, p)
    third = _third(line, x, p)
    count = math.ceil(line.half / (2.0 * _CELL))
    radius = line.half / (2 * count)
    centres = np.asarray(radius * (2.0 * np.arange(count) + 1.0), dtype=np.float64)
    settled = floor = float(line.divergence(x, log_q)[0].max())
    for _ in range(_ROUNDS):
        value, bound = _cells(line, log_q, centres, radius, third)
        floor = max(floor, float(value.max()))
        open_ = bound > floor + slack
        settled = max(settled, float(bound[~open_].max(initial=-math.inf)))
        if not open_.any():
            return settled + line.error
        centres, radius = (
            np.concatenate([centres[open_] - radius / 2, centres[open_] + radius / 2]),
            radius / 2,
        )
    return max(settled, float(bound.max())) + line.error


def _cells(line: Line, log_q: Floats, centres: Floats, radius: float, third: float) -> tuple[Floats, Floats]:
    values, slopes, bends = (
        np.concatenate(part)
        for part in zip(
            *(line.divergence(c, log_q) for c in np.array_split(centres, len(centres) // 64 + 1)), strict=True
        )
    )
    slope = np.abs(slopes) + line.error
    bend = bends + line.error + third * radius
    inside = (bend < 0.0) & (slope < -bend * radius)
    vertex = slope**2 / (2.0 * np.where(inside, -bend, 1.0))
    rise = np.where(inside, vertex, slope * radius + 0.5 * bend * radius**2)
    return values, values + np.maximum(rise, 0.0)


def _third(line: Line, x: Floats, p: Floats) -> float:
    """K: V at the nodes, and what it can gain between them (|V'| is a third central moment, ≤ 0.77 half³)."""
    points = np.concatenate([-x, x])
    tilt = np.outer(points, line.nodes) - 0.5 * (points**2)[:, None]
    weight = np.concatenate([p, p])[:, None] * np.exp(tilt - tilt.max(axis=0))
    weight /= weight.sum(axis=0)
    mean = points @ weight
    variance = float(((points**2) @ weight - mean**2).max()) + 1e-9
    step = float(line.nodes[1])
    largest = min(line.half**2, variance + 0.77 * line.half**3 * step / 2)
    return largest / math.sqrt(2.0 * math.pi)
