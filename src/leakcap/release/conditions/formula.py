"""An analyst's function of one row: parsed, checked, and computed by integers that cannot overflow.

Each column is first clamped to the policy's bounds and rounded to its grid, so that every intermediate
result is an integer between ends that are known before a row is read: they are followed through the
formula, and the grids are chosen so that none is beyond 2⁵². A double and a 64-bit integer hold it alike, so
all engines compute the same integer and none can stop at a row. The result is clamped to the declared range.
Whatever the formula is, a row then adds at most max(|low|, |high|) to a sum: that is all that the
sensitivity needs (Dwork, McSherry, Nissim & Smith 2006, proposition 1).

A formula may use numbers, columns with bounds, + − ·, division by a number, ABS, LEAST, GREATEST, and
CASE WHEN condition THEN … ELSE … END with conditions as `where` has them. It is NULL where a column that it
uses is missing and has no `fill`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.grid import Grid
from leakcap.release.columns.typed import Constant
from leakcap.release.conditions.condition import to_tree
from leakcap.release.conditions.where import column_of, condition_of

__all__ = ["Computed", "computed", "formula_text"]

Found = TypeVar("Found")

_LARGEST = 2**52
_FINEST, _COARSEST = 32, 6
_OFFSET_BITS = 19
"""Bounds far from zero may have so many digits more than their width."""

_NOISE_LOG2 = 44
"""The samplers draw scales up to 2⁴⁵."""

_LONGEST, _DEEPEST, _MOST_NODES = 2_000, 60, 3_000
_ALLOWED = (
    "Allowed are numbers, columns with bounds, + - *, division by a number, ABS, LEAST, GREATEST and "
    "CASE WHEN condition THEN … ELSE … END."
)


@dataclass(frozen=True)
class Computed:
    """A formula as the integer that a row becomes; `grid` says which, and what a step is worth."""

    tree: exp.Expression
    grid: Grid


@dataclass(frozen=True)
class _Value:
    """An integer between `low` and `high` that stands for itself times 2^−exponent."""

    tree: exp.Expression
    exponent: int
    low: int
    high: int


class _TooLargeError(Exception):
    """An intermediate result that could pass 2⁵² on these grids."""


def formula_text(text: str) -> str:
    """The formula in one way of writing it, for the ledger. Raises `InvalidQuery`.

    >>> formula_text("age*2  - (1)")
    'age * 2 - (1)'
    """
    return _parse(text).sql("duckdb")


def computed(text: str, within: tuple[float, float], policy: Policy, *, per_step: Fraction) -> Computed:
    """The formula on the finest grid on which it cannot overflow and its noise can be drawn.

    `within` is the declared range; `per_step` is the scale of the noise for a range of one. Raises
    `InvalidQuery`.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> computed("age * age", (0.0, 10_000.0), policy, per_step=Fraction(1)).grid.exponent
    30
    """
    root = _parse(text)
    low, high = map(Fraction, within)
    for bits in range(_FINEST, _COARSEST - 1, -1):
        try:
            value = _Planner(policy, bits).value(root, 0)
        except _TooLargeError:
            continue
        step = Fraction(2) ** -value.exponent
        # What the formula cannot be anyway needs no noise: its own ends are public, too.
        ends = max(round(low / step), value.low), min(round(high / step), value.high)
        reach = max(map(abs, ends))
        if ends[0] < ends[1] and reach <= _LARGEST and reach * per_step <= 2**_NOISE_LOG2:
            return Computed(_clamped(value, *ends), Grid(value.exponent, *ends))
    raise InvalidQuery(
        "`formula` multiplies too much, or by too large numbers, to be computed by exact integers; or it is "
        "never within `range`. Use fewer factors, narrower bounds, or another `range`."
    )


def _parse(text: str) -> exp.Expression:
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
        raise InvalidQuery(f"`formula` must be text of 1 to {_LONGEST:,} characters.")
    try:
        tokens = sqlglot.tokenize(text, dialect="duckdb")
        if any(token.comments for token in tokens):
            raise InvalidQuery("`formula` may not use comments.")
        found = sqlglot.parse(text, dialect="duckdb")
    except (SqlglotError, RecursionError):
        raise InvalidQuery(f"`formula` does not parse: {text[:80]!r}. {_ALLOWED}") from None
    if len(found) != 1 or not isinstance(found[0], exp.Expression):
        raise InvalidQuery("`formula` must be a single expression, without semicolons.")
    return found[0]


class _Planner:
    """Follows the ends of every intermediate result; leaves have about 2^`bits` steps."""

    def __init__(self, policy: Policy, bits: int) -> None:
        self._policy, self._bits = policy, bits
        self._nodes = 0

    def value(self, node: exp.Expression, depth: int) -> _Value:
        """The integer that stands for the node."""
        if depth > _DEEPEST:
            raise InvalidQuery(f"`formula` must not nest more than {_DEEPEST} deep.")
        found = self._value(node, depth)
        self._nodes += 1
        if max(abs(found.low), abs(found.high)) > _LARGEST:
            raise _TooLargeError
        if self._nodes > _MOST_NODES:
            raise InvalidQuery(f"`formula` must have at most {_MOST_NODES:,} parts. Split the query.")
        return found

    def _value(self, node: exp.Expression, depth: int) -> _Value:
        for kind, method in self._methods:
            if type(node) is kind:
                return method(self, node, depth)
        name = node.sql_name() if isinstance(node, exp.Func) else type(node).__name__.upper()
        if isinstance(node, exp.Anonymous):
            name = str(node.name).upper()
        raise InvalidQuery(f"`formula` may not use {name}. {_ALLOWED}")

    def _number(self, node: exp.Expression, depth: int) -> _Value:
        if node.is_string:
            raise InvalidQuery(f"`formula` may not use text. {_ALLOWED}")
        return self._constant(_fraction(str(node.this)))

    def _constant(self, number: Fraction) -> _Value:
        """With as many binary digits as a leaf has, fewer where fewer are exact."""
        exponent = min(self._bits - _digits(number), max(0, number.denominator.bit_length() - 1))
        if number.denominator & (number.denominator - 1):
            exponent = self._bits - _digits(number)
        steps = round(number * Fraction(2) ** exponent)
        return _Value(Constant(this=steps), exponent, steps, steps)

    def _column(self, node: exp.Expression, depth: int) -> _Value:
        name = _renamed(partial(column_of, node, self._policy))
        known = self._policy.columns[name]
        if known.bounds is None:
            raise InvalidQuery(f"`formula` uses `{name}`, which has no `bounds` in the policy.")
        low, high = map(Fraction, known.bounds)
        most = self._bits + _OFFSET_BITS - _digits(max(abs(low), abs(high)))
        exponent = min(self._bits - _digits(high - low), most)
        step = Fraction(2) ** -exponent
        grid = Grid(exponent, round(low / step), round(high / step))
        return _Value(grid.tree(name, known.bounds, known.fill), exponent, grid.low, grid.high)

    def _paren(self, node: exp.Expression, depth: int) -> _Value:
        return self.value(node.this, depth + 1)

    def _negated(self, node: exp.Expression, depth: int) -> _Value:
        inner = self.value(node.this, depth + 1)
        return _Value(_in_brackets(exp.Neg(this=inner.tree)), inner.exponent, -inner.high, -inner.low)

    def _sum(self, node: exp.Expression, depth: int) -> _Value:
        left, right = self._aligned([node.this, node.expression], depth)
        tree = _in_brackets(exp.Add(this=left.tree, expression=right.tree))
        return _Value(tree, left.exponent, left.low + right.low, left.high + right.high)

    def _difference(self, node: exp.Expression, depth: int) -> _Value:
        left, right = self._aligned([node.this, node.expression], depth)
        tree = _in_brackets(exp.Sub(this=left.tree, expression=right.tree))
        return _Value(tree, left.exponent, left.low - right.high, left.high - right.low)

    def _product(self, node: exp.Expression, depth: int) -> _Value:
        left, right = self.value(node.this, depth + 1), self.value(node.expression, depth + 1)
        ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        tree = _in_brackets(exp.Mul(this=left.tree, expression=right.tree))
        return _Value(tree, left.exponent + right.exponent, min(ends), max(ends))

    def _quotient(self, node: exp.Expression, depth: int) -> _Value:
        below = node.expression
        while isinstance(below, exp.Paren):
            below = below.this
        number = below.this if isinstance(below, exp.Neg) else below
        divisor = _fraction(str(number.this)) if _is_number(number) else Fraction(0)
        if divisor == 0:
            raise InvalidQuery(
                "`formula` may divide by a number other than 0 only. Multiply, or use a ratio."
            )
        sign = -1 if isinstance(below, exp.Neg) else 1
        left, right = self.value(node.this, depth + 1), self._constant(sign / divisor)
        ends = [end * right.low for end in (left.low, left.high)]
        tree = _in_brackets(exp.Mul(this=left.tree, expression=right.tree))
        return _Value(tree, left.exponent + right.exponent, min(ends), max(ends))

    def _absolute(self, node: exp.Expression, depth: int) -> _Value:
        inner = self.value(node.this, depth + 1)
        least = 0 if inner.low <= 0 <= inner.high else min(abs(inner.low), abs(inner.high))
        most = max(abs(inner.low), abs(inner.high))
        return _Value(exp.Abs(this=inner.tree), inner.exponent, least, most)

    def _least(self, node: exp.Expression, depth: int) -> _Value:
        return self._extreme(node, depth, least=True)

    def _greatest(self, node: exp.Expression, depth: int) -> _Value:
        return self._extreme(node, depth, least=False)

    def _extreme(self, node: exp.Expression, depth: int, *, least: bool) -> _Value:
        """Engines differ in what LEAST makes of NULL: two comparisons do not."""
        first, *rest = self._aligned([node.this, *node.expressions], depth)
        for other in rest:
            self._count(first.tree, other.tree)
            keeps = (exp.LTE if least else exp.GTE)(this=first.tree.copy(), expression=other.tree.copy())
            gives = (exp.GT if least else exp.LT)(this=first.tree.copy(), expression=other.tree.copy())
            ifs = [exp.If(this=keeps, true=first.tree), exp.If(this=gives, true=other.tree)]
            pick = min if least else max
            ends = pick(first.low, other.low), pick(first.high, other.high)
            first = _Value(exp.Case(ifs=ifs), first.exponent, *ends)
        return first

    def _case(self, node: exp.Expression, depth: int) -> _Value:
        if node.args.get("this") is not None or node.args.get("default") is None:
            raise InvalidQuery(f"`formula` needs CASE WHEN condition THEN … ELSE … END. {_ALLOWED}")
        ifs = node.args["ifs"]
        *given, default = self._aligned([*(one.args["true"] for one in ifs), node.args["default"]], depth)
        conditions = [_renamed(partial(condition_of, one.this, self._policy)) for one in ifs]
        told = [
            exp.If(this=to_tree(condition, self._policy), true=value.tree)
            for condition, value in zip(conditions, given, strict=True)
        ]
        parts = [*given, default]
        ends = min(part.low for part in parts), max(part.high for part in parts)
        return _Value(exp.Case(ifs=told, default=default.tree), default.exponent, *ends)

    def _aligned(self, nodes: Sequence[exp.Expression], depth: int) -> list[_Value]:
        """On the finest of their grids."""
        values = [self.value(node, depth + 1) for node in nodes]
        finest = max(value.exponent for value in values)
        return [_finer(value, finest) for value in values]

    def _count(self, *trees: exp.Expression) -> None:
        """Comparisons write a part several times."""
        self._nodes += 2 * sum(1 for tree in trees for _ in tree.walk())
        if self._nodes > _MOST_NODES:
            raise InvalidQuery(f"`formula` must have at most {_MOST_NODES:,} parts. Split the query.")

    _methods: Sequence[tuple[type[exp.Expression], Callable[[_Planner, exp.Expression, int], _Value]]] = (
        (exp.Literal, _number),
        (exp.Column, _column),
        (exp.Paren, _paren),
        (exp.Neg, _negated),
        (exp.Add, _sum),
        (exp.Sub, _difference),
        (exp.Mul, _product),
        (exp.Div, _quotient),
        (exp.Abs, _absolute),
        (exp.Least, _least),
        (exp.Greatest, _greatest),
        (exp.Case, _case),
    )


def _finer(value: _Value, exponent: int) -> _Value:
    if value.exponent == exponent:
        return value
    factor = 2 ** (exponent - value.exponent)
    if factor > _LARGEST or max(abs(value.low), abs(value.high)) * factor > _LARGEST:
        raise _TooLargeError
    if isinstance(value.tree, Constant):
        return _Value(Constant(this=value.low * factor), exponent, value.low * factor, value.high * factor)
    tree = _in_brackets(exp.Mul(this=value.tree, expression=Constant(this=factor)))
    return _Value(tree, exponent, value.low * factor, value.high * factor)


def _clamped(value: _Value, low: int, high: int) -> exp.Expression:
    """Within the declared range; NULL stays NULL."""
    ifs = []
    if value.high > high:
        ifs.append(exp.If(this=_beyond(exp.GT, value, high), true=Constant(this=high)))
    if value.low < low:
        ifs.append(exp.If(this=_beyond(exp.LT, value, low), true=Constant(this=low)))
    return exp.Case(ifs=ifs, default=value.tree) if ifs else value.tree


def _beyond(kind: type[exp.Expression], value: _Value, end: int) -> exp.Expression:
    return kind(this=value.tree.copy(), expression=Constant(this=end))


def _in_brackets(tree: exp.Expression) -> exp.Paren:
    return exp.Paren(this=tree)


def _is_number(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _fraction(text: str) -> Fraction:
    """A number as it is written; sizes beyond a double's are refused before they are computed."""
    mantissa, _, power = text.lower().partition("e")
    try:
        if len(mantissa) > 60 or abs(int(power or "0")) > 60:
            raise ValueError
        return Fraction(text)
    except ValueError:
        raise InvalidQuery(
            "`formula` must have numbers of at most 60 digits, with exponents from -60 to 60. "
            f"Got {text[:60]!r}."
        ) from None


def _digits(number: Fraction) -> int:
    """How many binary digits the whole part has; negative below one half."""
    return number.numerator.bit_length() - number.denominator.bit_length() if number else 0


def _renamed(action: Callable[[], Found]) -> Found:
    """What `where` says of a column or a condition, said of the formula."""
    try:
        return action()
    except InvalidQuery as error:
        raise InvalidQuery(str(error).replace("`where`", "`formula`")) from None
