"""How strong the best test is, at many levels at once, from δ at a few places."""

from __future__ import annotations

import numpy as np

from leakcap.accounting.curve import Parts, infinite, largest
from leakcap.accounting.part import Reversed
from leakcap.accounting.routes import deltas_at, epsilon_at
from leakcap.numeric.logspace import Floats

__all__ = ["powers"]

_NODES = 97
_FINER = 12
_ROUNDS = 5
_SHARE = 1.0 / 64.0
"""Of the width wanted, for δ at the nodes: chords of neighbours are as good as δ is."""
_FAR = 600.0
_REST = 1e-9
_ROUNDING = 2.0**-48


def powers(parts: Parts, levels: Floats, wanted: float) -> tuple[Floats, Floats]:
    """Enclosures of sup P(E) over events with Q(E) ≤ level: true positives at so many false ones.

    It is the least of δ(ln γ) + γ·level over γ, a convex function of γ: at every node from above, between
    two nodes by the neighbouring chords from below. Nodes are added where the least lies, until the
    enclosures are `wanted` wide relative to their upper ends or nothing is gained.
    Source: Dong, Roth & Su 2022, proposition 2.12.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> low, high = powers(((GaussianLoss(1.0), 1),), np.array([0.05]), 1e-4)
    >>> bool(low[0] <= 0.25951 <= high[0] < 0.2596)
    True
    """
    nodes = np.linspace(*_ends(parts, float(levels[levels > 0.0].min(initial=1.0))), _NODES)
    nodes = np.unique(np.append(nodes, [0.0, min(max(largest(parts), nodes[0]), nodes[-1])]))
    share, enough = _SHARE * wanted, _SHARE * wanted * float(levels[levels > 0.0].min(initial=1.0))
    low, high, _ = deltas_at(parts, nodes, share, enough)
    for turn in range(_ROUNDS):
        least, most, place = _least(nodes, low, high, levels, infinite(parts))
        wide = most - least > wanted * most
        if not wide.any() or turn == _ROUNDS - 1:
            break
        new = _between(nodes, np.unique(np.clip(place[wide, None] + [-1, 0, 1], 0, nodes.size - 2)))
        if new.size == 0:
            break
        new_low, new_high, _ = deltas_at(parts, new, share, enough)
        order = np.argsort(np.append(nodes, new), kind="stable")
        nodes = np.append(nodes, new)[order]
        low, high = np.append(low, new_low)[order], np.append(high, new_high)[order]
    certain = infinite(parts)
    least = np.where(levels == 0.0, certain * (1.0 - _ROUNDING), np.maximum(least, levels))
    most = np.where(levels == 0.0, min(certain * (1.0 + _ROUNDING), 1.0), most)
    most = np.where(levels == 1.0, 1.0, np.minimum(most, 1.0))
    return np.minimum(least, most), most


def _ends(parts: Parts, level: float) -> tuple[float, float]:
    """Where ln γ can be: beyond the right end Q's mass is below the level, beyond the left nearly none is."""
    back = tuple((Reversed(part), count) for part, count in parts)
    found = []
    for each, rare in ((parts, 0.5 * level), (back, _REST)):
        never = infinite(each)
        rare = min(never + rare * (1.0 - never), 1.0)
        found.append(1.0 + min(epsilon_at(each, rare, 1e-2).upper, _FAR))
    return -found[1], found[0]


def _between(nodes: Floats, cells: Floats) -> Floats:
    """New nodes in some cells, evenly."""
    cells = cells.astype(np.intp)
    share = np.arange(1, _FINER) / _FINER
    new = nodes[cells, None] + (nodes[cells + 1] - nodes[cells])[:, None] * share
    return np.setdiff1d(new.reshape(-1), nodes)


def _least(
    nodes: Floats, low: Floats, high: Floats, levels: Floats, certain: float
) -> tuple[Floats, Floats, Floats]:
    """Enclosures of the least of δ + γ·level for each level, and the cell where the lower end is attained."""
    gamma = np.exp(nodes)
    above = high + gamma * levels[:, None]
    width = np.diff(gamma)
    # A chord extended beyond its ends lies below a convex function: in a cell, from its left end that of the
    # cell before, whose slope is at least −1, from its right end that of the next.
    falls = np.maximum(np.append(-1.0, (low[1:] - high[:-1]) / width)[:-1], -1.0)
    rises = np.minimum(np.append((high[1:] - low[:-1]) / width, 0.0)[1:], 0.0)
    tilt = levels[:, None]
    cross = (low[1:] - rises * width - low[:-1]) / np.where(falls == rises, np.inf, falls - rises)
    cross = np.clip(cross, 0.0, width)
    left = np.maximum(low[:-1], low[1:] - rises * width) + gamma[:-1] * tilt
    right = np.maximum(low[:-1] + falls * width, low[1:]) + gamma[1:] * tilt
    meet = (
        np.maximum(low[:-1] + falls * cross, low[1:] - rises * (width - cross)) + (gamma[:-1] + cross) * tilt
    )
    cells = np.minimum(np.minimum(left, right), meet)
    last = (low[-1] - high[-2]) / width[-1] + tilt[:, 0]
    beyond = np.where(last >= 0.0, low[-1] + gamma[-1] * tilt[:, 0], certain + gamma[-1] * tilt[:, 0])
    slope = (high[1] - low[0]) / width[0]
    at_end = low[0] + np.where(slope + tilt[:, 0] <= 0.0, gamma[0] * tilt[:, 0], -slope * gamma[0])
    before = np.maximum(1.0 - gamma[0] * (1.0 - tilt[:, 0]), at_end)
    least = np.minimum(np.minimum(cells.min(axis=1), beyond), before)
    most = np.minimum(above.min(axis=1), 1.0)
    margin = _ROUNDING * (8.0 + np.abs(nodes).max())
    return np.maximum(least * (1.0 - margin) - 1e-300, 0.0), most * (1.0 + margin), cells.argmin(axis=1)
