"""Parts and totals that were released each for itself, made to add up. Costs nothing: only releases are seen.

The true cells z of the finest release give every other number as a sum. Given noisy numbers y with variances
v the weighted least squares fit minimises Σ (y_k − Σ_{cells of k} z)²/v_k, with z ≥ 0 where that is known,
rounded to whole numbers where they count. All sums are then those of the fitted cells. The fit without the
constraints is the best linear unbiased estimate: no number gets worse by it in expected squared error.

It is assumed that every row has one of the listed keys in each column, and listed pairs of them where one
column lies within another: else parts do not add up to totals. Margins (`margins.py`) need no assumption.

Source: Hay, Rastogi, Miklau & Suciu 2010; Gauss 1823 for the fit; Kim & Park 2008 for z ≥ 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidQuery
from leakcap.mechanism import TwoSidedGeometric
from leakcap.policy.declared import Key
from leakcap.release.numbers.answers import Rows
from leakcap.release.results.result import Release

__all__ = ["ConsistentRelease", "agreeing", "consistent"]

Floats = NDArray[np.float64]
Items = frozenset[tuple[str, Key]]
_ADDITIVE = {"count": "rows", "histogram": "rows", "contingency": "rows", "sum": "sum"}


@dataclass(frozen=True)
class ConsistentRelease(Release):
    """A release whose numbers add up with those of others; `raw` are its rows as they were before."""

    raw: Rows = field(default_factory=lambda: Rows.of([]))

    @property
    def post_processing(self) -> str:
        """What was done, which costs nothing."""
        return "made to add up with other releases by weighted least squares"


def consistent(releases: Sequence[Release], *, nonnegative: bool | None = None) -> list[ConsistentRelease]:
    """The releases with values that add up exactly, in their order.

    One of them must have the finest groups; the groups of each other are unions of those. They are counts of
    rows, or sums of one column, under one condition. Counts become whole numbers, not negative; sums are let
    be negative unless `nonnegative` says that no value is. Raises `InvalidQuery` where they do not fit.

    >>> import pyarrow
    >>> from leakcap.release import PrivateTable
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "columns": {"ward": {"keys": ["a", "b"]}}}
    >>> table = PrivateTable(pyarrow.table({"ward": ["a"] * 50 + ["b"] * 20}), policy=policy, ledger="sqlite://")
    >>> all_, parts = consistent([table.count(epsilon=1.0), table.count(by="ward", epsilon=1.0)])
    >>> all_.value == sum(row.value for row in parts.rows)
    True
    """
    releases = list(releases)
    _check(releases)
    places = [_places(release) for release in releases]
    columns = [frozenset(name for name, _ in max(items, key=len)) for items in places]
    finest = max(columns, key=len)
    cells = sorted({item for items in places for item in items if {n for n, _ in item} == finest}, key=repr)
    if any(not names <= finest for names in columns) or not cells:
        raise InvalidQuery("`releases` of `consistent` must have one whose groups split those of all others.")
    _check_keys(releases)
    members = [[_members(item, cells, finest) for item in items] for items in places]
    seen = [
        (member, float(row.value), _variance(release))
        for release, own, items in zip(releases, members, places, strict=True)
        for member, row, item in zip(own, release.rows, items, strict=True)
        # Margins are sums of a release's own cells, no news.
        if not release.totals or len(item) == max(map(len, items))
    ]
    counts = _ADDITIVE[releases[0].query.statistic] == "rows"
    fitted = _fit(seen, len(cells), counts if nonnegative is None else nonnegative)
    whole = _rounded(fitted) if counts else [float(z) for z in fitted]
    return [_changed(release, own, whole) for release, own in zip(releases, members, strict=True)]


def agreeing(releases: Sequence[Release], groups: Sequence[Sequence[str]]) -> list[Release]:
    """The releases in their order, those of each group, by name, made to add up."""
    found = {release.name: release for release in releases}
    for group in groups:
        found |= {one.name: one for one in consistent([found[name] for name in group])}
    return [found[release.name] for release in releases]


def _check(releases: Sequence[Release]) -> None:
    if len(releases) < 1 or any(release.query.statistic not in _ADDITIVE for release in releases):
        raise InvalidQuery(
            f"`releases` of `consistent` must be of {', '.join(_ADDITIVE)}: other statistics do not add up."
        )
    if any(release.arranged for release in releases):
        raise InvalidQuery(
            "`releases` of `consistent` must be whole: ask without HAVING, ORDER BY, LIMIT and OFFSET, which "
            "is free where the answer was given."
        )
    first = releases[0]
    if any(release.people_from != first.people_from for release in releases):
        raise InvalidQuery(
            "`releases` of `consistent` must count the same people: between these, people's own caps ran "
            "out. The answers stay as they are."
        )
    for release in releases:
        query = release.query
        same = (_ADDITIVE[query.statistic], query.where) == (
            _ADDITIVE[first.query.statistic],
            first.query.where,
        )
        column = query.statistic != "sum" or query.column == first.query.column
        if not (same and column and release.price.delta == 0):
            raise InvalidQuery(
                "`releases` of `consistent` must have one `where`, public keys, and count rows or sum one "
                "column."
            )


def _check_keys(releases: Sequence[Release]) -> None:
    """Bins of one column at other edges overlap, and are no groups that split each other."""
    seen: dict[str, set[Key]] = {}
    for release in releases:
        for head, words in release.rows.labels.items():
            name, keys = release.columns.get(head, head), set(words.tolist()) - {release.totals.get(head)}
            if seen.setdefault(name, keys) != keys:
                raise InvalidQuery(
                    f"`releases` of `consistent` must have the same groups of `{name}`: cut it at the same "
                    "edges, or into the same bins, in each."
                )


def _places(release: Release) -> list[Items]:
    """Which group each row is of, by the columns' own names, whatever the answer calls them; in a margin the
    columns that are summed out are left out."""
    words, named = release.totals, release.columns
    return [
        frozenset((named.get(head, head), key) for head, key in row.keys.items() if words.get(head) != key)
        for row in release.rows
    ]


def _members(item: Items, cells: Sequence[Items], finest: frozenset[str]) -> NDArray[np.int64]:
    found = np.array([place for place, cell in enumerate(cells) if item <= cell], dtype=np.int64)
    if found.size == 0:
        raise InvalidQuery("`releases` of `consistent` have a group that no finer group is a part of.")
    return found


def _variance(release: Release) -> float:
    """Of the noise of one number; of a sum's grid only that it is fine is known here."""
    scale = release.noise_scale
    exact = release.query.statistic != "sum"
    if release.price.mechanism != TwoSidedGeometric.label:
        return scale * scale
    return TwoSidedGeometric(Fraction(scale)).variance() if exact else 2.0 * scale * scale


def _fit(seen: Sequence[tuple[NDArray[np.int64], float, float]], size: int, nonnegative: bool) -> Floats:
    """The weighted least squares fit of the cells, with none below 0 where that is wanted."""
    places = np.concatenate([member for member, _, _ in seen])
    owner = np.repeat(np.arange(len(seen)), [len(member) for member, _, _ in seen])
    # Weights of one size with the numbers, so that nothing over- or underflows.
    best = min(variance for _, _, variance in seen)
    weights = np.array([best / variance if variance > 0 else 1.0 for _, _, variance in seen])
    values = np.array([value for _, value, _ in seen])

    def back(numbers: Floats) -> Floats:
        return _added(places, (weights * numbers)[owner], size)

    def normal(z: Floats) -> Floats:
        return back(_added(owner, z[places], len(seen)))

    free = np.ones(size, dtype=bool)
    target = back(values)
    z = _solved(normal, target, free)
    tolerance = 1e-9 * max(1.0, float(np.abs(values).max()))
    for step in range(100 if nonnegative else 0):
        slope = normal(z) - target
        wrong = (free & (z < -tolerance)) | (~free & (slope < -tolerance))
        if not wrong.any():
            break
        if step > 20:  # one at a time, which ends
            wrong[: wrong.nonzero()[0][-1]] = False
        free ^= wrong
        z = _solved(normal, target, free)
    return np.maximum(z, 0.0) if nonnegative else z


def _added(places: NDArray[np.int64], numbers: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(places, weights=numbers, minlength=size), dtype=np.float64)


def _solved(normal: Callable[[Floats], Floats], target: Floats, free: NDArray[np.bool_]) -> Floats:
    """Conjugate gradients on the free cells; the others are 0.

    SciPy's take .23 s to import, more than any fit here, and none of them keeps z ≥ 0 or whole numbers.
    """
    z = np.zeros(len(target))
    rest = np.where(free, target, 0.0)
    way, size = rest.copy(), float(rest @ rest)
    end = 1e-26 * max(size, 1e-300)
    for _ in range(10 * len(target) + 50):
        if size <= end:
            break
        pushed = np.where(free, normal(way), 0.0)
        length = size / float(way @ pushed)
        z, rest = z + length * way, rest - length * pushed
        before, size = size, float(rest @ rest)
        way = rest + size / before * way
    return z


def _rounded(cells: Floats) -> list[int]:
    """Whole numbers with the rounded total: the cells with the largest fractions are rounded up."""
    # What is whole but for the fit's last digits is whole, so that nothing changes when it is done again.
    cells = np.where(np.abs(cells - np.rint(cells)) < 1e-6, np.rint(cells), cells)
    floors = np.floor(cells)
    missing = round(math.fsum(cells)) - round(math.fsum(floors))
    order = np.argsort(floors - cells, kind="stable")
    floors[order[: max(0, missing)]] += 1
    return [int(cell) for cell in floors]


def _changed(
    release: Release, members: Sequence[NDArray[np.int64]], cells: Sequence[Any]
) -> ConsistentRelease:
    rows = []
    for row, member in zip(release.rows, members, strict=True):
        parts = [cells[place] for place in member]
        value = sum(parts) if isinstance(parts[0], int) else math.fsum(parts)
        low, high = row.interval
        rows.append(replace(row, value=value, interval=(min(low, float(value)), max(high, float(value)))))
    known = {one.name: getattr(release, one.name) for one in fields(Release)}
    raw = release.raw if isinstance(release, ConsistentRelease) else release.rows
    return ConsistentRelease(**{**known, "rows": Rows.of(rows)}, raw=raw)
