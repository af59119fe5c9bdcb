"""Rows whose tables of two columns are nearer to the law than chance alone would have them.

Rows that are drawn meet the law's tables but for chance. Here single values of rows are drawn anew, each from
the row's own component, and the new value is kept where Σ(count − expected)² over the cells of all tables of
two columns falls by it. Within a component columns are independent, so that a row stays what it could have
been drawn as. Nothing but the law and the rows are read. Columns that rules of impossible rows name stay as
they are.

Many rows are looked at together: few at a time, since each would move to the same empty cell.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from leakcap.synthesis.targets import Doubles

__all__ = ["even_out"]

_SWEEPS, _MOST_MOVED, _MOST_ROWS = 2, 250_000, 2_000_000
"""So many values of a column are drawn anew in a sweep at most; in files of more rows chance matters less."""
_MOST_KEYS = 1500
"""So many keys all columns have together at most: a matrix of keys by keys is held."""
_AT_ONCE, _PART = 32, 64


def even_out(
    codes: Sequence[NDArray[np.int32]],
    weights: Sequence[Doubles],
    component: NDArray[np.int64],
    random: np.random.Generator,
    fixed: Collection[int] = (),
) -> None:
    """Change values of the rows in place, but for those of the columns at `fixed` places. `component` is each
    row's own.
    """
    rows = len(codes[0])
    if len(codes) < 2 or not 2 <= rows <= _MOST_ROWS:
        return
    sizes = [own.shape[1] for own in weights]
    if sum(sizes) > _MOST_KEYS:
        return
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    off = _off(codes, weights, starts, component, fixed)
    keys = np.stack([own + start for own, start in zip(codes, starts, strict=True)], axis=1)
    at_once = min(max(rows // _PART, 1), _AT_ONCE)
    for _ in range(_SWEEPS):
        for place, shares in enumerate(weights):
            if place in fixed:
                continue
            others = np.array([one for one in range(len(codes)) if one != place])
            order = random.permutation(rows)[:_MOST_MOVED]
            wanted = _drawn(shares, component[order], random) + starts[place]
            for start in range(0, len(order), at_once):
                some, new = order[start : start + at_once], wanted[start : start + at_once]
                old, met = keys[some, place], keys[some[:, None], others]
                # One less here and one more there: Σ(count − expected)² falls by twice this.
                falls = (off[old[:, None], met] - off[new[:, None], met] - 1.0).sum(axis=1)
                better = (falls > 0.0) & (old != new)
                if better.any():
                    _move(off, old[better, None], new[better, None], met[better])
                    keys[some[better], place] = new[better]
    for place, (own, start) in enumerate(zip(codes, starts, strict=True)):
        own[:] = keys[:, place] - start


def _off(
    codes: Sequence[NDArray[np.int32]],
    weights: Sequence[Doubles],
    starts: NDArray[np.int64],
    component: NDArray[np.int64],
    fixed: Collection[int],
) -> Doubles:
    """Counts less what the law expects: all tables of two columns as one matrix of keys by keys.

    Of a fixed column the law is that of what stands there, component by component: others do not depend on it
    but through the component.
    """
    rows, components = len(codes[0]), len(weights[0])
    shares = np.concatenate(weights, axis=1)
    for place in fixed:
        size = weights[place].shape[1]
        many = np.bincount(component * size + codes[place], minlength=components * size)
        own = slice(starts[place], starts[place] + size)
        shares[:, own] = many.reshape(components, size) * (components / rows)
    off = shares.T @ shares
    off *= -rows / components
    for first, one in enumerate(codes):
        for second, other in enumerate(codes):
            if first != second:
                shape = (weights[first].shape[1], weights[second].shape[1])
                cells = np.bincount(one.astype(np.int64) * shape[1] + other, minlength=shape[0] * shape[1])
                here, there = (
                    slice(starts[p], starts[p] + n) for p, n in zip((first, second), shape, strict=True)
                )
                off[here, there] += cells.reshape(shape)
    return np.asarray(off)


def _drawn(shares: Doubles, component: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """A key for each row, from the shares of its component; never one without a share."""
    found = np.empty(len(component), dtype=np.int64)
    order = np.argsort(component, kind="stable")
    own, first = np.unique(component[order], return_index=True)
    for number, rows in zip(own.tolist(), np.split(order, first[1:]), strict=True):
        ends = np.cumsum(shares[number])
        place = np.searchsorted(ends, random.random(len(rows)) * ends[-1], side="right")
        found[rows] = np.minimum(place, np.nonzero(shares[number])[0][-1])
    return found


def _move(off: Doubles, old: NDArray[np.int64], new: NDArray[np.int64], met: NDArray[np.int64]) -> None:
    """One row less in each cell of `old`, one more in each of `new`, in both halves of the matrix."""
    for keys, step in ((old, -1.0), (new, 1.0)):
        np.add.at(off, (keys, met), step)
        np.add.at(off, (met, keys), step)
