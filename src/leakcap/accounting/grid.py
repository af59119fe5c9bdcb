"""One loss on a grid, certified from above and from below, both to second order in the step.

Above: the mass of each cell is split to the cell's two ends so that P and Q are kept, which spreads the
ratio P/Q out; δ(ε) as a function of e^ε becomes its chords (*connect the dots*). Below: masses on both
sides of a grid point are merged until their mean is that point, which is post-processing.
Source: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022 (above); below: derived here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from leakcap.accounting.part import LossComponent
from leakcap.numeric.logspace import Floats

__all__ = ["GridLoss", "merged_masses", "rounded_down", "rounded_up"]

_ROUNDING = 2.0**-46
"""Relative error allowed for in a cell's masses; they are shifted by it to the safe side."""
_ON_GRID = 1e-12
_FAR = 1.0
_SHARE = 0.25
_FEW = 1 << 15
_MOST_DEBTS = 1 << 14
_MOST_TAKEN = 1e-4
_MOST_DROPPED = 1e-9


@dataclass(frozen=True, eq=False)
class GridLoss:
    """P's masses at offset + (first + j)·step, and P's mass at +∞; the missing rest is at −∞."""

    offset: float
    step: float
    first: int
    masses: Floats
    infinite: float

    @property
    def losses(self) -> Floats:
        """Where the masses lie."""
        places = self.first + np.arange(self.masses.size)
        return np.asarray(self.offset + places * self.step, dtype=np.float64)

    def scaled(self, factor: float) -> GridLoss:
        """All masses times a factor, for an error that they may have."""
        return replace(self, masses=self.masses * factor)

    def log_mean(self, s: float) -> float:
        """ln Σ p e^{sx}."""
        seen = self.masses > 0
        if not seen.any():
            return -math.inf
        exponents = s * self.losses[seen] + np.log(self.masses[seen])
        top = float(exponents.max())
        return top + math.log(float(np.exp(exponents - top).sum()))


@dataclass(frozen=True, eq=False)
class _Cells:
    """Masses of cells and atoms between grid points, and what lies on the points and beyond them."""

    offset: float
    step: float
    first: int
    index: Floats
    p: Floats
    q: Floats
    on_grid: Floats
    left: tuple[float, float]
    right: tuple[float, float]
    smooth: bool


def _cells(part: LossComponent, step: float, low: float, high: float, offset: float | None) -> _Cells:
    """Everything `part` has, in cells of width `step` from `low` to `high` and two tails.

    Without an `offset` the grid goes through the largest atom.
    """
    atoms = part.atoms()
    if offset is None:
        offset = math.fmod(float(atoms.losses[-1]), step) if atoms.losses.size else 0.0
    bottom, top = part.support()
    first = math.floor((max(bottom, low) - offset) / step - _ON_GRID)
    last = max(math.ceil((min(top, high) - offset) / step + _ON_GRID), first + 1)
    edges = np.asarray(offset + np.arange(first, last + 1) * step, dtype=np.float64)
    p, q = part.masses(edges)
    tails = [part.masses(np.array(ends)) for ends in ((-np.inf, edges[0]), (edges[-1], np.inf))]
    left, right = ((float(a[0]), float(b[0])) for a, b in tails)
    places = (atoms.losses - offset) / step - first
    exact = np.abs(places - np.rint(places)) < _ON_GRID * np.maximum(1.0, np.abs(atoms.losses) / step)
    inside = (places >= -0.5) & (places <= last - first + 0.5)
    on_grid = np.zeros(last - first + 1)
    np.add.at(on_grid, np.rint(places[exact & inside]).astype(np.intp), atoms.p[exact & inside])
    between = ~exact & (places > 0) & (places < last - first)
    index = np.concatenate([np.arange(last - first), np.floor(places[between])])
    p, q = np.concatenate([p, atoms.p[between]]), np.concatenate([q, atoms.q[between]])
    outside = ~(exact & inside) & ~between
    left = (left[0] + float(atoms.p[outside & (places < 1)].sum()), left[1])
    far = outside & (places > 1)
    right = (right[0] + float(atoms.p[far].sum()), right[1] + float(atoms.q[far].sum()))
    seen = (p > 0) | (q > 0)
    smooth = not between.any()
    return _Cells(offset, step, first, index[seen], p[seen], q[seen], on_grid, left, right, smooth)


def rounded_up(
    part: LossComponent, step: float, low: float, high: float, offset: float | None = None
) -> GridLoss:
    """A loss on the grid whose δ(ε) is nowhere below that of `part`.

    >>> from leakcap.accounting.laplacian import LaplaceLoss
    >>> exact = LaplaceLoss(1.0)
    >>> bool(rounded_up(exact, 0.25, -9.0, 9.0).log_mean(1.0) > exact.log_transform(1.0))
    True
    """
    cells = _cells(part, step, low, high, offset)
    masses = _chords(cells, 1.0)
    masses[0] += cells.left[0]
    infinite = part.infinite + cells.right[0]
    return GridLoss(cells.offset, step, cells.first, masses * (1.0 + _ROUNDING), infinite)


def _chords(cells: _Cells, sign: float) -> Floats:
    """P's masses on the grid, each cell split to its ends: δ as a function of e^ε becomes its chords.

    Rounding moves mass up for `sign` 1, down for −1.
    """
    index = cells.index.astype(np.intp)
    start = np.exp(cells.offset + (cells.first + index) * cells.step)
    grown = math.expm1(cells.step)
    # u + v = Q and u·γ + v·γe^h = P: the upper end gets e^h(P − γQ)/(e^h − 1) of P's mass.
    upper = math.exp(cells.step) * (cells.p - start * cells.q) / grown
    upper = np.clip(upper + sign * cells.p * (_ROUNDING / min(grown, 1.0)), 0.0, cells.p)
    size = cells.on_grid.size
    return np.asarray(
        cells.on_grid
        + np.bincount(index + 1, upper, minlength=size)
        + np.bincount(index, cells.p - upper, minlength=size)
    )


def rounded_down(
    part: LossComponent, step: float, low: float, high: float, offset: float | None = None
) -> GridLoss:
    """A loss on the grid whose δ(ε) is nowhere above that of `part`.

    >>> from leakcap.accounting.laplacian import LaplaceLoss
    >>> exact = LaplaceLoss(1.0)
    >>> bool(rounded_down(exact, 0.25, -9.0, 9.0).log_mean(1.0) < exact.log_transform(1.0))
    True
    """
    cells = _cells(part, step, low, high, offset)
    masses = _sunk(cells) if cells.smooth and cells.on_grid.size > _FEW else None
    if masses is None:
        masses = _merged(cells)
    masses[-1] += min(
        cells.right[0], cells.right[1] * math.exp(cells.offset + (cells.first + masses.size - 1) * step)
    )
    return GridLoss(cells.offset, step, cells.first, masses * (1.0 - 4.0 * _ROUNDING), part.infinite)


def _sunk(cells: _Cells) -> Floats | None:
    """The chords, lowered until they lie below the curve: for a density, whose cells are alike.

    As a function of γ the chord over a cell with Q's mass q and width H lies above the curve by qH/4 at most.
    A polygon with the chords' corners lowered by e_k, at least that of both cells at k, lies below the curve;
    the mass at a corner is the change of slope there. Where that is negative, as much of Q's mass is taken
    from the next corners above, which lowers the polygon further. None where too much would be taken. Where
    points are few, merging is narrower and quick enough.
    """
    size = cells.on_grid.size
    levels = np.exp(cells.offset + (cells.first + np.arange(size)) * cells.step)
    widths = np.diff(levels)
    at_q = np.bincount(cells.index.astype(np.intp), cells.q, minlength=size)[: size - 1]
    rises = _SHARE * (1.0 + _ROUNDING) * at_q * widths
    chords = _chords(cells, -1.0) / levels
    last = _end(chords, levels, rises)
    dropped = float(chords[last + 1 :] @ levels[last + 1 :]) if last else math.inf
    if dropped > _MOST_DROPPED:
        return None
    chords[last + 1 :], rises[last:] = 0.0, 0.0
    sinks = np.maximum(np.append(rises, 0.0), np.append(0.0, rises))
    sinks[last] = 0.0
    slopes = np.concatenate([[0.0], np.diff(sinks) / widths, [0.0]])
    masses = chords - np.diff(slopes)
    debts = np.flatnonzero(masses < 0.0)
    if debts.size > _MOST_DEBTS or -float(masses[debts].sum()) > _MOST_TAKEN * float(at_q.sum()):
        return None
    for place in debts.tolist():
        debt, masses[place] = -float(masses[place]), 0.0
        while debt > 0.0:
            place += 1
            if place == size:
                return None
            taken = min(debt, max(float(masses[place]), 0.0))
            masses[place] -= taken
            debt -= taken
    return np.asarray(np.maximum(masses, 0.0) * levels)


def _end(chords: Floats, levels: Floats, rises: Floats) -> int:
    """The last corner to keep: what is dropped above it lowers the polygon by as much as is wanted there."""
    for last in range(levels.size - 2, max(levels.size - 12, 1), -1):
        fall = float(chords[last + 1 :] @ (levels[last + 1 :] - levels[last]))
        if fall * (1.0 - 1e-9) >= float(rises[last - 1]):
            return last
    return 0


def _merged(cells: _Cells) -> Floats:
    levels = np.exp(cells.offset + (cells.first + np.arange(cells.on_grid.size)) * cells.step)
    p, q = cells.p * (1.0 - _ROUNDING), cells.q * (1.0 + _ROUNDING)
    index = cells.index.astype(np.intp)
    mean = np.clip(p / np.where(q > 0, q, np.inf), levels[index] * (1.0 - 1e-9), levels[index + 1])
    order = np.argsort(mean, kind="stable")
    at_levels = merged_masses(q[order].tolist(), mean[order].tolist(), index[order].tolist(), levels)
    return np.asarray(np.maximum(cells.on_grid + at_levels * levels, 0.0))


def merged_masses(weights: list[float], means: list[float], cells: list[int], levels: Floats) -> Floats:
    """Q's masses at the grid points, after merging the masses below and above each.

    What waits below a grid point takes from the masses above it as much as makes their mean that point;
    what finds no partner within reach falls to the point below.
    """
    grid = levels.tolist()
    result = [0.0] * len(grid)
    waiting, mean, goal = 0.0, 0.0, 0
    for weight, value, cell in zip(weights, means, cells, strict=True):
        while weight > 0.0:
            if waiting <= 0.0:
                waiting, mean, goal, weight = weight, value, cell + 1, 0.0
                break
            level = grid[goal]
            if value <= level:
                mean = (waiting * mean + weight * value) / (waiting + weight)
                waiting, weight = waiting + weight, 0.0
                break
            if value > mean * math.e**_FAR:
                result[goal - 1] += waiting
                waiting = 0.0
                continue
            need = waiting * (level - mean) / (value - level)
            if need <= weight:
                result[goal] += waiting + need
                weight -= need
                waiting = 0.0
            else:
                used = weight * (value - level) / (level - mean)
                result[goal] += used + weight
                waiting, weight = max(waiting - used, 0.0), 0.0
    if waiting > 0.0:
        result[goal - 1] += waiting
    return np.array(result)
