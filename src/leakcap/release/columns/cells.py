"""The cells of an answer: the product of public keys and bins, or listed pairs. An empty cell is a cell."""

from __future__ import annotations

import itertools
import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from leakcap.arrays import NDArray, np
from leakcap.errors import InvalidQuery
from leakcap.numeric import up
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.policy.nesting import outer_columns
from leakcap.policy.validation import meant
from leakcap.release.columns.axis import LONGEST_KEY, Axis
from leakcap.release.columns.derived import code_column, codes, day_behind, typed_column
from leakcap.release.columns.typed import Bin
from leakcap.release.columns.typed import column as raw
from leakcap.release.columns.within import (
    nested_indices,
    nested_size,
    places_among,
    tied_axes,
)
from leakcap.release.numbers.answers import Labels, nested
from leakcap.release.numbers.exact_integers import objects
from leakcap.release.query import QueryFields

__all__ = [
    "Axis",
    "Cells",
    "bins_axis",
    "edges_axis",
    "edges_of",
    "key_axis",
    "require_few",
    "split_axis",
    "total_word",
]

MOST_CELLS = 10**6
# More cells than any unit is in: in their place where it is not public which ones there are.
MANY_CELLS = 2**40


@dataclass(frozen=True)
class Cells:
    """All cells, in the order of the policy's keys, first axis slowest.

    They are the product of the axes, but where the keys of one lie within those of others (`Axis.within`):
    then only the pairs that the policy lists are cells.
    """

    axes: tuple[Axis, ...]

    @cached_property
    def size(self) -> int:
        """How many cells there are; 1 without axes."""
        if self.open:
            return MANY_CELLS
        if not self.nested:
            return math.prod(self.sizes)
        tied = tied_axes(self.axes)
        free = (size for size, own in zip(self.sizes, tied, strict=True) if not own)
        return nested_size(self.axes) * math.prod(free)

    @property
    def open(self) -> bool:
        """Whether which cells there are is not public."""
        return any(axis.open for axis in self.axes)

    @cached_property
    def nested(self) -> bool:
        """Whether they are not the whole product of the axes."""
        return any(axis.within for axis in self.axes) and any(tied_axes(self.axes))

    @property
    def log_keys(self) -> float:
        """At least the logarithm of how many cells are possible, in the table or not."""
        return up(sum(axis.log_keys for axis in self.axes), len(self.axes))

    @cached_property
    def indices(self) -> NDArray[np.int64]:
        """For each cell the place of its label on every axis (axes, cells), the first axis slowest."""
        if self.nested:
            return nested_indices(self.axes)
        return np.indices(self.sizes).reshape(len(self.axes), self.size).astype(np.int64)

    def places(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Which cell each row of the engine is of, from its codes; −1 for a key that is not listed.

        >>> axes = [Axis(name, exp.Null(), {"a": "a", "b": "b"}, "text") for name in ("first", "second")]
        >>> Cells(tuple(axes)).places([np.array(["b", "?"]), np.array(["a", "a"])]).tolist()
        [2, -1]
        """
        if self.nested:
            own = [axis.places(column) for axis, column in zip(self.axes, codes, strict=True)]
            return places_among(self.indices, np.array(own), self.sizes)
        found = np.zeros(len(codes[0]) if codes else 1, dtype=np.int64)
        for axis, column in zip(self.axes, codes, strict=True):
            place = axis.places(column)
            listed = (found >= 0) & (place >= 0)
            found = np.where(listed, found * len(axis.labels) + place, -1)
        return found

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many labels each axis has."""
        return tuple(len(axis.labels) for axis in self.axes)

    def read(self, codes: Sequence[NDArray[Any]]) -> Labels:
        """What a person reads for these cells; private keys are read as they are."""
        return {
            axis.column: objects(
                column.tolist() if axis.open else [axis.labels[code] for code in column.tolist()]
            )
            for axis, column in zip(self.axes, codes, strict=True)
        }

    def labels(self) -> Labels:
        """What a person reads for each cell."""
        if self.nested:
            words = (objects(list(axis.labels.values())) for axis in self.axes)
            return {
                axis.column: one[own] for axis, one, own in zip(self.axes, words, self.indices, strict=True)
            }
        found: Labels = {}
        size = 1
        for axis in self.axes:
            own = {axis.column: objects(list(axis.labels.values()))}
            found = nested(found, size, own, len(axis.labels))
            size *= len(axis.labels)
        return found


def require_few(size: int, query: QueryFields) -> None:
    """Raise `InvalidQuery` for more cells than an answer may have."""
    if size > MOST_CELLS:
        raise InvalidQuery(
            f"Query `{query.name}` has {size:,} groups; at most {MOST_CELLS:,} are allowed. "
            "Leave a column out of `by` or take fewer bins."
        )


def split_axis(column: str, policy: Policy, query: QueryFields) -> Axis:
    """How a column splits the table: by the bins that the query cuts it into, else by its keys.

    Raises `InvalidQuery` where it has no bounds, or no keys.
    """
    edges = dict(query.cut).get(column)
    if edges is None:
        return key_axis(column, policy, query)
    known = policy.columns.get(column)
    if known is None or known.bounds is None:
        remedy = meant(column, policy.columns) if known is None else "Only numbers are cut."
        raise InvalidQuery(
            f"`cut` of query `{query.name}` names `{column}`, which is no column of the policy with "
            f"`bounds`. {remedy}"
        )
    low, high = known.bounds
    if edges[0] < low or edges[-1] > high:
        raise InvalidQuery(
            f"`cut` of query `{query.name}` must keep the edges of `{column}` within its bounds "
            f"{[low, high]}."
        )
    require_few(len(edges) - 1, query)
    return edges_axis(column, edges, known.fill)


def key_axis(column: str, policy: Policy, query: QueryFields) -> Axis:
    """The public keys of a column. Raises `InvalidQuery` where it has none."""
    known = policy.columns.get(column)
    if known is None:
        raise InvalidQuery(
            f"`by` of query `{query.name}` names `{column}`, which is not a column of the policy. "
            f"{meant(column, policy.columns)}"
        )
    if known.private is not None:
        return Axis(column, _short(column, policy), {}, known.kind, open=True)
    if known.keys is None:
        raise InvalidQuery(
            f"`by` of query `{query.name}` names `{column}`, which has no `keys` in the policy. "
            + ("Ask by a column derived from it." if known.moments else "Give it edges, in `cut`.")
        )
    labels = dict(codes(column, policy))
    kind = "integer" if all(type(code) is int for code in labels) else known.kind
    tree = code_column(column, policy)
    if known.within is None:
        day, days = day_behind(column, tree, policy) or (None, 0)
        return Axis(column, tree, labels, kind, day=day, days=days)
    within = outer_columns(column, policy.columns)
    return Axis(column, tree, labels, kind, within=within, paths=known.paths or ())


def _short(column: str, policy: Policy) -> exp.Expression:
    """The key, or NULL where a text is longer than keys are."""
    value = typed_column(column, policy)
    if policy.columns[column].kind != "text":
        return value
    few = exp.LTE(this=exp.Length(this=value.copy()), expression=exp.Literal.number(LONGEST_KEY))
    return exp.Case(ifs=[exp.If(this=few, true=value)], default=exp.Null())


def bins_axis(query: QueryFields, policy: Policy, groups: int, name: str | None = None) -> Axis:
    """The bins of the query's column, or of that of another `name`, which has bounds."""
    column = query.column or "" if name is None else name
    known = policy.columns.get(column)
    if known is None:
        raise InvalidQuery(
            f"`column` of query `{query.name}` names `{column}`, which is not a column of the policy. "
            f"{meant(column, policy.columns)}"
        )
    if known.bounds is None:
        raise InvalidQuery(
            f"`{column}` has no `bounds` in the policy, which the {query.statistic} of query "
            f"`{query.name}` needs."
        )
    edges = edges_of(query, known.bounds)
    require_few(groups * (len(edges) - 1), query)
    return edges_axis(column, edges, known.fill)


def edges_axis(column: str, edges: tuple[float, ...], fill: float | None = None) -> Axis:
    """The bins between these edges; what lies outside is in the outer ones, what is missing in none."""
    labels: dict[Key, Key] = {index: _label(edges, index) for index in range(len(edges) - 1)}
    missing = None if fill is None else bisect(edges, fill, 1, len(edges) - 1) - 1
    tree = Bin(this=raw(column), edges=edges, missing=missing)
    return Axis(column, tree, labels, "integer")


def edges_of(query: QueryFields, bounds: tuple[float, float]) -> tuple[float, ...]:
    """The edges of the bins: public, and the same for every table."""
    low, high = bounds
    if query.edges is not None:
        if query.edges[0] < low or query.edges[-1] > high:
            raise InvalidQuery(f"`edges` of query `{query.name}` must lie within the bounds {[low, high]}.")
        return query.edges
    if query.bins is None:
        raise InvalidQuery(f"Query `{query.name}` needs `bins` or `edges` for its histogram.")
    width = high - low
    inner = [low + width * (index / query.bins) for index in range(1, query.bins)]
    edges = (low, *inner, high)
    if any(a >= b for a, b in itertools.pairwise(edges)):
        raise InvalidQuery(f"`bins` of query `{query.name}` is too large for the bounds {[low, high]}.")
    return edges


def total_word(axis: Axis) -> Key:
    """What stands in a margin in place of a key that is summed over: a word that is no key of the column.

    >>> total_word(Axis("ward", exp.Null(), {0: "north", 1: "total"}, "text"))
    '(total)'
    """
    word = "total"
    while word in axis.labels.values():
        word = f"({word})"
    return word


def _label(edges: tuple[float, ...], index: int) -> str:
    """Half-open bins, the last one closed. Outliers are clamped, so the outer bins include them."""
    end = "]" if index == len(edges) - 2 else ")"
    return f"[{_plain(edges[index])}, {_plain(edges[index + 1])}{end}"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
