"""The sufficient statistic of a channel: columns that say the same about the secret become one.

Two outputs with proportional columns lead to the same posterior whatever the prior, so merging them loses
nothing to any adversary, and outputs that never happen may go. Source: Alvim et al. 2020, *The Science of
Quantitative Information Flow*, chapter 4 (abstract channels).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from leakcap.arrays import NDArray, np
from leakcap.channel.entries import both, is_exact, is_sparse, summed_columns
from leakcap.errors import InvalidChannel
from leakcap.numeric.logspace import Floats

__all__ = ["PROPORTIONAL", "proportional", "repeated"]

PROPORTIONAL = 2.0**-42
"""Columns count as proportional when their posteriors agree within this, relatively, in every entry."""

_LARGEST = 1 << 24
"""Entries of the largest matrix that a repetition builds (128 MiB of doubles)."""

Groups: TypeAlias = "tuple[NDArray[np.intp], NDArray[np.intp]]"
"""The group of each column (−1 when it is dropped), and the first column of each group."""


def proportional(matrix: Any, tolerance: float = PROPORTIONAL) -> Groups:
    """Groups of proportional columns in order of their first member; fractions are compared exactly."""
    if is_exact(matrix):
        return _exact_groups(matrix)
    return _sparse_groups(matrix, tolerance) if is_sparse(matrix) else _dense_groups(matrix, tolerance)


def _exact_groups(rows: NDArray[Any]) -> Groups:
    seen: dict[tuple[Any, ...], int] = {}
    groups = np.full(rows.shape[1], -1, dtype=np.intp)
    firsts: list[int] = []
    for y, column in enumerate(rows.T):
        total = sum(column)
        if total:
            groups[y] = seen.setdefault(tuple(column / total), len(seen))
            if len(firsts) < len(seen):
                firsts.append(y)
    return groups, np.array(firsts, dtype=np.intp)


def _dense_groups(rows: Floats, tolerance: float) -> Groups:
    totals = rows.sum(axis=0)
    live = np.flatnonzero(totals > 0)
    profile = rows[:, live] / totals[live]
    weights = np.random.default_rng(0).uniform(1.0, 2.0, size=len(rows))
    # A sum of logarithms as a key: it also tells apart posteriors that differ in a tiny entry only.
    logs = np.log(np.where(profile > 0, profile, 1e-320))
    keys = weights @ logs
    close = 2.0 * tolerance * weights.sum() + 4e-16 * np.abs(weights[:, None] * logs).sum(axis=0)

    def agrees(column: NDArray[np.intp], first: NDArray[np.intp]) -> NDArray[np.bool_]:
        a, b = profile[:, column], profile[:, first]
        return np.asarray((np.abs(a - b) <= tolerance * np.maximum(a, b)).all(axis=0))

    return _by_key(keys, close, live, rows.shape[1], agrees)


def _sparse_groups(csr: Any, tolerance: float) -> Groups:
    csc = csr.tocsc()
    csc.sort_indices()
    counts = np.diff(csc.indptr)
    live = np.flatnonzero(counts > 0)
    column = np.repeat(np.arange(csc.shape[1]), counts)
    totals = np.bincount(column, weights=csc.data, minlength=csc.shape[1])
    profile = csc.data / totals[column]
    weights = np.random.default_rng(0).uniform(1.0, 2.0, size=csc.shape[0])[csc.indices]
    terms = weights * (np.log(profile) + 800.0)
    width = int(csc.shape[1])
    keys = np.asarray(np.bincount(column, weights=terms, minlength=width)[live], dtype=np.float64)
    spread = np.asarray(np.bincount(column, weights=weights, minlength=width)[live], dtype=np.float64)
    close = 2.0 * tolerance * spread + 1e-15 * keys

    def same(a: int, b: int) -> bool:
        one, two = (slice(csc.indptr[live[i]], csc.indptr[live[i] + 1]) for i in (a, b))
        if not np.array_equal(csc.indices[one], csc.indices[two]):
            return False
        p, q = profile[one], profile[two]
        return bool((np.abs(p - q) <= tolerance * np.maximum(p, q)).all())

    def agrees(one: NDArray[np.intp], two: NDArray[np.intp]) -> NDArray[np.bool_]:
        pairs = zip(one.tolist(), two.tolist(), strict=True)
        return np.array([a == b or same(a, b) for a, b in pairs], dtype=np.bool_)

    return _by_key(keys, close, live, csc.shape[1], agrees)


def _by_key(
    keys: Floats,
    close: Floats,
    live: NDArray[np.intp],
    width: int,
    agrees: Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.bool_]],
) -> Groups:
    """Runs of nearly equal keys, each member checked against the run's first; strangers stay alone."""
    order = np.argsort(keys, kind="stable")
    starts = np.concatenate([[True], np.diff(keys[order]) > close[order[1:]]])
    run = np.cumsum(starts) - 1
    leader = np.full(int(run[-1]) + 1, live.size, dtype=np.intp)
    np.minimum.at(leader, run, order)
    first = np.empty(live.size, dtype=np.intp)
    first[order] = leader[run]
    own = np.arange(live.size)
    first = np.where(agrees(own, first), first, own)
    leaders, inverse = np.unique(first, return_inverse=True)
    groups = np.full(width, -1, dtype=np.intp)
    groups[live] = inverse
    return groups, live[leaders]


def repeated(matrix: Any, times: int) -> tuple[Any, NDArray[np.int64]]:
    """`times` independent observations by how often each output came: the matrix, and those counts.

    The order of observations says nothing about the secret (the method of types: C(n+m−1, m−1) columns
    instead of mⁿ); where even those are too many, observations are added one by one and proportional
    columns merged each time. Source: Csiszár & Körner 2011, chapter 2.
    """
    outputs = matrix.shape[1]
    types = math.comb(times + outputs - 1, outputs - 1)
    if types * matrix.shape[0] > _LARGEST or is_sparse(matrix):
        return _one_by_one(matrix, times)
    counts = np.array(list(_counts(times, outputs)), dtype=np.int64).reshape(types, outputs)
    whole = _exact_types(matrix, counts, times) if is_exact(matrix) else _float_types(matrix, counts, times)
    groups, firsts = proportional(whole, PROPORTIONAL * max(1.0, times / 64.0))
    return summed_columns(whole, groups, firsts.size), counts[firsts]


def _counts(times: int, outputs: int) -> Iterator[tuple[int, ...]]:
    if outputs == 1:
        yield (times,)
        return
    for first in range(times, -1, -1):
        for rest in _counts(times - first, outputs - 1):
            yield (first, *rest)


def _float_types(rows: Floats, counts: NDArray[np.int64], times: int) -> Floats:
    factorials = np.array([math.lgamma(k + 1.0) for k in range(times + 1)])
    ways = factorials[times] - factorials[counts].sum(axis=1)
    logs = np.log(np.where(rows > 0, rows, 1.0))
    impossible = (rows <= 0).astype(np.float64) @ counts.T > 0
    return np.asarray(np.where(impossible, 0.0, np.exp(logs @ counts.T + ways)))


def _exact_types(rows: NDArray[Any], counts: NDArray[np.int64], times: int) -> NDArray[Any]:
    whole = np.empty((rows.shape[0], len(counts)), dtype=object)
    for t, count in enumerate(counts.tolist()):
        ways = math.factorial(times)
        for k in count:
            ways //= math.factorial(k)
        for x, row in enumerate(rows):
            whole[x, t] = ways * math.prod(p**k for p, k in zip(row, count, strict=True))
    return whole


def _one_by_one(matrix: Any, times: int) -> tuple[Any, NDArray[np.int64]]:
    counts = np.eye(matrix.shape[1], dtype=np.int64)
    power, base = matrix, counts
    for n in range(2, times + 1):
        if power.shape[1] * matrix.shape[1] * (1 if is_sparse(matrix) else matrix.shape[0]) > _LARGEST:
            raise InvalidChannel(
                f"`**` must leave at most {_LARGEST} entries. Got "
                f"more after {n - 1} of {times} observations. "
                "Compose the privacy loss (`leakcap.accounting`) instead of the matrix."
            )
        power = both(power, matrix)
        seen = (counts[:, None, :] + base[None, :, :]).reshape(-1, base.shape[1])
        groups, firsts = proportional(power, PROPORTIONAL * max(1.0, n / 64.0))
        power, counts = summed_columns(power, groups, firsts.size), seen[firsts]
    return power, counts
