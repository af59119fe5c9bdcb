"""A CASE that a policy declares as a column: which keys it gives, and which columns it reads.

    { case = "CASE WHEN age < 18 THEN 'child' WHEN ward = 'north' THEN NULL ELSE 'adult' END" }

Its text stays in the policy. Its conditions are read by the rules of `where` when the policy is used
(`release/conditions/declared.py`); here stands what follows from the text alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

__all__ = ["CaseText", "case_text", "qualified_case"]

Constant: TypeAlias = str | int | bool

_DIALECT = "duckdb"
_LONGEST = 10_000
_RULE = (
    "`case` must be written `CASE WHEN condition THEN constant … ELSE constant END`, where a constant is a "
    "text, a whole number, TRUE, FALSE or NULL"
)


class CaseText(NamedTuple):
    """The `keys` after THEN and ELSE, in their order, and the columns that stand in the conditions."""

    keys: tuple[Constant, ...]
    sources: tuple[str, ...]


@lru_cache(maxsize=256)
def case_text(text: str) -> CaseText:
    """What follows from the text. Raises `ValueError` for what is no CASE of constants.

    >>> case_text("CASE WHEN age < 18 THEN 'child' ELSE 'adult' END")
    CaseText(keys=('child', 'adult'), sources=('age',))
    """
    node = _case(text)
    results = [*(arm.args.get("true") for arm in node.args["ifs"]), node.args.get("default")]
    given = [key for one in results if one is not None and (key := _constant(one)) is not None]
    if not given:
        raise ValueError(f"{_RULE}. At least one of them must not be NULL")
    if len({type(key) for key in given}) > 1:
        raise ValueError(f"{_RULE}. They must be all texts, all whole numbers, or all TRUE or FALSE")
    sources = tuple(sorted({_name(one) for one in node.find_all(exp.Column)}))
    if not sources:
        raise ValueError("`case` must name a column in one of its conditions at least")
    return CaseText(tuple(dict.fromkeys(given)), sources)


def qualified_case(text: str, table: str) -> str:
    """The same of a joined table, whose columns are called `people.sex`.

    >>> qualified_case("CASE WHEN sex = 'f' THEN 1 ELSE 0 END", "people")
    'CASE WHEN "people.sex" = \\'f\\' THEN 1 ELSE 0 END'
    """
    node = _case(text)
    for one in list(node.find_all(exp.Column)):
        one.set("this", exp.to_identifier(f"{table}.{_name(one)}", quoted=True))
    return node.sql(dialect=_DIALECT)


def _case(text: str) -> exp.Case:
    try:
        found = sqlglot.parse(text, dialect=_DIALECT) if len(text) <= _LONGEST else []
    except (SqlglotError, RecursionError):
        found = []
    if len(found) != 1 or not isinstance(found[0], exp.Case):
        raise ValueError(f"{_RULE}. Got {text[:80]!r}")
    return found[0]


def _constant(node: exp.Expression) -> Constant | None:
    """The key; None of NULL."""
    while isinstance(node, exp.Paren):
        node = node.this
    inner = node.this if isinstance(node, exp.Neg) else node
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(inner, exp.Literal):
        text = str(inner.this)
        if inner.is_string and inner is node:
            return text
        if not inner.is_string and text.isdecimal() and len(text) < 20:
            return -int(text) if inner is not node else int(text)
    raise ValueError(_RULE)


def _name(node: exp.Column) -> str:
    if node.args.get("table") is not None:
        raise ValueError(
            "`case` must name columns of its own table only, without the name of the table before them"
        )
    return node.name
