"""Quadratic programmes over the simplex: min ½ zᵀAz − bᵀz, z ≥ 0, Σz = 1, A positive semidefinite.

Block principal pivoting first, which ends after a handful of solves when A is well conditioned; a
primal–dual interior-point method where it cycles or where A is singular.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.logspace import Floats

__all__ = ["simplex_quadratic"]

_PATIENCE = 4
_PIVOTS = 25
_INTERIOR_STEPS = 60
_TOLERANCE = 1e-13


def simplex_quadratic(curvature: Floats, target: Floats, support: NDArray[np.bool_]) -> Floats:
    """The minimiser of ½ zᵀAz − bᵀz over the simplex; `support` is a first guess of its support.

    >>> simplex_quadratic(np.eye(2), np.array([3.0, 0.0]), np.array([True, True]))
    array([1., 0.])
    """
    pivoted = _pivot(curvature, target, support)
    return pivoted if pivoted is not None else _interior(curvature, target)


def _pivot(curvature: Floats, target: Floats, support: NDArray[np.bool_]) -> Floats | None:
    """All variables that are infeasible, in the primal or the dual, change sides at once.

    None when their number stops falling. Source: Portugal, Júdice & Vicente 1994; Kim & Park 2011.
    """
    size = len(target)
    active = support.copy() if support.any() else np.ones(size, dtype=bool)
    fewest, patience = size + 1, _PATIENCE
    tolerance = _TOLERANCE * (float(np.max(np.abs(target))) + 1.0)
    for _ in range(_PIVOTS):
        face = _on_face(curvature, target, active)
        if face is None:
            return None
        point, slack = face
        wrong = np.where(active, point < 0.0, slack < -tolerance)
        bad = int(np.count_nonzero(wrong))
        if bad == 0:
            return np.asarray(point / point.sum())
        patience = _PATIENCE if bad < fewest else patience - 1
        fewest = min(fewest, bad)
        active ^= wrong
        if patience < 0 or not active.any():
            return None
    return None


def _on_face(curvature: Floats, target: Floats, active: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
    """The minimiser on the affine hull of a face, and the multipliers of the other variables."""
    index = np.flatnonzero(active)
    whole = index.size == active.size
    sides = np.column_stack([target[index], np.ones(index.size)])
    try:
        both = np.linalg.solve(curvature if whole else curvature[np.ix_(index, index)], sides)
    except np.linalg.LinAlgError:
        return None
    total = both[:, 1].sum()
    if not np.isfinite(both).all() or total == 0.0:
        return None
    level = (both[:, 0].sum() - 1.0) / total
    point = np.zeros(len(target))
    point[index] = both[:, 0] - level * both[:, 1]
    return point, level - target + curvature @ point


def _interior(curvature: Floats, target: Floats) -> Floats:
    """Mehrotra's predictor–corrector; it needs no more than A + diagonal to be solvable.

    Source: Mehrotra 1992; Nocedal & Wright 2006, chapter 16.
    """
    size = len(target)
    point = np.full(size, 1.0 / size)
    gradient = curvature @ point - target
    level = -float(gradient.min()) + float(np.ptp(gradient)) / size + 1e-3
    slack = gradient + level
    scale = float(np.max(np.abs(target))) + 1.0
    for _ in range(_INTERIOR_STEPS):
        residual = curvature @ point - target + level - slack
        deficit = 1.0 - float(point.sum())
        mean = float(point @ slack) / size
        if mean * size < 1e-15 * scale and float(np.max(np.abs(residual))) < _TOLERANCE * scale:
            break
        matrix = curvature + np.diag(slack / point)
        try:
            step, rise = _direction(matrix, -residual - slack, deficit)
            push = -slack - slack / point * step
            aim = _length(point, step), _length(slack, push)
            ahead = float((point + aim[0] * step) @ (slack + aim[1] * push)) / size
            centring = min((ahead / mean) ** 3, 1.0) * mean - step * push
            step, rise = _direction(matrix, -residual - slack + centring / point, deficit)
        except np.linalg.LinAlgError:
            break
        push = (centring - slack * step) / point - slack
        length = 0.995 * min(_length(point, step), _length(slack, push))
        if not np.isfinite(length) or length < 1e-10:
            break
        point, slack, level = point + length * step, slack + length * push, level + length * rise
    used = np.where(point > slack / scale * 1e-3, point, 0.0)
    used = used if used.any() else point
    return np.asarray(used / used.sum())


def _direction(matrix: Floats, side: Floats, deficit: float) -> tuple[Floats, float]:
    """M·dz + dλ·1 = side, Σdz = deficit."""
    both = np.linalg.solve(matrix, np.column_stack([side, np.ones(len(side))]))
    rise = (float(both[:, 0].sum()) - deficit) / float(both[:, 1].sum())
    return both[:, 0] - rise * both[:, 1], rise


def _length(value: Floats, step: Floats) -> float:
    """The longest step, at most one, that keeps `value` non-negative."""
    falling = step < 0
    return min(1.0, float(np.min(-value[falling] / step[falling], initial=1.0)))
