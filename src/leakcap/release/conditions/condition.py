"""A condition on one row, as a tree of our own, and the SQL and the text that are written from it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Literal, TypeAlias

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from leakcap.policy.document import Policy
from leakcap.release.columns.derived import code_literal, typed_column
from leakcap.release.columns.typed import COMPARISONS, PopCount, literal, stored_column

__all__ = [
    "Among",
    "Between",
    "Compare",
    "Condition",
    "Junction",
    "Missing",
    "Negation",
    "Operator",
    "Parity",
    "Scalar",
    "columns_named",
    "constant_text",
    "named",
    "renamed",
    "to_text",
    "to_tree",
]

Scalar: TypeAlias = str | int | bool | float | datetime.date
Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Compare:
    """column operator value."""

    column: str
    operator: Operator
    value: Scalar


@dataclass(frozen=True)
class Among:
    """column IN (values)."""

    column: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class Between:
    """column BETWEEN low AND high."""

    column: str
    low: Scalar
    high: Scalar


@dataclass(frozen=True)
class Missing:
    """column IS NULL."""

    column: str


@dataclass(frozen=True)
class Parity:
    """(bit_count(a & m) + bit_count(b & n)) % 2 = odd: whether an odd number of the masked bits are set."""

    masks: tuple[tuple[str, int], ...]
    odd: bool


@dataclass(frozen=True)
class Negation:
    """NOT part."""

    part: Condition


@dataclass(frozen=True)
class Junction:
    """All of the parts, or any of them."""

    word: Literal["AND", "OR"]
    parts: tuple[Condition, ...]


Condition: TypeAlias = Compare | Among | Between | Missing | Parity | Negation | Junction


def to_tree(condition: Condition, policy: Policy) -> exp.Expression:
    """The condition as SQL that cannot fail on any row."""
    if isinstance(condition, Junction):
        return _balanced(condition.word, [to_tree(part, policy) for part in condition.parts])
    if isinstance(condition, Negation):
        return exp.Not(this=exp.Paren(this=to_tree(condition.part, policy)))
    if isinstance(condition, Parity):
        return _parity(condition, policy)
    name, known = condition.column, policy.columns[condition.column]
    column = _column(name, policy)

    def said(value: Scalar) -> exp.Expression:
        return literal(value, known.kind) if known.stored else code_literal(value, name, policy)

    if isinstance(condition, Missing):
        return exp.Is(this=column, expression=exp.Null())
    if isinstance(condition, Among):
        return exp.In(this=column, expressions=[said(value) for value in condition.values])
    if isinstance(condition, Between):
        return exp.Between(this=column, low=said(condition.low), high=said(condition.high))
    return COMPARISONS[condition.operator](this=column, expression=said(condition.value))


def _parity(condition: Parity, policy: Policy) -> exp.Expression:
    ones: list[exp.Expression] = []
    for name, mask in condition.masks:
        masked = exp.BitwiseAnd(this=_column(name, policy), expression=literal(mask, "integer"))
        ones.append(PopCount(this=exp.Paren(this=masked)))
    total = reduce(lambda left, right: exp.Add(this=left, expression=right), ones)
    rest = exp.Mod(this=exp.Paren(this=total), expression=exp.Literal.number(2))
    return exp.EQ(this=rest, expression=exp.Literal.number(int(condition.odd)))


def _column(name: str, policy: Policy) -> exp.Expression:
    known = policy.columns[name]
    return stored_column(name, known) if known.stored else typed_column(name, policy)


def _balanced(word: str, trees: list[exp.Expression]) -> exp.Expression:
    if len(trees) == 1:
        return trees[0]
    join, half = exp.And if word == "AND" else exp.Or, len(trees) // 2
    both = join(this=_balanced(word, trees[:half]), expression=_balanced(word, trees[half:]))
    return exp.Paren(this=both)


def to_text(condition: Condition) -> str:
    """The condition as it is written into the ledger: one text for all ways to write the same tree."""
    if isinstance(condition, Junction):
        return f"({f' {condition.word} '.join(to_text(part) for part in condition.parts)})"
    if isinstance(condition, Negation):
        part = to_text(condition.part)
        return f"NOT {part}" if isinstance(condition.part, Negation | Junction) else f"NOT ({part})"
    if isinstance(condition, Parity):
        counts = [f"bit_count({named(name)} & {mask})" for name, mask in condition.masks]
        total = counts[0] if len(counts) == 1 else f"({' + '.join(counts)})"
        return f"{total} % 2 = {int(condition.odd)}"
    name = named(condition.column)
    if isinstance(condition, Missing):
        return f"{name} IS NULL"
    if isinstance(condition, Among):
        return f"{name} IN ({', '.join(constant_text(value) for value in condition.values)})"
    if isinstance(condition, Between):
        return f"{name} BETWEEN {constant_text(condition.low)} AND {constant_text(condition.high)}"
    return f"{name} {condition.operator} {constant_text(condition.value)}"


def renamed(condition: Condition, names: Mapping[str, str]) -> Condition:
    """The condition about columns of other names, where `names` has them.

    >>> renamed(Missing("p.sex"), {"p.sex": "people.sex"})
    Missing(column='people.sex')
    """
    if isinstance(condition, Junction):
        return replace(condition, parts=tuple(renamed(part, names) for part in condition.parts))
    if isinstance(condition, Negation):
        return replace(condition, part=renamed(condition.part, names))
    if isinstance(condition, Parity):
        masks = tuple((names.get(name, name), mask) for name, mask in condition.masks)
        return replace(condition, masks=masks)
    return replace(condition, column=names.get(condition.column, condition.column))


def named(column: str) -> str:
    """A column's name as it stands in a query's text: quoted unless it is a plain word.

    >>> named("age"), named("p, q"), named("select"), named("date")
    ('age', '"p, q"', '"select"', 'date')
    """
    return column if _is_plain(column) else '"' + column.replace('"', '""') + '"'


@cache
def _is_plain(column: str) -> bool:
    """Whether the name alone is read as a column wherever a condition may have one; `select` is not."""
    if not column.isidentifier():
        return False
    places = "{0} = 1 OR {0} IS NULL OR {0} IN (1) OR 1 < {0} OR NOT {0} OR {0} BETWEEN 1 AND 2"
    try:
        (word,) = sqlglot.tokenize(column, dialect="duckdb")
        if word.token_type == TokenType.VAR:
            return True
        tree = sqlglot.parse_one(places.format(column), dialect="duckdb")
    except (SqlglotError, ValueError):
        return False
    return [node.sql() for node in tree.find_all(exp.Column)] == [column] * 6


def constant_text(value: Scalar) -> str:
    """A constant as it stands in a query's text.

    >>> constant_text("it's"), constant_text(True)
    ("'it''s'", 'TRUE')
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def columns_named(condition: Condition) -> set[str]:
    """The columns that a condition speaks of."""
    if isinstance(condition, Junction):
        return {name for part in condition.parts for name in columns_named(part)}
    if isinstance(condition, Parity):
        return {name for name, _ in condition.masks}
    return columns_named(condition.part) if isinstance(condition, Negation) else {condition.column}
