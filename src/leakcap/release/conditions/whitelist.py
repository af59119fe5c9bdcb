"""What of a text may be read: its words, its constants, and for each node of sqlglot's tree its arguments.

A reader of the tree goes where it expects something. What it does not expect it would not see: a clause that
sqlglot, today's or next year's, keeps in an argument of its own. So every argument that is set must be listed
here, as must every node; whatever is not is refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from leakcap.errors import InvalidQuery
from leakcap.policy.decimals import MOST_PLACES
from leakcap.release.conditions.condition import Scalar
from leakcap.release.conditions.remedies import not_allowed

__all__ = [
    "bare",
    "check_digits",
    "check_words",
    "literal_of",
    "no_comments",
    "parsed",
    "unread",
    "unread_within",
]

# What sqlglot would not parse but pass on as it is, with a warning.
_STATEMENTS = frozenset({TokenType.SEMICOLON, TokenType.COMMAND, TokenType.EXECUTE})
_LONGEST = 10_000
_SHOWN = 80
_MOST_TOKENS = 600

_TWO = ("this", "expression")
_TWO_SIDED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Is)
_READ: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((*_TWO_SIDED, exp.Mod, exp.Add, exp.Sub, exp.Mul, exp.BitwiseAnd), _TWO),
    **dict.fromkeys(
        (exp.Not, exp.Neg, exp.Paren, exp.Where, exp.From, exp.Having, exp.Boolean, exp.TableAlias), ("this",)
    ),
    **dict.fromkeys((exp.Star, exp.Null), ()),
    **dict.fromkeys((exp.Distinct, exp.Group, exp.Order, exp.With), ("expressions",)),
    # Only of GROUP BY: `sql/grouping.py`.
    **dict.fromkeys((exp.Cube, exp.Rollup, exp.GroupingSets, exp.Tuple), ("expressions",)),
    **dict.fromkeys((exp.In, exp.Anonymous), ("this", "expressions")),
    **dict.fromkeys((exp.Table, exp.Alias), ("this", "alias")),
    # Only of a date's text: `conditions/dates.py`.
    exp.Cast: ("this", "to"),
    exp.DataType: ("this",),
    # Only of a column of dates, in what is selected and GROUP BY: `sql/select.py`.
    exp.TimestampTrunc: ("this", "unit"),
    exp.Extract: ("this", "expression"),
    exp.Var: ("this",),
    # Only of conditions and constants: `conditions/written.py`.
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true"),
    exp.Select: (
        *("expressions", "from", "from_", "joins", "where", "group"),
        *("having", "order", "limit", "offset", "with", "with_"),
    ),
    # Only of an answer, or of a function: `sql/ordering.py`, `sql/calls.py`.
    exp.Ordered: ("this", "desc", "nulls_first"),
    **dict.fromkeys((exp.Limit, exp.Offset), ("expression",)),
    exp.WithinGroup: _TWO,
    exp.Filter: _TWO,
    # Only of numbers of a row: `conditions/numbers.py`.
    exp.Div: _TWO,
    exp.Coalesce: ("this", "expressions"),
    exp.Nullif: _TWO,
    exp.Abs: ("this",),
    # Only of bands: `conditions/bands.py`.
    exp.Floor: ("this",),
    exp.PercentileCont: ("this",),
    # Only where rows stay rows: `sql/tables.py`.
    **dict.fromkeys((exp.CTE, exp.Subquery), ("this", "alias")),
    exp.Join: ("this", "on", "kind"),
    exp.Column: ("this", "table"),
    exp.Identifier: ("this", "quoted"),
    exp.Literal: ("this", "is_string"),
    exp.Between: ("this", "low", "high"),
}


def parsed(text: str) -> tuple[exp.Expression, Sequence[Token]]:
    """The tree and the words of a condition. Raises `InvalidQuery` naming what is not allowed."""
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
    commas = sum(len(part.expressions) - 1 for part in node.find_all(exp.In)) + kinds[exp.TimestampTrunc]
    commas += sum(len(part.expressions) for part in node.find_all(exp.Coalesce)) + kinds[exp.Nullif]
    cases = list(node.find_all(exp.Case))
    arms = sum(len(one.args["ifs"]) for one in cases)
    defaults = sum(one.args.get("default") is not None for one in cases)
    wanted = {
        **{"AND": kinds[exp.And] + kinds[exp.Between], "OR": kinds[exp.Or], "COMMA": commas},
        **{"CASE": len(cases), "WHEN": arms, "THEN": arms, "ELSE": defaults, "END": len(cases)},
    }
    if any(found[name] != wanted.get(name, 0) for name in (*wanted, "ALL", "L_BRACE")):
        raise InvalidQuery("`where` has an AND, OR, ALL, comma or brace too many, or one too few.")
    # sqlglot reads other functions, with other words, as these too.
    names = Counter(token.text.upper() for token in tokens)
    if kinds[exp.Floor] > names["FLOOR"]:
        raise InvalidQuery("`where` takes bands by FLOOR only.")
    if kinds[exp.Abs] > names["ABS"]:
        raise InvalidQuery("`where` may not use @.")
    if kinds[exp.TimestampTrunc] > names["DATE_TRUNC"] or kinds[exp.Extract] > names["EXTRACT"]:
        raise InvalidQuery("`where` takes a part of a date by DATE_TRUNC or EXTRACT only.")


def unread(node: exp.Expr) -> list[str] | None:
    """The node's arguments that are set and that no reader reads; none of it is read if it is not listed.

    >>> unread(exp.column("age")), unread(exp.column("age", db="main")), unread(exp.Sqrt())
    ([], ['db'], None)
    """
    known = _READ.get(type(node))
    if known is None:
        return None
    empty = (None, False)
    return [
        name for name, value in node.args.items() if name not in known and value not in empty and value != []
    ]


def unread_within(root: exp.Expression) -> Iterator[str]:
    """The names of what no reader reads, in this node and below it.

    >>> list(unread_within(exp.and_(exp.column("age", db="main"), exp.Sqrt())))
    ['DB', 'SQRT']
    """
    for node in root.walk():
        names = unread(node)
        yield from [node.key.upper()] if names is None else (name.rstrip("_").upper() for name in names)


def bare(node: exp.Expression) -> exp.Expression:
    """The node without the parentheses around it."""
    while isinstance(node, exp.Paren):
        no_comments(node)
        node = node.this
    no_comments(node)
    return node


def no_comments(node: exp.Expression) -> None:
    """Raise `InvalidQuery` where a comment hangs on it."""
    if node.comments:
        raise InvalidQuery("`where` may not use comments.")


def literal_of(node: exp.Expression, column: str) -> Scalar:
    """The constant beside a column. Raises `InvalidQuery`."""
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        raise InvalidQuery(f"`where` compares `{column}` with NULL, which is never true. Use IS NULL.")
    negative = isinstance(node, exp.Neg)
    inner = bare(node.this) if negative else node
    if not isinstance(inner, exp.Literal):
        if isinstance(inner, exp.Column):
            raise InvalidQuery(f"`where` must compare `{column}` with a literal, not with another column.")
        raise not_allowed(inner)
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


def check_digits(node: exp.Expression, column: str) -> None:
    """Raise `InvalidQuery` for a number of so many digits that its double is that of another decimal too."""
    inner = bare(node.this) if isinstance(node, exp.Neg) else node
    digits = Decimal(str(inner.this)).normalize().as_tuple().digits
    if len(digits) > MOST_PLACES:
        raise InvalidQuery(
            f"`where` must compare `{column}` with a decimal of at most {MOST_PLACES} digits. "
            f"Got {inner.this}."
        )
