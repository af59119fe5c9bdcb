"""The fit of a mixture of products to residuals: Adam on logits, held back by how much a component tells.

What is made small is half the misfit and λ·n·Σ_i I(X_i; Z), the information that the component Z has about
each column, n the rows: of all laws that agree with the tables those are wanted that say least beside them.
λ falls from step to step, so that links come in from the strongest to the weakest, and the noise says when to
stop.

Tables of two columns are compared without being made (`_Pairs`). Tables of three or more columns are
multiplied out one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from leakcap.synthesis.targets import COMPONENTS, Doubles, Target

__all__ = ["fitted", "nearest_shares"]

_STEPS = 400
_RATE, _MEAN, _SQUARE = 0.1, 0.9, 0.99
_APART = 0.5
"""Standard deviation of the logits at the start: alike components would stay alike."""
_HELD, _HELD_LAST = 0.5, 0.002
"""λ at the first step and at the last: independent columns at first, next to nothing in the end."""
_LEAST = 1e-12
_EXPLAINED = 0.25
"""For each cell that stands out of the noise the fit may explain this much of a freedom. With less, links
between columns are blurred; to explain cells below the noise is to copy it (`benchmarks/synthesis.py`)."""


def nearest_shares(values: Doubles) -> Doubles:
    """The nearest vector of shares: not negative, and 1 together. Source: Held, Wolfe & Crowder 1974.

    >>> nearest_shares(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(values)[::-1]
    over = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    last = int(np.nonzero(falling > over)[0][-1])
    return np.asarray(np.maximum(values - over[last], 0.0))


def centred(values: Doubles) -> Doubles:
    """Less its mean along every axis: the residual of a table."""
    for axis in range(values.ndim):
        values = values - np.add.reduce(values, axis=axis, keepdims=True) / values.shape[axis]
    return values


def fitted(
    sizes: Sequence[int], targets: Sequence[Target], components: int = COMPONENTS, total: float = 1.0
) -> tuple[tuple[Doubles, ...], float, int, int]:
    """For each column the shares of its keys in each component; the misfit, its freedom, and the steps taken.

    `total` is how many rows there are, by which information about columns weighs against the misfit.
    The start is drawn with a fixed seed, so that the same targets give the same mixture.
    """
    ends = np.concatenate([[0], np.cumsum(sizes)])
    blocks = [slice(a, b) for a, b in pairwise(ends.tolist())]
    pairs = _Pairs(sizes, blocks, [one for one in targets if len(one.table) == 2])
    ones = [(blocks[one.table[0]], one) for one in targets if len(one.table) == 1]
    larger = [largest_last(one) for one in targets if len(one.table) > 2]
    freedom = sum(one.freedom for one in targets)
    scale = 1.0 / max((one.precision for one in targets), default=1.0)

    start = np.concatenate([np.full(size, 1.0 / size) for size in sizes])
    for block, one in ones:
        start[block] = nearest_shares(start[block] + one.values)
    enough = freedom - _EXPLAINED * sum(_above_noise(one, start, blocks) for one in targets)
    random = np.random.default_rng(0)
    logits = np.log(np.maximum(start, 1e-6)) + random.normal(0.0, _APART, (components, len(start)))
    mean, square = np.zeros_like(logits), np.zeros_like(logits)
    shares, misfit, step = _softmax(logits, blocks), 0.0, 0
    for step in range(_STEPS + 1):
        shares = _softmax(logits, blocks)
        misfit, slope = pairs.misfit(shares)
        for block, one in ones:
            off = centred(np.add.reduce(shares[:, block], axis=0) / components) - one.values
            misfit += one.precision * float(off @ off)
            slope[:, block] += one.precision * off
        for one in larger:
            misfit += _larger(one, shares, blocks, slope)
        if misfit <= enough or step == _STEPS:
            break
        held = total * _HELD * (_HELD_LAST / _HELD) ** (step / _STEPS)
        mean_shares = np.add.reduce(shares, axis=0) / components
        slope += held * np.log(np.maximum(shares, _LEAST) / np.maximum(mean_shares, _LEAST))
        slope *= scale
        for block in blocks:
            own = slope[:, block] * shares[:, block]
            slope[:, block] = own - shares[:, block] * np.add.reduce(own, axis=1, keepdims=True)
        mean = _MEAN * mean + (1.0 - _MEAN) * slope
        square = _SQUARE * square + (1.0 - _SQUARE) * slope**2
        ahead = mean / (1.0 - _MEAN ** (step + 1))
        # Shorter steps towards the end, where tables are so exact that the noise does not stop the fit.
        rate = _RATE * min(1.0, 2.0 * (1.0 - step / _STEPS))
        logits -= rate * ahead / (np.sqrt(square / (1.0 - _SQUARE ** (step + 1))) + 1e-30)
    return tuple(shares[:, block] for block in blocks), misfit, freedom, step


def _above_noise(one: Target, start: Doubles, blocks: Sequence[slice]) -> int:
    """How many freedoms of a table are of cells whose share, were columns independent, is above the noise."""
    shares = np.ones(1)
    for place in one.table:
        shares = np.outer(shares, start[blocks[place]]).ravel()
    return min(int((shares**2 * one.precision >= 1.0).sum()), one.freedom)


def _softmax(logits: Doubles, blocks: Sequence[slice]) -> Doubles:
    shares = np.empty_like(logits)
    for block in blocks:
        own = logits[:, block]
        own = np.exp(own - np.maximum.reduce(own, axis=1, keepdims=True))
        shares[:, block] = own / np.add.reduce(own, axis=1, keepdims=True)
    return shares


class _Pairs:
    """All tables of two columns at once: Σ precision·|Q_i'Q_j/K − W_ij|² over pairs i < j.

    Q_i are the shares of column i less their mean in each component, so that Q_i'Q_j/K is the residual of
    the pair; W are the wanted ones. No matrix of keys by keys is made but W: |Q_i'Q_j|² is the product of the
    K by K matrices Q_iQ_i' and Q_jQ_j', and W is met by its products with Q alone. Where columns have few
    keys, that matrix is the smaller one, and is made.
    """

    def __init__(self, sizes: Sequence[int], blocks: Sequence[slice], targets: Sequence[Target]) -> None:
        keys, columns = sum(sizes), len(sizes)
        size = keys if targets else 0
        self._blocks = blocks
        self._pull = np.zeros((size, size))
        self._precision = np.zeros((columns, columns))
        self._own = 0.0
        for one in targets:
            first, second = one.table
            rows, others = blocks[first], blocks[second]
            self._pull[rows, others] = one.precision * one.values
            self._pull[others, rows] = self._pull[rows, others].T
            self._precision[first, second] = self._precision[second, first] = one.precision
            self._own += one.precision * float(np.vdot(one.values, one.values))

    def misfit(self, shares: Doubles) -> tuple[float, Doubles]:
        """The squared misfit over the variance, and half its slope in each share, times the components."""
        if not len(self._pull):
            return 0.0, np.zeros_like(shares)
        components = len(shares)
        apart = np.empty_like(shares)
        for block in self._blocks:
            own = shares[:, block]
            apart[:, block] = own - np.add.reduce(own, axis=1, keepdims=True) / own.shape[1]
        met = self._met(apart)
        crossed = float(np.vdot(met, apart)) / components
        few = len(self._blocks) * components > shares.shape[1] * math.sqrt(components)
        square, slope = (self._by_keys if few else self._by_components)(apart)
        return square / 2.0 - crossed + self._own, slope - met

    def _met(self, apart: Doubles) -> Doubles:
        """For each column Σ_j precision·Q_jW_ji; of two columns half of the matrix is empty."""
        if len(self._blocks) > 3:
            return apart @ self._pull
        found = np.empty_like(apart)
        for block in self._blocks:
            before, after = slice(0, block.start), slice(block.stop, None)
            found[:, block] = apart[:, before] @ self._pull[before, block]
            found[:, block] += apart[:, after] @ self._pull[after, block]
        return found

    def _by_components(self, apart: Doubles) -> tuple[float, Doubles]:
        """Σ precision·|Q_i'Q_j/K|² over ordered pairs, and Σ_j precision·Q_jQ_j'Q_i/K of each column."""
        components = len(apart)
        grams = np.stack([apart[:, block] @ apart[:, block].T for block in self._blocks])
        pulls = np.tensordot(self._precision, grams, 1) / components
        slope = np.empty_like(apart)
        for block, own in zip(self._blocks, pulls, strict=True):
            slope[:, block] = own @ apart[:, block]
        return float(np.vdot(pulls, grams)) / components, slope

    def _by_keys(self, apart: Doubles) -> tuple[float, Doubles]:
        """The same by way of all keys by all keys."""
        found = apart.T @ apart / len(apart)
        sizes = [block.stop - block.start for block in self._blocks]
        pull = found * np.repeat(np.repeat(self._precision, sizes, axis=0), sizes, axis=1)
        return float(np.vdot(found, pull)), apart @ pull


def largest_last(one: Target) -> Target:
    """The same with its columns from the fewest keys to the most: of each component the products of all
    columns but the last are kept, of which `check_fits` bounds the cells."""
    order = np.argsort(one.values.shape, kind="stable").tolist()
    values = np.ascontiguousarray(one.values.transpose(order))
    return replace(one, table=tuple(one.table[place] for place in order), values=values)


def _larger(one: Target, shares: Doubles, blocks: Sequence[slice], slope: Doubles) -> float:
    """The misfit of a table of several columns; half its slope, times the components, goes into `slope`."""
    components = len(shares)
    each = [shares[:, blocks[place]].T for place in one.table]
    spread = [np.ones((1, components))]
    for own in each[:-1]:
        spread.append((spread[-1][:, None, :] * own[None, :, :]).reshape(-1, components))
    shape = one.values.shape
    off = centred((spread[-1] @ each[-1].T / components).reshape(shape)) - one.values
    pull = one.precision * off.reshape(-1, shape[-1])
    slope[:, blocks[one.table[-1]]] += (pull.T @ spread[-1]).T
    back = pull @ each[-1]
    for place in range(len(each) - 2, -1, -1):
        cube = back.reshape(len(spread[place]), shape[place], components)
        slope[:, blocks[one.table[place]]] += (cube * spread[place][:, None, :]).sum(axis=0).T
        back = (cube * each[place][None, :, :]).sum(axis=1)
    return one.precision * float(np.vdot(off, off))
