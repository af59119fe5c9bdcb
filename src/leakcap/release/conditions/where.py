"""The analyst's condition: parsed, checked against the policy, and rebuilt from our own tree.

The text itself never reaches the engine. A condition may compare a column of
the policy with literals (= <> < <= > >=, IN, BETWEEN, IS [NOT] NULL), and so the year of a date or the start
of its period; ask an integer for the parity of some of its bits (bit_count(flags & 6) % 2 = 1); and combine
such comparisons with AND, OR and NOT. Whatever else sqlglot can parse is refused by name, so
that no function, cast or subquery can look at other rows, at other
tables, or raise an error that depends on the data.

A number is compared as it stands in the table, before it is clamped to its bounds and before `fill`: the
condition concerns one row at a time, so it moves no sensitivity. NaN counts as missing, as does a value that
cannot be read as the column's kind; a comparison with a missing value is neither true nor false, and a row is
kept only where the condition is true.
"""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.policy.validation import meant
from leakcap.release.columns.derived import CaseColumn
from leakcap.release.columns.typed import Bin
from leakcap.release.conditions.bands import bands_between, bands_compared
from leakcap.release.conditions.condition import (
    Among,
    Between,
    Compare,
    Condition,
    Junction,
    Missing,
    Negation,
    Operator,
    Parity,
    Scalar,
)
from leakcap.release.conditions.dates import date_of
from leakcap.release.conditions.periods import period_condition, year_condition
from leakcap.release.conditions.remedies import ALLOWED, not_allowed
from leakcap.release.conditions.whitelist import (
    bare,
    check_digits,
    check_words,
    literal_of,
    no_comments,
    parsed,
    unread_within,
)

__all__ = ["column_of", "condition_of", "parse_where"]

_OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRROR: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# What a condition about a period is rewritten from; it is a comparison of dates.
_PERIODS = (exp.Extract, exp.TimestampTrunc)
_DEEPEST = 30
_PARITY = (
    "`where` may use a remainder only to ask for a parity, as in bit_count(flags & 6) % 2 = 1 with an "
    "integer column `flags`, or of a sum of such counts."
)


def parse_where(text: str, policy: Policy, *, called: str = "`where`") -> Condition:
    """The condition as our own tree. Raises `InvalidQuery` naming what is not allowed, and what it stands in.

    >>> from leakcap.policy.document import load_policy
    >>> from leakcap.release.conditions.condition import to_text
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> to_text(parse_where("18 <= age", policy))
    'age >= 18.0'
    >>> parse_where("abs(age) > 3", policy)
    Traceback (most recent call last):
    leakcap.errors.InvalidQuery: `where` may not use ABS. For ABS(x) > 3 write NOT (x BETWEEN -3 AND 3).
    """
    try:
        node, tokens = parsed(text)
        found = condition_of(node, policy)
        check_words(node, tokens)
    except InvalidQuery as error:
        raise InvalidQuery(str(error).replace("`where`", called, 1)) from None
    return found


def condition_of(node: exp.Expression, policy: Policy) -> Condition:
    """The condition that a part of a longer text is. Raises `InvalidQuery` as `parse_where` does."""
    found = _condition(node, policy, 0)
    for name in unread_within(node):
        raise InvalidQuery(f"`where` may not use {name}. {ALLOWED}")
    return found


def _condition(node: exp.Expression, policy: Policy, depth: int) -> Condition:
    """The condition; a refusal has a `start`, which says where in the text the refused part begins."""
    try:
        return _part(node, policy, depth)
    except InvalidQuery as error:
        if error.start is None:
            error.start = min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=0)
        raise


def _part(node: exp.Expression, policy: Policy, depth: int) -> Condition:
    node = bare(node)
    if depth > _DEEPEST:
        raise InvalidQuery(f"`where` must not nest more than {_DEEPEST} deep.")
    if isinstance(node, exp.And | exp.Or):
        word: Literal["AND", "OR"] = "AND" if isinstance(node, exp.And) else "OR"
        return Junction(word, tuple(_condition(part, policy, depth + 1) for part in _chain(node, type(node))))
    if isinstance(node, exp.Not):
        return Negation(_condition(node.this, policy, depth + 1))
    if type(node) in _OPERATORS:
        return _compare(node, policy)
    if isinstance(node, exp.In):
        return _among(node, policy)
    if isinstance(node, exp.Between):
        return _between(node, policy)
    if isinstance(node, exp.Is):
        return _missing(node, policy)
    if isinstance(node, exp.Column):
        return _truth(node, policy)
    raise not_allowed(node)


def _chain(node: exp.Expression, kind: type[exp.Expression]) -> list[exp.Expression]:
    """The parts of a AND b AND c, which the parser nests to the left. Long chains must not nest deeply."""
    parts = []
    while type(node) is kind:
        no_comments(node)
        parts.append(node.args["expression"])
        node = node.this
    return [node, *reversed(parts)]


def _compare(node: exp.Expression, policy: Policy) -> Condition:
    operator, left, right = _OPERATORS[type(node)], bare(node.this), bare(node.expression)
    if isinstance(left, exp.Mod):
        return _parity(left, operator, right, policy)
    if not isinstance(left, (exp.Column, *_PERIODS)) and isinstance(right, (exp.Column, *_PERIODS)):
        operator, left, right = _MIRROR[operator], right, left
    if isinstance(left, _PERIODS):
        return _dated(left, operator, right, policy)
    column = column_of(left, policy)
    ordered = operator not in ("=", "<>")
    if ordered and _is_banded(column, policy):
        return bands_compared(column, policy.columns[column], operator, _number(right, column))
    if ordered:
        _check_order(column, policy)
    return Compare(column, operator, _value(right, column, policy, listed=not ordered))


def _dated(node: exp.Expression, operator: Operator, right: exp.Expression, policy: Policy) -> Condition:
    """A year, or the start of a period, of dates: the comparison of dates that it stands for."""
    column = _dates_in(node, policy)
    timed = policy.columns[column].times is not None
    if isinstance(node, exp.Extract):
        return year_condition(column, operator, literal_of(bare(right), column), timed=timed)
    start = date_of(bare(right), column, timed=timed)
    return period_condition(column, str(node.args["unit"].name).lower(), operator, start, timed=timed)


def _dates_in(node: exp.Expression, policy: Policy) -> str:
    """The column of dates that a period is of."""
    part = isinstance(node, exp.Extract)
    column = column_of(bare(node.expression if part else node.this), policy)
    unit = node.this if part else node.args.get("unit")
    if not isinstance(unit, exp.Var) or (part and unit.name.upper() != "YEAR"):
        raise InvalidQuery(
            "`where` may use EXTRACT with YEAR only. Compare the date itself, or a column that the policy "
            "derives from it."
        )
    if policy.columns[column].moments is None:
        what = "the year" if part else "a period"
        raise InvalidQuery(f"`where` takes {what} of `{column}`, which has no dates as `bounds`.")
    return column


def _parity(node: exp.Mod, operator: Operator, right: exp.Expression, policy: Policy) -> Condition:
    """(bit_count(a & m) + …) % 2, equal to 0 or 1: a function of one row that cannot fail on any."""
    total, two, odd = bare(node.this), bare(node.expression), right
    numbers = [
        part.this if isinstance(part, exp.Literal) and not part.is_string else "" for part in (two, odd)
    ]
    if operator != "=" or numbers[0] != "2" or numbers[1] not in ("0", "1"):
        raise InvalidQuery(_PARITY)
    masks = tuple(_mask(bare(count), policy) for count in _chain(total, exp.Add))
    return Parity(masks, numbers[1] == "1")


def _mask(node: exp.Expression, policy: Policy) -> tuple[str, int]:
    """bit_count(column & mask), the column an integer."""
    named = isinstance(node, exp.Anonymous) and str(node.name).lower() == "bit_count"
    masked = bare(node.expressions[0]) if named and len(node.expressions) == 1 else None
    if not isinstance(masked, exp.BitwiseAnd):
        raise InvalidQuery(_PARITY)
    column = column_of(bare(masked.this), policy)
    mask = literal_of(bare(masked.expression), column)
    if type(mask) is not int or not 0 <= mask < 2**63 or policy.columns[column].kind != "integer":
        raise InvalidQuery(_PARITY)
    return column, mask


def _among(node: exp.In, policy: Policy) -> Condition:
    extra = [name for name, value in node.args.items() if value and name not in ("this", "expressions")]
    if extra or not node.expressions:
        raise InvalidQuery(f"`where` may use IN with a list of literals only. {ALLOWED}")
    left = bare(node.this)
    if isinstance(left, _PERIODS):
        years = tuple(_dated(left, "=", item, policy) for item in node.expressions)
        return years[0] if len(years) == 1 else Junction("OR", years)
    column = column_of(bare(node.this), policy)
    return Among(column, tuple(_value(item, column, policy, listed=True) for item in node.expressions))


def _between(node: exp.Between, policy: Policy) -> Condition:
    extra = [name for name, value in node.args.items() if value and name not in ("this", "low", "high")]
    if extra:
        raise InvalidQuery(f"`where` may use BETWEEN with two literals only. {ALLOWED}")
    left = bare(node.this)
    if isinstance(left, _PERIODS):
        low, high = node.args["low"], node.args["high"]
        return Junction("AND", (_dated(left, ">=", low, policy), _dated(left, "<=", high, policy)))
    column = column_of(bare(node.this), policy)
    if _is_banded(column, policy):
        ends = (_number(node.args[end], column) for end in ("low", "high"))
        return bands_between(column, policy.columns[column], *ends)
    _check_order(column, policy)
    low = _value(node.args["low"], column, policy, listed=False)
    return Between(column, low, _value(node.args["high"], column, policy, listed=False))


def _is_banded(column: str, policy: Policy) -> bool:
    """Whether it is bands that a query wrote, whose keys are numbers that rise with their places."""
    known = policy.columns[column]
    return isinstance(known, CaseColumn) and isinstance(known.tree, Bin)


def _number(node: exp.Expression, column: str) -> Scalar:
    """A constant beside bands, which its double is: 30.00000000000000000001 is no band's lower end."""
    value = literal_of(bare(node), column)
    if isinstance(value, float):
        check_digits(bare(node), column)
    return value


def _check_order(column: str, policy: Policy) -> None:
    known = policy.columns[column]
    if known.kind == "boolean":
        raise InvalidQuery(f"`where` compares `{column}`, which is true or false, by order. Use = or <>.")
    if known.cuts is not None or known.groups is not None or isinstance(known, CaseColumn):
        raise InvalidQuery(f"`where` compares `{column}`, whose keys have no order, by order. Use = or IN.")


def _missing(node: exp.Is, policy: Policy) -> Condition:
    if not isinstance(bare(node.expression), exp.Null):
        raise InvalidQuery(f"`where` may use IS with NULL only. {ALLOWED}")
    left = bare(node.this)
    return Missing(_dates_in(left, policy) if isinstance(left, _PERIODS) else column_of(left, policy))


def _truth(node: exp.Column, policy: Policy) -> Condition:
    column = column_of(node, policy)
    if policy.columns[column].kind != "boolean":
        raise InvalidQuery(f"`where` uses `{column}` as a condition, but it is not true or false.")
    return Compare(column, "=", True)


def column_of(node: exp.Expression, policy: Policy) -> str:
    """The policy's name of a column, joined tables' included. Raises `InvalidQuery` as `parse_where` does."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        if isinstance(node, exp.Literal | exp.Neg | exp.Boolean | exp.Null):
            raise InvalidQuery("`where` must compare a column of the policy, not two literals.")
        raise not_allowed(node)
    if any(node.args.get(part) for part in ("db", "catalog")):
        raise InvalidQuery("`where` may qualify a column by the name of a joined table only.")
    if any(value for part, value in node.args.items() if part not in ("this", "table")):
        raise not_allowed(node)
    return _known(node, policy)


def _known(node: exp.Column, policy: Policy) -> str:
    """The column's name in the policy, where columns of joined tables are called `people.sex`."""
    table = node.args.get("table")
    if table is None and node.name in policy.columns:
        return node.name
    if table is None:
        remedy = meant(node.name, policy.columns)
        raise InvalidQuery(f"`where` names `{node.name}`, which is not a column of the policy. {remedy}")
    if not policy.tables:
        raise InvalidQuery("`where` may not qualify a column by a table. There is only one table.")
    name = f"{table.name}.{node.name}"
    if table.name in policy.tables and name in policy.columns:
        return name
    if table.name in policy.tables and node.name in policy.tables[table.name].columns:
        raise InvalidQuery(f"`where` names `{name}`, but `{table.name}` is not joined.")
    raise InvalidQuery(f"`where` may not qualify a column by `{table.name}`: no joined table has it.")


def _value(node: exp.Expression, column: str, policy: Policy, *, listed: bool) -> Scalar:
    """The literal, of the column's kind; where `listed`, it must be one of the column's keys."""
    known = policy.columns[column]
    if known.kind in ("date", "timestamp", "instant"):
        return date_of(bare(node), column, timed=known.times is not None)
    value = literal_of(bare(node), column)
    wanted = {
        "number": "a number",
        "text": "text in quotes",
        "integer": "an integer",
        "boolean": "TRUE or FALSE",
    }
    if known.kind == "number":
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise InvalidQuery(f"`where` must compare `{column}` with a number.")
        if known.places is not None:
            check_digits(bare(node), column)
        return float(value)
    kinds: dict[str, type[Key]] = {"text": str, "integer": int, "boolean": bool}
    if type(value) is not kinds[known.kind]:
        raise InvalidQuery(f"`where` must compare `{column}` with {wanted[known.kind]}.")
    # A derived column has no other values than its keys.
    listed = listed or known.truncate is not None
    if listed and value not in (known.keys or ()):
        raise InvalidQuery(f"`where` names {value!r}, which is not a key of `{column}` in the policy.")
    return value
