"""Bins of whole numbers, or of decimals in steps of their places, each with the first and the last in it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.plain import counted
from leakcap.policy.declared import Column
from leakcap.release.query import QueryFields
from leakcap.sampling.rational import printed

__all__ = ["even_bins", "place_of", "whole_bins"]


def even_bins(first: int, last: int, count: int) -> list[tuple[int, int]]:
    """The whole numbers from `first` to `last` in `count` bins, as even as can be; none is empty.

    >>> even_bins(1, 10, 4)
    [(1, 2), (3, 5), (6, 7), (8, 10)]
    >>> even_bins(0, 2, 256)
    [(0, 0), (1, 1), (2, 2)]
    """
    many = last - first + 1
    count = min(count, many)
    starts = [first + many * place // count for place in range(count + 1)]
    return [(start, end - 1) for start, end in itertools.pairwise(starts)]


def whole_bins(query: QueryFields, column: Column) -> list[tuple[int, int]]:
    """The bins of a query about a column of whole numbers, or of decimals counted in steps of their places:
    between its edges, or so many even ones.

    Raises `InvalidQuery` for edges that lie beyond the bounds, or between which there is no such number.
    """
    assert column.bounds is not None
    assert column.scale is not None
    steps = 10**column.scale
    low, high = column.bounds
    if query.edges is None:
        return even_bins(round(Fraction(low) * steps), round(Fraction(high) * steps), query.bins or 1)
    if query.edges[0] < low or query.edges[-1] > high:
        raise InvalidQuery(f"`edges` of query `{query.name}` must lie within the bounds {[low, high]}.")
    edges = [printed(edge) * steps for edge in query.edges]
    starts = [*map(math.ceil, edges[:-1]), math.floor(edges[-1]) + 1]
    if any(a >= b for a, b in itertools.pairwise(starts)):
        places = counted(column.scale, "place")
        one, held = (
            (f"decimal of {places}", f"decimals of {places}")
            if column.scale
            else ("whole number", "whole numbers")
        )
        raise InvalidQuery(
            f"`edges` of query `{query.name}` must have a {one} in each bin: `{query.column}` holds {held}."
        )
    return [(start, end - 1) for start, end in itertools.pairwise(starts)]


def place_of(value: exp.Expression, bins: Sequence[tuple[int, int]]) -> exp.Expression:
    """The index of the bin of an integer, by halving; what lies outside is in the outer bins."""
    if len(bins) == 1:
        return exp.Literal.number(0)
    return _halved(value, [first for first, _ in bins], 0, len(bins) - 1)


def _halved(value: exp.Expression, starts: Sequence[int], first: int, last: int) -> exp.Expression:
    if first == last:
        return exp.Literal.number(first)
    middle = (first + last + 1) // 2
    below = exp.LT(this=value.copy(), expression=exp.Literal.number(starts[middle]))
    left, right = _halved(value, starts, first, middle - 1), _halved(value, starts, middle, last)
    return exp.Case(ifs=[exp.If(this=below, true=left)], default=right)
