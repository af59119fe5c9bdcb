"""Bands of equal width that a query writes: FLOOR(age / 10) * 10, FLOOR(age / 10), age - age % 10.

The keys are whole numbers, those of the bands that the bounds of the column reach. A number is in the band
whose ends it lies between, exactly: nothing is divided, so that no engine's division and no rounding of a
quotient matters. What lies outside the bounds is in the first or the last band, as in `cuts` of a policy;
what is missing is in none. `%` rounds towards 0, and is a band only where no number is below 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import NamedTuple

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.policy.validation import meant
from leakcap.release.columns.derived import CaseColumn
from leakcap.release.columns.typed import Bin, column
from leakcap.release.conditions.condition import Between, Compare, Operator, Scalar, named

__all__ = ["Bands", "band_column", "bands_between", "bands_compared", "bands_of"]

_MOST_BANDS = 10_000
_WIDEST = 2**53
"""Up to which every whole number is a double."""

_ORDERS: dict[Operator, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RULE = "Write FLOOR(x / 10) * 10, with a whole number from 1 on."


class Bands(NamedTuple):
    """The column that is cut, how wide its bands are, and what their numbers are multiplied by."""

    source: exp.Column
    width: exp.Literal
    factor: exp.Literal | None
    parity: bool = False
    """Whether it is x - x % 10."""


def bands_of(node: exp.Expression) -> Bands | None:
    """The bands that a part of a text is; None where it is something else.

    >>> from sqlglot import parse_one
    >>> found = bands_of(parse_one("FLOOR(age / 10) * 10", dialect="duckdb"))
    >>> found is not None and (found.source.name, found.width.name)
    ('age', '10')
    >>> bands_of(parse_one("FLOOR(age)", dialect="duckdb")) is None
    True
    """
    if isinstance(node, exp.Mul):
        for floor, factor in ((node.this, node.expression), (node.expression, node.this)):
            inner = _floored(floor)
            if inner is not None and _is_number(factor):
                return Bands(*inner, factor)
        return None
    if isinstance(node, exp.Sub) and isinstance(node.expression, exp.Mod):
        left, rest = node.this, node.expression
        same = isinstance(rest.this, exp.Column) and _place(left) == _place(rest.this)
        if isinstance(left, exp.Column) and same and _is_number(rest.expression):
            return Bands(left, rest.expression, None, parity=True)
        return None
    inner = _floored(node)
    return None if inner is None else Bands(*inner, None)


def _floored(node: exp.Expression) -> tuple[exp.Column, exp.Literal] | None:
    if not isinstance(node, exp.Floor) or not isinstance(node.this, exp.Div):
        return None
    left, right = node.this.this, node.this.expression
    return (left, right) if isinstance(left, exp.Column) and _is_number(right) else None


def _place(node: exp.Expression) -> tuple[str, str]:
    """A column's name, and that of its table."""
    return node.name, node.text("table")


def _is_number(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def band_column(source: str, bands: Bands, policy: Policy) -> tuple[str, CaseColumn]:
    """The canonical name of the bands of a column, and what a row is. Raises `InvalidQuery`.

    >>> from sqlglot import parse_one
    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0, 25]}}})
    >>> text, found = band_column("age", bands_of(parse_one("age - age % 10")), policy)
    >>> text, found.keys
    ('floor(age / 10) * 10', (0, 10, 20))
    """
    known = policy.columns.get(source)
    if known is None:
        raise InvalidQuery(f"`{source}` is not a column of the policy. {meant(source, policy.columns)}")
    if known.bounds is None:
        raise InvalidQuery(f"`{source}` has no numbers as `bounds` in the policy, and so no bands.")
    width = _whole(bands.width)
    factor = width if bands.parity else 1 if bands.factor is None else _whole(bands.factor)
    if factor not in (1, width):
        raise InvalidQuery(f"Bands that are {width} wide are multiplied by {width}, not by {factor}. {_RULE}")
    low, high = known.bounds
    if bands.parity and low < 0:
        raise InvalidQuery(
            f"`{source}` may be below 0, where % rounds up. Write FLOOR({source} / {width}) * {width}."
        )
    first, last = (math.floor(end) // width for end in (low, high))
    if last - first >= _MOST_BANDS or max(abs(first), abs(last) + 1) * width > _WIDEST:
        raise InvalidQuery(
            f"Bands of `{source}` that are {width} wide would be {last - first + 1:,}; at most "
            f"{_MOST_BANDS:,} are allowed, up to 2**53. Make them wider."
        )
    keys = tuple(place * factor for place in range(first, last + 1))
    edges = tuple(float(place * width) for place in range(first, last + 2))
    shown = ".".join(map(named, source.split("."))) if "." in source else named(source)
    text = f"floor({shown} / {width})" + (f" * {width}" if factor == width else "")
    tree = Bin(this=column(source), edges=edges)
    return text, CaseColumn.model_construct(source="", keys=keys, tree=tree, text=text)


def bands_compared(name: str, known: Column, sign: Operator, value: Scalar) -> Compare:
    """A comparison of bands by order, as the first or the last band for which it is true.

    The number need not be a key, so that > 30 and >= 31 of bands that are 10 wide are one question. Raises
    `InvalidQuery` where it is no number, or true for no band.

    >>> known = CaseColumn.model_construct(keys=(0, 10, 20), tree=Bin(this=column("age"), edges=(0.0,)))
    >>> bands_compared("b", known, ">", 9.5), bands_compared("b", known, "<", 20)
    (Compare(column='b', operator='>=', value=10), Compare(column='b', operator='<=', value=10))
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidQuery(f"`where` must compare `{name}` with a number.")
    keys = [key for key in known.keys or () if not isinstance(key, str)]
    true_for = [key for key in keys if _ORDERS[sign](key, value)]
    if not true_for:
        raise InvalidQuery(
            f"`where` asks for `{name}` {sign} {value!r}, which is true of no band: they are {keys[0]} to "
            f"{keys[-1]}. Compare it with one of these."
        )
    if sign in (">", ">="):
        return Compare(name, ">=", true_for[0])
    return Compare(name, "<=", true_for[-1])


def bands_between(name: str, known: Column, low: Scalar, high: Scalar) -> Between:
    """The bands whose keys lie between two numbers, both included. Raises `InvalidQuery` where none does.

    >>> known = CaseColumn.model_construct(keys=(0, 10, 20), tree=Bin(this=column("age"), edges=(0.0,)))
    >>> bands_between("b", known, 5, 99)
    Between(column='b', low=10, high=20)
    """
    first, last = bands_compared(name, known, ">=", low), bands_compared(name, known, "<=", high)
    between = Between(name, first.value, last.value)
    keys = known.keys or ()
    if keys.index(between.low) > keys.index(between.high):
        raise InvalidQuery(
            f"`where` asks for `{name}` BETWEEN {low!r} AND {high!r}, where no band begins. Its bands are "
            f"{keys[0]}, {keys[1]} and so on."
        )
    return between


def _whole(node: exp.Literal) -> int:
    text = str(node.this)
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if len(text) > 40 or not (number.is_integer() and 1 <= number <= _WIDEST):
        raise InvalidQuery(f"Bands have a whole number as their width. {_RULE}")
    return int(number)
