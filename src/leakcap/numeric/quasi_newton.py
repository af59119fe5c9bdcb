"""A smooth function of a few variables, minimised by BFGS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

__all__ = ["minimum"]


def minimum(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    steps: int = 100,
    gain: float = 1e-13,
) -> Floats:
    """A point from which about `gain` is to be had at most, by BFGS with a backtracking line search.

    Source: Nocedal & Wright 2006, chapter 6.

    >>> minimum(lambda z: (float((z - 1.0) @ (z - 1.0)), 2.0 * (z - 1.0)), np.zeros(2)).round(6).tolist()
    [1.0, 1.0]
    """
    point = np.asarray(start, dtype=np.float64)
    value, slope = function(point)
    inverse = np.eye(point.size)
    first = True
    for _ in range(steps):
        step = -inverse @ slope
        fall = float(slope @ step)
        if not fall < 0.0:
            inverse, step, fall = np.eye(point.size), -slope, -float(slope @ slope)
        if fall > -gain:
            break
        length = min(1.0, (1.0 if first else 4.0) / float(np.abs(step).max()))
        for _ in range(25):
            there = point + length * step
            new, turned = function(there)
            if new <= value + 1e-4 * length * fall:
                break
            length *= 0.5
        else:
            break
        moved, bent = there - point, turned - slope
        curve = float(moved @ bent)
        point, value, slope = there, new, turned
        if curve > 1e-300:
            if first:
                inverse = np.eye(point.size) * curve / float(bent @ bent)
                first = False
            left = np.eye(point.size) - np.outer(moved, bent) / curve
            inverse = left @ inverse @ left.T + np.outer(moved, moved) / curve
    return point
