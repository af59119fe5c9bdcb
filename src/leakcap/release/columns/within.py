"""Which cells there are where the keys of a column lie within those of others: the listed pairs, or paths.

An axis is **tied** where its keys lie within those of another of the axes, or theirs within its own. All
other axes are free, and the cells are the product of these with the listed combinations of the tied ones. A
row whose pair is not listed is in no cell, as one with an unlisted key is. So a row is in one cell at most,
and no sensitivity moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from leakcap.arrays import NDArray, np
from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.policy.nested import key_word
from leakcap.release.columns.axis import Axis

__all__ = [
    "inner_axes",
    "nested_indices",
    "nested_size",
    "places_among",
    "require_apart_from",
    "require_told_apart",
    "tied_axes",
]

Indices: TypeAlias = "NDArray[np.int64]"
_MOST = 10**6


def inner_axes(axes: Sequence[Axis]) -> list[tuple[int, ...]]:
    """For each axis the places of those that its keys lie within, the outermost first.

    >>> from sqlglot import exp
    >>> region = Axis("region", exp.Null(), {"n": "n", "s": "s"}, "text")
    >>> paths = (("n", "a"), ("s", "a"), ("s", "b"))
    >>> district = Axis("district", exp.Null(), {"a": "a", "b": "b"}, "text", False, ("region",), paths)
    >>> inner_axes([district, region]), nested_indices([district, region]).tolist()
    ([(1,), ()], [[0, 0, 1], [0, 1, 1]])
    """
    places = {axis.column: place for place, axis in enumerate(axes)}
    return [tuple(places[name] for name in axis.within if name in places) for axis in axes]


def tied_axes(axes: Sequence[Axis]) -> list[bool]:
    """Which of the axes are tied to others."""
    if not any(axis.within for axis in axes):
        return [False] * len(axes)
    outer = inner_axes(axes)
    above = {place for own in outer for place in own}
    return [bool(own) or place in above for place, own in enumerate(outer)]


def nested_size(axes: Sequence[Axis]) -> int:
    """How many combinations the tied axes have; 1 without any. Raises `InvalidQuery` beyond a million."""
    tied = tied_axes(axes)
    return _joined([axis for axis, own in zip(axes, tied, strict=True) if own]).shape[1] if any(tied) else 1


def nested_indices(axes: Sequence[Axis]) -> Indices:
    """For each cell the place of its label on every axis (axes, cells), the first axis slowest."""
    tied = tied_axes(axes)
    listed = _joined([axis for axis, own in zip(axes, tied, strict=True) if own])
    free = [len(axis.labels) for axis, own in zip(axes, tied, strict=True) if not own]
    others = np.indices(free).reshape(len(free), math.prod(free))
    found = np.empty((len(axes), listed.shape[1] * others.shape[1]), dtype=np.int64)
    found[np.array(tied)] = np.repeat(listed, others.shape[1], axis=1)
    found[~np.array(tied)] = np.tile(others, listed.shape[1])
    return found[:, np.lexsort(found[::-1])] if len(axes) else found


def places_among(listed: Indices, rows: Indices, sizes: Sequence[int]) -> Indices:
    """Which of the `listed` combinations (axes, cells), in rising order, each of the rows is; −1 for none.

    >>> places_among(np.array([[0, 1, 1], [0, 0, 1]]), np.array([[1, 0, -1], [1, 1, 0]]), [2, 2]).tolist()
    [2, -1, -1]
    """
    known, asked = _ranks(listed, sizes), _ranks(np.maximum(rows, 0), sizes)
    found = np.minimum(np.searchsorted(known, asked), max(len(known) - 1, 0))
    if not len(known):
        return np.full(rows.shape[1], -1, dtype=np.int64)
    same = np.asarray(known[found] == asked, dtype=bool) & (rows >= 0).all(axis=0)
    return np.where(same, found, -1).astype(np.int64)


def require_told_apart(axes: Sequence[Axis], owner: str, *, alone: bool = False) -> None:
    """Raise `InvalidQuery` where an axis has one name for two keys, which lie within different others.

    `alone` says that no two columns may lie within each other: then the remedy is another column.

    >>> from sqlglot import exp
    >>> paths = (("n", "a"), ("s", "a"), ("s", "b"))
    >>> district = Axis("district", exp.Null(), {"a": "a", "b": "b"}, "text", False, ("region",), paths)
    >>> require_told_apart([district], "`by` of query `q`")
    Traceback (most recent call last):
    leakcap.errors.InvalidQuery: `by` of query `q` must name `region` beside `district`: `a` lies ...
    """
    columns = {axis.column: axis for axis in axes}
    for axis in axes:
        for place, name in enumerate(axis.within):
            if name in columns and not {path[place] for path in axis.paths} <= set(
                columns[name].labels.values()
            ):
                raise InvalidQuery(
                    f"{owner} must not cut `{name}` beside `{axis.column}`, whose keys lie within its own."
                )
        kept = [place for place, name in enumerate(axis.within) if name in columns]
        if len(kept) == len(axis.within):
            continue
        seen: set[tuple[Key, ...]] = set()
        for path in axis.paths:
            own = (*(path[place] for place in kept), path[-1])
            if own in seen:
                gone = [name for place, name in enumerate(axis.within) if place not in kept]
                beside = " and ".join(f"`{name}`" for name in gone)
                rule = f"not name `{axis.column}`" if alone else f"name {beside} beside `{axis.column}`"
                raise InvalidQuery(
                    f"{owner} must {rule}: `{key_word(path[-1])}` lies within two keys of {beside}, and is "
                    f"two of `{axis.column}`."
                )
            seen.add(own)


def require_apart_from(axes: Sequence[Axis], others: Sequence[Axis], owner: str) -> None:
    """Raise `InvalidQuery` where keys of one of the `axes` lie within those of another, or of `others`, or
    the other way round: for what is asked of whole products alone."""
    for axis in axes:
        for other in (*axes, *others):
            inner, outer = (axis, other) if other.column in axis.within else (other, axis)
            if outer.column in inner.within:
                raise InvalidQuery(
                    f"{owner} must not have both `{outer.column}` and `{inner.column}`, whose keys lie "
                    f"within those of `{outer.column}`: not every pair of them is a cell. "
                    "Ask a count by both, with margins."
                )


def _ranks(indices: Indices, sizes: Sequence[int]) -> NDArray[np.generic]:
    """A number for each combination, in their order."""
    large = math.prod(sizes) >= 2**62
    found = np.zeros(indices.shape[1], dtype=object if large else np.int64)
    for own, size in zip(indices, sizes, strict=True):
        found = found * size + (own.astype(object) if large else own)
    return found


def _joined(axes: Sequence[Axis]) -> Indices:
    """The listed combinations of tied axes (axes, combinations), in no order of their own."""
    outer = inner_axes(axes)
    # Those that others lie within come first.
    order = sorted(range(len(axes)), key=lambda place: (len(axes[place].within), place))
    found, before = np.zeros((0, 1), dtype=np.int64), list[int]()
    for place in order:
        axis, above = axes[place], outer[place]
        known = {label: rank for rank, label in enumerate(axis.labels.values())}
        heads: dict[tuple[Key, ...], dict[int, None]] = {}
        if above:
            kept = [axis.within.index(axes[one].column) for one in above]
            for path in axis.paths:
                heads.setdefault(tuple(path[one] for one in kept), {})[known[path[-1]]] = None
        else:
            heads[()] = dict.fromkeys(known.values())
        words = [list(axes[one].labels.values()) for one in above]
        rows = [found[before.index(one)].tolist() for one in above]
        # None is listed before all are counted: there may be far too many.
        own = [
            heads.get(tuple(word[rank] for word, rank in zip(words, ranks, strict=True)), {})
            for ranks in (zip(*rows, strict=True) if above else [()] * found.shape[1])
        ]
        many = np.array([len(one) for one in own], dtype=np.int64)
        if many.sum() > _MOST:
            raise InvalidQuery(
                f"Groups by {', '.join(one.column for one in axes)} are {many.sum():,}; at most {_MOST:,} "
                "are allowed. Leave a column out of `by`."
            )
        found = np.vstack(
            [np.repeat(found, many, axis=1), np.array([one for each in own for one in each], dtype=np.int64)]
        )
        before.append(place)
    return found[np.argsort(before)]
