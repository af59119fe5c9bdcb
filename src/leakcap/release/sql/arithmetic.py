"""What an aggregate is of: a column, a number that is computed, or a CASE, and its words.

A CASE with one condition is the same question as one about the rows that meet it, and becomes that question:

    SUM(CASE WHEN ward = 'a' THEN stay ELSE 0 END)    the sum of `stay` where ward = 'a'
    SUM(CASE WHEN ward = 'a' THEN 1 ELSE 0 END)       the count where ward = 'a'
    AVG(CASE WHEN ward = 'a' THEN 1 ELSE 0 END)       the share of rows where ward = 'a'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from leakcap.release.conditions.condition import Condition, Missing, Negation
from leakcap.release.conditions.numbers import NUMBERS, NUMBERS_RULE
from leakcap.release.conditions.remedies import remedy_for
from leakcap.release.conditions.whitelist import bare, unread_within
from leakcap.release.sql.scope import Scope, both_conditions
from leakcap.release.sql.words import Spelled, Words

__all__ = ["Argument", "chosen_column", "is_computed", "known_rows", "numbers", "spelled_number"]

_SIGN_TOKENS: Mapping[type[exp.Expression], str] = {
    exp.Add: "PLUS",
    exp.Sub: "DASH",
    exp.Mul: "STAR",
    exp.Div: "SLASH",
}


@dataclass(frozen=True)
class Argument:
    """A column of numbers, or a number, of the rows that meet the condition; 0 in others, or NULL."""

    operand: str | float
    condition: Condition | None = None
    otherwise: float | None = None


def is_computed(node: exp.Expression) -> bool:
    """Whether this is computed of a row, rather than a column or a literal."""
    return isinstance(bare(node), (*NUMBERS, exp.Case))


def numbers(scope: Scope, node: exp.Expression) -> Argument:
    """What an aggregate of numbers is of. Raises `InvalidQuery`."""
    _check_read(scope, node)
    inner = bare(node)
    if isinstance(inner, exp.Case) and len(inner.args["ifs"]) == 1:
        other = inner.args.get("default")
        constant = None if other is None or _is_null(other) else scope.number(other)
        result = inner.args["ifs"][0].args["true"]
        if not isinstance(constant, str) and not _is_null(result):
            return Argument(scope.number(result), _condition(scope, inner), constant)
    return Argument(scope.number(node))


def _check_read(scope: Scope, node: exp.Expression) -> None:
    """Raise `InvalidQuery` for what no reader would see."""
    for one in unread_within(node):
        start = scope.words.start_of(node)
        raise scope.words.refusal(f"{one} is not supported here", start, remedy_for(one, NUMBERS_RULE))


def _condition(scope: Scope, node: exp.Case) -> Condition:
    """The condition of a CASE that has one."""
    asked = node.args["ifs"][0].this
    if node.this is not None:
        asked = exp.EQ(this=node.this.copy(), expression=asked.copy())
    return scope.where(asked)


def known_rows(scope: Scope, node: exp.Expression) -> Condition | None:
    """In which rows this is not missing; None of a constant, which is in all. Raises `InvalidQuery`."""
    _check_read(scope, node)
    inner = bare(node)
    if not isinstance(inner, exp.Case):
        operand = inner if _is_constant(inner) else scope.number(inner)
        return Negation(Missing(operand)) if isinstance(operand, str) else None
    if len(inner.args["ifs"]) > 1 or not _is_null(inner.args.get("default")):
        results = [one.args["true"] for one in inner.args["ifs"]] + [inner.args.get("default")]
        keys = all(one is None or _is_null(one) or _is_constant(bare(one)) for one in results)
        name = scope.key(inner)[0] if keys else scope.number(inner)
        return Negation(Missing(str(name)))
    result = inner.args["ifs"][0].args["true"]
    return both_conditions(_condition(scope, inner), known_rows(scope, result))


def chosen_column(scope: Scope, node: exp.Expression) -> tuple[exp.Expression, Condition | None]:
    """The column of CASE WHEN condition THEN column END, and the condition; None of anything else."""
    _check_read(scope, node)
    inner = bare(node)
    if isinstance(inner, exp.Case) and len(inner.args["ifs"]) == 1 and _is_null(inner.args.get("default")):
        return bare(inner.args["ifs"][0].args["true"]), _condition(scope, inner)
    return node, None


def _is_null(node: exp.Expression | None) -> bool:
    return node is None or isinstance(bare(node), exp.Null)


def _is_constant(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal | exp.Boolean) or (
        isinstance(node, exp.Neg) and isinstance(bare(node.this), exp.Literal)
    )


def spelled_number(words: Words, scope: Scope, node: exp.Expression) -> list[Spelled]:
    """The words of what is computed."""
    if isinstance(node, exp.Case):
        return [node]
    if isinstance(node, exp.Column):
        return scope.reference(node)[2]
    if isinstance(node, exp.Literal):
        return ["STRING"] if node.is_string else ["DOT?", "NUMBER"]
    if isinstance(node, exp.Paren):
        return ["L_PAREN", *spelled_number(words, scope, node.this), "R_PAREN"]
    if isinstance(node, exp.Neg):
        return ["DASH", *spelled_number(words, scope, node.this)]
    if isinstance(node, exp.Boolean):
        return ["TRUE" if node.this else "FALSE"]
    if isinstance(node, exp.Coalesce):
        lists = [spelled_number(words, scope, one) for one in (node.this, *node.expressions)]
        return [frozenset({"COALESCE", "IFNULL"}), "L_PAREN", *_joined(lists), "R_PAREN"]
    if isinstance(node, exp.Nullif):
        lists = [spelled_number(words, scope, one) for one in (node.this, node.expression)]
        return [frozenset({"NULLIF"}), "L_PAREN", *_joined(lists), "R_PAREN"]
    if isinstance(node, exp.Abs):
        return [frozenset({"ABS"}), "L_PAREN", *spelled_number(words, scope, node.this), "R_PAREN"]
    if isinstance(node, exp.Extract):
        return scope.key(node)[1]
    sign = _SIGN_TOKENS.get(type(node))
    if sign is None:
        raise words.unsupported(node.key, node)
    left, right = (spelled_number(words, scope, one) for one in (node.this, node.expression))
    return [*left, sign, *right]


def _joined(lists: Sequence[Sequence[Spelled]]) -> list[Spelled]:
    return [word for place, one in enumerate(lists) for word in (("COMMA", *one) if place else one)]
