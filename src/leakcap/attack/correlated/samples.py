"""Records of any joint law that is given by draws of whole databases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.attack.correlated.record import (
    Correlated,
    correlated_fields,
    information_of,
    laplace_law,
    output_law,
)
from leakcap.attack.correlated.sums import Sums
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.logspace import Floats

__all__ = ["Sampled", "sampled_joint", "sampled_record"]

Whole = NDArray[np.int64]
_MOST = 40_000_000


@dataclass(frozen=True, kw_only=True)
class Sampled(Correlated):
    """I(X;Y) under the empirical law of `draws` databases, exactly; an estimate for the law behind them.

    The plug-in estimate is too high: `by_chance` is the median of I(X;Y) where the person's column is
    shuffled among the draws, so that nothing but chance ties it to the sum. Of n shuffles the least and the
    largest, `by_chance_least` and `by_chance_most`, hold the median of all shuffles with probability
    1 − 2^{1−n}: 99.2 % for eight.
    """

    draws: int
    values: int
    by_chance: float
    by_chance_least: float
    by_chance_most: float


def sampled_joint(
    samples: ArrayLike,
    *,
    person: int = 0,
    grid: float = 1.0,
    bounds: tuple[float, float] | None = None,
) -> Sums:
    """The empirical joint law of databases, one a row and one person a column, as the law of a sum given X.

    As in a release, values are clamped to `bounds` (public; without them the least and the largest value
    seen) and rounded to multiples of `grid`. Who knows all others looks up the draws that agree.

    >>> law = sampled_joint([[0, 0], [1, 1], [1, 1], [0, 0]])
    >>> law.given.tolist(), law.prior, round(law.extent, 6)
    ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], (0.5, 0.5), 0.693147)
    """
    steps, step = _steps(samples, grid, bounds)
    draws, people = steps.shape
    require(0 <= person < people, "person", "sampled_joint", f"be one of 0, …, {people - 1}", person)
    values, prior, given = _laws(steps[:, person], steps.sum(axis=1), people * step)
    known = tuple(_known(np.delete(steps, person, axis=1), steps[:, person]))
    extent = max(
        math.log(b / p) for _, belief in known for b, p in zip(belief, prior, strict=True) if b > 0.0
    )
    return Sums(
        f"{draws} sampled databases",
        given,
        tuple(prior.tolist()),
        people,
        max(extent, 0.0),
        known,
        values=tuple(values.tolist()),
        step=step,
    )


def _laws(own: Whole, total: Whole, top: int) -> tuple[Whole, Floats, Floats]:
    """The values of X, their shares, and the law of the sum in 0, …, `top` for each."""
    values, which = np.unique(own, return_inverse=True)
    cells = values.size * (top + 1)
    rule, remedy = f"have at most {_MOST:,} pairs of a value and a sum", "Take a coarser `grid`."
    require(cells <= _MOST, "samples", "sampled_joint", rule, cells, remedy)
    given = np.zeros((values.size, top + 1))
    np.add.at(given, (which, total), 1.0)
    counts = given.sum(axis=1)
    return values, np.asarray(counts / own.size), given / counts[:, None]


def _steps(samples: ArrayLike, grid: float, bounds: tuple[float, float] | None) -> tuple[Whole, int]:
    """The databases in whole steps above the least possible value, and how many steps there are."""
    owner = "sampled_joint"
    try:
        table = np.asarray(samples, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("`samples` of `sampled_joint` must be numbers, one database a row.") from None
    require(table.ndim == 2 and table.size > 0, "samples", owner, "be draws × people", table.shape)
    require(bool(np.isfinite(table).all()), "samples", owner, "be finite", "a value that is not")
    require(math.isfinite(grid) and grid > 0.0, "grid", owner, "be positive", grid)
    low, high = bounds or (float(table.min()), float(table.max()))
    require(math.isfinite(high - low) and low <= high, "bounds", owner, "be finite and in order", bounds)
    require((high - low) / grid < 2**40, "grid", owner, "be coarser for such values", grid)
    ends = np.rint(np.array([low, high]) / grid).astype(np.int64)
    whole = np.rint(np.clip(table, low, high) / grid).astype(np.int64) - ends[0]
    return whole, max(int(ends[1] - ends[0]), 1)


def _known(others: Whole, own: Whole) -> Iterator[tuple[float, tuple[float, ...]]]:
    """The empirical beliefs about X given all other columns; equal beliefs are put together."""
    group = np.unique(others, axis=0, return_inverse=True)[1] if others.size else np.zeros(own.size, np.int64)
    which = np.unique(own, return_inverse=True)[1]
    counts = np.zeros((int(group.max()) + 1, int(which.max()) + 1), dtype=np.int64)
    np.add.at(counts, (group.ravel(), which), 1)
    kinds, times = np.unique(counts, axis=0, return_counts=True)
    for kind, repeated in zip(kinds, times.tolist(), strict=True):
        yield repeated * float(kind.sum()) / which.size, tuple((kind / kind.sum()).tolist())


def sampled_record(
    samples: ArrayLike,
    epsilon: float,
    *,
    generator: np.random.Generator,
    person: int = 0,
    grid: float = 1.0,
    bounds: tuple[float, float] | None = None,
    shuffles: int = 8,
    continuous: bool = False,
) -> Sampled:
    """`correlated_record` of a joint law given as samples, beside what as many draws show by chance.

    >>> databases = np.random.default_rng(0).integers(2, size=(1000, 5))
    >>> found = sampled_record(databases, 1.0, generator=np.random.default_rng(1))
    >>> found.draws, found.records, found.got < found.independent_cap
    (1000, 5, True)
    """
    require(shuffles >= 1, "shuffles", "sampled_record", "be at least 1", shuffles)
    sums = sampled_joint(samples, person=person, grid=grid, bounds=bounds)
    steps, step = _steps(samples, grid, bounds)
    law, others = laplace_law if continuous else output_law, np.delete(steps, person, axis=1).sum(axis=1)
    chance = []
    for _ in range(shuffles):
        own = generator.permutation(steps[:, person])
        _, prior, given = _laws(own, others + own, sums.given.shape[1] - 1)
        chance.append(information_of(law(given, epsilon / step), prior.tolist()))
    return Sampled(
        **correlated_fields(sums, epsilon, continuous=continuous),
        draws=steps.shape[0],
        values=len(sums.values),
        by_chance=float(np.median(chance)),
        by_chance_least=min(chance),
        by_chance_most=max(chance),
    )
