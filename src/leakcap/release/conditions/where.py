"""The analyst's condition: parsed, checked against the policy, and rebuilt from our own tree.

The text itself never reaches the engine. A condition may compare a column of the policy with literals
(= <> < <= > >=, IN, BETWEEN, IS [NOT] NULL), ask an integer for the parity of some of its bits
(bit_count(flags & 6) % 2 = 1) and combine such comparisons with AND, OR and NOT. Whatever else
sqlglot can parse is refused by name, so that no function, cast or subquery can look at other rows, at other
tables, or raise an error that depends on the data.

A number is compared as it stands in the table, before it is clamped to its bounds and before `fill`: the
condition concerns one row at a time, so it moves no sensitivity. NaN counts as missing, as does a value that
cannot be read as the column's kind; a comparison with a missing value is neither true nor false, and a row is
kept only where the condition is true.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.policy.validation import meant
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
from leakcap.release.conditions.whitelist import unread_within
from leakcap.release.conditions.years import year_condition

__all__ = ["check_words", "column_of", "condition_of", "parse_where"]

_OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRROR: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# What sqlglot would not parse but pass on as it is, with a warning.
_STATEMENTS = frozenset({TokenType.SEMICOLON, TokenType.COMMAND, TokenType.EXECUTE})
_LONGEST = 10_000
_DEEPEST = 30
_SHOWN = 80
_MOST_TOKENS = 600
_ALLOWED = "Allowed are comparisons of columns with literals, IN, BETWEEN, IS NULL, AND, OR and NOT."
_PARITY = (
    "`where` may use a remainder only to ask for a parity, as in bit_count(flags & 6) % 2 = 1 with an "
    "integer column `flags`, or of a sum of such counts."
)


def parse_where(text: str, policy: Policy) -> Condition:
    """The condition as our own tree. Raises `InvalidQuery` naming what is not allowed.

    >>> from leakcap.policy.document import load_policy
    >>> from leakcap.release.conditions.condition import to_text
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> to_text(parse_where("18 <= age", policy))
    'age >= 18.0'
    >>> parse_where("abs(age) > 3", policy)
    Traceback (most recent call last):
    leakcap.errors.InvalidQuery: `where` may not use ABS. Allowed are comparisons ...
    """
    node, tokens = _parse(text)
    found = condition_of(node, policy)
    check_words(node, tokens)
    return found


def _parse(text: str) -> tuple[exp.Expression, Sequence[Token]]:
    if not text.strip() or len(text) > _LONGEST:
        raise InvalidQuery(f"`where` must be from 1 to {_LONGEST:,} characters long.")
    try:
        tokens = sqlglot.tokenize(text, dialect="duckdb")
        if len(tokens) > _MOST_TOKENS:
            raise InvalidQuery(f"`where` must have at most {_MOST_TOKENS} words and signs. Split the query.")
        if any(token.comments for token in tokens):
            raise InvalidQuery("`where` may not use comments.")
        if any(token.token_type in _STATEMENTS for token in tokens):
            raise InvalidQuery("`where` must be a single condition, without semicolons.")
        statements = sqlglot.parse(text, dialect="duckdb")
    except (SqlglotError, RecursionError):
        raise InvalidQuery(f"`where` does not parse: {text[:_SHOWN]!r}.") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Expression):
        raise InvalidQuery("`where` must be a single condition, without semicolons.")
    return statements[0], tokens


def check_words(node: exp.Expression, tokens: Sequence[Token]) -> None:
    """No word is lost or made up: sqlglot reads `x BETWEEN 2 5` and `{fn f`. Raises `InvalidQuery`."""
    found = Counter(token.token_type.name for token in tokens)
    kinds = Counter(type(part) for part in node.walk())
    commas = sum(len(part.expressions) - 1 for part in node.find_all(exp.In))
    wanted = {"AND": kinds[exp.And] + kinds[exp.Between], "OR": kinds[exp.Or], "COMMA": commas}
    if any(found[name] != wanted.get(name, 0) for name in ("AND", "OR", "COMMA", "ALL", "L_BRACE")):
        raise InvalidQuery("`where` has an AND, OR, ALL, comma or brace too many, or one too few.")


def condition_of(node: exp.Expression, policy: Policy) -> Condition:
    """The condition that a part of a longer text is. Raises `InvalidQuery` as `parse_where` does."""
    found = _condition(node, policy, 0)
    for name in unread_within(node):
        raise InvalidQuery(f"`where` may not use {name}. {_ALLOWED}")
    return found


def column_of(node: exp.Expression, policy: Policy) -> str:
    """The policy's name of a column, joined tables' included. Raises `InvalidQuery` as `parse_where` does."""
    return _column(node, policy)


def _condition(node: exp.Expression, policy: Policy, depth: int) -> Condition:
    """The condition; a refusal has a `start`, which says where in the text the refused part begins."""
    try:
        return _part(node, policy, depth)
    except InvalidQuery as error:
        if error.start is None:
            error.start = min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=0)
        raise


def _part(node: exp.Expression, policy: Policy, depth: int) -> Condition:
    node = _bare(node)
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
    raise _refusal(node)


def _chain(node: exp.Expression, kind: type[exp.Expression]) -> list[exp.Expression]:
    """The parts of a AND b AND c, which the parser nests to the left. Long chains must not nest deeply."""
    parts = []
    while type(node) is kind:
        _no_comments(node)
        parts.append(node.args["expression"])
        node = node.this
    return [node, *reversed(parts)]


def _no_comments(node: exp.Expression) -> None:
    if node.comments:
        raise InvalidQuery("`where` may not use comments.")


def _refusal(node: exp.Expression) -> InvalidQuery:
    if isinstance(node, exp.Anonymous):
        name = str(node.name).upper()
        return InvalidQuery(
            f"`where` may not use {name}. {_ALLOWED} A column whose name is more than one plain word "
            'stands in double quotes, like "Stay (days)".'
        )
    elif isinstance(node, exp.Func):
        name = node.sql_name()
    elif isinstance(node, exp.Literal | exp.Boolean | exp.Null):
        return InvalidQuery(f"`where` needs a condition where a lone literal stands. {_ALLOWED}")
    else:
        name = type(node).__name__.upper()
    return InvalidQuery(f"`where` may not use {name}. {_ALLOWED}")


def _compare(node: exp.Expression, policy: Policy) -> Condition:
    operator, left, right = _OPERATORS[type(node)], _bare(node.this), _bare(node.expression)
    if isinstance(left, exp.Mod):
        return _parity(left, operator, right, policy)
    if not isinstance(left, exp.Column | exp.Extract) and isinstance(right, exp.Column | exp.Extract):
        operator, left, right = _MIRROR[operator], right, left
    if isinstance(left, exp.Extract):
        return _of_year(left, operator, right, policy)
    column = _column(left, policy)
    ordered = operator not in ("=", "<>")
    if ordered:
        _check_order(column, policy)
    return Compare(column, operator, _value(right, column, policy, listed=not ordered))


def _of_year(node: exp.Extract, operator: Operator, right: exp.Expression, policy: Policy) -> Condition:
    """EXTRACT(YEAR FROM column) compared with a number: the comparison of dates that it stands for."""
    if not isinstance(node.this, exp.Var) or node.this.name.upper() != "YEAR":
        raise InvalidQuery(
            "`where` may use EXTRACT with YEAR only. Compare the date itself, or a column that the policy "
            "derives from it."
        )
    column = _column(_bare(node.expression), policy)
    known = policy.columns[column]
    if known.moments is None:
        raise InvalidQuery(f"`where` takes the year of `{column}`, which has no dates as `bounds`.")
    return year_condition(column, operator, _literal(right, column), timed=known.times is not None)


def _parity(node: exp.Mod, operator: Operator, right: exp.Expression, policy: Policy) -> Condition:
    """(bit_count(a & m) + …) % 2, equal to 0 or 1: a function of one row that cannot fail on any."""
    total, two, odd = _bare(node.this), _bare(node.expression), right
    numbers = [
        part.this if isinstance(part, exp.Literal) and not part.is_string else "" for part in (two, odd)
    ]
    if operator != "=" or numbers[0] != "2" or numbers[1] not in ("0", "1"):
        raise InvalidQuery(_PARITY)
    masks = tuple(_mask(_bare(count), policy) for count in _chain(total, exp.Add))
    return Parity(masks, numbers[1] == "1")


def _mask(node: exp.Expression, policy: Policy) -> tuple[str, int]:
    """bit_count(column & mask), the column an integer."""
    named = isinstance(node, exp.Anonymous) and str(node.name).lower() == "bit_count"
    masked = _bare(node.expressions[0]) if named and len(node.expressions) == 1 else None
    if not isinstance(masked, exp.BitwiseAnd):
        raise InvalidQuery(_PARITY)
    column = _column(_bare(masked.this), policy)
    mask = _literal(_bare(masked.expression), column)
    if type(mask) is not int or not 0 <= mask < 2**63 or policy.columns[column].kind != "integer":
        raise InvalidQuery(_PARITY)
    return column, mask


def _among(node: exp.In, policy: Policy) -> Condition:
    extra = [name for name, value in node.args.items() if value and name not in ("this", "expressions")]
    if extra or not node.expressions:
        raise InvalidQuery(f"`where` may use IN with a list of literals only. {_ALLOWED}")
    column = _column(_bare(node.this), policy)
    return Among(column, tuple(_value(item, column, policy, listed=True) for item in node.expressions))


def _between(node: exp.Between, policy: Policy) -> Condition:
    extra = [name for name, value in node.args.items() if value and name not in ("this", "low", "high")]
    if extra:
        raise InvalidQuery(f"`where` may use BETWEEN with two literals only. {_ALLOWED}")
    column = _column(_bare(node.this), policy)
    _check_order(column, policy)
    low = _value(node.args["low"], column, policy, listed=False)
    return Between(column, low, _value(node.args["high"], column, policy, listed=False))


def _check_order(column: str, policy: Policy) -> None:
    known = policy.columns[column]
    if known.kind == "boolean":
        raise InvalidQuery(f"`where` compares `{column}`, which is true or false, by order. Use = or <>.")
    if known.cuts is not None or known.groups is not None:
        raise InvalidQuery(f"`where` compares `{column}`, whose keys have no order, by order. Use = or IN.")


def _missing(node: exp.Is, policy: Policy) -> Condition:
    if not isinstance(_bare(node.expression), exp.Null):
        raise InvalidQuery(f"`where` may use IS with NULL only. {_ALLOWED}")
    return Missing(_column(_bare(node.this), policy))


def _truth(node: exp.Column, policy: Policy) -> Condition:
    column = _column(node, policy)
    if policy.columns[column].kind != "boolean":
        raise InvalidQuery(f"`where` uses `{column}` as a condition, but it is not true or false.")
    return Compare(column, "=", True)


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        _no_comments(node)
        node = node.this
    _no_comments(node)
    return node


def _column(node: exp.Expression, policy: Policy) -> str:
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        if isinstance(node, exp.Literal | exp.Neg | exp.Boolean | exp.Null):
            raise InvalidQuery("`where` must compare a column of the policy, not two literals.")
        raise _refusal(node)
    if any(node.args.get(part) for part in ("db", "catalog")):
        raise InvalidQuery("`where` may qualify a column by the name of a joined table only.")
    if any(value for part, value in node.args.items() if part not in ("this", "table")):
        raise _refusal(node)
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
        return date_of(_bare(node), column, timed=known.times is not None)
    value = _literal(_bare(node), column)
    wanted = {
        "number": "a number",
        "text": "text in quotes",
        "integer": "an integer",
        "boolean": "TRUE or FALSE",
    }
    if known.kind == "number":
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise InvalidQuery(f"`where` must compare `{column}` with a number.")
        return float(value)
    kinds: dict[str, type[Key]] = {"text": str, "integer": int, "boolean": bool}
    if type(value) is not kinds[known.kind]:
        raise InvalidQuery(f"`where` must compare `{column}` with {wanted[known.kind]}.")
    # A derived column has no other values than its keys.
    listed = listed or known.truncate is not None
    if listed and value not in (known.keys or ()):
        raise InvalidQuery(f"`where` names {value!r}, which is not a key of `{column}` in the policy.")
    return value


def _literal(node: exp.Expression, column: str) -> Scalar:
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        raise InvalidQuery(f"`where` compares `{column}` with NULL, which is never true. Use IS NULL.")
    negative = isinstance(node, exp.Neg)
    inner = _bare(node.this) if negative else node
    if not isinstance(inner, exp.Literal):
        if isinstance(inner, exp.Column):
            raise InvalidQuery(f"`where` must compare `{column}` with a literal, not with another column.")
        raise _refusal(inner)
    if inner.is_string:
        if negative:
            raise InvalidQuery(f"`where` puts a minus sign before text, beside `{column}`.")
        return _text(str(inner.this))
    return _number(str(inner.this), negative, column)


def _text(text: str) -> str:
    if "\0" in text:
        raise InvalidQuery("`where` may not contain null characters.")
    return text


def _number(text: str, negative: bool, column: str) -> int | float:
    sign = -1 if negative else 1
    try:
        if text.isdecimal() and len(text) < 20 and int(text) < 2**63:
            return sign * int(text)
        number = sign * float(text)
    except ValueError:
        raise InvalidQuery(f"`where` compares `{column}` with what is no number.") from None
    if not math.isfinite(number):
        raise InvalidQuery(f"`where` compares `{column}` with a number too large for a double.")
    return number
