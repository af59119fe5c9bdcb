"""Runs of neighbouring keys, and what they add up to: convolutions on Z_K by differences of running sums.

A published value is shown at few runs of keys, mostly one, so that a convolution takes K steps a run.
"""

from __future__ import annotations

import numpy as np

from leakcap.numeric.logspace import Floats

__all__ = ["Arc", "Runs", "arcs_of", "carried_back", "carried_on", "runs_of"]

Runs = list[tuple[int, int]]
"""First key of each run, and the key after its last."""

Arc = tuple[int, int]
"""First key of a run around the circle, and its length."""


def runs_of(shown: np.ndarray) -> Runs:
    """The runs of neighbouring keys at which `shown` holds.

    >>> runs_of(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([0], shown.astype(np.int8), [0]))))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


def arcs_of(row: np.ndarray, chosen: bool = False) -> list[Arc]:
    """Runs of keys that show the same, around the circle; of a mask, those where it holds.

    >>> arcs_of(np.array([1, 2, 2, 1])), arcs_of(np.array([False, True, True, False]), True)
    ([(3, 2), (1, 2)], [(1, 2)])
    """
    if not chosen:
        return [arc for value in np.unique(row) for arc in arcs_of(row == value, True)]
    keys, runs = len(row), runs_of(row)
    arcs = [(first, end - first) for first, end in runs]
    if len(arcs) > 1 and runs[0][0] == 0 and runs[-1][1] == keys:
        first = arcs.pop(0)
        arcs[-1] = (arcs[-1][0], arcs[-1][1] + first[1])
    return arcs


def carried_on(numbers: Floats, runs: Runs) -> Floats:
    """Over t: the sum of `numbers` at t − u, for every key u of the runs; along the last axis.

    Exact for whole numbers that add up to at most 2^52.

    >>> carried_on(np.array([5.0, 0.0, 1.0]), [(1, 3)])
    array([1., 6., 5.])
    """
    sums = _running(numbers)
    size = numbers.shape[-1]
    total: Floats = np.zeros_like(numbers)
    for first, end in runs:
        total += sums[..., size - first + 1 : 2 * size - first + 1]
        total -= sums[..., size - end + 1 : 2 * size - end + 1]
    return total


def carried_back(numbers: Floats, runs: Runs) -> Floats:
    """Over s: the sum of `numbers` at u − s, for every key u of the runs; along the last axis.

    Exact for whole numbers that add up to at most 2^52.

    >>> carried_back(np.array([5.0, 0.0, 1.0]), [(1, 3)])
    array([1., 5., 6.])
    """
    return carried_on(np.roll(numbers[..., ::-1], 1, axis=-1), runs)  # the numbers at −k: u − s is −(s − u)


def _running(numbers: Floats) -> Floats:
    """Sums of the first 0, 1, …, 2K numbers, which begin anew after the last."""
    twice = np.concatenate((numbers, numbers), axis=-1)
    sums: Floats = np.zeros((*numbers.shape[:-1], twice.shape[-1] + 1))
    np.cumsum(twice, axis=-1, out=sums[..., 1:])
    return sums
