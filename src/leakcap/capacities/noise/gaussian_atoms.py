"""The atoms of the optimal prior of an amplitude-constrained Gaussian channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakcap.capacities.noise.gaussian_line import Line
from leakcap.numeric.logspace import Floats
from leakcap.progress import tracked

__all__ = ["best_atoms"]

_GRID = 0.04
_FROM_END = (0.0, 2.72, 4.89, 6.81, 8.61, 10.30, 11.91, 13.47, 15.0)
"""Where the atoms settle, measured from the nearer end, when the range is long: a start for the search."""


def best_atoms(line: Line, tolerance: float) -> tuple[Floats, Floats]:
    """Positions x ≥ 0 and weights p of a symmetric prior with D ≤ I + `tolerance` on a grid, if one is found.

    The number of atoms grows by one at a time with the range (Sharma & Shamai 2010), new ones entering at the
    middle. For each number near the expected one the atoms are moved, together with the weights, by Newton's
    method. Nothing is claimed here: the caller certifies whatever comes back.
    """
    grid = np.linspace(0.0, line.half, max(40, int(line.half / _GRID)))
    expected = round(1.0 + 2.0 * float(np.interp(line.half, *_ladder())))
    best = (np.inf, np.array([line.half]), np.array([1.0]))
    counts = sorted(range(max(2, expected - 2), expected + 4), key=lambda k: abs(k - expected))
    for count in tracked(counts, "capacity of Gaussian noise"):
        if best[0] > tolerance:
            x, p = _settle(line, *_start(line.half, count))
            best = min(best, (_gap(line, grid, x, p), x, p), key=lambda found: found[0])
    for _ in range(4):
        # Next to a change of the number the new atom is so light that it is better added to the best so far.
        if best[0] > tolerance:
            x, p = _settle(line, *_with_peak(line, grid, best[1], best[2]))
            best = min(best, (_gap(line, grid, x, p), x, p), key=lambda found: found[0])
    return best[1], best[2]


def _gap(line: Line, grid: Floats, x: Floats, p: Floats) -> float:
    log_q = line.log_output(x, p)
    return float(line.divergence(grid, log_q)[0].max() - p @ line.divergence(x, log_q)[0])


def _with_peak(line: Line, grid: Floats, x: Floats, p: Floats) -> tuple[Floats, Floats]:
    """An atom where D is largest; an atom at 0 that D pushes apart moves there."""
    peak = float(grid[np.argmax(line.divergence(grid, line.log_output(x, p))[0])])
    nearest = int(np.argmin(np.abs(x - peak)))
    if abs(x[nearest] - peak) < 0.4 and nearest < len(x) - 1:
        moved = x.copy()
        moved[nearest] = max(peak, 0.03) if x[nearest] == 0.0 else peak
        return moved, p
    order = np.argsort(np.append(x, peak))
    return np.append(x, peak)[order], np.append(p * 0.999, 0.001)[order]


def _ladder() -> tuple[Floats, Floats]:
    """Distances from the end and the index of the atom there, continued at the last spacing."""
    known = np.array(_FROM_END)
    further = known[-1] + 1.5 * np.arange(1, 40)
    distances = np.concatenate([known, further])
    return distances, np.arange(len(distances), dtype=np.float64)


def _start(half: float, count: int) -> tuple[Floats, Floats]:
    """`count` atoms on [−half, half], as far from the end as in a long range, the rest of the room inside."""
    distances, index = _ladder()
    middle = (count - 1) / 2
    usual = float(np.interp(middle, index, distances))
    inward = np.arange((count + 1) // 2, dtype=np.float64)
    away = np.interp(inward, index, distances)
    away = away + (half - usual) * (inward / max(middle, 1.0)) ** 2 if usual < half else away * half / usual
    x = np.sort(np.maximum(half - away, 0.0))
    if count % 2:
        x[0] = 0.0
    weights = np.where(x > 0, 2.0, 1.0)
    weights[-1] += 1.0
    return x, weights / weights.sum()


def _settle(line: Line, x: Floats, p: Floats) -> tuple[Floats, Floats]:
    """A local maximum of I over positions and weights near the start."""
    for _ in range(60):
        x, p = _merge(x, p)
        p = _weights(line, x, p)
        x, p = x[p > 1e-13], p[p > 1e-13]
        moved, masses = _uphill(line, x, p)
        change = float(np.max(np.abs(moved - x)))
        order = np.argsort(moved)
        x, p = moved[order], masses[order]
        if change < 1e-10:
            break
    return x, p / p.sum()


def _information(line: Line, x: Floats, p: Floats) -> float:
    return float(p @ line.divergence(x, line.log_output(x, p))[0])


def _merge(x: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Join neighbours closer than a fiftieth of a standard deviation at their centre of mass."""
    xs, ps = [float(x[0])], [float(p[0])]
    for position, mass in zip(x[1:].tolist(), p[1:].tolist(), strict=True):
        if position - xs[-1] < 0.02:
            if position < x[-1] and xs[-1] > 0.0:
                position = (xs[-1] * ps[-1] + position * mass) / (ps[-1] + mass)
            elif position < x[-1]:
                position = 0.0
            xs[-1], ps[-1] = position, ps[-1] + mass
        else:
            xs.append(position)
            ps.append(mass)
    return np.array(xs), np.array(ps)


def _weights(line: Line, x: Floats, p: Floats) -> Floats:
    """Newton's method on the concave I(p) over fixed positions; an atom that wants less than nothing goes."""
    rows = line.kernels(x)[0]
    for _ in range(50):
        log_q = line.log_output(x, p)
        score = line.divergence(x, log_q)[0]
        live = p > 0
        curvature = (rows[live] * (line.weights * np.exp(-log_q))) @ rows[live].T
        step = np.zeros_like(p)
        step[live] = _constrained(-curvature, -score[live])
        falling = step < 0
        reach = np.min(-p[falling] / step[falling]) if falling.any() else np.inf
        p = np.maximum(p + min(1.0, 0.999 * reach if reach > 1e-9 else reach) * step, 0.0)
        p[p < 1e-14] = 0.0
        p = p / p.sum()
        if np.max(np.abs(step)) < 1e-13:
            break
    return p


def _constrained(hessian: Floats, gradient: Floats) -> Floats:
    """The Newton step of a concave function on the simplex: H d − λ1 = gradient, 1·d = 0."""
    size = len(gradient)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = hessian
    system[:size, size] = system[size, :size] = 1.0
    return np.asarray(np.linalg.lstsq(system, np.append(gradient, 0.0), rcond=None)[0][:size])


def _uphill(line: Line, x: Floats, p: Floats) -> tuple[Floats, Floats]:
    """One Newton step on positions (not 0, not the end) and weights, away from saddles and never downhill."""
    inner = (x > 0.0) & (x < line.half)
    step = _saddle_free(line, x, p, inner)
    size, base = len(x), _information(line, x, p)
    scale = min(1.0, 0.9 / max(float(np.max(-step[:size])), 0.9))
    scale = min(scale, 0.3 / max(float(np.max(np.abs(step[size:]), initial=0.0)), 0.3))
    for _ in range(12):
        moved, masses = x.copy(), p * (1.0 + scale * step[:size])
        moved[inner] = np.clip(x[inner] + scale * step[size:], 0.0, line.half)
        masses = masses / masses.sum()
        if _information(line, moved, masses) >= base - 1e-15:
            return moved, masses
        scale /= 4.0
    return x, p


def _saddle_free(line: Line, x: Floats, p: Floats, inner: NDArray[np.bool_]) -> Floats:
    """−|H|⁻¹ g on the tangent space, for relative changes of the weights and changes of the positions."""
    log_q = line.log_output(x, p)
    score, slope, bend = line.divergence(x, log_q)
    rows, turned, _ = line.kernels(x)
    joint = np.concatenate([rows, turned[inner]])
    hessian = -(joint * (line.weights * np.exp(-log_q))) @ joint.T
    size, where = len(x), np.flatnonzero(inner)
    factor = np.concatenate([p, p[inner]])
    hessian *= factor[:, None] * factor
    for k, i in enumerate(where):
        hessian[size + k, size + k] += p[i] * bend[i]
        hessian[i, size + k] += p[i] * slope[i]
        hessian[size + k, i] += p[i] * slope[i]
    gradient = factor * np.concatenate([score, slope[inner]])
    normal = np.concatenate([p, np.zeros(len(where))])
    basis = np.linalg.svd(normal[None, :])[2][1:]
    values, vectors = np.linalg.eigh(basis @ hessian @ basis.T)
    size_of = np.maximum(np.abs(values), 1e-13)
    return np.asarray(basis.T @ (vectors @ ((vectors.T @ (basis @ gradient)) / size_of)))
