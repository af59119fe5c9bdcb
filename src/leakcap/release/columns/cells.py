"""The cells of an answer: the cross product of public keys and bins. An empty cell is a cell."""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.numeric import up
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.policy.validation import meant
from leakcap.release.columns.derived import code_column, codes, typed_column
from leakcap.release.columns.typed import Bin, OneOf, literal
from leakcap.release.columns.typed import column as raw
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
_LONGEST_KEY = 200
_WORD = 2**63
_LARGEST_CHARACTER = 4  # bytes of UTF-8


@dataclass(frozen=True)
class Axis:
    """One way in which the table is split: what the engine groups by, and the label of each of its values."""

    column: str
    tree: exp.Expression
    labels: dict[Key, Key]
    kind: str
    open: bool = False
    """Whether the keys are not public: there are no labels, and any key may occur."""

    def places(self, column: NDArray[Any]) -> NDArray[np.int64]:
        """The place of each code among the labels; −1 where it is none of them."""
        if self._first is not None and column.dtype.kind == "i":
            place = column.astype(np.int64) - self._first
            return np.where((place >= 0) & (place < len(self.labels)), place, -1)
        known = {code: place for place, code in enumerate(self.labels)}
        return np.fromiter((known.get(code, -1) for code in column.tolist()), np.int64, len(column))

    @cached_property
    def _run(self) -> tuple[int, int] | None:
        """The least and the largest code, where they are integers without a gap; as all bins are."""
        if self.kind != "integer" or not self.labels:
            return None
        codes = [int(code) for code in self.labels]
        first, last = min(codes), max(codes)
        return (first, last) if last - first + 1 == len(codes) else None

    @cached_property
    def _first(self) -> int | None:
        """The least code, where they rise by one from it."""
        if self._run is None or abs(self._run[0]) >= _WORD // 2:
            return None
        first, last = self._run
        rises = all(map(operator.eq, self.labels, range(first, last + 1)))
        return first if rises else None

    @property
    def log_keys(self) -> float:
        """At least the logarithm of how many keys are possible: integers of 64 bits, texts up to a length."""
        if not self.open:
            return up(math.log(len(self.labels)))
        bits = 64 if self.kind == "integer" else 8 * _LARGEST_CHARACTER * _LONGEST_KEY
        return (bits + 0.01) * math.log(2.0)  # a text may be shorter: 256/255 times as many

    def listed(self, name: exp.Expression) -> exp.Expression:
        """The condition that keeps rows whose key is public; all others are dropped.

        Of private keys all but NULL are kept.
        Integers without a gap are a range, which costs a row two comparisons however many they are.
        """
        if self.open:
            return exp.Not(this=exp.Is(this=name, expression=exp.Null()))
        if self._run is not None:
            first, last = (literal(code, "integer") for code in self._run)
            return exp.Between(this=name, low=first, high=last)
        return OneOf(this=name, keys=tuple(self.labels), kind=self.kind)


@dataclass(frozen=True)
class Cells:
    """All cells, in the order of the policy's keys, first axis slowest."""

    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        """How many cells there are; 1 without axes."""
        if self.open:
            return MANY_CELLS
        size = 1
        for axis in self.axes:
            size *= len(axis.labels)
        return size

    @property
    def open(self) -> bool:
        """Whether which cells there are is not public."""
        return any(axis.open for axis in self.axes)

    @property
    def log_keys(self) -> float:
        """At least the logarithm of how many cells are possible, in the table or not."""
        return up(sum(axis.log_keys for axis in self.axes), len(self.axes))

    def places(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Which cell each row of the engine is of, from its codes; −1 for a key that is not listed.

        >>> axes = [Axis(name, exp.Null(), {"a": "a", "b": "b"}, "text") for name in ("first", "second")]
        >>> Cells(tuple(axes)).places([np.array(["b", "?"]), np.array(["a", "a"])]).tolist()
        [2, -1]
        """
        found = np.zeros(len(codes[0]) if codes else 1, dtype=np.int64)
        for axis, column in zip(self.axes, codes, strict=True):
            own = axis.places(column)
            listed = (found >= 0) & (own >= 0)
            found = np.where(listed, found * len(axis.labels) + own, -1)
        return found

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
    return Axis(column, code_column(column, policy), labels, kind)


def _short(column: str, policy: Policy) -> exp.Expression:
    """The key, or NULL where a text is longer than keys are."""
    value = typed_column(column, policy)
    if policy.columns[column].kind != "text":
        return value
    few = exp.LTE(this=exp.Length(this=value.copy()), expression=exp.Literal.number(_LONGEST_KEY))
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
